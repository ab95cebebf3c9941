"""The neighbours of texts: for each, the nearest in any scope, and those in its own scope above a floor.

Turns are left out. The nearest come by Lucene's graph with the user's filter inside, which compares with
everything when that is little: approximate for users with many thousands of memories, where the nearest one
is missed about once in a hundred times.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...ports import IndexedSurroundings, Probe
from . import answers, queries
from .errors import failure
from .queries import Body
from .user_filter import UserFilter

_ROOM: Final = 12
"""How many more neighbours are answered than asked for: the store knows of some that have changed."""


class LookAround:
    """The bodies of one request, and how to read what they bring."""

    def __init__(self, allowed: UserFilter, probes: Sequence[Probe], floor: float, top_k: int) -> None:
        self.bodies: list[Body] = [queries.anyone(allowed, _ROOM)]
        self._probes = probes
        self._floor = floor
        self._wanted = top_k + _ROOM
        self._places = [self._place(allowed, probe) for probe in probes]

    def read(self, parts: Sequence[Mapping[str, Any]]) -> list[IndexedSurroundings]:
        """The surroundings of each probe. Raises what kept a part from answering."""
        for part in parts:
            if (wrong := failure(part)) is not None:
                raise wrong
        some = answers.neighbours(answers.hits(parts[0]), unrelated=True)
        found = []
        for probe, place in zip(self._probes, self._places, strict=True):
            anywhere, near = (() if at is None else answers.neighbours(answers.hits(parts[at])) for at in place)
            if not anywhere:
                # Nothing has a direction, here or there: all are equally far.
                anywhere = tuple(n for n in some if n.id != probe.leave_out)
            close = tuple(n for n in near if n.cosine >= self._floor)[: self._wanted]
            found.append(IndexedSurroundings(anywhere=anywhere, near=close, newest=answers.newest(parts[0])))
        return found

    def _place(self, allowed: UserFilter, probe: Probe) -> tuple[int | None, int | None]:
        """Where the two answers for a probe will stand; without a scope one search answers both questions."""
        if probe.scope is None:
            at = self._add(queries.around(allowed, probe, self._wanted))
            return at, at
        anywhere = self._add(queries.around(allowed, probe, _ROOM))
        return anywhere, self._add(queries.around(allowed, probe, self._wanted, floor=self._floor, scope=probe.scope))

    def _add(self, body: Body | None) -> int | None:
        if body is None:
            return None
        self.bodies.append(body)
        return len(self.bodies) - 1
