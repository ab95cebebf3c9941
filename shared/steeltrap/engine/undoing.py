"""Undo: bring back a deleted memory, or the image that the last update replaced."""

from dataclasses import replace
from typing import Final

from ..errors import Conflict, NotFound, memory_not_found
from ..model import Filter, Memory, Revision
from ..ports import Replace
from ..text.matching import in_scopes
from . import superseding
from .call import Call
from .deleting import delete_image
from .entries import embed_memories, entry
from .reading import find
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
    step = _undelete(call, current) if current.deleted_at else _step_back(call, current, saves=saves)
    if step is None:
        return delete_image(call, current)
    restored, revision = step
    [embeddings] = embed_memories(call, [restored])
    change = Replace(
        entry=entry(restored, embeddings), expected=current.version, history=(revision,) if revision else ()
    )
    call.commit([change, *(superseding.marks_again(call, restored) if current.deleted_at else ())])
    return restored


def last_changed(call: Call) -> str:
    """The id of the memory whose last change is the latest that the calling agent made.

    Changes by other agents, and memories of other projects, don't count. Neither do automatically created episodes,
    because no agent saved them. Raises NotFound when none of the latest writes is the agent's.
    """
    mine = [memory for memory in call.space.latest_writes(_LOOKED_THROUGH) if _is_change_of(call, memory)]
    if not mine:
        raise NotFound("You changed nothing lately; give the id of the memory whose change to undo.")
    own = [old for old in mine if not any(superseding.is_by_the_way(old, new) for new in mine)]
    return max(own, key=lambda memory: memory.updated_at).id


def _is_change_of(call: Call, memory: Memory) -> bool:
    by = memory.agent_id if memory.version == 1 else memory.updated_by
    is_here = in_scopes(Filter(project=call.caller.project), memory.scope)
    return by == call.caller.agent_id and is_here and not (memory.version == 1 and memory.is_episode)


def _undelete(call: Call, current: Memory) -> tuple[Memory, None]:
    assert current.deleted_at is not None
    now = call.now()
    if now - current.deleted_at >= call.rules.retention:
        raise memory_not_found(current.id)
    restored = replace(
        current,
        deleted_at=None,
        updated_at=max(now, current.updated_at),
        updated_by=call.caller.agent_id,
        version=current.version + 1,
    )
    return restored, None


def _step_back(call: Call, current: Memory, *, saves: bool) -> tuple[Memory, Revision] | None:
    """The image before, or None where the last change was to be saved: with `saves`, or in the place of others."""
    reached = current.restored_version or current.version
    earlier = [r.memory for r in call.space.revisions(current.id) if r.memory.version < reached]
    if not earlier and (saves or call.space.superseded([current.id])):
        return None
    if not earlier:
        raise Conflict(f"Memory {current.id} has no earlier version to go back to.", id=current.id)
    image = max(earlier, key=lambda memory: memory.version)
    now = max(call.now(), current.updated_at)
    restored = replace(
        image,
        version=current.version + 1,
        updated_at=now,
        updated_by=call.caller.agent_id,
        restored_version=image.restored_version or image.version,
        # Going back may lift what superseded it, but never makes anything superseded: the newer one may be gone.
        superseded_by=current.superseded_by if image.superseded_by else None,
        superseded_at=current.superseded_at if image.superseded_by else None,
    )
    return restored, Revision(memory=current, replaced_at=now, replaced_by=call.caller.agent_id)
