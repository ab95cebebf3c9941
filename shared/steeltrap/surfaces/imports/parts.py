"""The contents of a file: items to import, flaws to report, what is left out on purpose, and what is metadata."""

from typing import TYPE_CHECKING

from ...model import Draft, JsonObject
from ...model.frozen import frozen

if TYPE_CHECKING:
    from ...engine.importing import Conversation


@frozen
class Item:
    """Something to import: a `record` of our own export, a whole `conversation`, else a `draft`. `where` is its place.

    `at` is the number of bytes of the whole import up to its end; `size` is its approximate size.
    """

    where: str
    at: int
    size: int
    record: "JsonObject | None" = None
    conversation: "Conversation | None" = None
    draft: "Draft | None" = None


@frozen
class Flaw:
    """Something that can't be imported, and the sentence that says why; or `count` of such things in one sentence."""

    where: str
    at: int
    sentence: str
    count: int = 1


@frozen
class LeftOut:
    """So many things of a kind that are not meant to be imported, such as tool calls."""

    what: str
    count: int = 1


@frozen
class Kept:
    """Columns or keys that hold no field of a memory, and are kept as its metadata."""

    names: tuple[str, ...]


Part = Item | Flaw | LeftOut | Kept
