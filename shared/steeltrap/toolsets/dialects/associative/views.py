"""How `associative` shows a memory and its associations, at three levels of detail. A cell of the document's tables is
the whole answer at its level.

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

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, TypeVar

from pydantic import Field

from ....engine import consolidating
from ....engine.call import Call
from ....engine.reading import short_ids
from ....model import Association, JsonObject, Memory, When
from ....ranking.budget import in_part
from ....text.limits import MAX_LABEL_CHARACTERS, MAX_TAGS
from ....tools import Answer, Input
from ... import fields
from ...fields import MemoryId, Moment, TagList


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
    view = at(level, answer)
    ids = list(dict.fromkeys(_ids(view)))
    if len(ids) <= MOST_SHORTENED:
        _shorten(view, dict(zip(ids, short_ids(call, ids), strict=True)))
    return view


def at(level: ResponseLevel, answer: A) -> A:
    values = {
        name: _at(level, getattr(answer, name))
        for name, field in type(answer).model_fields.items()
        if all(level in mark for mark in field.metadata if isinstance(mark, frozenset))
    }
    return type(answer).model_construct(**values)


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


TOP_ASSOCIATIONS: Final = 3

MemoryIdField = Annotated[MemoryId, Field(description="The memory's id, from memory_store or memory_search.")]
Tags = Annotated[TagList, Field(max_length=MAX_TAGS, description="Memory tags")]
Metadata = Annotated[fields.Metadata, Field(description="Additional metadata")]
Category = Annotated[str, Field(min_length=1, max_length=MAX_LABEL_CHARACTERS, description="Memory category")]
Threshold = Annotated[float, Field(ge=0, le=1)]


class CompleteMemory(Levelled):
    """The fields of a complete memory, apart from its id and scope. Fields without a value are left out, as are
    `pinned` if false and `confidence` if 1."""

    content: Full[str] = None
    category: Full[str] = None
    tags: Full[list[str]] = None
    metadata: Full[JsonObject] = None
    context: Full[str] = None
    confidence: Full[float] = None
    content_type: Full[str] = None
    tier: Full[str] = None
    pinned: Full[bool] = None
    importance: Full[float] = None
    surprise: Full[float] = None
    agent_id: Full[str] = None
    conversation_id: Full[str] = None
    occurred_at: Full[When] = None
    created_at: Full[Moment] = None
    updated_at: Full[Moment] = None
    expires_at: Full[Moment] = None
    version: Full[int] = None


class Placed(Levelled):
    """The fields that every memory object has."""

    ids = ("id",)

    id: str
    scope: str


class Previewed(Placed):
    content_preview: Standard[str] = None


class MemoryObject(CompleteMemory, Placed):
    """A complete memory object."""


class AssociationItem(Levelled):
    """An associated memory. `preview` is left out if the answer has its whole text."""

    ids = ("target_id",)

    target_id: str
    strength: float = Field(description="0 to 1: the cosine, or the strength given for a manual link.")
    preview: str | None = None


def complete(memory: Memory, *, whole: bool = False) -> dict[str, Any]:
    """The fields of a `CompleteMemory`; a very long text is shown in part, or `whole`."""
    values = {name: getattr(memory, name) for name in CompleteMemory.model_fields}
    importance = None if memory.importance is None else memory.importance.score
    plain = {"pinned": memory.pinned or None, "confidence": None if memory.confidence == 1 else memory.confidence}
    content = memory.content if whole else in_part(memory.content).text
    return {**values, **plain, "content": content, "tags": list(memory.tags), "importance": importance}


def memory_object(memory: Memory) -> MemoryObject:
    return MemoryObject(id=memory.id, scope=memory.scope, **complete(memory, whole=True))


def association_item(association: Association, end: Memory) -> AssociationItem:
    return AssociationItem(target_id=end.id, strength=round(association.strength, 2), preview=preview(end.content, 50))


def strongest(call: Call, ids: Sequence[str], most: int | None = TOP_ASSOCIATIONS) -> dict[str, list[AssociationItem]]:
    """The `most` strongest associations of each memory; None returns all."""
    return {
        id: [association_item(association, end) for association, end in pairs[:most]]
        for id, pairs in consolidating.linked(call, ids).items()
    }
