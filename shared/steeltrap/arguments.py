"""Reading a tool's arguments: bytes to JSON, mended where the meaning is beyond doubt, else refused.

Every refusal is one sentence that names the field and quotes the right form. The door reads whole calls; a tool
whose list may have items that don't fit asks for the sentence of each.
"""

import json
import re
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final, NoReturn

from pydantic import BaseModel, ValidationError

from .errors import InvalidInput
from .model import JsonObject
from .rules.bounds import bounds_of
from .rules.limits import check_text
from .tools import MAX_BODY_BYTES, Tool

MAX_DEPTH: Final = 32
_MAX_DIGITS: Final = 400
_SHOWN: Final = 60
_SHOWN_ITEMS: Final = 20
_SHOWN_LEVELS: Final = 3
_SINGULAR: Final = re.compile(r"^an? (.+?)(?= of | from | above | such |$)")


def decode(body: bytes | bytearray | str) -> JsonObject:
    """The JSON object of a request body; an empty body is {}. Raises InvalidInput."""
    try:
        text = body if isinstance(body, str) else body.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("The body is not valid UTF-8; send JSON encoded as UTF-8.") from None
    if not text or text.isspace():
        return {}
    try:
        value = _loads(text)
    except RecursionError:
        raise InvalidInput(f"The JSON is nested more than {MAX_DEPTH} levels deep.") from None
    except ValueError as error:
        raise InvalidInput(f"The body is not valid JSON ({error}); send one JSON object.") from None
    if not isinstance(value, dict):
        raise InvalidInput('The arguments must be one JSON object, such as {"query": "dark mode"}.')
    return value


def read(tool: Tool, arguments: object) -> BaseModel:
    """The input model of a tool's arguments, which may be the bytes of their JSON. Raises InvalidInput, TooLarge."""
    if isinstance(arguments, bytes | bytearray):
        tool.bounds.check_values(arguments, f"`{tool.full_name}`")
        arguments = decode(arguments)
    if not isinstance(arguments, dict):
        raise InvalidInput('The arguments must be one JSON object, such as {"query": "dark mode"}.')
    given = _mend_fields(tool.own_schema, arguments)
    check_json({name: value for name, value in given.items() if name not in tool.input.one_by_one})
    try:
        return tool.input.model_validate(given)
    except ValidationError as error:
        raise InvalidInput(sentence(error, tool.input_schema, tool.full_name)) from None


def check_json(value: object, depth: int = 0, where: str = "") -> None:
    """Refuse what no store can keep: NaN, huge integers, half surrogates, NUL, deep nesting, keys that aren't text."""
    if depth > MAX_DEPTH:
        raise InvalidInput(f"`{where}` is nested more than {MAX_DEPTH} levels deep; flatten it.")
    if isinstance(value, str):
        check_text(where, value)
    elif isinstance(value, float) and value - value != 0:
        raise InvalidInput(f"`{where}` must be a finite number.")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidInput(f"`{where}` must be an integer of at most 64 bits.")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInput(f"`{where}` has a key that is not a string.")
            check_text(where or "arguments", key)
            check_json(item, depth + 1, where or _cut(key))
    elif isinstance(value, list | tuple):
        for item in value:
            check_json(item, depth + 1, where)


def _mend(schema: JsonObject, value: Any, where: str) -> Any:
    """The value as the schema must mean it, at every depth. Recurses as deep as the schema goes."""
    kind, items = schema.get("type"), schema.get("items", {})
    if isinstance(value, bool) and kind in ("integer", "number"):
        raise InvalidInput(f"`{where}` must be {describe(schema)}; got {show(value)}.")
    if isinstance(value, str) and kind in ("array", "object"):
        bounds_of(schema, MAX_BODY_BYTES).check_values(value.encode(errors="replace"), f"`{_cut(where)}`")
        parsed = _parsed(value, list if kind == "array" else dict)
        if parsed is not None:
            value = parsed
        elif items.get("type") == "string":
            value = [value]
    if kind == "array" and isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)):
            raise InvalidInput(f"`{where}` must be {describe(schema)}; got {show(value)}.")
        return [_mend(items, item, f"{where}.{i}") for i, item in enumerate(value)]
    if kind == "object" and isinstance(value, dict):
        return _mend_fields(schema, value, f"{where}.")
    return value


def _mend_fields(schema: JsonObject, value: JsonObject, prefix: str = "") -> JsonObject:
    """An object's fields mended; null for what may be left out is left out."""
    properties = schema.get("properties", {})
    optional = properties.keys() - schema.get("required", ())
    return {
        name: _mend(properties.get(name, {}), item, f"{prefix}{name}")
        for name, item in value.items()
        if not (item is None and name in optional)
    }


def _parsed(text: str, kind: type) -> Any:
    """A model often sends a list or an object as a string of JSON."""
    if text[:1] not in "[{":
        return None
    try:
        value = _loads(text)
    except (ValueError, RecursionError, InvalidInput):
        return None
    return value if isinstance(value, kind) else None


def _loads(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant, parse_int=_whole)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _whole(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise InvalidInput(f"A number in the body has {len(digits):,} digits; at most {_MAX_DIGITS} can be read.")
    return int(digits)


def sentence(error: ValidationError, schema: JsonObject, name: str) -> str:
    """What doesn't fit in the object of a schema, which a refusal calls `name`, and what would."""
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
    return f"`{path}` must be {describe(at)}; got {show(first['input'])}."


def _unknown(schema: JsonObject, name: str, path: str, location: tuple[int | str, ...]) -> str:
    fields = list(_schema_at(schema, location[:-1]).get("properties", {}))
    path = _cut(path)
    near = get_close_matches(_cut(str(location[-1])), fields, 1)
    if near:
        return f"`{path}` is not a field here; did you mean `{near[0]}`?"
    allowed = ", ".join(f"`{field}`" for field in fields) or "no arguments"
    return f"`{path}` is not a field here; {name} takes {allowed}."


def _schema_at(schema: JsonObject, location: tuple[int | str, ...]) -> JsonObject:
    for part in location:
        below = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
        if not isinstance(below, dict):
            return {}
        schema = below
    return schema


def describe(schema: JsonObject) -> str:
    """What a field takes, in words: "an integer from 1 to 20"."""
    if "enum" in schema:
        return "one of " + ", ".join(repr(value) for value in schema["enum"])
    if "const" in schema:
        return repr(schema["const"])
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
            return "a string" + _bounds(schema, "minLength", "maxLength", " characters")
    return "a value of another type"


def _describe_list(schema: JsonObject) -> str:
    """ "a list of at most 64 strings"."""
    item = describe(schema["items"]) if schema.get("items") else "an item"
    if not item.startswith(("a ", "an ")):
        return "a list" + _bounds(schema, "minItems", "maxItems", " items") + f", each {item}"
    items = _SINGULAR.sub(r"\1s", item, count=1)
    return "a list" + (_bounds(schema, "minItems", "maxItems", f" {items}") or f" of {items}")


def _range(schema: JsonObject) -> str:
    words = {
        "minimum": "of at least",
        "exclusiveMinimum": "above",
        "maximum": "of at most",
        "exclusiveMaximum": "below",
    }
    given = [f"{word} {schema[key]}" for key, word in words.items() if key in schema]
    if any(key.startswith("exclusive") for key in schema):
        return " " + " and ".join(given)
    return _bounds(schema, "minimum", "maximum")


def _bounds(schema: JsonObject, least: str, most: str, unit: str = "") -> str:
    low, high = schema.get(least), schema.get(most)
    if low is not None and high is not None:
        return f" from {low} to {high}" if not unit else f" of {low} to {high}{unit}"
    if low is not None:
        return f" of at least {low}{unit}"
    if high is not None:
        return f" of at most {high}{unit}"
    return ""


def show(value: object) -> str:
    """A value as a refusal quotes it, cut where it is long."""
    return _cut(repr(_start_of(value)))


def _start_of(value: object, level: int = 0) -> object:
    """As much of a value as a refusal can show: a large one costs no more than a small one."""
    if isinstance(value, str | bytes):
        return value[: _SHOWN + 1]
    if not isinstance(value, list | tuple | dict):
        return value
    if level == _SHOWN_LEVELS:
        return ...
    if isinstance(value, dict):
        first = islice(value.items(), _SHOWN_ITEMS)
        return {_start_of(key): _start_of(item, level + 1) for key, item in first}
    return type(value)(_start_of(item, level + 1) for item in value[:_SHOWN_ITEMS])


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
