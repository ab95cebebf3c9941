"""Import: records and texts in blocks, embedded together; what is there already is left as it is.

What a record says of the agents that wrote it is believed only where the operator restores: an agent that imports
is itself the author, and the memory says that it was imported, and when.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import field, replace

from ... import record
from ...errors import AlreadyExists, Conflict, InvalidInput, SteeltrapError
from ...model import Draft, JsonObject, Memory, Revision
from ...model.frozen import frozen
from ...ports import Create, Replace, TextKey
from ...rules import limits
from ...rules.analysis import text_digest
from ..call import Call
from ..entry import embed_memories, entry, unchanged_text
from ..redact import redacted
from ..save import compose, creations, text_id
from ..superseding import fitting

_Parsed = tuple[Memory, tuple[Revision, ...]]


@frozen
class Imported:
    """What a block did: how many were written, how many were there, and the errors by index."""

    written: int
    skipped: int
    errors: dict[int, SteeltrapError] = field(default_factory=dict)


def import_records(call: Call, records: Sequence[JsonObject], *, restore: bool = False) -> Imported:
    """Write records that an export made, under their own ids; an id that is there already is skipped. A record with
    no more than the rest of a history adds what is missing to the memory that was imported before.

    The record's times, version, links, surprise, history and what it says of superseding are kept, in any order. Its
    agents are kept only to `restore`, which is the operator's to ask for.
    """
    parsed: dict[int, _Parsed] = {}
    rests: dict[int, tuple[Revision, ...]] = {}
    errors: dict[int, SteeltrapError] = {}
    for index, raw in enumerate(call.in_time(records)):
        try:
            memory, past = _parse(call, raw)
            past = past if restore else _stamped_all(call, past)
            if memory is None:
                rests[index] = tuple(replace(each, memory=belonging(call, each.memory)) for each in past)
            else:
                parsed[index] = _marked(call, memory if restore else stamped(call, memory), past)
        except SteeltrapError as error:
            errors[index] = error
    superseding = fitting(call, [memory for memory, _ in parsed.values()])
    errors |= {index: _in_a_circle(m.id) for index, (m, _) in parsed.items() if m.id not in superseding}
    parsed = {index: (superseding[m.id], past) for index, (m, past) in parsed.items() if m.id in superseding}
    written, deleted = _write_absent(call, list(parsed.values()))
    errors |= {index: _deleted(m.id) for index, (m, _) in parsed.items() if m.id in deleted}
    skipped = len(parsed) - sum(index in errors for index in parsed) - written
    for index, past in call.in_time(rests.items()):
        try:
            _add_earlier(call, past, restore=restore)
        except (InvalidInput, Conflict) as error:
            errors[index] = error
    return Imported(written=written, skipped=skipped, errors=errors)


def _add_earlier(call: Call, past: tuple[Revision, ...], *, restore: bool) -> None:
    """Add the versions that are missing before the current one of a memory, which the caller imported itself.

    The current image stays as it is. Raises InvalidInput where there is none, and Conflict for a deleted one.
    """
    id, first, last = past[0].memory.id, past[0].memory.version, past[-1].memory.version
    memory = call.space.get([id], deleted=True).get(id)
    if memory is None:
        raise InvalidInput(f"this is the rest of the history of {id}: import the record of the memory before it.")
    if memory.deleted_at is not None:
        raise _deleted(id)
    there = call.space.revisions(id, after=first - 1, limit=last - first + 1)
    known = {revision.memory.version for revision in there}
    missing = tuple(r for r in past if r.memory.version < memory.version and r.memory.version not in known)
    if missing and not restore and (memory.imported_at is None or memory.imported_by != call.caller.agent_id):
        raise InvalidInput(f"memory {id} was not imported by this agent, so its history stays as it is.")
    if missing:
        call.commit([Replace(entry=unchanged_text(memory), expected=memory.version, earlier=missing)])


def _marked(call: Call, memory: Memory, past: Sequence[Revision]) -> _Parsed:
    """A record as this import's, whatever import of another store it names."""
    return belonging(call, memory), tuple(replace(each, memory=belonging(call, each.memory)) for each in past)


def belonging(call: Call, memory: Memory) -> Memory:
    """A memory as the call's import writes it."""
    return replace(memory, import_id=call.import_id, import_version=memory.version if call.import_id else None)


def stamped(call: Call, memory: Memory) -> Memory:
    """A memory that a tool imports: written by the caller's agent, whoever wrote it elsewhere.

    The name of another agent stays as the label where there is room for it, which nothing is decided by.
    """
    importer = call.caller.agent_id
    author = memory.agent_id if memory.agent_id != importer else None
    label = author if author is not None and len(author) <= limits.MAX_LABEL_CHARACTERS else None
    return replace(
        memory,
        agent_id=importer,
        agent_label=memory.agent_label or label,
        updated_by=_own(call, memory.updated_by),
        untrusted=memory.untrusted or call.caller.permissions.untrusted,
        imported_by=importer,
        imported_at=call.now(),
    )


def _stamped_all(call: Call, past: Sequence[Revision]) -> tuple[Revision, ...]:
    return tuple(
        replace(revision, memory=stamped(call, revision.memory), replaced_by=_own(call, revision.replaced_by))
        for revision in past
    )


def _own(call: Call, agent: str | None) -> str | None:
    """An agent that a record names, where it is the caller's own; of another nobody can say whether it is true."""
    return agent if agent == call.caller.agent_id else None


def import_texts(call: Call, drafts: Sequence[Draft], *, surroundings: bool = False) -> Imported:
    """Write texts that are not there yet. The same text about the same time, in the same scope and of the same agent,
    is one memory: it is written once and stays as it is, also where it was edited or deleted since.

    `surroundings` looks around (surprise and links), a block at a time. Memory: the block.
    """
    composed: dict[str, tuple[Draft, Memory]] = {}
    errors: dict[int, SteeltrapError] = {}
    for index, draft in enumerate(call.in_time(drafts)):
        try:
            memory = compose(call, draft)
            memory = replace(memory, id=text_id(call, memory))
        except SteeltrapError as error:
            errors[index] = error
        else:
            composed.setdefault(memory.id, (draft, memory))
    written = _write_texts(call, composed, surroundings)
    return Imported(written=written, skipped=len(drafts) - len(errors) - written, errors=errors)


def _write_texts(call: Call, composed: dict[str, tuple[Draft, Memory]], surroundings: bool) -> int:
    undated = [id for id, (draft, _) in composed.items() if draft.occurred_at is None]
    copies = call.space.copies([_text_key(composed[id][1]) for id in undated])
    taken = {id for id, stored in zip(undated, copies, strict=True) if stored}
    while True:
        taken |= call.space.get(list(composed), deleted=True).keys()
        fresh = [pair for id, pair in composed.items() if id not in taken]
        changes = creations(call, fresh, surroundings=surroundings)
        try:
            call.commit(changes)
        except AlreadyExists as conflict:
            # Another import of the same texts wrote one in between. An id conflicts once at most, so this ends.
            if conflict.id not in composed or conflict.id in taken:
                raise
            taken.add(conflict.id)
        else:
            return len(changes)


def import_drafts(
    call: Call, drafts: Sequence[Draft], seen: Counter[TextKey], *, surroundings: bool = False
) -> Imported:
    """Write texts that are not there yet: equal text in the same scope, of the same agent and conversation.

    `seen` counts the texts of this import so far, so that a line said twice is kept twice and a repeated
    import adds nothing. `surroundings` looks around (surprise and links) for what is no turn,
    a block at a time.
    """
    composed: list[tuple[Draft, Memory]] = []
    errors: dict[int, SteeltrapError] = {}
    for index, draft in enumerate(call.in_time(drafts)):
        try:
            composed.append((draft, compose(call, draft)))
        except SteeltrapError as error:
            errors[index] = error
    keys = [_text_key(memory) for _, memory in call.in_time(composed)]
    fresh: list[tuple[Draft, Memory]] = []
    for pair, key, stored in zip(composed, keys, call.space.copies(keys), strict=True):
        seen[key] += 1
        if seen[key] > stored:
            fresh.append(pair)
    changes = creations(call, fresh, surroundings=surroundings)
    call.commit(changes)
    return Imported(written=len(changes), skipped=len(composed) - len(changes), errors=errors)


def _write_absent(call: Call, parsed: Sequence[_Parsed]) -> tuple[int, set[str]]:
    """Write what is not there; how many those were, and which ids are there as deleted ones."""
    first: dict[str, _Parsed] = {}
    for memory, past in parsed:
        first.setdefault(memory.id, (memory, past))
    creates: dict[str, Create] = {}
    taken: set[str] = set()
    while True:
        there = call.space.get(list(first), deleted=True)
        absent = [id for id in first if id not in there and id not in taken]
        new = [first[id] for id in absent if id not in creates]
        vectors = embed_memories(call, [memory for memory, _ in new])
        for (memory, past), embeddings in call.in_time(zip(new, vectors, strict=True)):
            creates[memory.id] = Create(entry=entry(memory, embeddings), revisions=past, links_ahead=True)
        try:
            call.commit([creates[id] for id in absent])
        except AlreadyExists as conflict:
            # Another import of the same records wrote one in between: now it is there, and is skipped.
            # An id conflicts once at most, so this ends.
            if conflict.id not in absent:
                raise
            taken.add(conflict.id)
        else:
            return len(absent), {id for id, memory in there.items() if memory.deleted_at is not None}


def _text_key(memory: Memory) -> TextKey:
    return TextKey(text_digest(memory.content), memory.scope, memory.agent_id, memory.conversation_id)


def _in_a_circle(id: str) -> InvalidInput:
    return InvalidInput(f"memory {id} would supersede itself by way of others: correct its `superseded_by`.")


def _deleted(id: str) -> Conflict:
    return Conflict(f"memory {id} was deleted here; undo the delete, or forget it and import again.", id=id)


def _parse(call: Call, raw: object) -> tuple[Memory | None, tuple[Revision, ...]]:
    """A memory and its history, or the rest of a history alone."""
    if not isinstance(raw, dict):
        raise InvalidInput("a record must be a JSON object.")
    past = raw.get("history", [])
    if not isinstance(past, list):
        raise InvalidInput("`history` must be a list.")
    is_rest = bool(past) and raw.keys() == {"id", "history"}
    memory = None if is_rest else _memory(call, {key: value for key, value in raw.items() if key != "history"})
    revisions = tuple(_revision(call, revision) for revision in past)
    versions = [revision.memory.version for revision in revisions]
    if versions != sorted(set(versions)) or (memory and any(version >= memory.version for version in versions)):
        raise InvalidInput("`history` must have the versions before the current one, each once, oldest first.")
    id = revisions[0].memory.id if memory is None else memory.id
    if any(revision.memory.id != id for revision in revisions) or (is_rest and limits.check_id(str(raw["id"])) != id):
        raise InvalidInput("each memory of `history` must have the record's own id.")
    return memory, revisions


def _revision(call: Call, raw: object) -> Revision:
    if not isinstance(raw, dict) or not isinstance(at := raw.get("replaced_at"), str):
        raise InvalidInput("each item of `history` needs `memory` and `replaced_at`.")
    by = raw.get("replaced_by")
    if not (by is None or isinstance(by, str)):
        raise InvalidInput("`replaced_by` must be an agent's id.")
    try:
        replaced_at = record.read_time(at)
    except ValueError as error:
        raise InvalidInput(f"`replaced_at` {error}.") from None
    limits.check_length("replaced_by", by, limits.MAX_IDENTITY_CHARACTERS)
    return Revision(memory=_memory(call, raw.get("memory")), replaced_at=replaced_at, replaced_by=by)


def _memory(call: Call, raw: object) -> Memory:
    return limits.check_memory(redacted(call, record.parse(raw)))
