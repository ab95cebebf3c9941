"""records: memory_batch_store, memory_batch_update."""

from typing import Annotated

from pydantic import Field

from ...engine import saving, updating
from ...engine.call import Call
from ...engine.saving import Batch, OnError
from ...engine.updating import NamedEdit
from ...errors import InvalidInput
from ...model import Draft
from ...tools import Answer, Input
from ..items import OneByOne
from .toolset import RECORDS, error_type
from .writing import EditInput, MemoryInput

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
