"""Undo: bring back a deleted memory, or the image that the last update replaced."""

from typing import Final

from ..changes.images import before_last_change, entry, replaced, stepped_back, undeleted
from ..changes.superseding import chain, changed_only_by, resupersede
from ..errors import Conflict, NotFound, memory_not_found
from ..model import Filter, Memory
from ..ports import Replace
from ..text.matching import in_scopes
from .call import Call
from .deleting import delete_image
from .lookups import latest_writes, superseded
from .reading import find
from .saving import embed_memories
from .updating import check_version

_LOOKED_THROUGH: Final = 200


def undo(call: Call, id: str, *, saves: bool = False, version: int | None = None) -> Memory:
    """Undo the last change: the version before it becomes the new version. Called again, it goes back one more.

    Nothing is lost by it: the undone image joins the history. Undoing a superseded memory clears `superseded_by`.
    Undoing a save that superseded others deletes the new memory and restores the others; a second undo restores it.
    With `saves`, the same is done to every memory that was only saved. Raises NotFound, Conflict when the memory
    has never been changed, or VersionConflict when it no longer has the `version`.
    """
    current = find(call, id, deleted=True)
    check_version(current, version)
    if current.expires_at is not None and current.expires_at <= call.now():
        raise memory_not_found(current.id)
    by = call.author()
    if current.deleted_at is not None:
        if by.at - current.deleted_at >= call.rules.retention:
            raise memory_not_found(current.id)
        restored = undeleted(current, by)
        [embeddings] = embed_memories(call, [restored])
        change = Replace(entry=entry(restored, embeddings), expected=current.version)
        call.commit([change, *_superseded_again(call, restored)])
        return restored
    image = before_last_change(current, call.space.revisions(current.id))
    if image is None and (saves or superseded(call.space, [current.id])):
        return delete_image(call, current)
    if image is None:
        raise Conflict(f"Memory {current.id} has no earlier version to go back to.", id=current.id)
    restored = stepped_back(current, image, by)
    [embeddings] = embed_memories(call, [restored])
    call.commit([replaced(current, entry(restored, embeddings), by)])
    return restored


def _superseded_again(call: Call, restored: Memory) -> list[Replace]:
    if not restored.supersedes:
        return []
    newer = set(chain(restored, lambda id: call.space.get([id], deleted=True).get(id)))
    olds = call.space.get(restored.supersedes, deleted=True).values()
    return resupersede(restored, olds, newer, call.author())


def last_changed(call: Call) -> str:
    """The id of the memory whose last change is the latest that the calling agent made.

    Changes by other agents, and memories of other projects, don't count. Neither do automatically created episodes,
    because no agent saved them. Raises NotFound when none of the latest writes is the agent's.
    """
    mine = [memory for memory in latest_writes(call.space, _LOOKED_THROUGH) if _is_change_of(call, memory)]
    if not mine:
        raise NotFound("You changed nothing lately; give the id of the memory whose change to undo.")
    own = [old for old in mine if not any(changed_only_by(new, old) for new in mine)]
    return max(own, key=lambda memory: memory.updated_at).id


def _is_change_of(call: Call, memory: Memory) -> bool:
    by = memory.agent_id if memory.version == 1 else memory.updated_by
    is_here = in_scopes(Filter(project=call.caller.project), memory.scope)
    return by == call.caller.agent_id and is_here and not (memory.version == 1 and memory.is_episode)
