"""How `associative` shows a memory and its associations."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from ...engine import consolidating
from ...engine.call import Call
from ...model import Association, JsonObject, Memory, When
from .. import fields
from ..fields import MemoryId, Moment, TagList
from .levels import Full, Levelled, Standard, preview

TOP_ASSOCIATIONS: Final = 3

MemoryIdField = Annotated[MemoryId, Field(description="The memory's id, from memory_store or memory_search.")]
Tags = Annotated[TagList, Field(max_length=64, description="Memory tags")]
Metadata = Annotated[fields.Metadata, Field(description="Additional metadata")]
Category = Annotated[str, Field(min_length=1, max_length=256, description="Memory category")]
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


def complete(memory: Memory) -> dict[str, Any]:
    """The fields of a `CompleteMemory`."""
    shown = {name: getattr(memory, name) for name in CompleteMemory.model_fields}
    importance = None if memory.importance is None else memory.importance.score
    plain = {"pinned": memory.pinned or None, "confidence": None if memory.confidence == 1 else memory.confidence}
    return {**shown, **plain, "tags": list(memory.tags), "importance": importance}


def memory_object(memory: Memory) -> MemoryObject:
    return MemoryObject(id=memory.id, scope=memory.scope, **complete(memory))


def association_item(association: Association, end: Memory) -> AssociationItem:
    return AssociationItem(target_id=end.id, strength=round(association.strength, 2), preview=preview(end.content, 50))


def strongest(call: Call, ids: Sequence[str], most: int | None = TOP_ASSOCIATIONS) -> dict[str, list[AssociationItem]]:
    """The `most` strongest associations of each memory; None returns all."""
    return {
        id: [association_item(association, end) for association, end in found[:most]]
        for id, found in consolidating.linked(call, ids).items()
    }
