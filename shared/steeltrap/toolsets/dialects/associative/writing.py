"""associative: memory_store, memory_manage."""

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import Field

from ....engine import deleting, reading, saving, updating
from ....engine.call import Call
from ....engine.saving import Saved
from ....errors import Duplicate, InvalidInput, NotFound, counted
from ....model import DEFAULT_SCOPE, Draft, Edit, JsonObject, Memory, later
from ....ports import Guard
from ...fields import Content, Moment, Scope
from . import ASSOCIATIVE
from .views import (
    MINIMAL,
    AssociationItem,
    Category,
    CompleteMemory,
    Full,
    Levelled,
    LevelledInput,
    Long,
    MemoryIdField,
    MemoryObject,
    Metadata,
    Previewed,
    Standard,
    Succeeded,
    Tags,
    Threshold,
    answered,
    complete,
    memory_object,
    preview,
    strongest,
)


class StoreInput(LevelledInput):
    content: Content = Field(description="Memory content to store")
    scope: Scope = Field(
        DEFAULT_SCOPE,
        description="Path to file it under, such as 'work/webapp/backend', 'learning/python' or 'session/ID' "
        "(letters, digits, '_' and '-', at most 10 levels). scope_suggest suggests one.",
    )
    metadata: Metadata | None = None
    tags: Tags | None = None
    category: Category | None = None
    auto_associate: bool = Field(True, description="Associate it with similar memories in its scope.")
    allow_duplicates: bool = Field(
        False, description="Store it even if the scope already has the same text. false returns the existing memory."
    )
    duplicate_threshold: Threshold | None = Field(
        None,
        description="Refuse to store it if the scope has a memory at least this similar, 0 to 1; 0.95 refuses only "
        "nearly identical texts. Default: never refuse.",
    )


class DuplicateAnalysis(Levelled):
    """The nearest older memory in any scope, and its similarity; both are left out if there is none."""

    is_duplicate: bool
    ids = ("nearest_id",)

    nearest_id: str | None = None
    similarity: float | None = Field(None, description="Cosine, -1 to 1.")


class StoreAnswer(Succeeded):
    """If nothing was stored, `duplicate_of` and `memory_id` name the memory that already has the text."""

    ids = ("memory_id", "duplicate_of")

    memory_id: str
    scope: Long[str] = None
    associations_count: Standard[int] = None
    duplicate_of: Standard[str] = None
    memory_object: Full[MemoryObject] = None
    associations_details: Full[list[AssociationItem]] = None
    duplicate_analysis: Full[DuplicateAnalysis] = None


@ASSOCIATIVE.tool(
    "save",
    "write",
    needs="index",
    keyed=True,
    examples=(
        {"content": "The deploy key rotates every 90 days.", "scope": "work/infrastructure", "tags": ["deploy"]},
        {"content": "User prefers dark mode", "response_level": "minimal"},
    ),
)
def memory_store(call: Call, input: StoreInput) -> StoreAnswer:
    """Store a new memory with automatic association discovery.

    A text that its scope has already is not stored twice: the answer is then the memory that is there.
    """
    draft = Draft(
        content=input.content,
        scope=input.scope,
        metadata=input.metadata or {},
        tags=tuple(input.tags or ()),
        category=input.category,
        associate=input.auto_associate,
    )
    result, is_duplicate = _save(call, draft, input)
    memory = result.memory
    details = strongest(call, [memory.id], None)[memory.id] if is_duplicate or input.is_full else None
    answer = StoreAnswer(
        memory_id=memory.id,
        scope=memory.scope,
        associations_count=len(memory.links) if details is None else len(details),
        duplicate_of=memory.id if is_duplicate else None,
        memory_object=memory_object(memory),
        associations_details=details,
        duplicate_analysis=DuplicateAnalysis(
            is_duplicate=is_duplicate,
            nearest_id=result.nearest_id,
            similarity=result.similarity,
        ),
    )
    return answered(call, input.response_level, answer)


def _save(call: Call, draft: Draft, input: StoreInput) -> tuple[Saved, bool]:
    threshold = input.duplicate_threshold
    if threshold is None:
        return (saving.save(call, draft), False) if input.allow_duplicates else saving.save_once(call, draft)
    try:
        return saving.save(call, draft, Guard(threshold=threshold)), False
    except Duplicate as duplicate:
        # In the document's words.
        message = f"Duplicate content detected (similarity: {duplicate.similarity} >= {threshold:g})"
        raise Duplicate(message, **duplicate.details) from None


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

    def edited_names(self) -> list[str]:
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
    fields = input.edited_names()
    if input.operation != "update" and fields:
        raise InvalidInput(f"`{fields[0]}` is for the operation 'update' only; leave it out of '{input.operation}'.")
    if input.operation == "update" and not fields:
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
    usage = reading.usage(call, memory.id)
    reading.get(call, memory.id)
    wants_associations = input.is_full and input.include_associations
    return ManageAnswer(
        exists=True if input.response_level is MINIMAL else None,
        memory=ManagedMemory(
            id=memory.id,
            scope=memory.scope,
            content_preview=preview(memory.content, 100),
            **complete(memory, whole=True),
        ),
        associations=strongest(call, [memory.id], _ASSOCIATIONS)[memory.id] if wants_associations else None,
        metadata=RecordMetadata(access_count=usage.access_count, last_accessed_at=usage.last_accessed_at),
    )


def _update(call: Call, input: ManageInput) -> ManageAnswer:
    memory = updating.update(call, input.memory_id, input.edit())
    summary = f"Updated {', '.join(input.edited_names())}."
    answer = ManageAnswer(affected_count=1, summary=summary, affected_items=[memory.id])
    if input.is_full:
        old = reading.image_before(call, memory)
        names = [name for name in _EDITED if getattr(old, name) != getattr(memory, name)]
        answer.change_details = ChangeDetails(
            before=_values(old, names), after=_values(memory, names), version=memory.version
        )
    return answer


def _delete(call: Call, input: ManageInput) -> ManageAnswer:
    memory = deleting.delete(call, input.memory_id)
    retention = call.rules.retention
    until = later(memory.deleted_at, retention) if memory.deleted_at is not None and retention else None
    undo = f" It can be restored for {counted(retention.days, 'day', 'days')}." if until else ""
    return ManageAnswer(
        affected_count=1,
        summary=f"Deleted 1 memory from {preview(memory.scope, 50)}.{undo}",
        affected_items=[memory.id],
        change_details=ChangeDetails(
            before=_values(memory, _EDITED),
            after={},
            version=memory.version,
            restorable_until=until,
        ),
    )


def _values(memory: Memory, names: Sequence[str]) -> JsonObject:
    values = {name: getattr(memory, name) for name in names}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
