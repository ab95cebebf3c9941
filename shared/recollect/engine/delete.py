"""Delete: out of sight at once, kept for undo until the retention time; by id or by criteria."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ..errors import Conflict, InvalidInput
from ..model import Filter, Memory, Tier
from ..ports import Replace
from .call import Call
from .entry import out_of_search
from .get import find
from .limits import check_id
from .update import check_version

_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Which memories to delete; everything given must hold. Pinned ones are always spared."""

    tier: Tier | None = None
    older_than: datetime | None = None
    scope: str | None = None
    include_child_scopes: bool = False
    tags: tuple[str, ...] = ()

    def is_empty(self) -> bool:
        return self == Criteria(include_child_scopes=self.include_child_scopes)


def delete(call: Call, id: str, *, version: int | None = None) -> Memory:
    """Delete one memory and answer its last image. Raises NotFound, or Conflict on another version."""
    while True:
        current = find(call, id)
        check_version(current, version)
        try:
            return _delete_image(call, current)
        except Conflict:
            if version is not None:
                raise
            call.deadline.left()


def delete_all(call: Call, ids: Sequence[str]) -> list[str]:
    """Delete memories one by one; the ids that were there. Unknown ones are left out."""
    known = [k for k in dict.fromkeys(check_id(id) for id in ids) if k]
    there = call.space.get(known)
    if not call.rules.retention:
        return call.space.purge(list(there), timeout=call.deadline.left())
    return [delete(call, id).id for id in known if id in there]


def delete_matching(call: Call, criteria: Criteria) -> list[str]:
    """Delete what the criteria name, one by one, and answer the ids. No criterion at all is refused."""
    if criteria.is_empty():
        raise InvalidInput(
            "give at least one criterion (an id, ids, a tier, older_than, a scope or tags); nothing was deleted."
        )
    filter = Filter(
        tier=criteria.tier,
        created_before=criteria.older_than,
        scope=criteria.scope,
        include_child_scopes=criteria.include_child_scopes,
        tags=criteria.tags,
    )
    deleted: list[str] = []
    spared = 0
    while True:
        page = call.space.page(filter, limit=_PAGE, offset=spared)
        if not page.memories:
            return deleted
        doomed = [memory.id for memory in page.memories if not memory.pinned]
        spared += len(page.memories) - len(doomed)
        deleted.extend(delete_all(call, doomed))


def _delete_image(call: Call, current: Memory) -> Memory:
    if not call.rules.retention:
        call.space.purge([current.id], timeout=call.deadline.left())
        return current
    now = max(call.now(), current.updated_at)
    gone = replace(current, deleted_at=now, updated_at=now, version=current.version + 1, restored_version=None)
    change = Replace(entry=out_of_search(gone), expected=current.version)
    call.space.commit([change], timeout=call.deadline.left())
    return gone
