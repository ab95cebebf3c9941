"""Forgetting for good: a tombstone in the memory's place at once, then all that hangs on it, then the links to it.

What the memory superseded comes back in the transaction that puts the tombstone there. A purge that was cut short is
finished by the next one: the tombstone remembers until the end that there is work, and which links it had.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...changes.images import references, without_references
from ...errors import Unavailable
from ...model import Memory
from ...ports import TOMBSTONE_SECONDS
from ...record import from_image
from ...text.limits import canonical
from . import items, keys, listing, usage, users
from .client import Action, Cancelled, groups, run
from .items import Item, number, text
from .partition import Partition

_READ = ("k", "w", "made", "gone", "rest", "image", "image_at", "speaker")
_ATTEMPTS = 20


def purge(partition: Partition, ids: Sequence[str]) -> list[str]:
    """Remove memories and everything that belongs to them; return the ids that existed."""
    canonical_ids = list(dict.fromkeys(id for id in map(canonical, ids) if id))
    if not canonical_ids or not users.count_purge(partition):
        return []
    removed_items = {id: item for id in canonical_ids if (item := _replace_by_tombstone(partition, id))}
    # Counted again: a commit that saw one of them before its tombstone must retry, because links are looked up once.
    user = users.count_purge(partition)
    usage.update_speakers_after_purge(partition, user, removed_items.values())
    for id in canonical_ids:
        clear(partition, id)
    return list(removed_items)


def traces(partition: Partition, id: str) -> list[str]:
    """Where an id is still found, apart from its tombstone and texts that a user wrote."""
    canonical_id = canonical(id)
    if not canonical_id:
        return []
    stored_items = partition.tables.get(partition.key, [keys.memory(canonical_id)], ("k", "gone"), partition.deadline)
    remnants = ["memory"] if stored_items and "gone" not in stored_items[keys.memory(canonical_id)] else []
    for name, prefix in (("pieces", keys.parts(canonical_id)), ("earlier images", keys.revisions(canonical_id))):
        if any(True for _ in partition.under(prefix, ProjectionExpression="k")):
            remnants.append(name)
    naming = listing.sources(partition, [keys.links_to(canonical_id)])
    images = partition.memories(naming).values()
    if any(canonical_id in references(image) for image in images):
        remnants.append("links of images")
    if any(canonical_id in references(r.memory) for source in naming for r in listing.revisions(partition, source)):
        remnants.append("links of earlier images")
    return remnants


def _replace_by_tombstone(partition: Partition, id: str) -> Item | None:
    """Put a tombstone in a memory's place; the item that was there, or None where there was none."""
    key = keys.memory(id)
    for _ in range(_ATTEMPTS):
        item = partition.tables.get(partition.key, [key], _READ, partition.deadline).get(key)
        if item is None or "gone" in item:
            return None
        [image] = partition.contents([item], "image")
        w = partition.stamp(number(item, "w"))
        ttl = partition.now() // 1_000_000 + TOMBSTONE_SECONDS
        stone = items.tombstone(partition.key, id, w=w, created=number(item, "made"), ttl=ttl)
        stone["rest"] = frozenset({"", *(references(from_image(image)) if image else ())})
        burial = Action.on(item, put=stone, own=True)
        with suppress(Cancelled):
            _write(partition, _cuts(partition, id, _superseded(partition, id)), burial)
            return item
    raise _busy()


def _superseded(partition: Partition, by: str) -> list[Item]:
    """The items of what a memory may have superseded."""
    olds = map(keys.memory, listing.sources(partition, [keys.superseded_by(by)]))
    return list(partition.tables.get(partition.key, olds, (), partition.deadline).values())


def clear(partition: Partition, id: str) -> None:
    """Remove what hangs on a memory that is gone, and the links that name it.

    A tombstone with work left admits no memory in its place. So what was listed before such a tombstone was read isn't
    a new memory's.
    """
    key = keys.memory(id)
    replaced = list(partition.under(keys.revisions(id)))
    hanging = [text(item, "k") for item in partition.under(keys.parts(id), ProjectionExpression="k")]
    hanging += [text(item, "k") for item in replaced]
    stone = partition.tables.get(partition.key, [key], _READ, partition.deadline).get(key)
    if stone is not None and "gone" not in stone:
        return
    rest = stone.get("rest") if stone else None
    if stone is None:
        hanging.clear()  # nothing keeps a new memory out, whose pieces they may be
    elif rest is None and hanging:
        # A writer that was refused left it after the purge had ended: there is work again, and nobody saves meanwhile.
        again: Item = {"rest": frozenset({""}), "w": partition.stamp(number(stone, "w"))}
        with suppress(Cancelled):
            run(partition.tables, partition.key, [Action.on(stone, set=again, own=True)], partition.deadline)
        clear(partition, id)
        return
    targets = set(rest) - {""} if isinstance(rest, frozenset) else set()
    images = partition.contents(replaced, "image")
    targets |= {target for image in images if image for target in references(from_image(image))}
    hanging += [key for target in targets for key in (keys.link(target, id), keys.superseded(target, id))]
    naming = listing.sources(partition, [keys.links_to(id)])
    for source in naming:
        _remove_names(partition, source, id)
    hanging += [key for source in naming for key in (keys.link(id, source), keys.superseded(id, source))]
    partition.tables.delete_all(partition.key, hanging, partition.deadline)
    partition.tables.delete_usage(partition.key, [id], partition.deadline)
    if stone is not None and rest is not None:
        with suppress(Cancelled):
            run(partition.tables, partition.key, [Action.on(stone, remove=["rest"])], partition.deadline)


def _remove_names(partition: Partition, source: str, removed_id: str) -> None:
    """Take a memory's name out of another one's images."""
    for item in partition.under(keys.revisions(source)):
        _write(partition, _cuts(partition, removed_id, [item]))
    for _ in range(_ATTEMPTS):
        key = keys.memory(source)
        item = partition.tables.get(partition.key, [key], (), partition.deadline).get(key)  # type: ignore[assignment]
        if item is None or "gone" in item:
            return
        with suppress(Cancelled):
            _write(partition, _cuts(partition, removed_id, [item]))
            return
    raise _busy()


@dataclass(frozen=True, slots=True)
class _Cut:
    """An image without the name of a memory, its pieces, and those of the image that it replaces."""

    action: Action
    pieces: list[Item]
    replaced: list[str]


def _cuts(partition: Partition, removed_id: str, rows: Sequence[Item]) -> list[_Cut]:
    """How to take a memory's name out of the images that have it."""
    images = partition.contents(rows, "image")
    pairs = [(item, from_image(image)) for item, image in zip(rows, images, strict=True) if image is not None]
    return [_cut(partition, item, memory, removed_id) for item, memory in pairs if removed_id in references(memory)]


def _cut(partition: Partition, item: Item, memory: Memory, removed_id: str) -> _Cut:
    freed = without_references(memory, {removed_id})
    attributes, pieces = items.with_image(item, freed)
    obsolete_names = [name for name in ("image", "image_at") if name not in attributes]
    if "w" in item:
        attributes["w"] = partition.stamp(number(item, "w"))
        if freed.is_current() and not memory.is_current():
            more, removed_names = items.brought_back(freed)
            attributes |= more
            obsolete_names += removed_names
        action = Action.on(item, set=attributes, remove=obsolete_names, own=True)
    else:
        action = Action(text(item, "k"), "attribute_exists(#k)", set=attributes, remove=obsolete_names)
    return _Cut(action, pieces, items.pieces_of(item, "image"))


def _write(partition: Partition, cuts: Sequence[_Cut], *more: Action) -> None:
    """Write cuts, and more in the last transaction. Raises Cancelled when something changed meanwhile."""
    pieces = [piece for cut in cuts for piece in cut.pieces]
    partition.tables.put_all(pieces, partition.deadline)
    written_keys: set[str] = set()
    try:
        for group in groups([*(cut.action for cut in cuts), *more]):
            run(partition.tables, partition.key, group, partition.deadline)
            written_keys |= {action.key for action in group}
    except Cancelled:
        unused = [text(piece, "k") for cut in cuts if cut.action.key not in written_keys for piece in cut.pieces]
        partition.tables.delete_all(partition.key, unused, partition.deadline)
        raise
    partition.tables.delete_all(partition.key, [key for cut in cuts for key in cut.replaced], partition.deadline)


def _busy() -> Unavailable:
    return Unavailable("Other writes kept coming first; try again.", part="store")
