"""Superseding: a memory is saved in the place of others, which are then shown only on request.

A memory says by which one it is superseded, and that alone counts. The newer one also lists what it was saved in place
of, so that undoing its deletion knows what to take out of sight again.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..errors import Conflict, InvalidInput
from ..model import Memory, Revision
from ..ports import Replace
from .call import Call
from .entries import out_of_search, unchanged_text
from .reading import find_all
from .successors import chain

if TYPE_CHECKING:
    pass


def marks(call: Call, new: Memory) -> list[Replace]:
    """The changes that mark what a new memory supersedes; none where an earlier call of the same key marked it.

    Raises NotFound for ids that are unknown or deleted, Conflict for what is superseded already, InvalidInput for the
    memory itself and for what was said in a conversation.
    """
    if new.id in new.supersedes:
        raise InvalidInput("a memory can't supersede itself: leave its own id out of `supersedes`.")
    olds = find_all(call, new.supersedes) if new.supersedes else []
    for old in olds:
        if old.source == "conversation":
            raise InvalidInput(f"{old.id} was said in a conversation, and can't be superseded: give ids of memories.")
        if old.superseded_by not in (None, new.id):
            raise Conflict(
                f"Memory {old.id} is superseded by {old.superseded_by} already: supersede that one, or undo "
                "this one first.",
                id=old.id,
                superseded_by=old.superseded_by,
            )
    return [marked(call, old, new) for old in olds if old.superseded_by is None]


def marked(call: Call, old: Memory, new: Memory, at: datetime | None = None) -> Replace:
    """The change that takes a memory out of sight, in favour of a newer one: written together, or at a time."""
    return _changed(call, old, at or new.updated_at, superseded_by=new.id, superseded_at=new.created_at)


def marks_again(call: Call, restored: Memory) -> list[Replace]:
    """The changes that mark what a memory superseded when it was deleted, as far as nothing else has since."""
    if not restored.supersedes:
        return []
    newer = set(chain(restored, lambda id: call.space.get([id], deleted=True).get(id)))
    olds = call.space.get(restored.supersedes, deleted=True).values()
    return [marked(call, old, restored) for old in olds if old.superseded_by is None and old.id not in newer]


def released(call: Call, olds: Sequence[Memory], at: datetime) -> list[Replace]:
    """The changes that bring superseded memories back, at the time when the newer one goes."""
    return [_changed(call, old, at, superseded_by=None, superseded_at=None) for old in olds]


def is_by_the_way(old: Memory, new: Memory) -> bool:
    """Whether the last change of `old` was only being superseded, or no longer superseded, by `new`."""
    return old.id in new.supersedes and old.updated_at == new.updated_at


def fitting(call: Call, given: Sequence[Memory]) -> dict[str, Memory]:
    """Imported memories by id. Drops circles of superseding, and clears `superseded_by` where the newer memory is
    deleted here. The newer one may also come later in the import.
    """
    by_id = {memory.id: memory for memory in reversed(given)}
    read = call.space.get(sorted({memory.superseded_by for memory in given if memory.superseded_by}), deleted=True)

    def known(id: str) -> Memory | None:
        if id not in read and id in by_id:
            return by_id[id]
        return read[id] if id in read else call.space.get([id], deleted=True).get(id)

    fit: dict[str, Memory] = {}
    for memory in by_id.values():
        newer = read.get(memory.superseded_by or "")
        if newer is not None and newer.deleted_at is not None:
            fit[memory.id] = replace(memory, superseded_by=None, superseded_at=None)
        elif memory.superseded_by is None or memory.id not in chain(memory, known):
            fit[memory.id] = memory
    return fit


def _changed(call: Call, old: Memory, at: datetime, **fields: Any) -> Replace:
    now = max(at, old.updated_at)
    new = replace(
        old,
        **fields,
        version=old.version + 1,
        updated_at=now,
        updated_by=call.caller.agent_id,
        restored_version=None,
    )
    return Replace(
        entry=unchanged_text(new) if new.deleted_at is None else out_of_search(new),
        expected=old.version,
        history=(Revision(memory=old, replaced_at=now, replaced_by=call.caller.agent_id),),
    )
