"""associative: scope_list, scope_suggest, memory_list_all, memory_move."""

from collections import defaultdict
from datetime import datetime
from math import ceil
from typing import Final

from pydantic import Field

from ....engine import reading, updating
from ....engine import scopes as suggesting
from ....engine.call import Call
from ....engine.scopes import ScopeGuess, ScopeSuggestion
from ....model import Filter, ScopeUse
from ....text.limits import check_scope
from ...fields import Content, MemoryIds, Moment, Scope
from . import ASSOCIATIVE
from .views import (
    CompleteMemory,
    Full,
    Levelled,
    LevelledInput,
    Long,
    Minimal,
    Placed,
    Short,
    Standard,
    Succeeded,
    answered,
    complete,
    preview,
)

_ALTERNATIVES: Final = 3


class ScopeListInput(LevelledInput):
    parent_scope: Scope | None = Field(
        None, description="Only this scope and the scopes below it. Default: all scopes."
    )
    include_memory_counts: bool = Field(True, description="Include the number of memories in each scope.")


class ScopeItem(Levelled):
    """`memory_count` counts the memories in exactly this scope; `total_memory_count` includes the scopes below it."""

    name: str
    memory_count: int | None = None
    total_memory_count: Full[int] = None
    parent: Full[str] = None
    depth: Full[int] = None
    child_scopes: Full[list[str]] = None
    last_written_at: Full[Moment] = None


class ScopeStatistics(Levelled):
    """Statistics over the scopes in this answer."""

    scope_count: int
    top_scopes: int = Field(description="Number of scopes whose parent is not in this answer.")
    max_depth: int
    total_memories: int | None = None


class ScopeListAnswer(Succeeded):
    """The scopes with memories in or below them, by name."""

    scope_count: Minimal[int] = None
    scopes: Long[list[ScopeItem]] = None
    statistics: Full[ScopeStatistics] = None


@ASSOCIATIVE.tool("list", "read", examples=({}, {"parent_scope": "work", "include_memory_counts": False}))
def scope_list(call: Call, input: ScopeListInput) -> ScopeListAnswer:
    """List the scopes that have memories in them or below them."""
    parent = None if input.parent_scope is None else check_scope(input.parent_scope)
    used = reading.list_scopes(call, parent)
    items = _hierarchy(used, parent, counts=input.include_memory_counts)
    answer = ScopeListAnswer(
        scope_count=len(items),
        scopes=list(items.values()),
        statistics=ScopeStatistics(
            scope_count=len(items),
            top_scopes=sum(item.parent not in items for item in items.values()),
            max_depth=max((name.count("/") + 1 for name in items), default=0),
            total_memories=sum(use.memories for use in used.values()) if input.include_memory_counts else None,
        ),
    )
    return answered(call, input.response_level, answer)


def _hierarchy(used: dict[str, ScopeUse], top: str | None, *, counts: bool) -> dict[str, ScopeItem]:
    """Every scope that is used, and those above it up to `top`, by name."""
    totals: dict[str, int] = defaultdict(int)
    last_writes: dict[str, datetime] = {}
    for scope, use in used.items():
        for name in _upwards(scope, top):
            totals[name] += use.memories
            last_writes[name] = max(use.last_written_at, last_writes.get(name, use.last_written_at))
    children: dict[str, list[str]] = defaultdict(list)
    for name in sorted(totals):
        children[name.rpartition("/")[0]].append(name)
    return {
        name: ScopeItem(
            name=name,
            memory_count=(used[name].memories if name in used else 0) if counts else None,
            total_memory_count=totals[name] if counts else None,
            parent=name.rpartition("/")[0] or None,
            depth=name.count("/") + 1,
            child_scopes=children.get(name, []),
            last_written_at=last_writes[name],
        )
        for name in sorted(totals)
    }


def _upwards(scope: str, top: str | None) -> list[str]:
    parts = scope.split("/")
    above = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
    return above if top is None else [name for name in above if len(name) >= len(top)]


class ScopeSuggestInput(LevelledInput):
    content: Content = Field(description="The text to find a scope for; give the whole text.")
    current_scope: Scope | None = Field(
        None, description="The scope of the current task; preferred if the choice is close."
    )


class Alternative(Levelled):
    """Another possible scope. At level full, `similarity` is that of its memories, `similar_memories` their number."""

    scope: str
    confidence: float
    similarity: Full[float] = None
    similar_memories: Full[int] = None


class SuggestionAnalysis(Levelled):
    """`basis` is stored_memories, described_scopes (common scopes, if no similar text is stored), current_scope or
    default. `compared_memories` is the number of similar memories compared."""

    suggested_scope: str
    confidence: float
    basis: str
    compared_memories: int


class ScopeSuggestAnswer(Succeeded):
    """`confidence` is 0 to 1."""

    suggested_scope: Short[str] = None
    confidence: Standard[float] = None
    alternatives: Standard[list[Alternative]] = None
    suggestion_analysis: Full[SuggestionAnalysis] = None
    all_alternatives: Full[list[Alternative]] = None
    reasoning: Full[str] = None


@ASSOCIATIVE.tool(
    "suggest_scope",
    "read",
    needs="index",
    examples=(
        {"content": "Bug fix implementation"},
        {"content": "API endpoint documentation", "current_scope": "learning"},
    ),
)
def scope_suggest(call: Call, input: ScopeSuggestInput) -> ScopeSuggestAnswer:
    """Suggest a scope for a text: the scope of similar memories, otherwise a common scope for such texts."""
    suggested = suggesting.suggest_scope(call, input.content, input.current_scope)
    answer = ScopeSuggestAnswer(
        suggested_scope=suggested.scope,
        confidence=round(suggested.confidence, 2),
        alternatives=[_alternative(guess) for guess in suggested.others[:_ALTERNATIVES]],
        suggestion_analysis=SuggestionAnalysis(
            suggested_scope=suggested.scope,
            confidence=round(suggested.confidence, 2),
            basis=suggested.basis,
            compared_memories=suggested.compared,
        ),
        all_alternatives=[_alternative(guess) for guess in suggested.others],
        reasoning=_reasoning(suggested),
    )
    return answered(call, input.response_level, answer)


def _alternative(guess: ScopeGuess) -> Alternative:
    return Alternative(
        scope=guess.scope,
        confidence=round(guess.confidence, 2),
        similarity=guess.similarity,
        similar_memories=guess.memories,
    )


def _reasoning(suggested: ScopeSuggestion) -> str:
    match suggested.basis:
        case "stored_memories":
            return f"The most similar memories are in {suggested.scope}."
        case "described_scopes":
            return f"No stored memory is similar; by its meaning, the text fits {suggested.scope}."
        case "current_scope":
            return "No stored memory is similar and no common scope fits; the current scope is suggested."
        case "default":
            return "No stored memory is similar and no common scope fits; the default scope is suggested."


class ListAllInput(LevelledInput):
    page: int = Field(1, ge=1, le=10_000_000, description="Page number, from 1.")
    per_page: int = Field(10, ge=1, le=100, description="Number of memories per page.")


class Listed(Placed):
    preview: Standard[str] = None


class ListedMemory(CompleteMemory, Listed):
    """A memory on the page."""


class PaginationInfo(Levelled):
    """The position of this page."""

    page: int
    per_page: int
    total_count: int
    total_pages: int
    has_next: bool
    has_previous: bool


class ListAllAnswer(Succeeded):
    """`total_count` counts all memories, not only those on the page."""

    total_count: Short[int] = None
    memories: Long[list[ListedMemory]] = None
    pagination_info: Full[PaginationInfo] = None


@ASSOCIATIVE.tool("list", "read", examples=({}, {"page": 2, "per_page": 20}))
def memory_list_all(call: Call, input: ListAllInput) -> ListAllAnswer:
    """List all memories page by page, newest first. To find something, use memory_search."""
    page = reading.list_memories(call, Filter(), limit=input.per_page, offset=(input.page - 1) * input.per_page)
    answer = ListAllAnswer(
        total_count=page.total,
        memories=[
            ListedMemory(id=memory.id, scope=memory.scope, preview=preview(memory.content, 30), **complete(memory))
            for memory in page.memories
        ],
        pagination_info=PaginationInfo(
            page=input.page,
            per_page=input.per_page,
            total_count=page.total,
            total_pages=ceil(page.total / input.per_page),
            has_next=input.page * input.per_page < page.total,
            has_previous=input.page > 1,
        ),
    )
    return answered(call, input.response_level, answer)


class MoveInput(LevelledInput):
    memory_ids: MemoryIds = Field(description="The ids of the memories to move.")
    target_scope: Scope = Field(description="The scope to move them to, such as 'work/archive'.")


class MoveFailure(Levelled):
    """A memory that could not be moved, and why."""

    memory_id: str
    code: str
    message: Full[str] = None


class MoveAnswer(Succeeded):
    """`failed_count` or `failed` is set only if some memories could not be moved. If none could, the call fails."""

    ids = ("moved_items",)

    failed_count: Minimal[int] = None
    moved_count: Standard[int] = None
    target_scope: Long[str] = None
    failed: Long[list[MoveFailure]] = None
    moved_items: Full[list[str]] = None
    source_scope: Full[str | list[str]] = Field(
        None, description="One scope as a string, or a list if there were several."
    )


@ASSOCIATIVE.tool(
    "move",
    "write",
    needs="index",
    idempotent=True,
    timeout=30.0,
    examples=({"memory_ids": ["3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"], "target_scope": "work/archive"},),
)
def memory_move(call: Call, input: MoveInput) -> MoveAnswer:
    """Move memories to another scope. They are associated with similar memories there; manual links stay."""
    moved = updating.move(call, input.memory_ids, input.target_scope)
    if not moved.memories:
        first = next(iter(moved.failures.values()))
        raise type(first)(f"None of {len(moved.failures)} could be moved: {first.message}", **first.details)
    sources = sorted(set(moved.sources.values()))
    answer = MoveAnswer(
        moved_count=len(moved.memories),
        target_scope=input.target_scope,
        moved_items=[memory.id for memory in moved.memories],
        source_scope=sources[0] if len(sources) == 1 else sources,
    )
    if moved.failures:
        answer.failed_count = len(moved.failures)
        answer.failed = [
            MoveFailure(memory_id=id, code=error.code, message=error.message) for id, error in moved.failures.items()
        ]
    return answered(call, input.response_level, answer)
