"""Delete: out of sight at once, kept for undo until the retention time; by id or by criteria.

Where nothing is kept, a delete erases as a forget does.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from ..errors import InvalidInput, NotFound, Unavailable, VersionConflict
from ..model import Filter, Memory, Tier
from ..model.frozen import frozen
from ..ports import Replace
from ..rules.limits import check_id
from ..rules.matching import admits
from . import superseding
from .call import Call
from .derived import erase
from .entry import out_of_search
from .get import find
from .update import check_version

_PAGE = 200


@frozen
class Criteria:
    """Which memories to delete; everything given must hold. Pinned ones are always spared."""

    tier: Tier | None = None
    older_than: datetime | None = None
    scope: str | None = None
    include_child_scopes: bool = False
    tags: tuple[str, ...] = ()
    agent_id: str | None = None
    untrusted: bool | None = None

    def is_empty(self) -> bool:
        return self == Criteria(include_child_scopes=self.include_child_scopes)

    def check(self, done: str) -> None:
        """Raise InvalidInput where there is none; `done` is what did not happen."""
        if self.is_empty():
            raise InvalidInput(
                "give at least one criterion (an id, ids, a tier, older_than, a scope, tags, written_by or untrusted); "
                f"nothing was {done}."
            )

    def filter(self) -> Filter:
        return Filter(
            tier=self.tier,
            created_before=self.older_than,
            scope=self.scope,
            include_child_scopes=self.include_child_scopes,
            tags=self.tags,
            agent_id=self.agent_id,
            untrusted=self.untrusted,
            # What was superseded would come back otherwise.
            include_superseded=True,
        )

    def of(self, memories: Iterable[Memory]) -> Iterator[Memory]:
        """Those for which they hold: turns, deleted and expired ones too."""
        filter = replace(self.filter(), include_turns=True)
        for memory in memories:
            if admits(filter, replace(memory, deleted_at=None, expires_at=None), memory.created_at):
                yield memory


@frozen
class Deleted:
    """The ids that were deleted; `more` says that time ran out before all were."""

    ids: list[str]
    more: bool = False


def delete(call: Call, id: str, *, version: int | None = None) -> Memory:
    """Delete one memory and answer its last image. Raises NotFound, or VersionConflict."""
    while True:
        current = find(call, id)
        check_version(current, version)
        try:
            return delete_image(call, current)
        except VersionConflict:
            # It, or what it superseded, was changed in between; a `version` is checked again.
            call.deadline.left()


def delete_all(call: Call, ids: Sequence[str]) -> Deleted:
    """Delete memories one by one. Unknown ones, and those that someone else just deleted, are left out."""
    known = [k for k in dict.fromkeys(check_id(id) for id in ids) if k]
    there = call.space.get(known)
    if not call.rules.retention:
        return Deleted(ids=erase(call, list(there)).ids if there else [])
    deleted: list[str] = []
    for id in there:
        try:
            deleted.append(delete(call, id).id)
        except NotFound:
            continue
        except Unavailable:
            if not deleted:
                raise
            return Deleted(ids=deleted, more=True)
    return Deleted(ids=deleted)


def delete_matching(call: Call, criteria: Criteria) -> Deleted:
    """Delete what the criteria name, one by one, and answer the ids. No criterion at all is refused."""
    criteria.check("deleted")
    deleted: list[str] = []
    spared = 0
    while page := call.space.page(criteria.filter(), limit=_PAGE, offset=spared).memories:
        doomed = [memory.id for memory in page if not memory.pinned]
        spared += len(page) - len(doomed)
        try:
            part = delete_all(call, doomed)
        except Unavailable:
            if not deleted:
                raise
            return Deleted(ids=deleted, more=True)
        deleted += part.ids
        if part.more:
            return Deleted(ids=deleted, more=True)
    return Deleted(ids=deleted)


def deletion(call: Call, current: Memory) -> Replace:
    """The change that puts an image out of sight and keeps it for undo."""
    now = max(call.now(), current.updated_at)
    gone = replace(
        current, deleted_at=now, updated_at=now, updated_by=call.caller.agent_id, version=current.version + 1
    )
    return Replace(entry=out_of_search(gone), expected=current.version)


def delete_image(call: Call, current: Memory) -> Memory:
    """Delete a memory that was just read, and bring back what it superseded. Raises VersionConflict."""
    if not call.rules.retention:
        erase(call, [current.id])
        return current
    olds = call.space.superseded([current.id])
    change = deletion(call, replace(current, supersedes=tuple(old.id for old in olds)))
    call.commit([*superseding.released(call, olds, change.entry.memory.updated_at), change])
    return change.entry.memory
