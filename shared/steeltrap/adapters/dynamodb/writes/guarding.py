"""Checks before a write: a changed memory must exist in the expected version, a created one must not exist.

A guarded creation looks for duplicates, then writes in a transaction that increments the user's count of guarded
creations. If two looked at the same time, one transaction is cancelled and looks again.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from ....errors import AlreadyExists, Duplicate, MemoryNotFound, VersionConflict
from ....model import Filter, Surroundings, from_micros
from ....ports import Create, Entry, Probe, Replace
from ....text.matching import sees
from ....text.vectors import nearest
from ..client.transaction import Action
from ..layout import keys
from ..layout.tables import FOLD
from ..layout.typed import Item, number, text
from ..reads.partition import Partition

LookAround = Callable[[Probe, float], Surroundings]
_ANYTHING: Final = Filter()


def count_guarded_creation(read: Item | None) -> Action:
    """Increment the count of guarded creations, unless another one came first."""
    count = number(read, "guards") if read else 0
    if not count:
        return Action(keys.GUARD, "attribute_not_exists(#k)", set={"guards": 1})
    return Action(keys.GUARD, "#guards = :guards", {":guards": count}, set={"guards": count + 1})


def check(partition: Partition, writes: Sequence[Create | Replace], look_around: LookAround) -> None:
    """Raises Duplicate for the first guarded creation that has a duplicate, stored or before it in the commit."""
    before: list[Entry] = []
    marked = {w.entry.memory.id for w in writes if isinstance(w, Replace) and w.entry.memory.is_superseded()}
    for write in writes:
        guard = write.guard if isinstance(write, Create) else None
        if guard is not None and guard.same_text:
            _refuse_same_text(partition, write.entry, before, marked)
        if guard is not None and guard.threshold is not None:
            _refuse_near(write.entry, guard.threshold, before, look_around, marked)
        if sees(_ANYTHING, write.entry.memory, from_micros(partition.now())):
            before.append(write.entry)


def check_version(write: Replace, there: Item | None) -> None:
    """Raises MemoryNotFound, or VersionConflict when another version is there than the write expects."""
    id = write.entry.memory.id
    if there is None or "gone" in there:
        raise MemoryNotFound(f"No memory with id {id}; search or list to find the right id.", id=id)
    version = number(there, "version")
    if version != write.expected:
        raise VersionConflict(
            f"Memory {id} is at version {version}, not {write.expected}: read it again and repeat the change.",
            id=id,
            version=version,
        )


def already_exists(id: str) -> AlreadyExists:
    """The error for creating a memory whose id exists."""
    return AlreadyExists(f"A memory with id {id} already exists.", id=id)


def refuse_repeated(writes: Sequence[Create | Replace]) -> None:
    """Raises AlreadyExists or VersionConflict when a commit writes one memory twice."""
    seen: set[str] = set()
    for write in writes:
        id = write.entry.memory.id
        if id not in seen:
            seen.add(id)
            continue
        if isinstance(write, Create):
            raise already_exists(id)
        raise VersionConflict(
            f"Memory {id} is changed twice in one commit: read it again and repeat the change.",
            id=id,
            version=write.expected + 1,
        )


def copies(partition: Partition, fold: bytes) -> list[Item]:
    """Where visible memories and turns have a text, given by its digest."""
    values: Any = {":fold": fold.hex(), ":now": partition.now()}
    visible = "attribute_not_exists(expires_at) OR expires_at > :now"
    return list(partition.items("fold = :fold", values, IndexName=FOLD, FilterExpression=visible))


def _refuse_same_text(partition: Partition, entry: Entry, before: Sequence[Entry], marked: Collection[str]) -> None:
    there = [
        (item["created_at"], keys.id_of(text(item, "k")))
        for item in copies(partition, entry.fold)
        if item["scope"] == entry.memory.scope and text(item, "listed").startswith(keys.MEMORIES)
    ]
    ids = [id for _, id in sorted(there) if id not in marked]
    ids += [e.memory.id for e in before if e.fold == entry.fold and e.memory.scope == entry.memory.scope]
    if ids:
        raise Duplicate("The same text is already stored in this scope.", id=ids[0], same_text=True)


def _refuse_near(
    entry: Entry, threshold: float, before: Sequence[Entry], look_around: LookAround, marked: Collection[str]
) -> None:
    probe = Probe(embeddings=entry.embeddings or (), scope=entry.memory.scope, leave_out=entry.memory.id)
    near = [(n.cosine, n.id) for n in look_around(probe, threshold).near if n.id not in marked]
    for other in before:
        if other.memory.scope == entry.memory.scope and other.embeddings and entry.embeddings:
            cosine = max(nearest(vector, other.embeddings) for vector in entry.embeddings)
            near += [(cosine, other.memory.id)] if cosine >= threshold else []
    if near:
        cosine, id = max(near, key=lambda pair: pair[0])
        raise Duplicate(
            f"Duplicate content detected (similarity: {cosine:.2f} >= {threshold:g})",
            id=id,
            similarity=round(cosine, 4),
        )
