"""records: memory_store, memory_update, memory_delete, memory_consolidate, memory_batch_store, memory_batch_update."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from ....engine import consolidating, deleting, saving, updating
from ....engine.call import Call
from ....engine.saving import Batch, OnError
from ....engine.updating import NamedEdit
from ....errors import InvalidInput
from ....model import Draft, Edit, Filter, Outcome, OutcomeKind, Tier
from ....tools import Answer, Input
from ...fields import AnyText, Label, MemoryId, MemoryIds, Metadata, Moment, OneByOne, Tags, Time
from . import (
    RECORDS,
    Id,
    MoreMetadata,
    NewContent,
    NewTags,
    NewTier,
    StoreMetadata,
    StoreTags,
    StoreTier,
    StoreType,
    checked_content,
    error_type,
)

_ID = "550e8400-e29b-41d4-a716-446655440000"
_FOREVER = timedelta(days=10_000_000)


class MemoryInput(Input):
    """A memory to store."""

    content: AnyText = Field(description="Content to store")
    content_type: StoreType = "text"
    memory_tier: StoreTier = "long_term"
    tags: StoreTags = []
    metadata: StoreMetadata = {}

    def to_draft(self, agent_label: str | None = None, ttl: timedelta | None = None) -> Draft:
        """Raises InvalidInput for an empty content."""
        return Draft(
            content=checked_content(self.content),
            content_type=self.content_type,
            tier=self.memory_tier,
            tags=tuple(self.tags),
            metadata=self.metadata,
            agent_label=agent_label,
            ttl=ttl,
        )


class StoreInput(MemoryInput):
    agent_id: Label | None = Field(None, description="Agent id (a label)")
    ttl_seconds: int | None = Field(
        None, ge=0, description="Time to live in seconds; 0 expires at once. Default: none, one day for short_term"
    )


class StoredView(Answer):
    id: str
    content: str
    memory_tier: Tier
    created_at: Moment


@RECORDS.tool(
    "save",
    "write",
    needs="index",
    keyed=True,
    examples=(
        {
            "content": "User prefers dark mode and large font sizes",
            "memory_tier": "long_term",
            "tags": ["preferences", "ui"],
            "metadata": {"source": "settings_page"},
        },
        {"content": "The build is running", "memory_tier": "short_term", "ttl_seconds": 3600},
    ),
)
def memory_store(call: Call, input: StoreInput) -> StoredView:
    """Store a memory entry; its embedding is generated automatically.

    Write it as a full sentence that makes sense on its own.
    """
    memory = saving.save(call, input.to_draft(input.agent_id, _ttl(input.ttl_seconds))).memory
    return StoredView(id=memory.id, content=memory.content, memory_tier=memory.tier, created_at=memory.created_at)


class EditInput(Input):
    """The fields to change. Fields that are left out stay unchanged."""

    id: Id
    content: NewContent | None = None
    tags: NewTags | None = None
    metadata: MoreMetadata | None = None
    memory_tier: NewTier | None = None

    def to_edit(self) -> Edit:
        """Raises InvalidInput for an empty content."""
        return Edit(
            content=None if self.content is None else checked_content(self.content),
            tags=None if self.tags is None else tuple(self.tags),
            metadata=self.metadata,
            tier=self.memory_tier,
        )


class UpdateInput(EditInput):
    id: Id = Field(description="Id of the memory to update")


class UpdatedView(Answer):
    id: str
    updated: bool
    updated_at: Moment


@RECORDS.tool(
    "update",
    "write",
    needs="index",
    idempotent=True,
    examples=({"id": _ID, "tags": ["preferences", "ui", "theme"]}, {"id": _ID, "memory_tier": "long_term"}),
)
def memory_update(call: Call, input: UpdateInput) -> UpdatedView:
    """Update an existing memory entry. Fields that are left out stay unchanged."""
    memory = updating.update(call, input.id, input.to_edit())
    return UpdatedView(id=memory.id, updated=True, updated_at=memory.updated_at)


class DeleteInput(Input):
    id: MemoryId | None = Field(None, description="Id of one memory to delete")
    ids: MemoryIds | None = Field(None, description="Ids of the memories to delete")
    memory_tier: Tier | None = Field(None, description="Delete all memories of this tier")
    older_than: Time | None = Field(None, description="Delete memories older than this time (ISO 8601)")


class DeletedView(Answer):
    deleted_count: int
    deleted_ids: list[str]


@RECORDS.tool(
    "delete",
    "write",
    destructive=True,
    idempotent=True,
    timeout=30.0,
    examples=({"id": _ID}, {"ids": [_ID]}, {"older_than": "2024-01-01T00:00:00Z"}, {"memory_tier": "short_term"}),
)
def memory_delete(call: Call, input: DeleteInput) -> DeletedView:
    """Delete memories by id or by criteria.

    Give id, ids, or memory_tier and older_than, of which both must hold if both are given. Unknown ids are left out of
    the answer.
    """
    criteria = Filter(tier=input.memory_tier, created_before=input.older_than)
    if sum((input.id is not None, input.ids is not None, not criteria.is_open())) != 1:
        raise InvalidInput("give exactly one of: id; ids; or memory_tier and older_than. Nothing was deleted.")
    if criteria.is_open():
        deletion = deleting.delete_all(call, input.ids or [input.id or ""])
    else:
        deletion = deleting.delete_matching(call, criteria)
    if deletion.more:
        call.outcome = Outcome(
            kind=OutcomeKind.DEGRADED,
            message="Time ran out before all memories were deleted; call again to delete the rest.",
        )
    return DeletedView(deleted_count=len(deletion.ids), deleted_ids=deletion.ids)


class ConsolidateInput(Input):
    memory_ids: list[MemoryId] = Field(max_length=1000, description="Ids of the memories to merge (2 to 50)")
    summary_strategy: Literal["extractive"] = Field(
        "extractive", description="Summary strategy: extractive keeps the most important sentences"
    )
    preserve_originals: bool = Field(True, description="Whether to keep the originals; false deletes them")
    tags: Tags | None = Field(None, description="Tags of the merged memory. Default: all tags of the originals")
    metadata: Metadata | None = Field(None, description="Metadata of the merged memory")


class ConsolidatedView(Answer):
    success: bool
    consolidated_memory_id: str
    original_count: int
    preserved: bool
    summary_length: int = Field(description="Number of characters of the merged text.")


@RECORDS.tool(
    "consolidate",
    "write",
    needs="index",
    keyed=True,
    destructive=True,
    timeout=15.0,
    examples=(
        {
            "memory_ids": [_ID, "661f9511-f38c-42e5-b827-557766551111"],
            "summary_strategy": "extractive",
            "preserve_originals": True,
            "tags": ["consolidated", "summary"],
        },
        {"memory_ids": [_ID, "661f9511-f38c-42e5-b827-557766551111"], "preserve_originals": False},
    ),
)
def memory_consolidate(call: Call, input: ConsolidateInput) -> ConsolidatedView:
    """Merge several related memories into one long-term memory and summarise them.

    Up to 4,000 characters, all text is kept; beyond that, only the most important sentences.
    """
    memory = consolidating.consolidate(
        call,
        input.memory_ids,
        preserve_originals=input.preserve_originals,
        tags=None if input.tags is None else tuple(input.tags),
        metadata=input.metadata,
    )
    return ConsolidatedView(
        success=True,
        consolidated_memory_id=memory.id,
        original_count=len(consolidating.distinct_ids(input.memory_ids)),
        preserved=input.preserve_originals,
        summary_length=len(memory.content),
    )


def _ttl(seconds: int | None) -> timedelta | None:
    # Seconds beyond what a timedelta holds mean a date later than any that can be stored.
    return None if seconds is None else timedelta(seconds=min(seconds, int(_FOREVER.total_seconds())))


OnErrorField = Annotated[
    OnError,
    Field(
        description="On error: rollback (all or nothing), continue (skip items that fail) or stop (keep the items "
        "before the failure)"
    ),
]


class ItemError(Answer):
    """Why one item of a batch was not written; `index` counts from 0."""

    index: int
    error_type: str
    message: str


class BatchStoreInput(Input):
    one_by_one = ("items",)

    items: list[Annotated[MemoryInput | InvalidInput, OneByOne(MemoryInput)]] = Field(
        min_length=1, max_length=100, description="Memories to store (at most 100)"
    )
    on_error: OnErrorField = "rollback"


class BatchStoredView(Answer):
    """`success` is true only if nothing failed. After a rollback nothing is stored."""

    success: bool
    stored_count: int
    stored_ids: list[str]
    errors: list[ItemError]


@RECORDS.tool(
    "save",
    "write",
    needs="index",
    keyed=True,
    examples=(
        {
            "items": [
                {"content": "First memory", "tags": ["batch"]},
                {"content": "Second memory", "tags": ["batch"]},
                {"content": "Third memory", "tags": ["batch"]},
            ],
            "on_error": "rollback",
        },
    ),
)
def memory_batch_store(call: Call, input: BatchStoreInput) -> BatchStoredView:
    """Store several memories in one call, at most 100. If `success` is false, `errors` lists the failures."""
    batch = saving.batch_save(call, [_draft(item) for item in input.items], input.on_error)
    ids = [memory.id for memory in batch.memories]
    return BatchStoredView(success=not batch.errors, stored_count=len(ids), stored_ids=ids, errors=_errors(batch))


class BatchUpdateInput(Input):
    one_by_one = ("updates",)

    updates: list[Annotated[EditInput | InvalidInput, OneByOne(EditInput)]] = Field(
        min_length=1,
        max_length=100,
        description="Updates, one per memory",
    )
    on_error: OnErrorField = "rollback"


class BatchUpdatedView(Answer):
    """`success` is true only if nothing failed. After a rollback nothing is changed."""

    success: bool
    updated_count: int
    updated_ids: list[str]
    errors: list[ItemError]


@RECORDS.tool(
    "update",
    "write",
    needs="index",
    idempotent=True,
    examples=(
        {
            "updates": [
                {"id": "550e8400-e29b-41d4-a716-446655440000", "tags": ["updated", "important"]},
                {"id": "661f9511-f38c-42e5-b827-557766551111", "metadata": {"reviewed": True}},
            ],
            "on_error": "continue",
        },
    ),
)
def memory_batch_update(call: Call, input: BatchUpdateInput) -> BatchUpdatedView:
    """Update several memories in one call. If `success` is false, `errors` lists the failures.

    At most 100; with rollback some stores take at most 50, and the error says so.
    """
    batch = updating.batch_update(call, [_edit(item) for item in input.updates], input.on_error)
    ids = [memory.id for memory in batch.memories]
    return BatchUpdatedView(success=not batch.errors, updated_count=len(ids), updated_ids=ids, errors=_errors(batch))


def _draft(item: MemoryInput | InvalidInput) -> Draft | InvalidInput:
    try:
        return item if isinstance(item, InvalidInput) else item.to_draft()
    except InvalidInput as empty:
        return empty


def _edit(item: EditInput | InvalidInput) -> NamedEdit | InvalidInput:
    try:
        return item if isinstance(item, InvalidInput) else (item.id, item.to_edit())
    except InvalidInput as empty:
        return empty


def _errors(batch: Batch) -> list[ItemError]:
    return [
        ItemError(index=index, error_type=error_type(error), message=error.message)
        for index, error in batch.errors.items()
    ]
