"""associative: scope_list, scope_suggest."""

from collections import defaultdict
from datetime import datetime
from typing import Final

from pydantic import Field

from ...engine import list as listing
from ...engine import suggest_scope as suggesting
from ...engine.call import Call
from ...engine.suggest_scope import ScopeGuess, ScopeSuggestion
from ...model import ScopeUse
from ...rules.limits import check_scope
from ..fields import Content, Scope
from .levels import Brief, Full, Levelled, LevelledInput, Standard, Succeeded, at
from .toolset import ASSOCIATIVE

_ALTERNATIVES: Final = 3


class ScopeListInput(LevelledInput):
    parent_scope: Scope | None = Field(None, description="Only this scope and those below it; left out: all.")
    include_memory_counts: bool = Field(True, description="Say how many memories each has.")


class ScopeItem(Levelled):
    """A scope. `memory_count` counts what lies directly in it, `total_memory_count` what lies below it too."""

    name: str
    memory_count: int | None = None
    total_memory_count: Full[int] = None
    parent: Full[str] = None
    depth: Full[int] = None
    child_scopes: Full[list[str]] = None
    last_written_at: Full[datetime] = None


class ScopeStatistics(Levelled):
    """Over the scopes of this answer."""

    top_scopes: int = Field(description="How many have no parent here.")
    max_depth: int
    total_memories: int | None = None


class ScopeListAnswer(Succeeded):
    """The scopes with memories in or below them, by name."""

    scope_count: int
    scopes: Standard[list[ScopeItem]] = None
    statistics: Full[ScopeStatistics] = None


@ASSOCIATIVE.tool("list", "read", examples=({}, {"parent_scope": "work", "include_memory_counts": False}))
def scope_list(call: Call, input: ScopeListInput) -> ScopeListAnswer:
    """List the scopes that have memories, in them or below them."""
    parent = None if input.parent_scope is None else check_scope(input.parent_scope)
    used = listing.list_scopes(call, parent)
    items = _hierarchy(used, parent, counts=input.include_memory_counts)
    answer = ScopeListAnswer(
        scope_count=len(items),
        scopes=list(items.values()),
        statistics=ScopeStatistics(
            top_scopes=sum(item.parent not in items for item in items.values()),
            max_depth=max((name.count("/") + 1 for name in items), default=0),
            total_memories=sum(use.memories for use in used.values()) if input.include_memory_counts else None,
        ),
    )
    return at(input.response_level, answer)


def _hierarchy(used: dict[str, ScopeUse], top: str | None, *, counts: bool) -> dict[str, ScopeItem]:
    """Every scope that is used, and those above it up to `top`, by name."""
    totals: dict[str, int] = defaultdict(int)
    written: dict[str, datetime] = {}
    for scope, use in used.items():
        for name in _upwards(scope, top):
            totals[name] += use.memories
            written[name] = max(use.last_written_at, written.get(name, use.last_written_at))
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
            last_written_at=written[name],
        )
        for name in sorted(totals)
    }


def _upwards(scope: str, top: str | None) -> list[str]:
    parts = scope.split("/")
    above = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
    return above if top is None else [name for name in above if len(name) >= len(top)]


class ScopeSuggestInput(LevelledInput):
    content: Content = Field(description="The text to find a scope for, whole rather than shortened.")
    current_scope: Scope | None = Field(None, description="The scope of the work at hand; it wins a close call.")


class Alternative(Levelled):
    """Another scope, how sure it is, and at level full how similar what lies there is, and how much of it."""

    scope: str
    confidence: float
    similarity: Full[float] = None
    similar_memories: Full[int] = None


class SuggestionAnalysis(Levelled):
    """What the suggestion stands on: stored_memories, described_scopes (common ones, while nothing like the text
    is stored), current_scope or default; and how many similar memories were looked at."""

    basis: str
    compared_memories: int


class ScopeSuggestAnswer(Succeeded):
    """`confidence` is 0 to 1."""

    suggested_scope: str
    confidence: Standard[float] = None
    alternatives: Brief[list[Alternative]] = None
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
    """Suggest the scope for a text: where similar memories are, else a common place for such texts."""
    suggested = suggesting.suggest_scope(call, input.content, input.current_scope)
    answer = ScopeSuggestAnswer(
        suggested_scope=suggested.scope,
        confidence=round(suggested.confidence, 2),
        alternatives=[_alternative(guess) for guess in suggested.others[:_ALTERNATIVES]],
        suggestion_analysis=SuggestionAnalysis(basis=suggested.basis, compared_memories=suggested.compared),
        all_alternatives=[_alternative(guess) for guess in suggested.others],
        reasoning=_reasoning(suggested),
    )
    return at(input.response_level, answer)


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
            return f"The memories most like it are in {suggested.scope}."
        case "described_scopes":
            return f"No stored memory is like it; by its meaning it belongs to {suggested.scope}."
        case "current_scope":
            return "Neither a stored memory nor a common scope is like it; the current scope is kept."
        case "default":
            return "Neither a stored memory nor a common scope is like it; the default scope takes it."
