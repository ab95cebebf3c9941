"""One commit, checked against what is stored. A store reads what a batch asks for, and applies what is left of it.

    batch_of(changes) -> read the versions of `ids` and `looked_up` -> settle(batch, versions, duplicates) -> write

A purge takes the references to a memory out of every image of others, earlier ones too, and no write may bring one
back.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import Final, Protocol

from ..errors import AlreadyExists, Duplicate, VersionConflict, memory_not_found
from ..model import Filter, Memory, Neighbour, Revision
from ..model.frozen import frozen
from ..ports import Change, Close, Create, Entry, Guard, Replace
from ..text.matching import sees
from ..text.vectors import nearest
from .images import references, without_references

Write = Create | Replace
_CURRENT: Final = Filter()


def images(write: Write) -> list[Memory]:
    """The image that is written, and the earlier ones that are kept with it."""
    return [write.entry.memory, *(revision.memory for revision in write.history)]


def referenced(write: Write) -> set[str]:
    """The ids that the images of a write refer to."""
    return {id for image in images(write) for id in references(image)}


@frozen
class Batch:
    """The images that a commit writes, replacements first, and the turns that it closes.

    `looked_up` are the ids that must be stored, or in the batch, for a reference to them to stay. An import's may come
    later.
    """

    writes: tuple[Write, ...]
    closed: tuple[str, ...]
    looked_up: Set[str]

    @property
    def ids(self) -> list[str]:
        return [write.entry.memory.id for write in self.writes]

    @property
    def is_guarded(self) -> bool:
        """Whether it looks for duplicates before it writes."""
        return any(isinstance(write, Create) and write.guard for write in self.writes)


def batch_of(changes: Sequence[Change]) -> Batch:
    """The batch of these changes. Raises AlreadyExists or VersionConflict when it writes one memory twice."""
    writes = [change for change in changes if not isinstance(change, Close)]
    # Replacements go first: what they hide is no duplicate of what is created.
    writes.sort(key=lambda write: isinstance(write, Create))
    ids: set[str] = set()
    for write in writes:
        id = write.entry.memory.id
        if id in ids:
            raise already_exists(id) if isinstance(write, Create) else _changed_twice(write)
        ids.add(id)
    closed = dict.fromkeys(id for change in changes if isinstance(change, Close) for id in change.turn_ids)
    looked_up = {id for write in writes if not _links_ahead(write) for id in referenced(write)}
    return Batch(writes=tuple(writes), closed=tuple(closed), looked_up=looked_up)


class Duplicates(Protocol):
    """A store's search for the duplicates of a memory that a batch creates."""

    def same_text(self, entry: Entry) -> Iterable[str]:
        """The ids of the visible memories with the same normalised text in the same scope, oldest first."""
        ...

    def near(self, entry: Entry, floor: float, top_k: int) -> Iterable[Neighbour]:
        """The `top_k` nearest memories of the same scope with a cosine of at least `floor`, nearest first."""
        ...


def settle(
    batch: Batch,
    versions: Mapping[str, int],
    duplicates: Duplicates,
    now: datetime,
    *,
    written_ids: Collection[str] = (),
) -> tuple[Write, ...]:
    """The writes of a batch as they are applied, without references to what is gone.

    `versions` has every stored memory, deleted or not, that the batch writes or looks up. `written_ids` are those that
    an earlier attempt has written. Raises MemoryNotFound, VersionConflict, Duplicate, AlreadyExists.
    """
    writes = tuple(write for write in batch.writes if write.entry.memory.id not in written_ids)
    for write in writes:
        if isinstance(write, Replace):
            check_version(write, versions.get(write.entry.memory.id))
    if batch.is_guarded:
        _check_guards(writes, duplicates, now)
    for write in writes:
        if isinstance(write, Create) and write.entry.memory.id in versions:
            raise already_exists(write.entry.memory.id)
    purged = batch.looked_up - versions.keys() - set(batch.ids)
    return tuple(write if _links_ahead(write) else _without(write, purged) for write in writes) if purged else writes


def check_version(write: Replace, version: int | None) -> None:
    """Raises MemoryNotFound, or VersionConflict when another version is stored than the write expects."""
    id = write.entry.memory.id
    if version is None:
        raise memory_not_found(id)
    if version != write.expected:
        raise version_conflict(id, version, write.expected)


def version_conflict(id: str, version: int, expected: int) -> VersionConflict:
    """The error for a change of a version that is no longer stored."""
    return VersionConflict(
        f"Memory {id} is at version {version}, not {expected}: read it again and repeat the change.",
        id=id,
        version=version,
    )


def already_exists(id: str) -> AlreadyExists:
    """The error for creating a memory whose id exists."""
    return AlreadyExists(f"A memory with id {id} already exists.", id=id)


def _changed_twice(write: Replace) -> VersionConflict:
    id = write.entry.memory.id
    return VersionConflict(
        f"Memory {id} is changed twice in one commit: read it again and repeat the change.",
        id=id,
        version=write.expected + 1,
    )


def _check_guards(writes: Sequence[Write], duplicates: Duplicates, now: datetime) -> None:
    """Raises Duplicate for the first guarded creation that has a duplicate, stored or before it in the batch."""
    earlier: list[Entry] = []
    hidden_ids: set[str] = set()
    for write in writes:
        if isinstance(write, Create) and write.guard is not None:
            _check_guard(write.entry, write.guard, duplicates, earlier, hidden_ids)
        if sees(_CURRENT, write.entry.memory, now):
            earlier.append(write.entry)
        else:
            hidden_ids.add(write.entry.memory.id)


def _check_guard(
    entry: Entry, guard: Guard, duplicates: Duplicates, earlier: Sequence[Entry], hidden_ids: Collection[str]
) -> None:
    in_scope = [other for other in earlier if other.memory.scope == entry.memory.scope]
    if guard.same_text:
        ids = [id for id in duplicates.same_text(entry) if id not in hidden_ids]
        ids += [other.memory.id for other in in_scope if other.fold == entry.fold]
        if ids:
            raise Duplicate("The same text is already stored in this scope.", id=ids[0], same_text=True)
    if guard.threshold is not None:
        near = [n for n in duplicates.near(entry, guard.threshold, 1 + len(hidden_ids)) if n.id not in hidden_ids]
        near += [n for other in in_scope if (n := _near(entry, other)) and n.cosine >= guard.threshold]
        if near:
            closest = max(near, key=lambda neighbour: neighbour.cosine)
            raise Duplicate(
                f"Duplicate content detected (similarity: {closest.cosine:.2f} >= {guard.threshold:g})",
                id=closest.id,
                similarity=round(closest.cosine, 4),
            )


def _near(entry: Entry, other: Entry) -> Neighbour | None:
    if not entry.embeddings or not other.embeddings:
        return None
    cosine = max(nearest(vector, other.embeddings) for vector in entry.embeddings)
    return Neighbour(id=other.memory.id, cosine=cosine)


def _links_ahead(write: Write) -> bool:
    return isinstance(write, Create) and write.links_ahead


def _without(write: Write, purged: Collection[str]) -> Write:
    if referenced(write).isdisjoint(purged):
        return write
    entry = replace(write.entry, memory=without_references(write.entry.memory, purged))
    return replace(write, entry=entry, history=tuple(_cut(revision, purged) for revision in write.history))


def _cut(revision: Revision, purged: Collection[str]) -> Revision:
    return replace(revision, memory=without_references(revision.memory, purged))
