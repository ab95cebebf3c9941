"""associative: memory_search, memory_discover_associations."""

from typing import Literal

from pydantic import AliasChoices, Field

from ....engine import consolidating, reading, searching
from ....engine.call import Call
from ....model import Diversity, Filter, Hit, Search
from ....text.limits import check_scope
from ...fields import Query, Scope
from . import ASSOCIATIVE
from .views import (
    AssociationItem,
    CompleteMemory,
    Full,
    Levelled,
    LevelledInput,
    Long,
    MemoryIdField,
    Minimal,
    Previewed,
    Standard,
    Succeeded,
    Threshold,
    answered,
    association_item,
    complete,
    preview,
    strongest,
)


class SearchInput(LevelledInput):
    query: Query = Field(description="Search query")
    mode: Literal["standard", "diversified"] = Field(
        "standard", description="standard: the most relevant; diversified: relevant and different from each other."
    )
    scope: Scope | None = Field(None, description="Only this scope. Default: all scopes.")
    include_child_scopes: bool = Field(False, description="With `scope`: also the scopes below it.")
    limit: int = Field(10, ge=1, le=100, description="Maximum number of memories to retrieve.")
    similarity_threshold: Threshold = Field(
        0.1, description="Leave out results less similar than this, 0 to 1, unless they share words with the query."
    )
    include_associations: bool = Field(
        True, description="At level full: include the three strongest associations of each result."
    )
    min_score: Threshold = Field(0.1, description="In mode diversified: used instead of `similarity_threshold`.")
    diversity_threshold: Threshold = Field(
        0.8, description="In mode diversified: leave out results at least this similar to a better one."
    )
    expansion_factor: float = Field(
        2.5, ge=1, le=10, description="In mode diversified: choose from `limit` times this many results."
    )
    max_expansion_factor: float = Field(
        5.0,
        ge=1,
        le=20,
        description="In mode diversified: if too few of them differ, choose from `limit` times this many.",
    )


class SearchResult(CompleteMemory, Previewed):
    """A result. `score`, 0 to 1, decides the rank; `similarity` is the cosine of query and memory. An association
    between two results is listed with the better one."""

    score: Full[float] = None
    similarity: Full[float] = None
    associations: Full[list[AssociationItem]] = None


class SearchMetadata(Levelled):
    """`outcome` is found, nothing_stored, nothing_matched, below_floor, filtered_out, degraded or offline; `message` is
    a sentence. `threshold` is the one used; `best_score` is the best similarity if all were below it."""

    outcome: str
    message: str
    threshold: float
    best_score: float | None = None


class SearchAnswer(Succeeded):
    """`total_count` counts the matches that the search examined; `results` are the best of them."""

    total_count: int
    results: Long[list[SearchResult]] = None
    search_metadata: Full[SearchMetadata] = None


@ASSOCIATIVE.tool(
    "search",
    "read",
    needs="index",
    examples=(
        {"query": "Python patterns", "response_level": "standard"},
        {"query": "deploy keys", "scope": "work", "include_child_scopes": True, "limit": 3},
        {"query": "ideas for the talk", "mode": "diversified"},
    ),
)
def memory_search(call: Call, input: SearchInput) -> SearchAnswer:
    """Search memories by meaning and words. Use it before you answer anything that may be stored.

    The best results come first. Level minimal returns only their number.
    """
    is_diversified = input.mode == "diversified"
    threshold = input.min_score if is_diversified else input.similarity_threshold
    diversity = Diversity(
        threshold=input.diversity_threshold,
        expansion=input.expansion_factor,
        max_expansion=input.max_expansion_factor,
    )
    result = searching.search(
        call,
        Search(
            query=input.query,
            limit=input.limit,
            filter=Filter(
                scope=None if input.scope is None else check_scope(input.scope),
                include_child_scopes=input.include_child_scopes,
            ),
            min_similarity=threshold,
            diversity=diversity if is_diversified else None,
        ),
    )
    call.outcome = outcome = result.outcome
    result.check_answered()
    wants_associations = input.is_full and input.include_associations
    linked = _unique_associations(strongest(call, [hit.memory.id for hit in result.hits])) if wants_associations else {}
    answer = SearchAnswer(
        total_count=result.matches,
        results=[_result(hit, linked.get(hit.memory.id)) for hit in result.hits],
        search_metadata=SearchMetadata(
            outcome=outcome.kind.value, message=outcome.message, threshold=threshold, best_score=outcome.best_score
        ),
    )
    return answered(call, input.response_level, answer)


def _unique_associations(linked: dict[str, list[AssociationItem]]) -> dict[str, list[AssociationItem]]:
    """The associations of the results. One between two results is listed with the better one, and results have no
    preview, because the answer has their whole text."""
    ids: set[str] = set()
    once = {}
    for id, items in linked.items():
        once[id] = [
            item.model_copy(update={"preview": None}) if item.target_id in linked else item
            for item in items
            if item.target_id not in ids
        ]
        ids.add(id)
    return once


def _result(hit: Hit, associations: list[AssociationItem] | None) -> SearchResult:
    memory = hit.memory
    return SearchResult(
        id=memory.id,
        scope=memory.scope,
        content_preview=preview(memory.content, 50),
        score=hit.score,
        similarity=hit.cosine,
        associations=associations,
        **complete(memory),
    )


class DiscoverInput(LevelledInput):
    memory_id: MemoryIdField
    limit: int = Field(10, ge=1, le=100, description="Maximum number of associations to retrieve.")
    threshold: Threshold = Field(
        0.1,
        # What the original calls it.
        validation_alias=AliasChoices("threshold", "similarity_threshold"),
        description="Leave out associations weaker than this, 0 to 1.",
    )


class DiscoveredAssociation(CompleteMemory, AssociationItem):
    """An associated memory. `manual` is true if the link was made manually."""

    preview: Standard[str] = None
    scope: Full[str] = None
    manual: Full[bool] = None


class DiscoveryMetadata(Levelled):
    """The scope of the memory, and the scopes of its associations; all scopes are searched."""

    source_scope: str
    scopes: list[str]
    manual_count: int
    threshold: float


class DiscoverAnswer(Succeeded):
    association_count: Minimal[int] = None
    associations: Long[list[DiscoveredAssociation]] = None
    discovery_metadata: Full[DiscoveryMetadata] = None


@ASSOCIATIVE.tool(
    "associations",
    "read",
    needs="index",
    examples=(
        {"memory_id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "response_level": "full"},
        {"memory_id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "limit": 3, "threshold": 0.5},
    ),
)
def memory_discover_associations(call: Call, input: DiscoverInput) -> DiscoverAnswer:
    """Find the memories related to a memory, in all scopes, strongest first: similar memories and linked ones."""
    source = reading.find(call, input.memory_id)
    pairs = consolidating.discover(call, source.id, limit=input.limit, threshold=input.threshold)
    answer = DiscoverAnswer(
        association_count=len(pairs),
        associations=[
            DiscoveredAssociation(
                **dict(association_item(association, end)),
                **complete(end),
                scope=end.scope,
                manual=association.manual,
            )
            for association, end in pairs
        ],
        discovery_metadata=DiscoveryMetadata(
            source_scope=source.scope,
            scopes=sorted({end.scope for _, end in pairs}),
            manual_count=sum(association.manual for association, _ in pairs),
            threshold=input.threshold,
        ),
    )
    return answered(call, input.response_level, answer)
