"""Converts between plain values and DynamoDB's attribute values."""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

Value = str | bytes | int | frozenset[str]
Item = dict[str, Value]
"""An item as this adapter handles it: texts, bytes, whole numbers and sets of texts."""

Attributes = dict[str, Any]


def to_attributes(item: Mapping[str, Value]) -> Attributes:
    """An item in the form of DynamoDB's API. Empty sets are left out, because DynamoDB has none."""
    return {name: _typed(value) for name, value in item.items() if value != frozenset()}


def from_attributes(item: Mapping[str, Any]) -> Item:
    """The inverse of `to_attributes`; bytes may come as base64, as in the events of a function."""
    return {name: _plain(*next(iter(typed.items()))) for name, typed in item.items()}


def _typed(value: Value) -> Attributes:
    match value:
        case str():
            return {"S": value}
        case int():
            return {"N": str(value)}
        case bytes():
            return {"B": value}
        case _:
            return {"SS": sorted(value)}


def _plain(kind: str, value: Any) -> Value:
    match kind:
        case "S":
            return str(value)
        case "N":
            return int(value)
        case "B":
            return b64decode(value) if isinstance(value, str) else bytes(value)
        case "SS":
            return frozenset(value)
    raise TypeError(f"no item of ours has a value of kind {kind}")


def number(item: Item, name: str) -> int:
    """A whole number of an item; 0 where it has none."""
    return int(item.get(name, 0))  # type: ignore[arg-type]


def text(item: Item, name: str) -> str:
    """A text of an item; "" where it has none."""
    return str(item.get(name, ""))
