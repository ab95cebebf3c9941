"""core: search. A module of its own, since its function imports only this."""

from typing import Final, Literal

from pydantic import Field

from ...engine import searching
from ...engine.call import Call
from ...errors import InvalidInput
from ...model import Diversity, JsonObject, Mode, Search, SortBy
from ...tools import Answer
from ..fields import OuterId, Query, Time, Unit
from . import CORE
from .filtering import FilterInput
from .views import HitView, OutcomeView, hit_body, outcome_body, sized

RESULTS: Final = 10
RESULTS_IN_A_BUDGET: Final = 100


class SearchInput(FilterInput):
    query: Query
    limit: int | None = Field(
        None, ge=1, le=1000, description="Maximum number of results. Default: 10, or 100 with `max_tokens`."
    )
    offset: int = Field(
        0, ge=0, le=1000, description="Number of better results to skip. It can't be given with `max_tokens`."
    )
    mode: Mode = Field(
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
    precision: Literal["all", "likely", "relevant", "best"] = Field(
        "all",
        description="all: the best `limit` results; relevant: only results about as likely as the best, and none if "
        "nothing is close; likely: those, then, if the best is not sure, up to three marked `less_sure` that may be "
        "about it; best: only the best one.",
    )
    include_conversation: bool = Field(False, description="Also search the messages of conversations.")
    conversation_id: OuterId | None = Field(
        None, description="The conversation to search. Default: the current one; if there is none, all."
    )
    sort_by: SortBy = Field(
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
    include_superseded: bool | None = Field(
        None,
        description="Include memories that another one superseded. Default: only if the query asks for the past, as in "
        "'where did Ana live before Porto?'.",
    )
    why: bool = Field(False, description="Explain why each result was found.")
    count_access: bool = Field(
        True, description="Whether the search counts as a read of its results, which raises their importance."
    )


class SearchView(Answer):
    """The results, best first, and the outcome of the search."""

    results: list[HitView]
    outcome: OutcomeView


@CORE.tool(
    "search",
    "read",
    needs="index",
    answer=SearchView,
    writes_json=True,
    examples=(
        {"query": "what theme does the user like?", "limit": 5},
        {"query": "deploy keys", "scope": "work", "tags": ["infra"], "why": True},
    ),
)
def search(call: Call, input: SearchInput) -> JsonObject:
    """Search memories by meaning and keywords. Use it before you answer anything that you may have learned earlier.

    Without a query use list. Memories that another one superseded are left out unless you ask for them, or for the
    past. The best results come first. An empty result says why: nothing stored, nothing matched, nothing relevant, all
    below the threshold, or filtered out. A result with `left_out` is shown in part; read it in full with get.
    """
    if not input.query.strip():
        raise InvalidInput("`query` must not be empty: say what to look for, or use list to see memories without one.")
    if input.offset and input.max_tokens is not None:
        raise InvalidInput("give `offset` or `max_tokens`, not both: a budget fits the best results first.")
    result = searching.search(
        call,
        Search(
            query=input.query,
            limit=input.offset + (input.limit or (RESULTS if input.max_tokens is None else RESULTS_IN_A_BUDGET)),
            mode=input.mode,
            filter=input.to_filter(call, turns=input.include_conversation, conversation_id=input.conversation_id),
            vector_weight=input.vector_weight,
            min_similarity=input.min_similarity,
            related_only=input.related_only,
            precision=input.precision,
            max_tokens=input.max_tokens,
            sized=lambda hit: sized(hit, why=input.why),
            sort_by=input.sort_by,
            count_access=input.count_access,
            importance_weight=input.importance_weight,
            diversity=None if input.diversity_threshold is None else Diversity(threshold=input.diversity_threshold),
        ),
    )
    call.outcome = result.outcome
    hits = result.hits[input.offset :]
    bodies = [hit_body(hit, why=input.why) for hit in hits]
    return {"results": bodies, "outcome": outcome_body(result.outcome)}
