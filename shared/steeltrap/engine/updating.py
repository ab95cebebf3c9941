"""Updating: replace text and tags, merge metadata, keep what is omitted; one memory, many, or a whole scope's.

The image before stays in history, written in the same transaction.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any, Final

from ..changes.batch import version_conflict
from ..errors import Conflict, Duplicate, InvalidInput, SteeltrapError, TooLarge, VersionConflict
from ..model import Draft, Edit, Memory, Message, Revision, Tier
from ..model.frozen import frozen
from ..ports import Entry, Guard, Replace
from ..ranking import novelty
from ..text import limits
from ..text.limits import check_content, check_id, check_scope
from ..text.words import searchable_text, text_digest
from . import saving, superseding
from .call import Call
from .entries import embed_memories, entry, unchanged_text
from .reading import find
from .saving import Batch, OnError, check_rollback_size, look_around
from .secrets import redacted, redacted_text


def update(call: Call, id: str, edit: Edit, *, version: int | None = None) -> Memory:
    """The memory after the edit.

    With `version`, raises VersionConflict when the stored one is another; without it, the edit is applied to
    whatever is stored, again if a write came in between. Raises InvalidInput for an empty edit.
    """
    check_edit(edit)
    while True:
        current = find(call, id)
        check_version(current, version)
        try:
            return commit_edits(call, [(current, edit)])[0]
        except VersionConflict:
            if version is not None:
                raise
            call.deadline.left()


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
    now = call.now()
    changes = [
        Replace(
            entry=new,
            expected=old.version,
            history=(Revision(memory=old, replaced_at=now, replaced_by=call.caller.agent_id),),
        )
        for (old, _), new in zip(edits, entries, strict=True)
    ]
    call.commit(changes)
    return [new.memory for new in entries]


def prepare(call: Call, edits: list[tuple[Memory, Edit]]) -> list[Entry]:
    """The entries that the edits make: texts that changed embedded in one batch, links found again."""
    images = [edited(call, old, edit) for old, edit in edits]
    changed = [i for i, (old, _) in enumerate(edits) if _moves(old, images[i])]
    vectors = embed_memories(call, [images[i] for i in changed])
    around = look_around(call, [images[i] for i in changed], vectors)
    entries = [unchanged_text(image) for image in images]
    for i, embeddings, surroundings in zip(changed, vectors, around, strict=True):
        if surroundings is None:
            pending = images[i].source != "conversation"
            entries[i] = entry(replace(images[i], lookaround_pending=pending), embeddings)
            continue
        manual = tuple(link for link in images[i].links if link.manual)
        kept = {link.target_id for link in manual}
        found = tuple(link for link in novelty.links(surroundings) if link.target_id not in kept)
        entries[i] = entry(replace(images[i], links=manual + found), embeddings)
    return entries


def edited(call: Call, old: Memory, edit: Edit) -> Memory:
    """The image after an edit, without the edit's secrets and checked, one version on."""
    edit = redacted(call, edit)
    now = call.now()
    new: dict[str, Any] = {
        "updated_at": max(now, old.updated_at),
        "updated_by": call.caller.agent_id,
        "version": old.version + 1,
        "restored_version": None,
        # A new text is as trusted as who writes it; other changes make nothing more trusted.
        "untrusted": call.caller.permissions.untrusted or (old.untrusted and edit.content in (None, old.content)),
    }
    new |= _imported(call, old, edit)
    for name in _PLAIN:
        if (value := getattr(edit, name)) is not None:
            new[name] = value
    new |= dict.fromkeys(edit.clear)
    if edit.content is not None:
        limits.check_content(edit.content)
        if edit.content != old.content:
            new["messages"] = _messages_for(edit.content, old)
    if edit.tags is not None:
        new["tags"] = limits.check_tags(edit.tags)
    if edit.metadata is not None:
        merged = {**old.metadata, **edit.metadata}
        new["metadata"] = {key: value for key, value in merged.items() if value is not None}
        limits.check_metadata(new["metadata"])
    if edit.scope is not None:
        new["scope"] = limits.check_scope(edit.scope)
    if edit.tier is not None and edit.tier != old.tier:
        new["expires_at"] = _expiry_in(edit.tier, old, now + call.rules.short_term_ttl)
    if edit.ttl is not None:
        if edit.ttl < timedelta(0):
            raise InvalidInput("`ttl_seconds` must be 0 or more.")
        new["expires_at"] = now + edit.ttl
    if edit.add_link is not None:
        new["links"] = (edit.add_link, *(link for link in old.links if link.target_id != edit.add_link.target_id))
        limits.check_manual_links(new["links"])
    return replace(old, **new)


def _imported(call: Call, old: Memory, edit: Edit) -> dict[str, Any]:
    mark = {"imported_by": call.caller.agent_id, "imported_at": call.now()} if edit.imported else {}
    # Everything that an import's call changes is the import's.
    return mark | ({"import_id": call.import_id, "import_version": old.version + 1} if call.import_id else {})


def _messages_for(content: str, old: Memory) -> tuple[Message, ...]:
    """The messages beside a new text: a turn has one, which says the text; an episode loses its own.

    They would still be found and shown, though the new text replaces what they say. The history keeps them.
    """
    if old.source == "conversation":
        return tuple(replace(said, content=content) for said in old.messages)
    return ()


def _expiry_in(tier: Tier, old: Memory, short: datetime) -> datetime | None:
    """When a memory expires in its new tier: one that was given a time to live keeps it, unless it is to stay."""
    if tier == "long_term":
        return None
    if tier == "short_term":
        return short if old.expires_at is None else old.expires_at
    return None if old.tier == "short_term" else old.expires_at


CLEARABLE: Final = ("category", "context")
_CHECKED: Final = ("tags", "metadata", "scope")
_PLAIN: Final = tuple(f.name for f in fields(Edit) if f.name in Memory.__dataclass_fields__ and f.name not in _CHECKED)


def _moves(old: Memory, new: Memory) -> bool:
    """Whether what it is found by changed, or the scope."""
    if old.occurred_at != new.occurred_at or old.scope != new.scope:
        return True
    return searchable_text(old) != searchable_text(new)


def revise(call: Call, id: str, content: str) -> Memory:
    """The memory that supersedes another by a new text, with the other's scope, category and tags.

    Where that scope has the text already, the memory that says it takes the place. Raises NotFound, Conflict for what
    is superseded already or says this already.
    """
    content = redacted_text(call, "content", content)
    check_content(content)
    while True:
        old = find(call, id)
        if text_digest(content) == text_digest(old.content) and old.superseded_by is None:
            raise Conflict(f"Memory {old.id} says this already; nothing was changed.", id=old.id)
        draft = Draft(
            content=content,
            content_type=old.content_type,
            scope=old.scope,
            category=old.category,
            tags=old.tags,
            metadata=old.metadata,
            pinned=old.pinned,
            supersedes=(old.id,),
        )
        try:
            return saving.save(call, draft, Guard(same_text=True)).memory
        except Duplicate as duplicate:
            there = call.space.get([duplicate.id]).get(duplicate.id)
        try:
            if there is not None:
                call.commit([superseding.marked(call, old, there, call.now())])
                return there
        except VersionConflict:
            pass
        call.deadline.left()  # one of the two went or was changed in between


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
    written: list[Memory] = []
    errors: dict[int, SteeltrapError] = {}
    for index, item in enumerate(edits):
        try:
            written.append(update(call, *_readable(item)))
        except SteeltrapError as error:
            errors[index] = error
            if on_error == "stop":
                break
    return Batch(memories=written, errors=errors)


def _readable(item: NamedEdit | InvalidInput) -> NamedEdit:
    if isinstance(item, InvalidInput):
        raise item
    return item


def _all_or_nothing(call: Call, edits: Sequence[NamedEdit | InvalidInput]) -> Batch:
    most = call.space.atomic_updates
    if most is not None and len(edits) > most:
        raise TooLarge(
            f"{len(edits)} updates can't be written all or nothing, at most {most}: use on_error='continue', or "
            "split the batch."
        )
    while True:
        images, errors = _read(call, edits)
        if errors:
            return Batch(memories=[], errors=errors)
        check_rollback_size([edited(call, image, edit) for image, edit in images])
        try:
            return Batch(memories=commit_edits(call, images), errors={})
        except VersionConflict:
            call.deadline.left()


def _read(
    call: Call, edits: Sequence[NamedEdit | InvalidInput]
) -> tuple[list[tuple[Memory, Edit]], dict[int, SteeltrapError]]:
    images: list[tuple[Memory, Edit]] = []
    errors: dict[int, SteeltrapError] = {}
    seen: set[str] = set()
    for index, item in enumerate(call.in_time(edits)):
        try:
            id, edit = _readable(item)
            check_edit(edit)
            if check_id(id) in seen:
                raise InvalidInput(f"memory {id} is edited twice in one batch; merge the two edits.")
            seen.add(check_id(id))
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
