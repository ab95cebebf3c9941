"""JSON schemas: in plain form and in words, values as a refusal quotes them, and the size of valid arguments. Pure.

Every refusal is one sentence that names the field and quotes the right form. A larger body is refused before it is
read to the end. A body with too many values is refused before it is parsed, because three bytes of JSON can become a
hundred bytes of objects.
"""

import json
import re
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, Final

from ..errors import TooLarge
from ..model import JsonObject
from ..model.frozen import frozen
from .json_limits import SHOWN, cut
from .patterns import lazy_pattern

if TYPE_CHECKING:
    from pydantic import ValidationError

_SHOWN_ITEMS: Final = 20
_SHOWN_LEVELS: Final = 3
_SINGULAR: Final = lazy_pattern(r"^an? (.+?)(?= of | from | above | such |$)")


def plain_schema(schema: JsonObject, *, optional_nulls: bool = False) -> JsonObject:
    """A schema that every client reads: references inlined, titles gone.

    An input's optional field is simply not required, so "or null" goes too; an answer keeps it
    (`optional_nulls`).
    """
    definitions = schema.get("$defs", {})

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = definitions[node["$ref"].rsplit("/", 1)[-1]]
            return plain({**target, **{k: v for k, v in node.items() if k != "$ref"}})
        if "anyOf" in node and not optional_nulls:
            kinds = [kind for kind in node["anyOf"] if kind != {"type": "null"}]
            if len(kinds) == 1:
                rest = {
                    k: v for k, v in node.items() if k not in ("anyOf", "default") or (k == "default" and v is not None)
                }
                return plain({**kinds[0], **rest})
        return {
            key: {name: plain(value) for name, value in entry.items()} if key == "properties" else plain(entry)
            for key, entry in node.items()
            if key != "$defs" and not (key == "title" and isinstance(entry, str))
        }

    return dict(plain(schema))


def sentence(error: "ValidationError", schema: JsonObject, name: str) -> str:
    """The refusal of an object that doesn't fit a schema, which it calls `name`, and what would fit."""
    errors = error.errors(include_url=False)
    # A misspelt name leaves a field missing too; the name is what to say.
    first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
    path = ".".join(str(part) for part in first["loc"])
    at = _schema_at(schema, first["loc"])
    match first["type"]:
        case "extra_forbidden":
            return _unknown(schema, name, path, first["loc"])
        case "missing":
            return f"`{path}` is required: give {describe(at)}."
        case "value_error":
            return f"`{path}` {first['ctx']['error']}." if path else f"{first['ctx']['error']}."
        case "string_too_long":
            longest = first["ctx"]["max_length"]
            return f"`{path}` has {len(first['input']):,} characters; at most {longest:,} are allowed."
    return f"`{path}` must be {describe(at)}; got {show(first['input'])}."


def _unknown(schema: JsonObject, name: str, path: str, location: tuple[int | str, ...]) -> str:
    within = _schema_at(schema, location[:-1])
    fields, required = list(within.get("properties", {})), within.get("required", ())
    path = cut(path)
    from difflib import get_close_matches

    near = get_close_matches(cut(str(location[-1])), fields, 1)
    if near:
        return f"`{path}` is not a field here; did you mean `{near[0]}`?"
    allowed = ", ".join(f"`{field}`{' (required)' if field in required else ''}" for field in fields) or "no arguments"
    return f"`{path}` is not a field here; {name} takes {allowed}."


def _schema_at(schema: JsonObject, location: tuple[int | str, ...]) -> JsonObject:
    for part in location:
        below = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
        if not isinstance(below, dict):
            return {}
        schema = below
    return schema


def describe(schema: JsonObject) -> str:
    """The values that a field takes, in words: "an integer from 1 to 20"."""
    if "enum" in schema:
        return "one of " + ", ".join(map(show, schema["enum"]))
    if "const" in schema:
        return show(schema["const"])
    if "anyOf" in schema:
        return " or ".join(describe(kind) for kind in schema["anyOf"])
    match schema.get("type"):
        case "integer":
            return "an integer" + _range(schema)
        case "number":
            return "a number" + _range(schema)
        case "boolean":
            return "true or false"
        case "array":
            return _describe_list(schema)
        case "object":
            return "a JSON object"
        case "string" if schema.get("format") == "date-time":
            return "a time such as '2026-01-31T09:30:00Z'"
        case "string":
            return "a string" + _bounds(schema, "minLength", "maxLength", ("character", "characters"))
    return "a value of another type"


def _describe_list(schema: JsonObject) -> str:
    """ "a list of at most 64 strings"."""
    item = describe(schema["items"]) if schema.get("items") else "an item"
    if not item.startswith(("a ", "an ")):
        return "a list" + _bounds(schema, "minItems", "maxItems", ("item", "items")) + f", each {item}"
    nouns = (item.partition(" ")[2], _SINGULAR.sub(r"\1s", item, count=1))
    return "a list" + (_bounds(schema, "minItems", "maxItems", nouns) or f" of {nouns[1]}")


def _range(schema: JsonObject) -> str:
    words = {
        "minimum": "of at least",
        "exclusiveMinimum": "above",
        "maximum": "of at most",
        "exclusiveMaximum": "below",
    }
    bounds = [f"{word} {schema[key]}" for key, word in words.items() if key in schema]
    if any(key.startswith("exclusive") for key in schema):
        return " " + " and ".join(bounds)
    return _bounds(schema, "minimum", "maximum")


def _bounds(schema: JsonObject, least: str, most: str, nouns: tuple[str, str] | None = None) -> str:
    """The bounds in words, with the noun of one and of several; without nouns they are of a number."""
    low, high = schema.get(least), schema.get(most)
    last = high if high is not None else low
    unit = "" if nouns is None else f" {nouns[last != 1]}"
    if low is not None and low == high:
        return f" of {low}{unit}"
    if low is not None and high is not None:
        return f" from {low} to {high}" if not unit else f" of {low} to {high}{unit}"
    if low is not None:
        return f" of at least {low}{unit}"
    if high is not None:
        return f" of at most {high}{unit}"
    return ""


def show(value: object) -> str:
    """A value as a refusal quotes it, cut where it is long: as JSON has it, and a string in the quotes of a word."""
    start = _start_of(value)
    return cut(repr(start) if isinstance(start, str) else _as_json(start))


def _as_json(value: object) -> str:
    """Like JSON, but on one line, with what isn't printed escaped, and with `...` for what is left out."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_as_json(key)}: {_as_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_as_json, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=not value.isprintable())
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return "..." if value is ... else repr(value)


def _start_of(value: object, level: int = 0) -> object:
    """As much of a value as a refusal can show: a large one costs no more than a small one."""
    if isinstance(value, str | bytes):
        return value[: SHOWN + 1]
    if not isinstance(value, list | tuple | dict):
        return value
    if level == _SHOWN_LEVELS:
        return ...
    if isinstance(value, dict):
        first = islice(value.items(), _SHOWN_ITEMS)
        return {_start_of(key): _start_of(item, level + 1) for key, item in first}
    return type(value)(_start_of(item, level + 1) for item in value[:_SHOWN_ITEMS])


KEY: Final = "x-max-bytes"
"""The schema key that `MaxBytes` adds. Clients are not shown it."""

_ESCAPED: Final = 12
"""The most bytes that JSON spends on one character: an escaped surrogate pair."""
_SCALAR: Final = 128
"""Bytes of a number, a time or a word of an enumeration, with room for spaces around it."""
_LEAST_BYTES: Final = 64 * 1024
_LEAST_VALUES: Final = 4096
"""Below these limits, a mistake costs little and gets the tool's own error."""

_BYTES_PER_VALUE: Final = 16
"""Records of short messages have about as many on average."""
_MARKS: Final = (b",", b":", b"[", b"{")
"""Each key and value of JSON follows one of these."""

_QUOTE: Final = ord('"')
_STEP: Final = 64 * 1024
"""Bytes that are looked at in one step; between two steps other threads have their turn."""
# Possessive, so that a string that never ends costs one pass and no stack.
_TO_STRING: Final = re.compile(rb'[^"]{0,65535}+"?+')
_IN_STRING: Final = re.compile(rb'(?:[^"\\]{1,1024}+|\\.?){0,64}+("?+)', re.DOTALL)


@frozen(kw_only=False)
class MaxBytes:
    """Annotates a field whose schema gives no maximum size: the most bytes of text that it takes."""

    bytes: int

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> JsonObject:
        return {**handler(core_schema), KEY: self.bytes}


@frozen(kw_only=False)
class Bounds:
    """The most bytes of JSON (`size`), and the most values in them, where a key counts as a value."""

    size: int
    values: int

    def check_size(self, size: int, what: str) -> None:
        """Raises TooLarge, which names the limit of `what`."""
        if size > self.size:
            raise TooLarge(f"{what} takes a body of at most {_in_words(self.size)}; send less, or several calls.")

    def check_values(self, text: bytes | bytearray, what: str) -> None:
        """Raises TooLarge when there are too many values. They are counted without parsing."""
        if has_more_values(text, self.values):
            raise TooLarge(f"{what} takes at most {self.values:,} JSON values; send less, or several calls.")


def bounds_of(schema: JsonObject, most: int) -> Bounds:
    """Bounds for any JSON that fits the schema, with room to spare, and at most `most` bytes."""
    size, values = _needs(schema)
    return Bounds(
        int(min(most, max(_LEAST_BYTES, size))), int(min(most // _BYTES_PER_VALUE, max(_LEAST_VALUES, 2 * values)))
    )


def has_more_values(text: bytes | bytearray, most: int) -> bool:
    """Whether JSON has more than `most` keys and values, found in one pass without parsing."""
    if len(text) <= most or sum(_marks(text, at, at + _STEP) for at in range(0, len(text), _STEP)) <= most:
        return False
    count = at = 0
    in_string = False
    while at < len(text) and count <= most:
        begin = at
        if in_string:
            if step := _IN_STRING.match(text, at):
                at, in_string = step.end(), not step[1]
        elif step := _TO_STRING.match(text, at):
            at = step.end()
            in_string = text[at - 1] == _QUOTE
            # A string is a value too, even where no mark stands before it, so the loop ends after `most` of them.
            count += max(in_string, _marks(text, begin, at))
    return count > most


def _marks(text: bytes | bytearray, begin: int, end: int) -> int:
    return sum(text.count(mark, begin, end) for mark in _MARKS)


def without_keys(schema: Any, *keys: str) -> Any:
    """A schema as clients read it, without what `MaxBytes` added, and without these `keys`."""
    if isinstance(schema, dict):
        return {name: without_keys(value, *keys) for name, value in schema.items() if name not in (KEY, *keys)}
    return [without_keys(value, *keys) for value in schema] if isinstance(schema, list) else schema


def _needs(schema: JsonObject) -> tuple[float, float]:
    """The most bytes and values that the JSON of a schema needs; infinite where nothing bounds them."""
    size, values = _by_kind(schema)
    return (schema[KEY] * _ESCAPED, min(values, schema[KEY])) if KEY in schema else (size, values)


def _by_kind(schema: JsonObject) -> tuple[float, float]:
    if "anyOf" in schema:
        sizes, counts = zip(*map(_needs, schema["anyOf"]), strict=True)
        return max(sizes), max(counts)
    match schema.get("type"):
        case "array":
            size, values = _needs(schema.get("items", {}))
            most = schema.get("maxItems", inf)
            return _SCALAR + most * size, 1 + most * values
        case "object" if schema.get("properties") or schema.get("additionalProperties") is False:
            fields = {name: _needs(field) for name, field in schema.get("properties", {}).items()}
            size = sum(len(name) + size for name, (size, _) in fields.items())
            return _SCALAR + size, 1 + sum(1 + values for _, values in fields.values())
        case "string" if not {"format", "enum", "const"} & schema.keys():
            return _SCALAR + schema.get("maxLength", inf) * _ESCAPED, 1
        case "string" | "integer" | "number" | "boolean":
            return _SCALAR, 1
    return (_SCALAR, 1) if {"enum", "const"} & schema.keys() else (inf, inf)


def _in_words(size: int) -> str:
    return f"{size // 1024**2} MiB" if size % 1024**2 == 0 else f"{-(-size // 1024):,} KiB"
