"""core: save, batch_save, put, update, batch_update, consolidate, move, associate, associations."""

from typing import Annotated

from pydantic import Field

from ...engine import consolidating, saving, updating
from ...engine.call import Call
from ...engine.saving import Batch, OnError
from ...errors import SteeltrapError
from ...model import Association, Memory
from ...ports import Guard
from ...tools import Answer, Input
from ..fields import MemoryId, MemoryIds, NewTags, Scope, Unit
from . import CORE
from .inputs import EditInput, MemoryInput, StoredMetadata, WholeMemoryInput
from .views import MemoryView, memory_view


class SaveInput(MemoryInput):
    duplicate_threshold: Unit | None = Field(
        None, description="Refuse to save if the scope has a memory at least this similar, 0 to 1."
    )
    fold_duplicates: bool = Field(
        False, description="If the scope already has the same text, return that memory and save nothing."
    )
    associate: bool = Field(True, description="Link it to similar memories in its scope.")


class SavedView(Answer):
    """The saved memory, and the most similar one stored before it."""

    id: str
    version: int
    scope: str
    surprise: float | None = None
    links: int = Field(description="Number of similar memories in its scope that it was linked to.")
    existed: bool = Field(description="True if nothing was saved: the idempotency key or the text was saved before.")
    nearest_id: str | None = Field(
        None, description="The most similar memory in any scope: is the new one an update of it?"
    )
    similarity: float | None = Field(None, description="Cosine similarity to `nearest_id`.")
    supersedes: list[str] | None = Field(None, description="The memories that it superseded.")
    probably_supersedes: list[str] | None = Field(
        None, description="Older memories that it may correct; nothing was done about them."
    )


@CORE.tool(
    "save",
    "write",
    needs="index",
    keyed=True,
    examples=(
        {"content": "User prefers dark mode and large fonts.", "tags": ["ui", "preferences"]},
        {"content": "The deploy key rotates every 90 days.", "scope": "work/infra", "category": "fact"},
        {"content": "Ana works at Globex.", "supersedes": ["3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"]},
    ),
)
def save(call: Call, input: SaveInput) -> SavedView:
    """Save one memory: a fact, preference, decision or event worth remembering beyond this conversation.

    Write it as a full sentence that makes sense on its own. If it corrects older memories, give their ids as
    `supersedes`. The answer names those that it probably corrects: if it does, delete it and save it again with
    `supersedes`.
    """
    if input.fold_duplicates and input.duplicate_threshold is None:
        result, _ = saving.save_once(call, input.to_draft())
    else:
        guard = None if input.duplicate_threshold is None else Guard(threshold=input.duplicate_threshold)
        result = saving.save(call, input.to_draft(), guard)
    memory = result.memory
    return SavedView(
        id=memory.id,
        version=memory.version,
        scope=memory.scope,
        surprise=memory.surprise,
        links=len(memory.links),
        existed=result.existed,
        nearest_id=result.nearest_id,
        similarity=result.similarity,
        supersedes=list(memory.supersedes) or None,
        probably_supersedes=[result.probably_supersedes] if result.probably_supersedes else None,
    )


class ItemError(Answer):
    """Why an item was not written."""

    index: int
    code: str
    message: str


class BatchView(Answer):
    """The ids written, in order, and the items that failed."""

    ids: list[str]
    errors: list[ItemError]


OnErrorField = Annotated[
    OnError,
    Field(
        description="rollback: all or nothing; continue: skip items that fail; stop: keep the items before the failure."
    ),
]


class BatchSaveInput(Input):
    items: list[MemoryInput] = Field(min_length=1, max_length=100, description="The memories to save.")
    on_error: OnErrorField = "rollback"


@CORE.tool(
    "save",
    "write",
    needs="index",
    keyed=True,
    examples=({"items": [{"content": "Ana works at Acme."}, {"content": "Ana moved to Lisbon in 2024."}]},),
)
def batch_save(call: Call, input: BatchSaveInput) -> BatchView:
    """Save up to 100 memories in one call, by default all or nothing."""
    drafts = [item.to_draft() for item in input.items]
    return _batch_view(saving.batch_save(call, drafts, input.on_error), input.on_error)


class PutItemInput(WholeMemoryInput):
    """A memory and the id to put it under."""

    id: Annotated[
        str, Field(min_length=32, max_length=64, description="A UUID of yours.", json_schema_extra={"format": "uuid"})
    ]


class PutInput(Input):
    items: list[PutItemInput] = Field(min_length=1, max_length=100, description="The memories, whole.")


class PutView(Answer):
    """The ids, in order, and their versions: 1 for a memory that is new."""

    ids: list[str]
    versions: list[int]


@CORE.tool(
    "save",
    "write",
    needs="index",
    idempotent=True,
    examples=({"items": [{"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "content": "Ana works at Acme."}]},),
)
def put(call: Call, input: PutInput) -> PutView:
    """Store up to 100 memories under ids of your own, all or nothing: new ones, or whole in place of what is stored
    under the id. undo brings back what was replaced.
    """
    memories = updating.put(call, [updating.PutItem(id=item.id, draft=item.to_draft()) for item in input.items])
    return PutView(ids=[memory.id for memory in memories], versions=[memory.version for memory in memories])


class UpdateInput(EditInput):
    version: int | None = Field(
        None, ge=1, description="Update only if this is still its version. Default: update any version."
    )


@CORE.tool(
    "update",
    "write",
    needs="index",
    idempotent=True,
    examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "content": "User prefers light mode since May."},),
)
def update(call: Call, input: UpdateInput) -> MemoryView:
    """Correct or extend a memory. The old version stays in its history; undo restores it. If the update makes the
    memory expire, undo works only until the next sweep purges it.

    New content for an episode also replaces its messages.
    """
    return memory_view(updating.update(call, input.id, input.to_edit(), version=input.version))


class BatchUpdateInput(Input):
    updates: list[EditInput] = Field(min_length=1, max_length=100, description="The edits, one per memory.")
    on_error: OnErrorField = "rollback"


@CORE.tool(
    "update",
    "write",
    needs="index",
    idempotent=True,
    examples=({"updates": [{"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "tags": ["ui", "reviewed"]}]},),
)
def batch_update(call: Call, input: BatchUpdateInput) -> BatchView:
    """Update up to 100 memories in one call, by default all or nothing.

    Some stores take at most 50 with rollback; the error then says so.
    """
    edits = [(item.id, item.to_edit()) for item in input.updates]
    return _batch_view(updating.batch_update(call, edits, input.on_error), input.on_error)


class ConsolidateInput(Input):
    ids: MemoryIds = Field(description="The 2 to 50 memories to merge.", json_schema_extra={"minItems": 2})
    preserve_originals: bool = Field(True, description="Keep the originals; false deletes them.")
    tags: NewTags | None = Field(None, description="Tags of the result. Default: all tags of the originals.")
    metadata: StoredMetadata | None = None
    dry_run: bool = Field(False, description="Save nothing: answer the memory that it would be.")


@CORE.tool(
    "consolidate",
    "write",
    needs="index",
    keyed=True,
    destructive=True,
    timeout=15.0,
    examples=({"ids": ["3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "7c1d2e3f-4a5b-4c6d-8e7f-9a0b1c2d3e4f"]},),
)
def consolidate(call: Call, input: ConsolidateInput) -> MemoryView:
    """Merge 2 to 50 related memories into one long-term memory made of their own sentences.

    Up to 4,000 characters, all text is kept; beyond that, only the most informative sentences.
    """
    return memory_view(
        consolidating.consolidate(
            call,
            input.ids,
            preserve_originals=input.preserve_originals,
            tags=None if input.tags is None else tuple(input.tags),
            metadata=input.metadata,
            dry_run=input.dry_run,
        )
    )


class MoveInput(Input):
    ids: MemoryIds
    scope: Scope


class MovedView(Answer):
    """The ids moved, and the memories that could not be moved."""

    moved: list[str]
    failed: list[ItemError]


@CORE.tool(
    "move",
    "write",
    needs="index",
    idempotent=True,
    timeout=30.0,
    examples=({"ids": ["3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"], "scope": "archive/2025"},),
)
def move(call: Call, input: MoveInput) -> MovedView:
    """Move memories to another scope. The answer lists those that could not be moved, with the reason."""
    moved = updating.move(call, input.ids, input.scope)
    return MovedView(
        moved=[memory.id for memory in moved.memories],
        failed=[_item_error(input.ids.index(id), error) for id, error in moved.failures.items()],
    )


def _batch_view(batch: Batch, on_error: OnError) -> BatchView:
    if batch.errors and on_error == "rollback":
        # Nothing was written: an answer that looks like success would hide it.
        index, first = next(iter(batch.errors.items()))
        errors = [_item_error(i, error).model_dump() for i, error in batch.errors.items()]
        raise type(first)(f"Item {index}: {first.message} Nothing was written.", errors=errors)
    return BatchView(
        ids=[memory.id for memory in batch.memories],
        errors=[_item_error(index, error) for index, error in batch.errors.items()],
    )


def _item_error(index: int, error: SteeltrapError) -> ItemError:
    return ItemError(index=index, code=error.code, message=error.message)


class AssociateInput(Input):
    id: MemoryId
    target_id: MemoryId = Field(description="The memory to link it to.")
    strength: Unit = Field(1.0, description="Strength of the link, 0 to 1.")


class AssociationView(Answer):
    """A linked memory."""

    id: str
    content: str
    scope: str
    strength: float
    manual: bool


class AssociationsView(Answer):
    associations: list[AssociationView]


@CORE.tool(
    "associate",
    "write",
    needs="embedder",
    idempotent=True,
    examples=(
        {
            "id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b",
            "target_id": "7c1d2e3f-4a5b-4c6d-8e7f-9a0b1c2d3e4f",
            "strength": 0.9,
        },
    ),
)
def associate(call: Call, input: AssociateInput) -> AssociationsView:
    """Link two related memories. Similar memories in the same scope are linked automatically."""
    memory = consolidating.associate(call, input.id, input.target_id, input.strength)
    return _view(consolidating.associations(call, memory.id, limit=100))


class AssociationsInput(Input):
    id: MemoryId
    limit: int = Field(10, ge=1, le=100, description="Maximum number to return.")
    discover: bool = Field(False, description="Instead search all scopes for similar memories, linked or not.")
    threshold: Unit = Field(0.1, description="With `discover`: minimum similarity, 0 to 1.")


@CORE.tool("associations", "read", examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "limit": 5},))
def associations(call: Call, input: AssociationsInput) -> AssociationsView:
    """List the memories linked to a memory, strongest first. Links work in both directions."""
    if input.discover:
        return _view(consolidating.discover(call, input.id, limit=input.limit, threshold=input.threshold))
    return _view(consolidating.associations(call, input.id, input.limit))


def _view(pairs: list[tuple[Association, Memory]]) -> AssociationsView:
    return AssociationsView(
        associations=[
            AssociationView(
                id=memory.id,
                content=memory.content,
                scope=memory.scope,
                strength=association.strength,
                manual=association.manual,
            )
            for association, memory in pairs
        ]
    )
