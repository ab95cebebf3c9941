"""records: memory_search, memory_get, memory_list, memory_get_score, memory_set_score."""

from math import ceil

from pydantic import Field

from ....engine import reading, scoring, searching
from ....engine.call import Call
from ....model import ContentType, Filter, Hit, JsonObject, Mode, Search, SortBy, Tier
from ....ranking.budget import in_part
from ....text.limits import MAX_CONTEXT_CHARACTERS
from ....tools import Answer, Input
from ...fields import AnyText, Moment, Time, Unit
from . import RECORDS, Id, OfTags, OfTier, OfType


class SearchInput(Input):
    query: AnyText = Field(description="Search query text")
    top_k: int = Field(10, ge=1, le=1000, description="Maximum number of results")
    memory_tier: OfTier | None = None
    tags: OfTags | None = None
    content_type: OfType | None = None
    min_similarity: Unit = Field(
        0.0,
        description="Minimum similarity (0.0 to 1.0); without effect in keyword mode",
    )
    search_mode: Mode = Field(
        "semantic", description="Search mode: semantic (by meaning), keyword (by words) or hybrid (both)"
    )
    keyword_weight: Unit = Field(0.3, description="Weight of keywords in hybrid search")
    sort_by: SortBy = Field("relevance", description="Sort order; created_at is newest first")
    importance_weight: Unit = Field(0.0, description="Weight of the importance score")


class FoundView(Answer):
    """A result. `similarity` is the cosine of query and memory, 0 to 1; of a keyword search, its share of the best."""

    id: str
    content: str
    similarity: float
    memory_tier: Tier
    tags: list[str]
    created_at: Moment


class SearchView(Answer):
    results: list[FoundView]
    total: int


@RECORDS.tool(
    "search",
    "read",
    needs="index",
    examples=(
        {"query": "user interface preferences", "top_k": 5, "memory_tier": "long_term", "min_similarity": 0.5},
        {"query": "ダークモード", "search_mode": "hybrid", "keyword_weight": 0.5, "sort_by": "importance"},
    ),
)
def memory_search(call: Call, input: SearchInput) -> SearchView:
    """Search memories by semantic, keyword or hybrid search. Use it before you answer anything that may be stored."""
    result = searching.search(
        call,
        Search(
            query=input.query,
            limit=input.top_k,
            mode=input.search_mode,
            filter=Filter(tags=tuple(input.tags or ()), tier=input.memory_tier, content_type=input.content_type),
            vector_weight=1 - input.keyword_weight,
            min_similarity=_floor(input.min_similarity),
            floors_every_hit=True,
            sort_by=input.sort_by,
            importance_weight=input.importance_weight,
        ),
    )
    call.outcome = result.outcome
    result.check_answered()
    return SearchView(results=[_view(hit) for hit in result.hits], total=len(result.hits))


class GetInput(Input):
    id: Id


class RecordView(Answer):
    id: str
    content: str
    content_type: ContentType
    memory_tier: Tier
    tags: list[str]
    metadata: JsonObject
    created_at: Moment
    updated_at: Moment
    expires_at: Moment | None


@RECORDS.tool("get", "read", examples=({"id": "550e8400-e29b-41d4-a716-446655440000"},))
def memory_get(call: Call, input: GetInput) -> RecordView:
    """Get one memory by its id."""
    memory = reading.get(call, input.id)
    return RecordView(
        id=memory.id,
        content=memory.content,
        content_type=memory.content_type,
        memory_tier=memory.tier,
        tags=list(memory.tags),
        metadata=memory.metadata,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        expires_at=memory.expires_at,
    )


class ListInput(Input):
    memory_tier: OfTier | None = None
    tags: OfTags | None = None
    content_type: OfType | None = None
    created_after: Time | None = Field(None, description="Only memories created at or after this time (ISO 8601)")
    created_before: Time | None = Field(None, description="Only memories created before this time (ISO 8601)")
    limit: int = Field(50, ge=1, le=1000, description="Maximum number of results (at most 1000)")
    offset: int = Field(0, ge=0, le=10**9, description="Pagination offset")


class ListedView(Answer):
    id: str
    content: str
    content_type: ContentType
    memory_tier: Tier
    tags: list[str]
    created_at: Moment


class ListView(Answer):
    """A page, newest first. `total` counts all memories that pass the filter."""

    memories: list[ListedView]
    total: int
    limit: int
    offset: int


@RECORDS.tool(
    "list",
    "read",
    examples=(
        {"memory_tier": "long_term", "limit": 20},
        {"tags": ["preferences"], "created_after": "2025-01-01T00:00:00Z"},
        {"limit": 50, "offset": 50},
    ),
)
def memory_list(call: Call, input: ListInput) -> ListView:
    """List memories with filters and pagination, newest first. To find something, use memory_search."""
    filter = Filter(
        tags=tuple(input.tags or ()),
        tier=input.memory_tier,
        content_type=input.content_type,
        created_after=input.created_after,
        created_before=input.created_before,
    )
    page = reading.list_memories(call, filter, limit=input.limit, offset=input.offset)
    memories = [
        ListedView(
            id=memory.id,
            content=in_part(memory.content).text,
            content_type=memory.content_type,
            memory_tier=memory.tier,
            tags=list(memory.tags),
            created_at=memory.created_at,
        )
        for memory in page.memories
    ]
    return ListView(memories=memories, total=page.total, limit=input.limit, offset=input.offset)


def _floor(least: float) -> float:
    """A floor with as many digits as a similarity is shown with, so that none is shown below it."""
    return least if round(least, 4) == least else ceil(least * 10_000) / 10_000


def _view(hit: Hit) -> FoundView:
    memory = hit.memory
    # A keyword search has no cosine: similarity is then the score divided by the best score.
    similarity = min(1.0, max(0.0, hit.keyword_score if hit.cosine is None else hit.cosine))
    return FoundView(
        id=memory.id,
        content=memory.content,
        similarity=similarity,
        memory_tier=memory.tier,
        tags=list(memory.tags),
        created_at=memory.created_at,
    )


class GetScoreInput(Input):
    id: Id


class ScoreView(Answer):
    success: bool
    memory_id: str
    importance_score: float
    access_count: int
    last_accessed_at: Moment | None


@RECORDS.tool("get", "read", examples=({"id": "550e8400-e29b-41d4-a716-446655440000"},))
def memory_get_score(call: Call, input: GetScoreInput) -> ScoreView:
    """Get the importance score of a memory. It is computed from how often and how recently the memory was accessed,
    unless it was set manually."""
    scored = scoring.score(call, input.id)
    return ScoreView(
        success=True,
        memory_id=scored.memory.id,
        importance_score=scored.importance,
        access_count=scored.usage.access_count,
        last_accessed_at=scored.usage.last_accessed_at,
    )


class SetScoreInput(Input):
    id: Id
    score: Unit = Field(description="New score (0.0 to 1.0)")
    reason: str = Field(
        "Manual override",
        max_length=MAX_CONTEXT_CHARACTERS,
        description="Reason (for audits)",
    )


class RescoredView(Answer):
    success: bool
    memory_id: str
    previous_score: float
    new_score: float


@RECORDS.tool(
    "update",
    "write",
    needs="embedder",
    idempotent=True,
    examples=({"id": "550e8400-e29b-41d4-a716-446655440000", "score": 0.9, "reason": "Critical user preference"},),
)
def memory_set_score(call: Call, input: SetScoreInput) -> RescoredView:
    """Set the importance score of a memory manually. It stays until it is set again."""
    rescored = scoring.set_score(call, input.id, input.score, input.reason)
    return RescoredView(
        success=True, memory_id=rescored.memory.id, previous_score=rescored.previous, new_score=input.score
    )
