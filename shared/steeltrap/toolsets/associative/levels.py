"""The three levels of detail of an answer. Each level adds to the level below it.

Each field of an answer, at any depth, declares the lowest level that shows it:

    class StoreAnswer(Levelled):
        memory_id: str                     # at every level
        scope: Standard[str] = None        # from standard on
        preview: Brief[str] = None         # only at standard: at full, another field has the whole
        memory_object: Full[Whole] = None  # at full

Levels can't contradict each other, because `at` only leaves fields out.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field

from ...tools import Answer, Input


class ResponseLevel(StrEnum):
    """How much detail an answer has."""

    MINIMAL = "minimal"
    STANDARD = "standard"
    FULL = "full"


_RANKS: Final = {level: rank for rank, level in enumerate(ResponseLevel)}

T = TypeVar("T")
A = TypeVar("A", bound="Levelled")
_REPLACED: Final = "replaced at full"
Standard = Annotated[T | None, ResponseLevel.STANDARD]
Brief = Annotated[T | None, ResponseLevel.STANDARD, _REPLACED]
Full = Annotated[T | None, ResponseLevel.FULL]


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


class Succeeded(Levelled):
    """Every successful answer. A failure has the form of an error."""

    success: bool = True


def at(level: ResponseLevel, answer: A) -> A:
    """The answer at this level."""
    shown = {
        name: _at(level, getattr(answer, name))
        for name, field in type(answer).model_fields.items()
        if _is_shown(level, field.metadata)
    }
    return type(answer).model_construct(**shown)


def _is_shown(level: ResponseLevel, marks: Sequence[Any]) -> bool:
    first = next((mark for mark in marks if isinstance(mark, ResponseLevel)), ResponseLevel.MINIMAL)
    return _RANKS[first] <= _RANKS[level] and not (level is ResponseLevel.FULL and _REPLACED in marks)


def _at(level: ResponseLevel, value: Any) -> Any:
    if isinstance(value, Levelled):
        return at(level, value)
    if isinstance(value, list):
        return [_at(level, item) for item in value]
    return value


def preview(text: str, length: int) -> str:
    """The beginning of a text; if it is longer, followed by dots."""
    return text if len(text) <= length else text[:length] + "..."
