"""Values and damages, which the JSON readers yield."""

from dataclasses import field
from typing import TYPE_CHECKING, Any

from ...model.frozen import frozen

if TYPE_CHECKING:
    from ...model import JsonObject


@frozen
class Value:
    """A JSON value, where it began, the number of bytes up to its end, and its size.

    `around` has what the object that it was streamed from said before it: a conversation's id, say. `key` is the name
    of the array there.
    """

    line: int
    at: int
    size: int
    value: Any
    around: "JsonObject | None" = None
    key: str = ""


@frozen
class Damage:
    """A place that can't be read."""

    line: int
    at: int
    sentence: str
    around: "JsonObject" = field(default_factory=dict)
