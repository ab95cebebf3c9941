"""Get: one or many memories by id, and ids as short as they can be told apart."""

from collections.abc import Collection, Sequence
from typing import Final

from ..errors import InvalidInput, MemoryNotFound, NotFound
from ..model import Memory
from ..rules.ids import SHORTEST, shortest_start, start_of
from ..rules.limits import check_id
from .call import Call

_ALIKE: Final = 20
"""How many ids with the same start are looked at; beyond it, an id is shown whole."""


def get(call: Call, id: str) -> Memory:
    """The memory of an id, counted as a reading. Raises NotFound."""
    memory = find(call, id)
    call.space.note_access([memory.id], call.now())
    return memory


def find(call: Call, id: str, *, deleted: bool = False) -> Memory:
    """The memory of an id, without counting; `deleted` admits deleted and expired ones too.

    Raises NotFound, which reads the same whoever owns the id.
    """
    known = check_id(id)
    memory = call.space.get([known], deleted=deleted).get(known) if known else None
    if memory is None:
        raise not_found(id)
    return memory


def find_all(call: Call, ids: Sequence[str]) -> list[Memory]:
    """The memories of the ids, in their order, repeats once. Raises NotFound naming those that are unknown."""
    known = {id: check_id(id) for id in ids}
    found = call.space.get([k for k in known.values() if k])
    if missing := [id for id, k in known.items() if k not in found]:
        raise NotFound(f"No memory with id {', '.join(missing)}; search or list to find the right id.", ids=missing)
    return list({k: found[k] for k in known.values()}.values())


def short_ids(call: Call, ids: Sequence[str]) -> list[str]:
    """The shortest start of each id, of 8 digits or more, that no other memory of the user has."""
    if not ids:
        return []
    alike = call.space.completions([id[:SHORTEST] for id in ids], limit=_ALIKE)
    return [id if len(others) == _ALIKE else shortest_start(id, others) for id, others in zip(ids, alike, strict=True)]


def whole_ids(call: Call, given: Collection[str]) -> dict[str, str | InvalidInput]:
    """The memory's id for each given one that is only its start, as answers show it; all are looked up together.

    What several ids start with has the error that says so. Whole ids and unknown starts are left out.
    """
    starts = {text: start for text in given if not check_id(text) and (start := start_of(bare_id(text)))}
    if not starts:
        return {}
    distinct = list(dict.fromkeys(starts.values()))
    found = dict(zip(distinct, call.space.completions(distinct, limit=_ALIKE), strict=True))
    several = sorted({id for ids in found.values() if len(ids) > 1 for id in ids})
    memories = call.space.get(several, deleted=True) if several else {}
    whole: dict[str, str | InvalidInput] = {}
    for text, start in starts.items():
        ids = found[start]
        if len(ids) > 1:
            ids = [id for id in ids if id in memories and memories[id].source != "conversation"] or ids
        if len(ids) == 1:
            whole[text] = ids[0]
        elif ids:
            longer = ", ".join(shortest_start(id, ids) for id in ids)
            whole[text] = InvalidInput(f"the ids of {len(ids)} memories start with {start}: give one of {longer}.")
    return whole


def bare_id(text: str) -> str:
    """An id without the marks and the prefix that answers show it with."""
    return text.strip().strip("[]`").removeprefix("note-")


def not_found(id: str) -> NotFound:
    """The one sentence for an id that is unknown, deleted, expired or another user's."""
    return MemoryNotFound(f"No memory with id {id}; search or list to find the right id.", id=id)
