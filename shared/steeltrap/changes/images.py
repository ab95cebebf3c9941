"""From an image to the next one: create, edit, delete, bring back, step back; and the search data of each.

The image that an update replaces stays in the history. A delete keeps the image in its place, out of every search, so
that it can be brought back.
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import fields, replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Final

from ..errors import InvalidInput
from ..model import Author, Draft, Edit, Embedding, Memory, Message, Revision, Tier, later
from ..ports import Entry, Replace
from ..text import limits
from ..text.file_paths import file_scope
from ..text.limits import PATH
from ..text.sentences import speaker_label
from ..text.words import indexed_words, searchable_text, speaker_of, text_digest

_DRAFTED: Final = tuple(
    f.name for f in fields(Draft) if f.name in Memory.__dataclass_fields__ and f.name != "expires_at"
)
CLEARABLE: Final = ("category", "context")
_CHECKED: Final = ("tags", "metadata", "scope")
_PLAIN: Final = tuple(f.name for f in fields(Edit) if f.name in Memory.__dataclass_fields__ and f.name not in _CHECKED)


def created(draft: Draft, id: str, by: Author, *, short_term_ttl: timedelta) -> Memory:
    """The memory that a draft becomes, without surprise and links. Raises InvalidInput, TooLarge."""
    limits.check_content(draft.content, draft.max_bytes)
    limits.check_messages(draft.messages)
    limits.check_metadata(draft.metadata)
    ttl = short_term_ttl if draft.ttl is None and draft.tier == "short_term" else draft.ttl
    values = {name: getattr(draft, name) for name in _DRAFTED}
    values |= {
        "tags": limits.check_tags(draft.tags),
        "scope": limits.check_scope(draft.scope),
        "supersedes": limits.check_superseded(draft.supersedes),
        "untrusted": draft.untrusted or by.is_untrusted,
        "conversation_id": draft.conversation_id or None,
    }
    return Memory(
        **values,
        id=id,
        agent_id=by.agent_id,
        created_at=by.at,
        updated_at=by.at,
        import_id=by.import_id,
        import_version=1 if by.import_id else None,
        expires_at=draft.expires_at or _expiry(by.at, ttl),
    )


def _expiry(now: datetime, ttl: timedelta | None) -> datetime | None:
    if ttl is None:
        return None
    if ttl < timedelta(0):
        raise InvalidInput("`ttl_seconds` must be 0 or more.")
    try:
        return now + ttl
    except OverflowError:
        return None  # further off than dates reach: never


def edited(old: Memory, edit: Edit, by: Author, *, short_term_ttl: timedelta) -> Memory:
    """The image after an edit, one version on. Raises InvalidInput, TooLarge."""
    new: dict[str, Any] = {
        **_next_version(old, by),
        "restored_version": None,
        # A new text is as trusted as who writes it; other changes make nothing more trusted.
        "untrusted": by.is_untrusted or (old.untrusted and edit.content in (None, old.content)),
    }
    new |= _imported(old, edit, by)
    for name in _PLAIN:
        if (value := getattr(edit, name)) is not None:
            new[name] = value
    new |= dict.fromkeys(edit.clear)
    if edit.content is not None:
        limits.check_content(edit.content, edit.max_bytes)
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
        new["expires_at"] = _expiry_in(edit.tier, old, later(by.at, short_term_ttl))
    if edit.ttl is not None:
        new["expires_at"] = _expiry(by.at, edit.ttl)
    if edit.add_link is not None:
        new["links"] = (edit.add_link, *(link for link in old.links if link.target_id != edit.add_link.target_id))
        limits.check_manual_links(new["links"])
    image = replace(old, **new)
    if image.scope != old.scope or edit.metadata is not None:
        _check_path(old, image)
    return image


def check_place(new: Memory) -> None:
    """Raises InvalidInput for a new file in another scope than its path's, in which no directory lists it."""
    if limits.is_file(new) and new.scope != file_scope(new.metadata[PATH]):
        path = new.metadata[PATH]
        raise InvalidInput(
            f"{new.id} is the id of the file {path}, whose scope is {file_scope(path)}: create it with `memory` of the "
            "toolset `files`, command `create`."
        )


def _check_path(old: Memory, new: Memory) -> None:
    """Raises InvalidInput where a file would be at another path than its own, in which no directory lists it."""
    if limits.is_file(old) and not (limits.is_file(new) and new.scope in (old.scope, file_scope(new.metadata[PATH]))):
        path = old.metadata[PATH]
        raise InvalidInput(
            f"Memory {old.id} is the file {path}, so its scope and its metadata `path` can't be changed here: move it "
            "with `memory` of the toolset `files`, command `rename`; to change its text alone, leave both as they are."
        )


def _imported(old: Memory, edit: Edit, by: Author) -> dict[str, Any]:
    mark = {"imported_by": by.agent_id, "imported_at": by.at} if edit.imported else {}
    # Everything that an import's call changes is the import's.
    return mark | ({"import_id": by.import_id, "import_version": old.version + 1} if by.import_id else {})


def _messages_for(content: str, old: Memory) -> tuple[Message, ...]:
    """The messages beside a new text: a turn has one, which says the text; an episode loses its own.

    They would still be found and shown, though the new text replaces what they say. The history keeps them.
    """
    if old.source == "conversation":
        return tuple(replace(message, content=content) for message in old.messages)
    return ()


def _expiry_in(tier: Tier, old: Memory, short: datetime) -> datetime | None:
    """When a memory expires in its new tier: one that was given a time to live keeps it, unless it is to stay."""
    if tier == "long_term":
        return None
    if tier == "short_term":
        return short if old.expires_at is None else old.expires_at
    return None if old.tier == "short_term" else old.expires_at


def is_found_otherwise(old: Memory, new: Memory) -> bool:
    """Whether the words, the day or the scope changed, so that its search data and its links do too."""
    if old.occurred_at != new.occurred_at or old.scope != new.scope:
        return True
    return searchable_text(old) != searchable_text(new)


def deletion(current: Memory, by: Author) -> Replace:
    """The change that hides an image and keeps it in its place."""
    deleted = replace(current, **_next_version(current, by))
    return Replace(entry=out_of_search(replace(deleted, deleted_at=deleted.updated_at)), expected=current.version)


def undeleted(deleted: Memory, by: Author) -> Memory:
    """A deleted memory, brought back."""
    return replace(deleted, **_next_version(deleted, by), deleted_at=None)


def before_last_change(current: Memory, history: Iterable[Revision]) -> Memory | None:
    """The image to step back to: each undo goes one version further back. None if there is none."""
    reached = current.restored_version or current.version
    earlier = [revision.memory for revision in history if revision.memory.version < reached]
    return max(earlier, key=lambda memory: memory.version, default=None)


def in_its_place(current: Memory, image: Memory) -> Memory:
    """An earlier image of a memory; of a file, at the path that it has now, whatever it was before. Raises TooLarge."""
    if not limits.is_file(current):
        return image
    path = current.metadata[PATH]
    metadata = {**image.metadata, PATH: path}
    limits.check_metadata(metadata)
    return replace(image, scope=file_scope(path), metadata=metadata)


def stepped_back(current: Memory, image: Memory, by: Author) -> Memory:
    """An earlier image as the new version."""
    return replace(
        image,
        **_next_version(current, by),
        restored_version=image.restored_version or image.version,
        # Going back may lift what superseded it, but never makes anything superseded: the newer one may be gone.
        superseded_by=current.superseded_by if image.superseded_by else None,
        superseded_at=current.superseded_at if image.superseded_by else None,
    )


def replaced(old: Memory, new: Entry, by: Author) -> Replace:
    """The change that puts a new image in place of `old`, which joins the history."""
    revision = Revision(memory=old, replaced_at=new.memory.updated_at, replaced_by=by.agent_id)
    return Replace(entry=new, expected=old.version, history=(revision,))


def overwritten(old: Memory, new: Memory, by: Author) -> Memory:
    """A memory that somebody puts in place of another, which it shares the id with: all its own, one version on.

    It begins where the other did, if that was visible. What was found out about the text stays with the same text.
    """
    image = replace(new, **_next_version(old, by))
    if old.is_visible(by.at):
        _check_path(old, image)
        image = replace(image, created_at=old.created_at, agent_id=old.agent_id)
    return image if is_found_otherwise(old, new) else replace(image, surprise=old.surprise, links=old.links)


def _next_version(old: Memory, by: Author) -> dict[str, Any]:
    """The fields that every change of a stored memory sets; a clock that went back is no reason to go back."""
    return {"version": old.version + 1, "updated_at": max(by.at, old.updated_at), "updated_by": by.agent_id}


_COLON: Final = re.compile(r":\s+")


def entry(memory: Memory, embeddings: Sequence[Embedding]) -> Entry:
    """The entry of a memory whose chunks have these embeddings."""
    return Entry(
        memory=memory,
        fold=text_digest(memory.content),
        embeddings=tuple(embeddings),
        tokens=indexed_words(memory),
        speaker=speaker(memory),
    )


def unchanged_text(memory: Memory) -> Entry:
    """The entry of an update that left the text alone: the store keeps vectors and tokens."""
    return Entry(memory=memory, fold=text_digest(memory.content), speaker=speaker(memory))


def out_of_search(memory: Memory) -> Entry:
    """The entry of a deleted memory: the image stays, vectors and tokens go."""
    return Entry(memory=memory, fold=text_digest(memory.content), embeddings=(), tokens=())


def speaker(memory: Memory) -> str | None:
    """The speaker, in lower case: a turn's speaker, else the name that the text begins with."""
    if memory.source == "conversation" and memory.messages and memory.messages[0].speaker:
        return memory.messages[0].speaker.casefold()
    return speaker_of(memory.content)


def meaning(memory: Memory) -> str:
    """The text that the semantic leg reads: the content, and of an episode all that was said.

    The names that a summary puts before what people say are left out: they make texts look alike that
    have nothing else in common.
    """
    if memory.source == "conversation" or not memory.messages:
        return memory.content
    plain = without_labels(memory.content, {speaker_label(message) for message in memory.messages})
    return "\n".join([plain, *(message.content for message in memory.messages)])


def without_labels(text: str, names: Set[str]) -> str:
    """The text without the labels that begin it or follow white space: a name, a colon and the white space after it.

    A name is looked up only between two such colons, once for each length that a name has, so that many names
    take no longer than the text is long.
    """
    lengths = sorted({len(name) for name in names})
    parts: list[str] = []
    cut = last_end = 0
    for colon in _COLON.finditer(text):
        end = colon.start()
        starts = [end - length for length in takewhile((end - last_end).__ge__, lengths)]
        labels = [at for at in starts if (at == 0 or text[at - 1].isspace()) and text[at:end] in names]
        if labels:
            parts.append(text[cut : labels[-1]])
            cut = colon.end()
        last_end = colon.end()
    return "".join([*parts, text[cut:]])
