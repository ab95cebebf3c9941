"""From the stored images to the next ones: create, edit, delete, bring back, step back, supersede; and the search data
of each.

The image that an update replaces stays in the history. A delete keeps the image in its place, out of every search, so
that it can be brought back.

A memory that is saved in place of others supersedes them: they are then shown only on request. A memory names the one
that superseded it, and that alone counts. The newer one also lists what it was saved in place of, so that undoing its
deletion knows what to hide again.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Final

from ..errors import Conflict, InvalidInput
from ..model import Author, Draft, Edit, Embedding, Memory, Message, Revision, Tier, later
from ..ports import Create, Entry, Replace
from ..text import limits
from ..text.dates import ends_before
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
    _check_span(draft, "leave it out")
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
    _check_clear(edit)
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
    if edit.tier is not None and edit.tier != old.tier and "expires_at" not in edit.clear:
        new["expires_at"] = _expiry_in(edit.tier, old, later(by.at, short_term_ttl))
    if edit.ttl is not None:
        new["expires_at"] = _expiry(by.at, edit.ttl)
    if edit.add_link is not None:
        new["links"] = (edit.add_link, *(link for link in old.links if link.target_id != edit.add_link.target_id))
        limits.check_manual_links(new["links"])
    image = replace(old, **new)
    if image.scope != old.scope or edit.metadata is not None:
        _check_path(old, image)
    if edit.occurred_at is not None or edit.occurred_until is not None:
        _check_span(image, "name it in `clear`")  # else what is stored so already could not be changed at all
    return image


def _check_span(image: Draft | Memory, without: str) -> None:
    """Raises InvalidInput for what ends before it begins."""
    begin, end = image.occurred_at, image.occurred_until
    if begin is not None and end is not None and ends_before(end, begin):
        raise InvalidInput(
            f"`occurred_until` ({end.isoformat()}) is before `occurred_at` ({begin.isoformat()}): give a later end, or "
            f"{without}."
        )


def _check_clear(edit: Edit) -> None:
    """Raises InvalidInput for a field that is given and cleared."""
    for name in edit.clear:
        value, field = (edit.ttl, "ttl_seconds") if name == "expires_at" else (getattr(edit, name), name)
        if value is not None:
            raise InvalidInput(f"`{field}` is given and `clear` names `{name}`: give a value or clear it, not both.")


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
                f"Memory {old.id} is superseded by {old.superseded_by} already: give that id instead, or undo "
                "that change first.",
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
    return _marked(old, by, at or new.updated_at, superseded_by=new.id, superseded_at=new.created_at)


def resupersede(restored: Memory, olds: Iterable[Memory], newer: Collection[str], by: Author) -> list[Replace]:
    """The changes that hide again what a memory superseded when it was deleted, unless something else did since.

    `newer` are the memories that superseded the restored one, in turn: they stay visible.
    """
    return [supersede(old, restored, by) for old in olds if old.superseded_by is None and old.id not in newer]


def deleted(current: Memory, olds: Sequence[Memory], by: Author) -> list[Replace]:
    """The changes that delete a memory and bring back what it superseded, at the same moment. The last one deletes."""
    change = deletion(replace(current, supersedes=tuple(old.id for old in olds)), by)
    at = change.entry.memory.updated_at
    return [*(_marked(old, by, at, superseded_by=None, superseded_at=None) for old in olds), change]


def inherited(sources: Sequence[Memory], olds: Iterable[Memory]) -> list[Memory]:
    """The memories that a merger supersedes too: those that its sources superseded, other than each other. Raises
    InvalidInput for too many."""
    ids = {source.id for source in sources}
    others = [old for old in olds if old.id not in ids]
    if len(others) > limits.MAX_SUPERSEDED:
        raise InvalidInput(
            f"these memories supersede {len(others)} others, and one memory supersedes at most "
            f"{limits.MAX_SUPERSEDED}: merge fewer at once, or keep the originals."
        )
    return others


def merged(creation: Create, sources: Sequence[Memory], olds: Sequence[Memory], by: Author) -> list[Create | Replace]:
    """The changes that put a new memory in place of its sources, which are deleted, and of what they superseded."""
    ids = {source.id for source in sources}
    # One that another of them superseded must not stay hidden should it alone be brought back.
    free = [source.as_current() if source.superseded_by in ids else source for source in sources]
    new = replace(creation.entry.memory, supersedes=tuple(old.id for old in olds))
    whole = replace(creation, entry=replace(creation.entry, memory=new))
    return [whole, *(deletion(source, by) for source in free), *(supersede(old, new, by) for old in olds)]


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
    memories: Sequence[Memory], read: Callable[[Sequence[str]], Mapping[str, Memory]]
) -> dict[str, Memory]:
    """Imported memories by id. Drops circles of superseding, and clears `superseded_by` where the newer memory is
    deleted here. The newer one may also come later in the import. `read` gives stored memories, deleted ones too.
    """
    by_id = {memory.id: memory for memory in reversed(memories)}
    successors = read(sorted({memory.superseded_by for memory in memories if memory.superseded_by}))

    def image(id: str) -> Memory | None:
        return successors.get(id) or by_id.get(id) or read([id]).get(id)

    fit: dict[str, Memory] = {}
    for memory in by_id.values():
        newer = successors.get(memory.superseded_by or "")
        if newer is not None and newer.deleted_at is not None:
            fit[memory.id] = memory.as_current()
        elif memory.superseded_by is None or memory.id not in chain(memory, image):
            fit[memory.id] = memory
    return fit


def in_a_circle(which: str) -> InvalidInput:
    """The error for an imported memory that `without_cycles` drops."""
    return InvalidInput(f"{which} would supersede itself by way of others: correct its `superseded_by`.")


def renamed(memory: Memory, id: str, ids: Mapping[str, str]) -> Memory:
    """An imported memory under another id. It names the others of its file by the `ids` that they get; its links stay
    as they are."""
    by = memory.superseded_by
    return replace(
        memory,
        id=id,
        superseded_by=None if by is None else ids.get(by, by),
        supersedes=tuple(ids.get(old, old) for old in memory.supersedes),
    )


def _marked(old: Memory, by: Author, at: datetime, **fields: Any) -> Replace:
    new = replace(
        old,
        **fields,
        version=old.version + 1,
        updated_at=max(at, old.updated_at),
        updated_by=by.agent_id,
        restored_version=None,
    )
    return replaced(old, unchanged_text(new) if new.deleted_at is None else out_of_search(new), by)


def references(memory: Memory) -> set[str]:
    """The ids, in their one form, that a record names."""
    ids = [*(link.target_id for link in memory.links), *memory.supersedes, memory.superseded_by or ""]
    return {id for id in map(limits.canonical, ids) if id}


def without_references(memory: Memory, purged: Collection[str]) -> Memory:
    """The memory without these references. One that is superseded by a memory that is gone is current again."""
    if references(memory).isdisjoint(purged):
        return memory
    return replace(
        memory.as_current() if limits.canonical(memory.superseded_by or "") in purged else memory,
        links=tuple(link for link in memory.links if limits.canonical(link.target_id) not in purged),
        supersedes=tuple(id for id in memory.supersedes if limits.canonical(id) not in purged),
    )


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
