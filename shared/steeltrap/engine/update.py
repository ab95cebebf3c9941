"""Update: replace text and tags, merge metadata, keep what is omitted, one transaction with the old image."""

from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any, Final

from ..errors import InvalidInput, VersionConflict
from ..model import Edit, Memory, Message, Revision, Tier
from ..ports import Entry, Replace
from ..rules import limits, novelty
from ..rules.indexed_words import searchable_text
from .call import Call
from .entry import embed_memories, entry, unchanged_text
from .get import find
from .redact import redacted
from .save import look_around


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
        raise VersionConflict(
            f"Memory {current.id} is at version {current.version}, not {version}: read it again and repeat the change.",
            id=current.id,
            version=current.version,
        )


def commit_edits(call: Call, edits: list[tuple[Memory, Edit]]) -> list[Memory]:
    """Apply edits to the images they were read from, all or nothing. Raises VersionConflict if one has changed."""
    entries = prepare(call, edits)
    now = call.now()
    changes = [
        Replace(
            entry=new,
            expected=old.version,
            revision=Revision(memory=old, replaced_at=now, replaced_by=call.caller.agent_id),
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
