"""Links, found from both of their ends.

An image has its own links. So that they are found from the target too, each has a small item under the target's
key, which says that some image of the source, the current or an earlier one, may name it. It is written with the
image or before it, never after, and whoever reads it looks at the images: so it may be there in vain, and what is
linked is never missed.
"""

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from ....model import Association, Filter, Memory, Revision, from_micros, to_micros
from ....ports import Create, Replace
from ....text.limits import canonical
from ....text.matching import sees
from ....text.remains import named, without
from ..layout import keys
from ..layout.typed import Item, text
from ..reads.partition import Partition

Write = Create | Replace
_ANYTHING: Final = Filter()


def images(change: Write) -> list[Memory]:
    """The image that a change writes, and the earlier ones."""
    return [change.entry.memory, *(revision.memory for revision in _revisions(change))]


def targets(change: Write) -> set[str]:
    """The ids that a change's images name, by links and by superseding, in their one form."""
    return {target for image in images(change) for target in named(image)}


def hints(user: str, change: Write) -> dict[str, Item]:
    """The items by which a change's links are found from their targets, and what was superseded from the newer one."""
    source = change.entry.memory.id
    newer = {canonical(image.superseded_by or "") for image in images(change)} - {""}
    found = {keys.link(target, source) for target in targets(change) - newer}
    found |= {keys.superseded(by, source) for by in newer}
    return {key: {"u": user, "k": key} for key in sorted(found)}


def without_dangling(changes: Sequence[Write], there: Collection[str]) -> list[Write]:
    """The changes without what they name that is neither in `there` nor made by them.

    What a look-around or an image was read before may have been purged since, and no write may bring its id back.
    An import's links are kept (`Create.links_ahead`).
    """
    known = {*there, *(change.entry.memory.id for change in changes)}
    return [
        change if isinstance(change, Create) and change.links_ahead else _with_links_to(change, known)
        for change in changes
    ]


def sources(partition: Partition, target: str) -> set[str]:
    """The ids whose images may name a memory."""
    found = partition.under(keys.links_to(target), ProjectionExpression="k")
    return {keys.source_of(text(item, "k")) for item in found}


def superseded(partition: Partition, by: str) -> list[Memory]:
    """What a memory superseded, deleted and expired ones too."""
    found = partition.under(keys.superseded_by(by), ProjectionExpression="k")
    read = partition.memories({keys.source_of(text(item, "k")) for item in found}).values()
    return [memory for memory in read if canonical(memory.superseded_by or "") == by]


def associations(partition: Partition, ids: Sequence[str], now: int) -> dict[str, list[Association]]:
    """The links of each id from both sides, strongest first, then newest, then by id."""
    known = {id: canonical(id) for id in ids}
    pointing = partition.each(lambda id: sources(partition, id) if id else set(), known.values())
    pointed = dict(zip(known.values(), pointing, strict=True))
    read = partition.memories({*filter(None, known.values()), *(source for some in pointing for source in some)})
    ends = {canonical(link.target_id) for id in known.values() if id in read for link in read[id].links}
    read |= partition.memories(ends - read.keys() - {""})
    return {id: _associations(one, pointed[one], read, now) for id, one in known.items()}


def _associations(id: str, pointing: Iterable[str], read: dict[str, Memory], now: int) -> list[Association]:
    seen = [(canonical(link.target_id), link) for link in (read[id].links if id in read else ())]
    for source in pointing:
        if source in read:
            seen += [(source, link) for link in read[source].links if canonical(link.target_id) == id]
    at = from_micros(now)
    merged: dict[str, Association] = {}
    for other, link in seen:
        end = read.get(other)
        if end is None or not sees(_ANYTHING, end, at):
            continue
        known = merged.get(other, Association(memory_id=other, strength=link.strength, manual=False))
        merged[other] = Association(
            memory_id=other, strength=max(known.strength, link.strength), manual=known.manual or link.manual
        )
    return sorted(merged.values(), key=lambda a: (-a.strength, -to_micros(read[a.memory_id].created_at), a.memory_id))


def _revisions(change: Write) -> Sequence[Revision]:
    if isinstance(change, Create):
        return change.revisions
    return change.earlier if change.revision is None else (*change.earlier, change.revision)


def _with_links_to(change: Write, known: Collection[str]) -> Write:
    gone = targets(change) - set(known)
    if not gone:
        return change
    entry = dataclasses.replace(change.entry, memory=without(change.entry.memory, gone))
    revisions = tuple(dataclasses.replace(r, memory=without(r.memory, gone)) for r in _revisions(change))
    if isinstance(change, Create):
        return dataclasses.replace(change, entry=entry, revisions=revisions)
    if change.revision is None:
        return dataclasses.replace(change, entry=entry, earlier=revisions)
    return dataclasses.replace(change, entry=entry, earlier=revisions[:-1], revision=revisions[-1])


def earlier(change: Write) -> Sequence[Revision]:
    """The earlier images that a change keeps."""
    return _revisions(change)
