"""associative: memory_store."""

from pydantic import Field

from ...engine import saving
from ...engine.call import Call
from ...engine.saving import Saved
from ...errors import Duplicate
from ...model import DEFAULT_SCOPE, Draft
from ...ports import Guard
from ..fields import Content, Scope
from .levels import Full, Levelled, LevelledInput, Long, Standard, Succeeded, answered
from .toolset import ASSOCIATIVE
from .views import AssociationItem, Category, MemoryObject, Metadata, Tags, Threshold, memory_object, strongest


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
    saved, is_duplicate = _save(call, draft, input)
    memory = saved.memory
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
            nearest_id=saved.nearest_id,
            similarity=saved.similarity,
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
        said = f"Duplicate content detected (similarity: {duplicate.similarity} >= {threshold:g})"
        raise Duplicate(said, **duplicate.details) from None
