"""records: memory_search, memory_get, memory_list."""

from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from ...engine import get as getting
from ...engine import list as listing
from ...engine import search as searching
from ...engine.call import Call
from ...engine.search import Mode, SortBy
from ...model import ContentType, Filter, Hit, JsonObject, Tier
from ...tools import Answer, Input
from ..fields import AnyText, Time, Unit
from .fields import Id, OfTags, OfTier, OfType
from .toolset import RECORDS


class SearchInput(Input):
    query: AnyText = Field(description="検索クエリテキスト (what to look for)")
    top_k: int = Field(10, ge=1, le=1000, description="返す最大結果数 (maximum number of results)")
    memory_tier: OfTier | None = None
    tags: OfTags | None = None
    content_type: OfType | None = None
    min_similarity: Unit = Field(
        0.0,
        description="最小類似度閾値（0.0-1.0） (minimum similarity; in hybrid and keyword mode, results that "
        "share words with the query are returned anyway, with matched_by: keyword)",
    )
    search_mode: Mode = Field(
        "semantic", description="検索モード (semantic: by meaning; keyword: by words; hybrid: by both)"
    )
    keyword_weight: Unit = Field(
        0.3, description="ハイブリッド検索でのキーワード重み (weight of words in hybrid mode, 0 to 1)"
    )
    sort_by: SortBy = Field("relevance", description="ソート順 (order of the results; created_at: newest first)")
    importance_weight: Unit = Field(
        0.0, description="重要度スコアの重み付け (weight of importance in the score, 0 to 1)"
    )


class FoundView(Answer):
    """A result. `matched_by` is set only if `similarity` is below `min_similarity` and the words matched."""

    id: str
    content: str
    similarity: float
    memory_tier: Tier
    tags: list[str]
    created_at: datetime
    matched_by: Literal["keyword"] | None = Field(None, exclude_if=lambda value: value is None)


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
    """セマンティック、キーワード、またはハイブリッド検索でメモリを検索します。

    Search memories by meaning, by words or by both. Use it before you answer anything that may be stored.
    """
    found = searching.search(
        call,
        searching.Search(
            query=input.query,
            limit=input.top_k,
            mode=input.search_mode,
            filter=Filter(tags=tuple(input.tags or ()), tier=input.memory_tier, content_type=input.content_type),
            vector_weight=1 - input.keyword_weight,
            min_similarity=input.min_similarity,
            sort_by=input.sort_by,
            importance_weight=input.importance_weight,
        ),
    )
    call.outcome = found.outcome
    found.check_answered()
    return SearchView(results=[_found(hit, input.min_similarity) for hit in found.hits], total=len(found.hits))


class GetInput(Input):
    id: Id


class RecordView(Answer):
    id: str
    content: str
    content_type: ContentType
    memory_tier: Tier
    tags: list[str]
    metadata: JsonObject
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None


@RECORDS.tool("get", "read", examples=({"id": "550e8400-e29b-41d4-a716-446655440000"},))
def memory_get(call: Call, input: GetInput) -> RecordView:
    """IDで特定のメモリを取得します。

    Read one memory by its id, with all its fields.
    """
    memory = getting.get(call, input.id)
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
    created_after: Time | None = Field(
        None, description="作成日でフィルタ（ISO形式） (only memories stored at or after this time)"
    )
    created_before: Time | None = Field(
        None, description="作成日でフィルタ（ISO形式） (only memories stored before this time)"
    )
    limit: int = Field(50, ge=1, le=1000, description="最大結果数（上限1000） (maximum number of results)")
    offset: int = Field(0, ge=0, le=10**9, description="ページネーションオフセット (number to skip)")


class ListedView(Answer):
    id: str
    content: str
    content_type: ContentType
    memory_tier: Tier
    tags: list[str]
    created_at: datetime


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
    """フィルタリングとページネーションでメモリをリストします。

    List memories, newest first, with the exact total. To find something, use memory_search.
    """
    filter = Filter(
        tags=tuple(input.tags or ()),
        tier=input.memory_tier,
        content_type=input.content_type,
        created_after=input.created_after,
        created_before=input.created_before,
    )
    page = listing.list_memories(call, filter, limit=input.limit, offset=input.offset)
    memories = [
        ListedView(
            id=memory.id,
            content=memory.content,
            content_type=memory.content_type,
            memory_tier=memory.tier,
            tags=list(memory.tags),
            created_at=memory.created_at,
        )
        for memory in page.memories
    ]
    return ListView(memories=memories, total=page.total, limit=input.limit, offset=input.offset)


_ROUNDED: Final = 1e-4
"""The error that rounding can add to a similarity."""


def _found(hit: Hit, least: float) -> FoundView:
    memory = hit.memory
    # A keyword search has no cosine: similarity is then the score divided by the best score.
    similarity = hit.keyword_score if hit.cosine is None else hit.cosine
    similarity = min(1.0, max(0.0, similarity))
    return FoundView(
        id=memory.id,
        content=memory.content,
        similarity=similarity,
        memory_tier=memory.tier,
        tags=list(memory.tags),
        created_at=memory.created_at,
        matched_by="keyword" if similarity < least - _ROUNDED else None,
    )
