"""The three levels of detail of an answer. A cell of the document's tables is the whole answer at its level.

Each field of an answer, at any depth, declares the levels that show it:

    class StoreAnswer(Levelled):
        ids = ("memory_id",)
        memory_id: Short[str] = None       # at minimal and standard
        scope: Long[str] = None            # at standard and full
        associations_count: Standard[int] = None
        memory_object: Full[Whole] = None

Fields without a mark are shown at every level. Memories' ids, named by `ids`, are shown as short as they can be told
apart.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, TypeVar

from pydantic import Field

from ...engine.call import Call
from ...engine.reading import short_ids
from ...tools import Answer, Input


class ResponseLevel(StrEnum):
    """How much detail an answer has."""

    MINIMAL = "minimal"
    STANDARD = "standard"
    FULL = "full"


MINIMAL, STANDARD, FULL = ResponseLevel.MINIMAL, ResponseLevel.STANDARD, ResponseLevel.FULL
MOST_SHORTENED: Final = 200
"""Ids of an answer that are shown short; the ids of longer lists are shown whole."""

T = TypeVar("T")
A = TypeVar("A", bound="Levelled")
Minimal = Annotated[T | None, frozenset({MINIMAL})]
Short = Annotated[T | None, frozenset({MINIMAL, STANDARD})]
Standard = Annotated[T | None, frozenset({STANDARD})]
Long = Annotated[T | None, frozenset({STANDARD, FULL})]
Full = Annotated[T | None, frozenset({FULL})]


class LevelledInput(Input):
    """The parameter that every tool of this toolset has."""

    response_level: ResponseLevel = Field(
        default=ResponseLevel.STANDARD,
        description=(
            "Response detail level:\n"
            "• minimal: Success status + essential IDs only (minimal tokens)\n"
            "• standard: Balanced info for workflow continuity + content previews\n"
            "• full: Complete data + metadata + associations (maximum detail)"
        ),
    )

    @property
    def is_full(self) -> bool:
        return self.response_level is ResponseLevel.FULL


class Levelled(Answer):
    """An answer or a part of one. Fields that are None are left out; empty lists are kept."""

    ids: ClassVar[tuple[str, ...]] = ()


class Succeeded(Levelled):
    """Every successful answer. A failure has the form of an error."""

    success: bool = True


def answered(call: Call, level: ResponseLevel, answer: A) -> A:
    """The answer at this level, with short ids."""
    shown = at(level, answer)
    ids = list(dict.fromkeys(_ids(shown)))
    if len(ids) <= MOST_SHORTENED:
        _shorten(shown, dict(zip(ids, short_ids(call, ids), strict=True)))
    return shown


def at(level: ResponseLevel, answer: A) -> A:
    """The answer at this level."""
    shown = {
        name: _at(level, getattr(answer, name))
        for name, field in type(answer).model_fields.items()
        if all(level in mark for mark in field.metadata if isinstance(mark, frozenset))
    }
    return type(answer).model_construct(**shown)


def _at(level: ResponseLevel, value: Any) -> Any:
    if isinstance(value, Levelled):
        return at(level, value)
    if isinstance(value, list):
        return [_at(level, item) for item in value]
    return value


def _ids(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _ids(item)
    elif isinstance(value, Levelled):
        for name, item in value:
            if name in value.ids:
                yield from item if isinstance(item, list) else [item] if item is not None else []
            else:
                yield from _ids(item)


def _shorten(value: Any, short: Mapping[str, str]) -> None:
    if isinstance(value, list):
        for item in value:
            _shorten(item, short)
    elif isinstance(value, Levelled):
        for name, item in value:
            if name not in value.ids:
                _shorten(item, short)
            elif item is not None:
                setattr(value, name, [short[id] for id in item] if isinstance(item, list) else short[item])


def preview(text: str, length: int) -> str:
    """The beginning of a text; if it is longer, followed by dots."""
    return text if len(text) <= length else text[:length] + "..."
