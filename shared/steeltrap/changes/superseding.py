"""Superseding: a memory is saved in place of others, which are then shown only on request.

A memory names the one that superseded it, and that alone counts. The newer one also lists what it was saved in place
of, so that undoing its deletion knows what to hide again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..errors import Conflict, InvalidInput
from ..model import Author, Draft, Memory
from ..ports import Create, Replace
from .images import deletion, out_of_search, replaced, unchanged_text


def superseded_by(new: Memory, olds: Iterable[Memory], by: Author) -> list[Replace]:
    """The changes that mark what a new memory supersedes; none where an earlier call of the same key marked it.

    Raises Conflict for what another memory superseded, InvalidInput for the memory itself and for turns.
    """
    if new.id in new.supersedes:
        raise InvalidInput("a memory can't supersede itself: leave its own id out of `supersedes`.")
    changes = []
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
        if old.superseded_by is None:
            changes.append(supersede(old, new, by))
    return changes


def successor(old: Memory, content: str) -> Draft:
    """The draft of a memory that says something else in place of another."""
    return Draft(
        content=content,
        content_type=old.content_type,
        scope=old.scope,
        category=old.category,
        tags=old.tags,
        metadata=old.metadata,
        pinned=old.pinned,
        supersedes=(old.id,),
    )


def supersede(old: Memory, new: Memory, by: Author, at: datetime | None = None) -> Replace:
    """The change that hides a memory in favour of a newer one: written together, or at a time."""
    return _changed(old, by, at or new.updated_at, superseded_by=new.id, superseded_at=new.created_at)


def resupersede(restored: Memory, olds: Iterable[Memory], newer: Collection[str], by: Author) -> list[Replace]:
    """The changes that hide again what a memory superseded when it was deleted, unless something else did since.

    `newer` are the memories that superseded the restored one, in turn: they stay visible.
    """
    return [supersede(old, restored, by) for old in olds if old.superseded_by is None and old.id not in newer]


def deleted(current: Memory, olds: Sequence[Memory], by: Author) -> list[Replace]:
    """The changes that delete a memory and bring back what it superseded, at the same moment. The last one deletes."""
    change = deletion(replace(current, supersedes=tuple(old.id for old in olds)), by)
    at = change.entry.memory.updated_at
    return [*(_changed(old, by, at, superseded_by=None, superseded_at=None) for old in olds), change]


def merged(creation: Create, sources: Sequence[Memory], olds: Iterable[Memory], by: Author) -> list[Create | Replace]:
    """The changes that put a new memory in place of its sources, and of what they superseded."""
    ids = {source.id for source in sources}
    # One that another of them superseded must not stay hidden should it alone be brought back.
    free = [replace(s, superseded_by=None, superseded_at=None) if s.superseded_by in ids else s for s in sources]
    new = creation.entry.memory
    return [creation, *(deletion(source, by) for source in free), *(supersede(old, new, by) for old in olds)]


def changed_only_by(new: Memory, old: Memory) -> bool:
    """Whether the last change of `old` was only being superseded, or no longer superseded, by `new`."""
    return old.id in new.supersedes and old.updated_at == new.updated_at


def chain(memory: Memory, read: Callable[[str], Memory | None]) -> Iterator[str]:
    """The ids of the memories that superseded this one, the next newer first. A circle is followed once."""
    ids: set[str] = set()
    newer: Memory | None = memory
    while newer is not None and newer.superseded_by is not None and newer.superseded_by not in ids:
        yield newer.superseded_by
        ids.add(newer.superseded_by)
        newer = read(newer.superseded_by)


def without_cycles(
    memories: Sequence[Memory], successors: Mapping[str, Memory], read: Callable[[str], Memory | None]
) -> dict[str, Memory]:
    """Imported memories by id. Drops circles of superseding, and clears `superseded_by` where the newer memory is
    deleted here. The newer one may also come later in the import.

    `successors` are the stored memories that superseded the imported ones. `read` finds the next ones in a chain.
    """
    by_id = {memory.id: memory for memory in reversed(memories)}

    def image(id: str) -> Memory | None:
        return successors.get(id) or by_id.get(id) or read(id)

    fit: dict[str, Memory] = {}
    for memory in by_id.values():
        newer = successors.get(memory.superseded_by or "")
        if newer is not None and newer.deleted_at is not None:
            fit[memory.id] = replace(memory, superseded_by=None, superseded_at=None)
        elif memory.superseded_by is None or memory.id not in chain(memory, image):
            fit[memory.id] = memory
    return fit


def _changed(old: Memory, by: Author, at: datetime, **fields: Any) -> Replace:
    new = replace(
        old,
        **fields,
        version=old.version + 1,
        updated_at=max(at, old.updated_at),
        updated_by=by.agent_id,
        restored_version=None,
    )
    return replaced(old, unchanged_text(new) if new.deleted_at is None else out_of_search(new), by)
