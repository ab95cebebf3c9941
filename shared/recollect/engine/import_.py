"""Import: records and texts in blocks, embedded together; what is there already is left as it is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from .. import record
from ..errors import InvalidInput, RecollectError
from ..model import JsonObject, Memory, Revision
from ..ports import Create, TextKey
from . import limits, novelty
from .analysis import text_digest
from .call import Call
from .entry import embed_chunks, entry
from .save import Draft, compose, look_around


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
    parsed: dict[int, tuple[Memory, tuple[Revision, ...]]] = {}
    errors: dict[int, RecollectError] = {}
    for index, raw in enumerate(records):
        try:
            parsed[index] = _parse(raw)
        except RecollectError as error:
            errors[index] = error
    there = call.space.get([memory.id for memory, _ in parsed.values()], deleted=True)
    fresh = {memory.id: (memory, past) for memory, past in parsed.values() if memory.id not in there}
    vectors = embed_chunks(call, [memory.content for memory, _ in fresh.values()])
    changes = [
        Create(entry=entry(memory, embeddings), revisions=past)
        for (memory, past), embeddings in zip(fresh.values(), vectors, strict=True)
    ]
    call.space.commit(changes, timeout=call.deadline.left())
    return Imported(written=len(changes), skipped=len(parsed) - len(changes), errors=errors)


def import_drafts(
    call: Call, drafts: Sequence[Draft], seen: Counter[TextKey], *, surroundings: bool = False
) -> Imported:
    """Write texts that are not there yet: equal text in the same scope, of the same agent and conversation.

    `seen` counts the texts of this import so far, so that a line said twice is kept twice and a repeated
    import adds nothing. `surroundings` looks around (surprise and links), a block at a time.
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
            replace(m, surprise=novelty.surprise(near, call.embedder.unrelated), links=novelty.links(near))
            for m, near in zip(memories, around, strict=True)
        ]
    changes = [Create(entry=entry(memory, vector)) for memory, vector in zip(memories, vectors, strict=True)]
    call.space.commit(changes, timeout=call.deadline.left())
    return Imported(written=len(changes), skipped=len(composed) - len(changes), errors=errors)


def _parse(raw: JsonObject) -> tuple[Memory, tuple[Revision, ...]]:
    if not isinstance(raw, dict):
        raise InvalidInput("a record must be a JSON object.")
    past = raw.get("history", [])
    memory = _checked(record.parse({key: value for key, value in raw.items() if key != "history"}))
    return memory, tuple(_revision(revision) for revision in past)


def _revision(raw: object) -> Revision:
    try:
        assert isinstance(raw, dict)
        return Revision(
            memory=_checked(record.parse(raw["memory"])),
            replaced_at=datetime.fromisoformat(raw["replaced_at"]),
            replaced_by=raw.get("replaced_by"),
        )
    except (AssertionError, KeyError, TypeError, ValueError):
        raise InvalidInput("each item of `history` needs `memory` and `replaced_at`.") from None


def _checked(memory: Memory) -> Memory:
    id = limits.check_id(memory.id)
    if not id:
        raise InvalidInput("`id` must be a UUID.")
    limits.check_content(memory.content)
    limits.check_messages(memory.messages)
    limits.check_metadata(memory.metadata)
    limits.check_scope(memory.scope)
    return replace(memory, id=id, tags=limits.check_tags(memory.tags))
