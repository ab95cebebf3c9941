"""Follows superseding to the newest memory, and gives it the search score of the older ones.

A module of its own: the function that searches imports it, but not what saves.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from .call import Call

if TYPE_CHECKING:
    from ..ranking.scoring import Scored


_CROWD: Final = 100
"""Half of what a leg returns at least."""


def heirs(call: Call, scored: "Scored", limit: int) -> dict[int, str]:
    """The successor of each superseded candidate that would be among the best `limit`, by its place: in a chain the id
    of the last memory."""
    ids = {place: scored.candidates.ids[place] for place in scored.superseded(limit).tolist()}
    last = _last(call, list(ids.values())) if ids else {}
    return {place: last[id] for place, id in ids.items() if id in last}


def are_crowded_out(scored: "Scored", newest: Mapping[int, str]) -> bool:
    """Whether so many superseded memories are candidates that what superseded them may not be one."""
    current = set(scored.current(scored.above(-2.0, related_only=False)).tolist())
    superseded = len(scored.candidates) - len(current)
    return superseded >= _CROWD and any(scored.candidates.place(id) not in current for id in set(newest.values()))


def credit(call: Call, scored: "Scored", newest: Mapping[int, str], of: "Scored") -> None:
    """Give candidates the scores that `of` has for what they superseded, where those are higher."""
    places = {old: scored.candidates.place(id) for old, id in newest.items()}
    known = {old: place for old, place in places.items() if place is not None}
    if known:
        scored.inherit(known, call.rules.ranking.superseded, of)


def _last(call: Call, ids: list[str]) -> dict[str, str]:
    """The last successor of each of these memories; those whose end isn't known are left out."""
    return ends(call.space.successions(ids), ids)


def ends(newer: Mapping[str, str], ids: Iterable[str]) -> dict[str, str]:
    """Where the chains that begin with some ids end. Each link is followed once; a circle ends where it closes."""
    end: dict[str, str] = {}
    for id in ids:
        path: dict[str, None] = {}
        last = id
        while last in newer and last not in end and last not in path:
            path[last] = None
            last = newer[last]
        end |= dict.fromkeys(path, end.get(last, last))
    return end
