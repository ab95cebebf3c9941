"""A memory as JSON: the one serialised form, for exports, for revisions and for stores.

Fields that have their default are left out, so what is written is short and stays readable.
"""

import json
import re
import sys
from dataclasses import fields
from datetime import UTC, date, datetime, tzinfo
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from .errors import InvalidInput
from .model import Import, Importance, JsonObject, Link, Memory, Message, When
from .text.dates import ends_before, start_of
from .text.patterns import lazy_pattern

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_TIMES: Final = tuple(f.name for f in fields(Memory) if f.type in (datetime, datetime | None))
_WHENS: Final = tuple(f.name for f in fields(Memory) if f.type == When | None)
"""The fields that may be a day without a time."""
_DAY: Final = lazy_pattern(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_OUTSIDE: Final = "must be a time within the years 1 to 9999 in UTC"
_OLD_DAY: Final = "T00:00:00+00:00"
"""How a day without a time was written before it could be told from midnight in UTC. Times of these fields end in "Z"
since, so what still ends in this was a day, or, which nobody can tell any more, the first moment of one."""
_NAMES: Final = frozenset(f.name for f in fields(Memory))
_PLAIN: Final = tuple(
    (f.name, f.default)
    for f in fields(Memory)
    if f.name not in (*_TIMES, *_WHENS, "messages", "tags", "metadata", "importance", "links", "supersedes")
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
    for name in _WHENS:
        if (when := getattr(memory, name)) is not None:
            record[name] = _written_when(when)
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
    if memory.supersedes:
        record["supersedes"] = list(memory.supersedes)
    if memory.links:
        record["links"] = [_encode_link(link) for link in memory.links]
    return record


def decode(record: JsonObject) -> Memory:
    """The memory of a record that `encode` made; for anything else use `parse`."""
    values = dict(record)
    for name in _TIMES:
        if name in values:
            values[name] = datetime.fromisoformat(values[name])
    for name in _WHENS:
        if name in values:
            values[name] = _stored_when(values[name])
    if "messages" in values:
        values["messages"] = tuple(_decode_message(message) for message in values["messages"])
    if "tags" in values:
        values["tags"] = tuple(values["tags"])
    if "supersedes" in values:
        values["supersedes"] = tuple(values["supersedes"])
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


def to_image(memory: Memory) -> str:
    """The record of a memory as JSON text, which is what stores keep."""
    return _encoder.encode(encode(memory))


def from_image(image: str | bytes) -> Memory:
    """The memory of `to_image`'s text."""
    return decode(_loaded(image))


def _loaded(image: str | bytes) -> Any:
    # Pydantic reads JSON three times as fast, but loading it takes as long as reading 5,000 memories. A server has it.
    return getattr(sys.modules.get("pydantic_core"), "from_json", json.loads)(image)


def import_to_image(run: Import) -> str:
    """An import as JSON text."""
    values = {f.name: getattr(run, f.name) for f in fields(Import) if getattr(run, f.name) != f.default}
    return _encoder.encode({k: v.isoformat() if isinstance(v, datetime) else v for k, v in values.items()})


def import_from_image(image: str | bytes) -> Import:
    """The import of `import_to_image`'s text."""
    values = _loaded(image)
    times = {name: datetime.fromisoformat(values[name]) for name in _IMPORT_TIMES if name in values}
    lists = {name: tuple(values.get(name, ())) for name in ("formats", "files")}
    return Import(**{**values, **times, **lists})


_IMPORT_TIMES: Final = tuple(f.name for f in fields(Import) if f.type in (datetime, datetime | None))
_encoder: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def parse(record: object) -> Memory:
    """The memory of a record from outside, its times in UTC. Raises InvalidInput that says which field doesn't fit.

    Strict: no text for a number, nothing that isn't finite, no unknown field at any depth. Sizes are not looked at.
    """
    if not isinstance(record, dict):
        raise InvalidInput("a record must be a JSON object with at least id, content, created_at and updated_at.")
    unknown = [name for name in record if name not in _NAMES]
    if unknown:
        raise InvalidInput(f"a record has no field `{unknown[0]}`.")
    from pydantic import ValidationError

    texts = (f'"{name}": {_as_text(name, value)}' for name, value in _with_times(record).items())
    try:
        # A list of one: its type takes the configuration, which a dataclass's own would not.
        [memory] = _strict().validate_json(f"[{{{', '.join(texts)}}}]")
    except ValidationError as error:
        raise InvalidInput(_sentence(error)) from None
    return decode(encode(memory))


def read_time(text: str, zone: tzinfo | None = UTC) -> datetime:
    """The UTC time of an ISO 8601 time, which without an offset is in UTC; of a date alone the moment at which that day
    begins in `zone`, None for the machine's own. Raises ValueError."""
    when = read_when(text)
    try:
        return when if isinstance(when, datetime) else start_of(when, zone)
    except OverflowError:
        raise ValueError(_OUTSIDE) from None


def moves_past_end(memory: JsonObject, begin: str | None) -> bool:
    """Whether a time that a memory gets, if it gets one, lies after the end that its record has. Raises ValueError for
    what is no time."""
    end = memory.get("occurred_until")
    if not begin or end is None:
        return False
    return ends_before(read_when(end), read_when(begin))


def read_when(text: str) -> When:
    """The UTC time of an ISO 8601 time, which without an offset is in UTC; of a date alone the day, which has no time.
    Raises ValueError."""
    text = text.strip().upper()
    try:
        if text.isdigit():  # seconds, a year or a date: nobody can tell
            raise ValueError
        time = datetime.fromisoformat(text)
    except ValueError:
        form = (
            "a date of the calendar such as '2026-01-31'"
            if _DAY.fullmatch(text)
            else "a time such as '2026-01-31T09:30:00Z' or a date such as '2026-01-31'"
        )
        raise ValueError(f"must be {form}") from None
    return time.date() if _has_no_time(text) else in_utc(time)


def _has_no_time(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _written_when(when: When) -> str:
    return when.isoformat().removesuffix("+00:00") + "Z" if isinstance(when, datetime) else when.isoformat()


def _stored_when(text: str) -> When:
    if _DAY.fullmatch(text) or text.endswith(_OLD_DAY):
        return date.fromisoformat(text[:10])
    return datetime.fromisoformat(text)


def in_utc(time: datetime) -> datetime:
    """The same moment in UTC, which a time without a zone is in already. Raises ValueError outside years 1 to 9999."""
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:
        raise ValueError(_OUTSIDE) from None


@cache
def _strict() -> "TypeAdapter[list[Memory]]":
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(list[Memory], config=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False))


def _with_times(record: JsonObject) -> JsonObject:
    values = {name: _time(value, name) if name in _TIMES else value for name, value in record.items()}
    values |= {name: _when(values[name], name) for name in _WHENS if name in values}
    if isinstance(messages := values.get("messages"), list):
        values["messages"] = [
            {**each, "time": _when(each["time"], f"messages.{i}.time")}
            if isinstance(each, dict) and "time" in each
            else each
            for i, each in enumerate(messages)
        ]
    if "importance" in values:
        values["importance"] = _with_time(values["importance"], "set_at", "importance.set_at")
    return values


def _with_time(value: object, name: str, where: str) -> object:
    if isinstance(value, dict) and name in value:
        return {**value, name: _time(value[name], where)}
    return value


def _time(value: object, where: str) -> object:
    """A text's time in the form that is stored; what is no text is the type's business."""
    if not isinstance(value, str):
        return value
    try:
        return read_time(value).isoformat()
    except ValueError as error:
        raise InvalidInput(f"`{where}` {error}.") from None


def _when(value: object, where: str) -> object:
    """The same for what may be a day, in the form that is stored."""
    if not isinstance(value, str):
        return value
    if value.endswith(_OLD_DAY):
        return value[:10]
    try:
        return _written_when(read_when(value))
    except ValueError as error:
        raise InvalidInput(f"`{where}` {error}.") from None


def _as_text(name: str, value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"`{name}` has half of a surrogate pair; send whole Unicode characters.") from None
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(f"`{name}` must be plain JSON, not nested too deep and without NaN or Infinity.") from None
    return text


def _sentence(error: "ValidationError") -> str:
    first = error.errors(include_url=False)[0]
    path = ".".join(map(str, first["loc"][1:]))
    match first["type"]:
        case "json_invalid":
            return "a record must be plain JSON, not nested too deep."
        case "unexpected_keyword_argument":
            return f"`{path}` is not a field of a record."
        case "missing":
            return f"`{path}` is required."
    return f"`{path}` {first['msg'].replace('Input should be', 'must be')}."


def _encode_message(message: Message) -> JsonObject:
    record: JsonObject = {"role": message.role, "content": message.content}
    if message.time:
        record["time"] = _written_when(message.time)
    if message.speaker:
        record["speaker"] = message.speaker
    return record


def _decode_message(record: JsonObject) -> Message:
    time = record.get("time")
    return Message(
        role=record["role"],
        content=record["content"],
        time=_stored_when(time) if time else None,
        speaker=record.get("speaker"),
    )


def _encode_link(link: Link) -> JsonObject:
    record: JsonObject = {"target_id": link.target_id, "strength": link.strength}
    if link.manual:
        record["manual"] = True
    return record
