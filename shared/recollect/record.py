"""A memory as JSON: the one serialised form, for exports, for revisions and for stores.

Fields that have their default are left out, so what is written is short and stays readable.
"""

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from .errors import InvalidInput
from .model import Importance, JsonObject, Link, Memory, Message

_TIMES: Final = (
    "created_at",
    "updated_at",
    "occurred_at",
    "occurred_until",
    "expires_at",
    "deleted_at",
)
_PLAIN: Final = tuple(
    (f.name, f.default)
    for f in fields(Memory)
    if f.name not in (*_TIMES, "messages", "tags", "metadata", "importance", "links")
)


def encode(memory: Memory) -> JsonObject:
    """The JSON object of a memory; `decode` is its inverse."""
    record: JsonObject = {}
    for name, default in _PLAIN:
        value = getattr(memory, name)
        if value != default:
            record[name] = value
    for name in _TIMES:
        if (time := getattr(memory, name)) is not None:
            record[name] = time.isoformat()
    if memory.messages:
        record["messages"] = [_encode_message(message) for message in memory.messages]
    if memory.tags:
        record["tags"] = list(memory.tags)
    if memory.metadata:
        record["metadata"] = memory.metadata
    if memory.importance:
        record["importance"] = {
            "score": memory.importance.score,
            "reason": memory.importance.reason,
            "set_at": memory.importance.set_at.isoformat(),
        }
    if memory.links:
        record["links"] = [_encode_link(link) for link in memory.links]
    return record


def decode(record: JsonObject) -> Memory:
    """The memory of a record that `encode` made; for anything else use `parse`."""
    values = dict(record)
    for name in _TIMES:
        if name in values:
            values[name] = datetime.fromisoformat(values[name])
    if "messages" in values:
        values["messages"] = tuple(_decode_message(message) for message in values["messages"])
    if "tags" in values:
        values["tags"] = tuple(values["tags"])
    if "importance" in values:
        importance = values["importance"]
        values["importance"] = Importance(
            score=importance["score"],
            reason=importance["reason"],
            set_at=datetime.fromisoformat(importance["set_at"]),
        )
    if "links" in values:
        values["links"] = tuple(Link(**link) for link in values["links"])
    return Memory(**values)


_adapter: TypeAdapter[Memory] | None = None


def parse(record: object) -> Memory:
    """The memory of a record from outside. Raises InvalidInput that says which field doesn't fit."""
    global _adapter  # noqa: PLW0603 - built once, at the first import of a file: it costs milliseconds
    if _adapter is None:
        _adapter = TypeAdapter(Memory)
    if not isinstance(record, dict):
        raise InvalidInput("a record must be a JSON object with at least id, content, created_at and updated_at.")
    unknown = set(record) - {f.name for f in fields(Memory)}
    if unknown:
        raise InvalidInput(f"a record has no field `{sorted(unknown)[0]}`.")
    try:
        memory = _adapter.validate_python(record)
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidInput(f"field `{'.'.join(map(str, first['loc']))}`: {first['msg']}.") from None
    return decode(encode(_in_utc(memory)))


def _in_utc(memory: Memory) -> Memory:
    changes: dict[str, Any] = {}
    for name in _TIMES:
        time = getattr(memory, name)
        if time is not None:
            changes[name] = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return replace(memory, **changes)


def _encode_message(message: Message) -> JsonObject:
    record: JsonObject = {"role": message.role, "content": message.content}
    if message.time:
        record["time"] = message.time.isoformat()
    if message.speaker:
        record["speaker"] = message.speaker
    return record


def _decode_message(record: JsonObject) -> Message:
    time = record.get("time")
    return Message(
        role=record["role"],
        content=record["content"],
        time=datetime.fromisoformat(time) if time else None,
        speaker=record.get("speaker"),
    )


def _encode_link(link: Link) -> JsonObject:
    record: JsonObject = {"target_id": link.target_id, "strength": link.strength}
    if link.manual:
        record["manual"] = True
    return record
