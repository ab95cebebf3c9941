"""Import: records and texts in blocks, embedded together; what is there already is left as it is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from .. import record
from ..errors import Conflict, InvalidInput, RecollectError
from ..model import JsonObject, Memory, Revision
from ..ports import Create, TextKey
from . import limits
from .analysis import text_digest
from .call import Call
from .entry import embed_chunks, entry
from .save import Draft, compose, look_around, with_surroundings

_Parsed = tuple[Memory, tuple[Revision, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What a block did: how many were written, how many were there, and the errors by index."""

    written: int
    skipped: int
    errors: dict[int, RecollectError] = field(default_factory=dict)


def import_records(call: Call, records: Sequence[JsonObject]) -> Imported:
    """Write records that an export made, under their own ids; an id that is there already is skipped.

    The whole record is kept: times, version, links, surprise, history. Its agent is kept as written.
    """
    parsed: list[_Parsed] = []
    errors: dict[int, RecollectError] = {}
    for index, raw in enumerate(records):
        try:
            parsed.append(_parse(raw))
        except RecollectError as error:
            errors[index] = error
    while True:
        try:
            written = _write_absent(call, parsed)
        except Conflict as conflict:
            if "id" not in conflict.details:
                raise
            # Another import of the same records wrote one in between: now it is there, and is skipped.
            call.deadline.left()
        else:
            return Imported(written=written, skipped=len(parsed) - written, errors=errors)


def import_drafts(
    call: Call, drafts: Sequence[Draft], seen: Counter[TextKey], *, surroundings: bool = False
) -> Imported:
    """Write texts that are not there yet: equal text in the same scope, of the same agent and conversation.

    `seen` counts the texts of this import so far, so that a line said twice is kept twice and a repeated
    import adds nothing. `surroundings` looks around (surprise and links) for what is no turn,
    a block at a time.
    """
    composed: list[tuple[Draft, Memory]] = []
    errors: dict[int, RecollectError] = {}
    for index, draft in enumerate(drafts):
        try:
            composed.append((draft, compose(call, draft)))
        except RecollectError as error:
            errors[index] = error
    keys = [TextKey(text_digest(m.content), m.scope, m.agent_id, m.conversation_id) for _, m in composed]
    fresh: list[tuple[Draft, Memory]] = []
    for pair, key, stored in zip(composed, keys, call.space.copies(keys), strict=True):
        seen[key] += 1
        if seen[key] > stored:
            fresh.append(pair)
    vectors = embed_chunks(call, [memory.content for _, memory in fresh])
    memories = [memory for _, memory in fresh]
    if surroundings:
        around = look_around(call, memories, vectors)
        memories = [
            memory if draft.source == "conversation" else with_surroundings(call, memory, draft, near)
            for (draft, memory), near in zip(fresh, around, strict=True)
        ]
    changes = [Create(entry=entry(memory, vector)) for memory, vector in zip(memories, vectors, strict=True)]
    call.space.commit(changes, timeout=call.deadline.left())
    return Imported(written=len(changes), skipped=len(composed) - len(changes), errors=errors)


def _write_absent(call: Call, parsed: Sequence[_Parsed]) -> int:
    there = call.space.get([memory.id for memory, _ in parsed], deleted=True)
    absent: dict[str, _Parsed] = {}
    for memory, past in parsed:
        if memory.id not in there:
            absent.setdefault(memory.id, (memory, past))
    vectors = embed_chunks(call, [memory.content for memory, _ in absent.values()])
    changes = [
        Create(entry=entry(memory, embeddings), revisions=past)
        for (memory, past), embeddings in zip(absent.values(), vectors, strict=True)
    ]
    call.space.commit(changes, timeout=call.deadline.left())
    return len(changes)


def _parse(raw: object) -> _Parsed:
    if not isinstance(raw, dict):
        raise InvalidInput("a record must be a JSON object.")
    past = raw.get("history", [])
    if not isinstance(past, list):
        raise InvalidInput("`history` must be a list.")
    memory = _memory({key: value for key, value in raw.items() if key != "history"})
    revisions = tuple(_revision(revision) for revision in past)
    versions = [revision.memory.version for revision in revisions]
    if versions != sorted(set(versions)) or any(version >= memory.version for version in versions):
        raise InvalidInput("`history` must have the versions before the current one, each once, oldest first.")
    if any(revision.memory.id != memory.id for revision in revisions):
        raise InvalidInput("each memory of `history` must have the record's own id.")
    return memory, revisions


def _revision(raw: object) -> Revision:
    if not isinstance(raw, dict) or not isinstance(at := raw.get("replaced_at"), str):
        raise InvalidInput("each item of `history` needs `memory` and `replaced_at`.")
    by = raw.get("replaced_by")
    if not (by is None or isinstance(by, str)):
        raise InvalidInput("`replaced_by` must be an agent's id.")
    try:
        replaced_at = datetime.fromisoformat(at)
    except ValueError:
        raise InvalidInput("`replaced_at` must be a time such as '2026-01-31T09:30:00Z'.") from None
    if replaced_at.tzinfo is None:
        replaced_at = replaced_at.replace(tzinfo=UTC)
    return Revision(memory=_memory(raw.get("memory")), replaced_at=replaced_at, replaced_by=by)


def _memory(raw: object) -> Memory:
    try:
        return _checked(record.parse(raw))
    except OverflowError:
        raise InvalidInput("a time of the record lies outside the years 1 to 9999 in UTC.") from None


def _checked(memory: Memory) -> Memory:
    id = limits.check_id(memory.id)
    if not id:
        raise InvalidInput("`id` must be a UUID.")
    limits.check_content(memory.content)
    limits.check_messages(memory.messages)
    limits.check_metadata(memory.metadata)
    limits.check_scope(memory.scope)
    if memory.version < 1:
        raise InvalidInput("`version` must be 1 or more.")
    if not 0 <= memory.confidence <= 1 or not 0 <= (memory.surprise or 0) <= 1:
        raise InvalidInput("`confidence` and `surprise` must be from 0 to 1.")
    for link in memory.links:
        if not limits.check_id(link.target_id) or not 0 <= link.strength <= 1:
            raise InvalidInput("each of `links` needs a UUID as `target_id` and a `strength` from 0 to 1.")
    return replace(memory, id=id, tags=limits.check_tags(memory.tags))
