"""Putting: whole memories under ids of the caller's own, new or in place of what is stored there, all or nothing.

    read the ids, deleted ones too -> compose -> embed what is found otherwise -> look around -> write
      again, if another write came in between

A program that keeps records of its own knows their ids, and not whether they are stored. What a put replaces stays in
the history, so that undo brings it back.
"""

from collections.abc import Mapping, Sequence

from ..changes.images import entry, is_found_otherwise, overwritten, replaced, unchanged_text
from ..errors import AlreadyExists, InvalidInput, TooLarge, VersionConflict
from ..model import Draft, Memory
from ..model.frozen import frozen
from ..ports import Change, Create, Entry
from ..text.limits import canonical
from .call import Call
from .saving import MAX_CREATIONS, check_rollback_size, compose, embed_memories, look_around, with_surroundings


@frozen
class PutItem:
    """A memory to put, and the UUID that it is to have."""

    id: str
    draft: Draft


def put(call: Call, items: Sequence[PutItem]) -> list[Memory]:
    """The memories as they are stored now, in the order of the items.

    A deleted or expired memory of such an id is replaced by the new one, which begins now. Raises InvalidInput for an
    id that is no UUID or given twice, and for one of a message; TooLarge for more than can be written at once.
    """
    ids = [canonical(item.id) for item in items]
    if "" in ids:
        raise InvalidInput(f"`{items[ids.index('')].id[:64]}` is no UUID; give each memory one of your own.")
    if len(set(ids)) < len(ids):
        raise InvalidInput("An id is given twice; put each memory once.")
    limit = min(call.space.atomic_updates or MAX_CREATIONS, MAX_CREATIONS)
    if len(items) > limit:
        raise TooLarge(f"{len(items)} memories in one put; at most {limit}. Split it.")

    def write(memories: Mapping[str, Memory]) -> list[Memory]:
        entries = _entries(call, ids, items, memories)
        try:
            call.commit([_change(call, new, memories.get(new.memory.id)) for new in entries])
        except AlreadyExists as race:
            raise VersionConflict(race.message, id=race.id) from race
        return [new.memory for new in entries]

    return call.change(lambda: call.space.get(ids, deleted=True), write)


def _entries(call: Call, ids: Sequence[str], items: Sequence[PutItem], memories: Mapping[str, Memory]) -> list[Entry]:
    images = [_image(call, id, item.draft, memories.get(id)) for id, item in zip(ids, items, strict=True)]
    check_rollback_size(images)
    entries = [unchanged_text(image) for image in images]
    places = [i for i, image in enumerate(images) if _needs_embedding(call, memories.get(image.id), image)]
    vectors = embed_memories(call, [images[i] for i in places])
    around = look_around(call, [images[i] for i in places], vectors)
    for i, embeddings, surroundings in zip(places, vectors, around, strict=True):
        image = with_surroundings(call, images[i], items[i].draft, surroundings)
        entries[i] = entry(image, embeddings)
    return entries


def _image(call: Call, id: str, draft: Draft, old: Memory | None) -> Memory:
    if old is not None and old.source != "user_memory":
        raise InvalidInput(f"{id} is the id of a message of a conversation; put under another one.")
    new = compose(call, draft, id=id)
    return new if old is None else overwritten(old, new, call.author())


def _needs_embedding(call: Call, old: Memory | None, new: Memory) -> bool:
    return old is None or not old.is_visible(call.now()) or is_found_otherwise(old, new)


def _change(call: Call, new: Entry, old: Memory | None) -> Change:
    return Create(entry=new) if old is None else replaced(old, new, call.author())
