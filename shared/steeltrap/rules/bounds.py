"""The largest size of a tool's arguments as JSON, computed from their schema. Pure.

A larger body is refused before it is read to the end. A body with too many values is refused before it is parsed,
because three bytes of JSON can become a hundred bytes of objects.
"""

import re
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from ..errors import TooLarge
from ..model import JsonObject

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


@dataclass(frozen=True, slots=True)
class MaxBytes:
    """Annotates a field whose schema gives no maximum size: the most bytes of text that it takes."""

    bytes: int

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> JsonObject:
        return {**handler(core_schema), KEY: self.bytes}


@dataclass(frozen=True, slots=True)
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
    found = at = 0
    in_string = False
    while at < len(text) and found <= most:
        begin = at
        if in_string:
            if step := _IN_STRING.match(text, at):
                at, in_string = step.end(), not step[1]
        elif step := _TO_STRING.match(text, at):
            at = step.end()
            in_string = text[at - 1] == _QUOTE
            # A string is a value too, even where no mark stands before it, so the loop ends after `most` of them.
            found += max(in_string, _marks(text, begin, at))
    return found > most


def _marks(text: bytes | bytearray, begin: int, end: int) -> int:
    return sum(text.count(mark, begin, end) for mark in _MARKS)


def shown(schema: Any, *hidden: str) -> Any:
    """A schema as clients read it, without what `MaxBytes` added, and without other `hidden` keys."""
    if isinstance(schema, dict):
        return {name: shown(value, *hidden) for name, value in schema.items() if name not in (KEY, *hidden)}
    return [shown(value, *hidden) for value in schema] if isinstance(schema, list) else schema


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
