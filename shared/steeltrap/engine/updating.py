"""Updating: replace text and tags, merge metadata, keep what is omitted; one memory, many, or a whole scope's. Putting:
whole memories under ids of the caller's own, new or in place of what is stored there, all or nothing.

The image before stays in history, written in the same transaction.

    read the ids, deleted ones too -> compose -> embed what is found otherwise -> look around -> write
      again, if another write came in between

A program that keeps records of its own knows their ids, and not whether they are stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..changes.batch import version_conflict
from ..changes.images import check_place, entry, is_found_otherwise, overwritten, replaced, unchanged_text
from ..changes.images import edited as changed
from ..errors import AlreadyExists, InvalidInput, SteeltrapError, TooLarge, VersionConflict
from ..model import Draft, Edit, Memory
from ..model.frozen import frozen
from ..ports import Change, Create, Entry
from ..ranking import novelty
from ..text.limits import canonical, check_id, check_scope
from .call import Call
from .reading import find
from .saving import (
    MAX_CREATIONS,
    Batch,
    OnError,
    check_rollback_size,
    compose,
    embed_memories,
    look_around,
    with_surroundings,
)
from .secrets import redacted


def update(call: Call, id: str, edit: Edit, *, version: int | None = None) -> Memory:
    """The memory after the edit.

    With `version`, raises VersionConflict when the stored one is another; without it, the edit is applied to
    whatever is stored, again if a write came in between. Raises InvalidInput for an empty edit.
    """
    check_edit(edit)
    return call.change(
        lambda: find_version(call, id, version), lambda current: commit_edits(call, [(current, edit)])[0]
    )


def find_version(call: Call, id: str, version: int | None) -> Memory:
    """The memory of an id. Raises NotFound, and VersionConflict when it isn't at the version that the caller saw."""
    current = find(call, id)
    check_version(current, version)
    return current


def check_edit(edit: Edit) -> None:
    """Raises InvalidInput for an edit that changes nothing."""
    if edit.is_empty():
        raise InvalidInput("give what to change, besides the id; nothing was changed.")


def check_version(current: Memory, version: int | None) -> None:
    """Raises VersionConflict, with the stored version, when it isn't the one the caller saw."""
    if version is not None and version != current.version:
        raise version_conflict(current.id, current.version, version)


def commit_edits(call: Call, edits: list[tuple[Memory, Edit]]) -> list[Memory]:
    """Apply edits to the images they were read from, all or nothing. Raises VersionConflict if one has changed."""
    entries = prepare(call, edits)
    by = call.author()
    changes = [replaced(old, new, by) for (old, _), new in zip(edits, entries, strict=True)]
    call.commit(changes)
    return [new.memory for new in entries]


def prepare(call: Call, edits: list[tuple[Memory, Edit]]) -> list[Entry]:
    """The entries that the edits make: texts that changed embedded in one batch, links found again."""
    images = [edited(call, old, edit) for old, edit in edits]
    places = [i for i, (old, _) in enumerate(edits) if is_found_otherwise(old, images[i])]
    vectors = embed_memories(call, [images[i] for i in places])
    around = look_around(call, [images[i] for i in places], vectors)
    entries = [unchanged_text(image) for image in images]
    for i, embeddings, surroundings in zip(places, vectors, around, strict=True):
        if surroundings is None:
            pending = images[i].source != "conversation"
            entries[i] = entry(replace(images[i], lookaround_pending=pending), embeddings)
            continue
        manual = tuple(link for link in images[i].links if link.manual)
        manual_targets = {link.target_id for link in manual}
        automatic = tuple(link for link in novelty.links(surroundings) if link.target_id not in manual_targets)
        entries[i] = entry(replace(images[i], links=manual + automatic), embeddings)
    return entries


def edited(call: Call, old: Memory, edit: Edit) -> Memory:
    """The image after an edit, without the edit's secrets and checked, one version on."""
    return changed(old, redacted(call, edit), call.author(), short_term_ttl=call.rules.short_term_ttl)


MAX_UPDATES: Final = 100

NamedEdit = tuple[str, Edit]


def batch_update(call: Call, edits: Sequence[NamedEdit | InvalidInput], on_error: OnError) -> Batch:
    """Edit up to 100 memories; all or nothing (`rollback`) as many as the store can write so.

    An item that is no edit stands for one that could not be read, and why.
    """
    if len(edits) > MAX_UPDATES:
        raise TooLarge(f"{len(edits)} updates in one batch; at most {MAX_UPDATES}. Split the batch.")
    if on_error == "rollback":
        return _all_or_nothing(call, edits)
    memories: list[Memory] = []
    errors: dict[int, SteeltrapError] = {}
    for index, item in enumerate(edits):
        try:
            memories.append(update(call, *_readable(item)))
        except SteeltrapError as error:
            errors[index] = error
            if on_error == "stop":
                break
    return Batch(memories=memories, errors=errors)


def _readable(item: NamedEdit | InvalidInput) -> NamedEdit:
    if isinstance(item, InvalidInput):
        raise item
    return item


def _all_or_nothing(call: Call, edits: Sequence[NamedEdit | InvalidInput]) -> Batch:
    limit = call.space.atomic_updates
    if limit is not None and len(edits) > limit:
        raise TooLarge(
            f"{len(edits)} updates can't be written all or nothing, at most {limit}: use on_error='continue', or "
            "split the batch."
        )

    def write(outcome: tuple[list[tuple[Memory, Edit]], dict[int, SteeltrapError]]) -> Batch:
        images, errors = outcome
        if errors:
            return Batch(memories=[], errors=errors)
        check_rollback_size([edited(call, image, edit) for image, edit in images])
        return Batch(memories=commit_edits(call, images), errors={})

    return call.change(lambda: _read(call, edits), write)


def _read(
    call: Call, edits: Sequence[NamedEdit | InvalidInput]
) -> tuple[list[tuple[Memory, Edit]], dict[int, SteeltrapError]]:
    images: list[tuple[Memory, Edit]] = []
    errors: dict[int, SteeltrapError] = {}
    ids: set[str] = set()
    for index, item in enumerate(call.in_time(edits)):
        try:
            id, edit = _readable(item)
            check_edit(edit)
            if check_id(id) in ids:
                raise InvalidInput(f"memory {id} is edited twice in one batch; merge the two edits.")
            ids.add(check_id(id))
            image = find(call, id)
            edited(call, image, edit)
            images.append((image, edit))
        except SteeltrapError as error:
            errors[index] = error
    return images, errors


@frozen
class Moved:
    """The memories in their new scope, the scope that each was in by its id, and why each of the others stayed."""

    memories: list[Memory]
    sources: dict[str, str]
    failures: dict[str, SteeltrapError]


def move(call: Call, ids: Sequence[str], scope: str) -> Moved:
    """Automatic links are found again in the new scope; manual ones stay. What is there already is left alone."""
    scope = check_scope(scope)
    moved: dict[str, Memory] = {}
    sources: dict[str, str] = {}
    failures: dict[str, SteeltrapError] = {}
    for id in dict.fromkeys(ids):
        try:
            current = find(call, id)
            if current.id in moved:
                continue
            moved[current.id] = current if current.scope == scope else update(call, current.id, Edit(scope=scope))
            sources[current.id] = current.scope
        except SteeltrapError as error:
            failures[id] = error
    return Moved(memories=list(moved.values()), sources=sources, failures=failures)


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
        entries = _put_all(call, ids, items, memories)
        try:
            call.commit([_put_change(call, new, memories.get(new.memory.id)) for new in entries])
        except AlreadyExists as race:
            raise VersionConflict(race.message, id=race.id) from race
        return [new.memory for new in entries]

    return call.change(lambda: call.space.get(ids, deleted=True), write)


def _put_all(call: Call, ids: Sequence[str], items: Sequence[PutItem], memories: Mapping[str, Memory]) -> list[Entry]:
    images = [_put_image(call, id, item.draft, memories.get(id)) for id, item in zip(ids, items, strict=True)]
    check_rollback_size(images)
    places = [i for i, image in enumerate(images) if _needs_embedding(call, memories.get(image.id), image)]
    vectors = embed_memories(call, [images[i] for i in places])
    around = look_around(call, [images[i] for i in places], vectors)
    embedded = {
        i: entry(with_surroundings(call, images[i], items[i].draft, surroundings), embeddings)
        for i, embeddings, surroundings in zip(places, vectors, around, strict=True)
    }
    return [embedded.get(i) or unchanged_text(image) for i, image in enumerate(images)]


def _put_image(call: Call, id: str, draft: Draft, old: Memory | None) -> Memory:
    if old is not None and old.source != "user_memory":
        raise InvalidInput(f"{id} is the id of a message of a conversation; put under another one.")
    new = compose(call, draft, id=id)
    if old is None or not old.is_visible(call.now()):
        check_place(new)
    return new if old is None else overwritten(old, new, call.author())


def _needs_embedding(call: Call, old: Memory | None, new: Memory) -> bool:
    return old is None or not old.is_visible(call.now()) or is_found_otherwise(old, new)


def _put_change(call: Call, new: Entry, old: Memory | None) -> Change:
    return Create(entry=new) if old is None else replaced(old, new, call.author())
