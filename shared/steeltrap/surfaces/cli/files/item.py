"""The contents of a file: items to import and flaws to report."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....engine.save import Draft
    from ....model import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something to import: a `record` of our own export, else a `draft`. `where` is `file:line`.

    `at` is the number of bytes of the whole import up to its end; `size` is its approximate size.
    """

    where: str
    at: int
    size: int
    record: "JsonObject | None" = None
    draft: "Draft | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something that can't be imported, and the sentence that says why."""

    where: str
    at: int
    sentence: str


Part = Item | Flaw
