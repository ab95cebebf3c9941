"""Get: one or many memories by id."""

from collections.abc import Sequence

from ..errors import MemoryNotFound, NotFound
from ..model import Memory
from ..rules.limits import check_id
from .call import Call


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


def not_found(id: str) -> NotFound:
    """The one sentence for an id that is unknown, deleted, expired or another user's."""
    return MemoryNotFound(f"No memory with id {id}; search or list to find the right id.", id=id)
