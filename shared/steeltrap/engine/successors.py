"""What superseded a memory, and that a search finds the newer one by the older one, too.

A module of its own: the function that searches imports it, but not what saves.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..model import Memory
from .call import Call

if TYPE_CHECKING:
    from ..rules.fusion import Scored


def chain(memory: Memory, read: Callable[[str], Memory | None]) -> Iterator[str]:
    """The ids of what superseded a memory, of what superseded that one, and so on; each once, even in a circle."""
    seen: set[str] = set()
    newer: Memory | None = memory
    while newer is not None and newer.superseded_by is not None and newer.superseded_by not in seen:
        yield newer.superseded_by
        seen.add(newer.superseded_by)
        newer = read(newer.superseded_by)


def credit(call: Call, scored: "Scored", limit: int) -> None:
    """Give each candidate the score of one that it superseded, if that is higher and would be among the best `limit`.

    In a chain the last memory gets it.
    """
    ids = {place: scored.candidates.ids[place] for place in scored.superseded(limit).tolist()}
    if not ids:
        return
    last = _last(call, list(ids.values()))
    heirs = {old: scored.candidates.place(last[id]) for old, id in ids.items() if id in last}
    scored.inherit({old: new for old, new in heirs.items() if new is not None}, call.rules.ranking.superseded)


def _last(call: Call, ids: list[str]) -> dict[str, str]:
    """What superseded each of these memories, at the end of the chain."""
    olds = call.space.get(ids)
    newer = call.space.get(sorted({memory.superseded_by for memory in olds.values() if memory.superseded_by}))

    def read(id: str) -> Memory | None:
        return newer[id] if id in newer else call.space.get([id]).get(id)

    return {id: [id, *chain(memory, read)][-1] for id, memory in olds.items()}
