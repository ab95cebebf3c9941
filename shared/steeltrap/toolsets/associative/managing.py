"""associative: memory_manage."""

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import Field

from ...engine import deleting, reading, updating
from ...engine.call import Call
from ...errors import InvalidInput, NotFound
from ...model import Edit, JsonObject, Memory, Usage
from ..fields import Content, Moment, Scope
from .levels import MINIMAL, Full, Levelled, LevelledInput, Long, Standard, Succeeded, answered, preview
from .toolset import ASSOCIATIVE
from .views import (
    AssociationItem,
    Category,
    CompleteMemory,
    MemoryIdField,
    Metadata,
    Previewed,
    Tags,
    complete,
    strongest,
)

_EDITED: Final = ("content", "scope", "tags", "category", "metadata")
_ASSOCIATIONS: Final = 10


class ManageInput(LevelledInput):
    operation: Literal["get", "update", "delete"] = Field(
        description="get: read the memory; update: change the given fields; delete: delete it."
    )
    memory_id: MemoryIdField
    include_associations: bool = Field(True, description="With get at level full: include the strongest associations.")
    content: Content | None = Field(None, description="With update: the new text.")
    scope: Scope | None = Field(None, description="With update: the new scope.")
    tags: Tags | None = Field(None, description="With update: new tags; they replace the old ones.")
    category: Category | None = Field(None, description="With update: the new category.")
    metadata: Metadata | None = Field(
        None, description="With update: merged into the stored metadata; null removes a key."
    )

    def given(self) -> list[str]:
        """The names of the fields to change."""
        return [name for name in _EDITED if getattr(self, name) is not None]

    def edit(self) -> Edit:
        tags = None if self.tags is None else tuple(self.tags)
        return Edit(content=self.content, scope=self.scope, tags=tags, category=self.category, metadata=self.metadata)


class ManagedMemory(CompleteMemory, Previewed):
    """The memory that a get returns."""


class RecordMetadata(Levelled):
    """How often the memory was read before, and when it was read last."""

    access_count: int
    last_accessed_at: Moment | None = None


class ChangeDetails(Levelled):
    """The changed fields before and after; of a delete, all before. core.undo can restore a deleted memory until
    `restorable_until`."""

    before: JsonObject
    after: JsonObject
    version: int
    restorable_until: Moment | None = None


class ManageAnswer(Succeeded):
    """A get sets the fields from `exists` to `metadata`; update and delete set the others. `exists` of an unknown id is
    false at every level; of another it is in the answer at level minimal."""

    ids = ("affected_items",)

    exists: bool | None = None
    memory: Long[ManagedMemory] = None
    associations: Full[list[AssociationItem]] = None
    metadata: Full[RecordMetadata] = None
    affected_count: Standard[int] = None
    summary: Standard[str] = None
    affected_items: Full[list[str]] = None
    change_details: Full[ChangeDetails] = None


@ASSOCIATIVE.tool(
    "manage",
    "write",
    needs="index",
    destructive=True,
    examples=(
        {"operation": "get", "memory_id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},
        {"operation": "update", "memory_id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "tags": ["reviewed"]},
        {
            "operation": "delete",
            "memory_id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b",
            "response_level": "minimal",
        },
    ),
)
def memory_manage(call: Call, input: ManageInput) -> ManageAnswer:
    """Read, change or delete one memory by its id.

    A get of an id that is unknown says so with `exists`; an update or delete of one is an error.
    """
    given = input.given()
    if input.operation != "update" and given:
        raise InvalidInput(f"`{given[0]}` is for the operation 'update' only; leave it out of '{input.operation}'.")
    if input.operation == "update" and not given:
        raise InvalidInput("give what to update: content, scope, tags, category or metadata; nothing was changed.")
    match input.operation:
        case "get":
            answer = _get(call, input)
        case "update":
            answer = _update(call, input)
        case "delete":
            answer = _delete(call, input)
    return answered(call, input.response_level, answer)


def _get(call: Call, input: ManageInput) -> ManageAnswer:
    try:
        memory = reading.find(call, input.memory_id)
    except NotFound:
        return ManageAnswer(exists=False)
    usage = call.space.usage([memory.id]).get(memory.id, Usage())
    reading.get(call, memory.id)
    wants_associations = input.is_full and input.include_associations
    return ManageAnswer(
        exists=True if input.response_level is MINIMAL else None,
        memory=ManagedMemory(
            id=memory.id, scope=memory.scope, content_preview=preview(memory.content, 100), **complete(memory)
        ),
        associations=strongest(call, [memory.id], _ASSOCIATIONS)[memory.id] if wants_associations else None,
        metadata=RecordMetadata(access_count=usage.access_count, last_accessed_at=usage.last_accessed_at),
    )


def _update(call: Call, input: ManageInput) -> ManageAnswer:
    memory = updating.update(call, input.memory_id, input.edit())
    summary = f"Updated {', '.join(input.given())}."
    answer = ManageAnswer(affected_count=1, summary=summary, affected_items=[memory.id])
    if input.is_full:
        replaced = call.space.revisions(memory.id, after=memory.version - 2, limit=1)
        old = replaced[0].memory if replaced else memory
        changed = [name for name in _EDITED if getattr(old, name) != getattr(memory, name)]
        answer.change_details = ChangeDetails(
            before=_shown(old, changed), after=_shown(memory, changed), version=memory.version
        )
    return answer


def _delete(call: Call, input: ManageInput) -> ManageAnswer:
    memory = deleting.delete(call, input.memory_id)
    retention = call.rules.retention
    until = memory.deleted_at + retention if memory.deleted_at is not None and retention else None
    undo = f" It can be restored for {retention.days} days." if until else ""
    return ManageAnswer(
        affected_count=1,
        summary=f"Deleted 1 memory from {preview(memory.scope, 50)}.{undo}",
        affected_items=[memory.id],
        change_details=ChangeDetails(
            before=_shown(memory, _EDITED),
            after={},
            version=memory.version,
            restorable_until=until,
        ),
    )


def _shown(memory: Memory, names: Sequence[str]) -> JsonObject:
    values = {name: getattr(memory, name) for name in names}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
