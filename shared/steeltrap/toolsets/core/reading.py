"""core: search, get, list, history, stats."""

from datetime import datetime
from typing import Final

from pydantic import Field

from ...engine import get as getting
from ...engine import history as remembering
from ...engine import list as listing
from ...engine import search as searching
from ...engine.call import Call
from ...model import ContentType, Filter, Tier
from ...rules.diversity import Diversity
from ...rules.limits import MAX_VERSION, check_conditions, check_scope
from ...rules.precision import Precision
from ...tools import Answer, Input
from ..fields import MemoryId, Metadata, Query, Scope, Tags, Time, Unit
from .toolset import CORE
from .views import HitView, MemoryView, OutcomeView, hit_view, memory_view, outcome_view, sized

RESULTS: Final = 10
RESULTS_IN_A_BUDGET: Final = 100


class FilterInput(Input):
    """Conditions; all that are given must hold."""

    tags: Tags | None = Field(None, description="Only memories that have all of these tags.")
    tier: Tier | None = Field(None, description="Only this tier.")
    category: str | None = Field(None, max_length=256, description="Only this category.")
    content_type: ContentType | None = Field(None, description="Only this type of content.")
    scope: Scope | None = Field(None, description="Only this scope, such as 'work/project-x'.")
    include_child_scopes: bool = Field(True, description="With `scope`: also the scopes below it.")
    agent_label: str | None = Field(None, max_length=256, description="Only memories with this label.")
    created_after: Time | None = Field(None, description="Only memories saved at or after this time.")
    created_before: Time | None = Field(None, description="Only memories saved before this time.")
    occurred_after: Time | None = Field(None, description="Only memories of events at or after this time.")
    occurred_before: Time | None = Field(None, description="Only memories of events before this time.")
    metadata: Metadata | None = Field(
        None, description="Only memories with these metadata keys and plain values; at most 64."
    )

    include_superseded: bool = Field(False, description="Include memories that another one superseded.")

    def to_filter(self, call: Call, *, turns: bool = False, conversation_id: str | None = None) -> Filter:
        check_conditions(self.metadata or {})
        values = {name: getattr(self, name) for name in type(self).model_fields if name in Filter.__dataclass_fields__}
        values["tags"] = tuple(self.tags or ())
        values["scope"] = None if self.scope is None else check_scope(self.scope)
        values["metadata"] = self.metadata or {}
        return Filter(
            **values,
            include_turns=turns,
            turns_of=(conversation_id or call.caller.conversation_id) if turns else None,
        )


class SearchInput(FilterInput):
    query: Query
    limit: int | None = Field(
        None, ge=1, le=1000, description="Maximum number of results. Default: 10, or 100 with `max_tokens`."
    )
    mode: searching.Mode = Field(
        "hybrid", description="hybrid: by meaning and keywords; semantic: by meaning only; keyword: by keywords only."
    )
    vector_weight: Unit | None = Field(
        None, description="Weight of meaning in hybrid mode; keywords have the rest. Default: automatic."
    )
    min_similarity: Unit = Field(
        0.0, description="Leave out results less similar than this, unless they share words with the query."
    )
    related_only: bool = Field(
        False,
        description="Leave out results that share no words with the query and are as far in meaning as unrelated text.",
    )
    as_of: Time | None = Field(
        None,
        description="Search what was known then: without what was saved later, with what was superseded later.",
    )
    precision: Precision = Field(
        "all",
        description="all: the best `limit` results; relevant: only results about as good as the best, and none if "
        "nothing about the query is stored; best: only the best one.",
    )
    include_conversation: bool = Field(False, description="Also search the messages of conversations.")
    conversation_id: str | None = Field(
        None,
        min_length=1,
        max_length=512,
        description="The conversation to search. Default: the current one; if there is none, all.",
    )
    sort_by: searching.SortBy = Field(
        "relevance", description="Order of the results: by relevance, by importance, or newest first."
    )
    importance_weight: Unit = Field(
        0.0, description="Weight of importance in the score, 0 to 1; relevance has the rest."
    )
    diversity_threshold: Unit | None = Field(
        None, description="Leave out results at least this similar to a better one, 0 to 1. Default: keep all."
    )
    max_tokens: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Limit the results to about this many tokens. Long ones are then shown in part, with `left_out`.",
    )
    why: bool = Field(False, description="Explain why each result was found.")


class SearchView(Answer):
    """The results, best first, and the outcome of the search."""

    results: list[HitView]
    outcome: OutcomeView


@CORE.tool(
    "search",
    "read",
    needs="index",
    examples=(
        {"query": "what theme does the user like?", "limit": 5},
        {"query": "deploy keys", "scope": "work", "tags": ["infra"], "why": True},
    ),
)
def search(call: Call, input: SearchInput) -> SearchView:
    """Search memories by meaning and keywords. Use it before you answer anything that you may have learned earlier.

    Memories that another one superseded are left out unless you ask for them. The best results come first. An empty
    result says why: nothing stored, nothing matched, nothing relevant, all below the threshold, or filtered out. A
    result with `left_out` is shown in part; read it in full with get.
    """
    found = searching.search(
        call,
        searching.Search(
            query=input.query,
            limit=input.limit or (RESULTS if input.max_tokens is None else RESULTS_IN_A_BUDGET),
            mode=input.mode,
            filter=input.to_filter(call, turns=input.include_conversation, conversation_id=input.conversation_id),
            vector_weight=input.vector_weight,
            min_similarity=input.min_similarity,
            related_only=input.related_only,
            precision=input.precision,
            max_tokens=input.max_tokens,
            sized=lambda hit: sized(hit, why=input.why),
            sort_by=input.sort_by,
            importance_weight=input.importance_weight,
            diversity=None if input.diversity_threshold is None else Diversity(threshold=input.diversity_threshold),
        ),
    )
    call.outcome = found.outcome
    return SearchView(results=[hit_view(hit, why=input.why) for hit in found.hits], outcome=outcome_view(found.outcome))


class GetInput(Input):
    id: MemoryId


@CORE.tool("get", "read", examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},))
def get(call: Call, input: GetInput) -> MemoryView:
    """Read one memory by its id, with all its fields."""
    memory = getting.get(call, input.id)
    ends = call.space.get([link.target_id for link in memory.links])
    return memory_view(memory, [link for link in memory.links if link.target_id in ends])


class ListInput(FilterInput):
    limit: int = Field(50, ge=1, le=1000, description="Maximum number to return.")
    offset: int = Field(0, ge=0, le=10**9, description="Number to skip.")


class ListView(Answer):
    """A page of memories, newest first, and the total number."""

    memories: list[MemoryView]
    total: int


@CORE.tool("list", "read", name="list", examples=({"scope": "work", "limit": 20},))
def list_(call: Call, input: ListInput) -> ListView:
    """List memories, newest first, with the exact total. To find something, use search."""
    page = listing.list_memories(call, input.to_filter(call), limit=input.limit, offset=input.offset)
    return ListView(memories=[memory_view(memory) for memory in page.memories], total=page.total)


class HistoryInput(Input):
    id: MemoryId
    limit: int = Field(100, ge=1, le=1000, description="Maximum number of versions.")
    after: int = Field(
        0, ge=0, le=MAX_VERSION, description="Continue after this version: `next` from the previous answer."
    )


class RevisionView(Answer):
    """One version of a memory. The current one has no `replaced_at` or `replaced_by`."""

    memory: MemoryView
    replaced_at: datetime | None = None
    replaced_by: str | None = None


class HistoryView(Answer):
    """Versions of a memory. There is no `next` once the current version is included."""

    revisions: list[RevisionView]
    next: int | None = None


@CORE.tool("history", "read", examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},))
def history(call: Call, input: HistoryInput) -> HistoryView:
    """Show all versions of a memory, oldest first. This works for a deleted memory until it is purged.

    An answer ends at `limit` versions or 4 MiB. If it has `next`, call again with that value as `after`.
    """
    page = remembering.history(call, input.id, limit=input.limit, after=input.after)
    views = [
        RevisionView(memory=memory_view(r.memory), replaced_at=r.replaced_at, replaced_by=r.replaced_by)
        for r in page.revisions
    ]
    if page.current is not None:
        views.append(RevisionView(memory=memory_view(page.current)))
    return HistoryView(revisions=views, next=page.next)


class StatsInput(Input):
    """No arguments."""


class StatsView(Answer):
    """How much is stored. `bytes` is the size on disk; `record_bytes` is the size that counts towards a quota."""

    memories: int
    superseded: int
    turns: int
    deleted: int
    chunks: int
    bytes: int
    record_bytes: int


@CORE.tool("list", "read", examples=({},))
def stats(call: Call, input: StatsInput) -> StatsView:
    """Count what is stored: memories, those that others superseded, conversation turns, deleted or expired memories
    not purged yet, and bytes."""
    return StatsView(**call.space.statistics())
