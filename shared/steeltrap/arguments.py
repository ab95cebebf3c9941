"""Reading a tool's arguments: bytes to JSON, mended where the meaning is beyond doubt, else refused.

Every refusal is one sentence that names the field and quotes the right form. The door reads whole calls; a tool
whose list may have items that don't fit asks for the sentence of each.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, tzinfo
from math import inf
from typing import Any, Final, NoReturn

from pydantic import BaseModel, ValidationError

from .errors import InvalidInput, MalformedBody
from .model import JsonObject
from .text.json_limits import MAX_JSON_DEPTH, check_json, cut
from .text.json_pieces import parsed
from .text.schemas import bounds_of, describe, sentence, show
from .tools import MAX_BODY_BYTES, GivenId, Tool

_MAX_DIGITS: Final = 400
_LONGEST_NAME: Final = 64
_NULL: Final = "null"
_BYTE_ORDER_MARK: Final = "\ufeff"
"""PowerShell and editors of Windows write one before JSON."""
_WRAPPERS: Final = ("arguments", "args", "input", "parameters", "params", "kwargs")
_SEPARATORS: Final = str.maketrans("", "", "_- ")


def decode(body: bytes | bytearray | str) -> JsonObject:
    """The JSON object of a request body; an empty body is {}. Raises InvalidInput."""
    try:
        text = (body if isinstance(body, str) else body.decode("utf-8")).removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError:
        raise MalformedBody("The body is not valid UTF-8; send JSON encoded as UTF-8.") from None
    if not text or text.isspace():
        return {}
    try:
        value = _loads(text)
    except RecursionError:
        raise MalformedBody(f"The JSON is nested more than {MAX_JSON_DEPTH} levels deep.") from None
    except ValueError as error:
        raise MalformedBody(f"The body is not valid JSON ({error}); send one JSON object.") from None
    if isinstance(value, str):
        value = _parsed(value.strip(), dict)
    if not isinstance(value, dict):
        raise MalformedBody('The arguments must be one JSON object, such as {"query": "dark mode"}.')
    return value


def decode_for(tool: Tool, body: bytes | bytearray) -> JsonObject:
    """The JSON object of a tool's arguments. Raises InvalidInput, and TooLarge before too many values are made."""
    tool.bounds.check_values(body, f"`{tool.full_name}`")
    return decode(body)


def read(tool: Tool, arguments: object, zone: tzinfo | None = UTC) -> BaseModel:
    """The input model of a tool's arguments, which may be their JSON; dates in them begin in `zone`, None for the
    machine's own. Raises InvalidInput, TooLarge."""
    if isinstance(arguments, str):
        arguments = arguments.encode(errors="replace")
    if isinstance(arguments, bytes | bytearray):
        arguments = decode_for(tool, arguments)
    if not isinstance(arguments, dict):
        raise MalformedBody('The arguments must be one JSON object, such as {"query": "dark mode"}.')
    values = _mend_fields(tool.own_schema, _unwrapped(tool, arguments))
    check_json({name: value for name, value in values.items() if name not in tool.input.one_by_one})
    try:
        return tool.input.model_validate(values, context=zone)
    except ValidationError as error:
        raise InvalidInput(sentence(error, tool.input_schema, tool.full_name)) from None


def with_whole_ids(fields: BaseModel, whole: Callable[[Collection[str]], Mapping[str, str | InvalidInput]]) -> None:
    """Replace the memories' ids in arguments, at every depth, by what `whole` says they are; others stay as given.

    Raises the InvalidInput of an id; of an item that is validated one by one, it takes the item's place.
    """
    ids = set(_given_ids(fields))
    if ids:
        _replace_ids(fields, whole(ids))


_MAY_HAVE_IDS: Final = (GivenId, BaseModel, list)


def _given_ids(value: Any) -> Iterator[str]:
    if isinstance(value, GivenId):
        yield str(value)
    elif isinstance(value, BaseModel | list):
        # A field that was not given has no id.
        items = value if isinstance(value, list) else [getattr(value, name) for name in value.model_fields_set]
        for item in items:
            if isinstance(item, _MAY_HAVE_IDS):
                yield from _given_ids(item)


def _replace_ids(fields: BaseModel, whole: Mapping[str, str | InvalidInput]) -> None:
    one_by_one = getattr(fields, "one_by_one", ())
    for name, value in fields:
        if isinstance(value, GivenId):
            setattr(fields, name, _whole_id(value, whole))
        elif isinstance(value, list) and name in one_by_one:
            setattr(fields, name, [_item_with_ids(item, whole) for item in value])
        elif isinstance(value, list):
            setattr(fields, name, [_whole_id(item, whole) if isinstance(item, GivenId) else item for item in value])
            for item in value:
                if isinstance(item, BaseModel):
                    _replace_ids(item, whole)


def _item_with_ids(item: Any, whole: Mapping[str, str | InvalidInput]) -> Any:
    try:
        if isinstance(item, BaseModel):
            _replace_ids(item, whole)
    except InvalidInput as refusal:
        return refusal
    return item


def _whole_id(id: GivenId, whole: Mapping[str, str | InvalidInput]) -> str:
    value = whole.get(id, str(id))
    if isinstance(value, InvalidInput):
        raise value
    return value


def _unwrapped(tool: Tool, arguments: JsonObject) -> JsonObject:
    """The arguments, where a model put all of them into one field that the tool doesn't have."""
    if len(arguments) != 1:
        return arguments
    [(name, value)] = arguments.items()
    if name not in _WRAPPERS or name in tool.own_schema.get("properties", {}):
        return arguments
    if isinstance(value, str):
        tool.bounds.check_values(value.encode(errors="replace"), f"`{tool.full_name}`")
        value = _parsed(value.strip(), dict)
    return value if isinstance(value, dict) else arguments


def _mend(schema: JsonObject, value: Any, where: str) -> Any:
    """The value as the schema must mean it, at every depth. Recurses as deep as the schema goes."""
    kind, items = schema.get("type"), schema.get("items", {})
    if isinstance(value, str) and "enum" in schema:
        return _like(value, [each for each in schema["enum"] if isinstance(each, str)]) or value
    if isinstance(value, bool) and kind in ("integer", "number"):
        raise InvalidInput(f"`{where}` must be {describe(schema)}; got {show(value)}.")
    if isinstance(value, str) and kind in ("array", "object"):
        bounds_of(schema, MAX_BODY_BYTES).check_values(value.encode(errors="replace"), f"`{cut(where)}`")
        json_value = _parsed(value, list if kind == "array" else dict)
        if json_value is not None:
            value = json_value
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
    """An object with its fields corrected. A null is left out where the field is optional."""
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: _mend(properties.get(name, {}), item, f"{prefix}{name}")
        for name, item in _renamed(properties, value).items()
        if not _is_null(item) or name not in properties or name in required
    }


def _is_null(item: Any) -> bool:
    return item is None or (isinstance(item, str) and item == _NULL)


def _renamed(properties: JsonObject, value: JsonObject) -> JsonObject:
    """An object whose fields have the schema's names, where they differ in case, separators or a plural only."""
    if value.keys() <= properties.keys() or not properties:
        return value
    lists = [name for name, field in properties.items() if field.get("type") == "array"]
    free = [name for name in properties if name not in value]
    new_names = {}
    for name in value:
        if name in properties or not isinstance(name, str):
            new_names[name] = name
        elif name[-1:] != "s" and f"{name}s" in lists:
            new_names[name] = f"{name}s"
        else:
            new_names[name] = _like(name, free) or name
    # Of two fields that mean the same, neither is chosen.
    twice = {name for name, count in Counter(new_names.values()).items() if count > 1}
    return {name if new_names[name] in twice else new_names[name]: item for name, item in value.items()}


def _like(text: str, names: Iterable[str]) -> str | None:
    """The name that a text spells in another case or with other separators. None if no name or more than one
    matches."""
    plain_name = _plain(text) if len(text) <= _LONGEST_NAME else ""
    matches = [name for name in names if _plain(name) == plain_name]
    return matches[0] if len(matches) == 1 else None


def _plain(name: str) -> str:
    return name.translate(_SEPARATORS).lower()


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
    # The number of values is bounded before, so nothing is weighed. In pieces, since others wait for the interpreter.
    return parsed(text, max_bytes=inf, decoder=_DECODER)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _whole(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise InvalidInput(f"A number in the body has {len(digits):,} digits; at most {_MAX_DIGITS} can be read.")
    return int(digits)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_whole)
