"""Search: both legs, fused, floored, weighed, sorted, cut; and a word on what happened."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from ..errors import IndexUnavailable, InvalidInput
from ..model import Candidate, Filter, Hit, Matches, Memory, Outcome, OutcomeKind, Query, to_micros
from ..rules import ranking
from ..rules.analysis import query_tokens
from ..rules.budget import fit
from ..rules.diversity import Diversity
from ..rules.fusion import Fused, fuse
from ..rules.importance import UNREAD, importance, weighed
from ..rules.matching import sees
from ..rules.said_once import said_once
from .call import Call

Mode = Literal["hybrid", "semantic", "keyword"]
SortBy = Literal["relevance", "importance", "created_at"]
_RULES: Final = ("speaker", "neighbours", "conversation")
_ROUNDING: Final = 1e-6
"""What a cosine of 1 may fall short of it in single precision."""
MIN_CANDIDATES: Final = 100
CANDIDATES_PER_RESULT: Final = 4
MAX_QUERY_CHARACTERS: Final = 8 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What to search for and how.

    `vector_weight` None takes the setting, or the engine's choice. `min_similarity` is a floor on the
    raw cosine; in hybrid mode a keyword match passes it. `related_only` leaves out what has neither a
    keyword nor a cosine above the unrelated level. `max_tokens` cuts the answer at whole memories.

    `importance_weight`, 0 to 1, is the share of a memory's importance in its score. With it, and with
    any other `sort_by` than relevance, every match above the floor is looked at before the cut to `limit`.
    `diversity` leaves out what says nearly the same as a better result. `said_once` leaves out an
    episode beside a turn that it holds.
    """

    query: str
    limit: int = 10
    mode: Mode = "hybrid"
    filter: Filter = field(default_factory=Filter)
    vector_weight: float | None = None
    min_similarity: float = 0.0
    related_only: bool = False
    max_tokens: int | None = None
    sort_by: SortBy = "relevance"
    importance_weight: float = 0.0
    diversity: Diversity | None = None
    said_once: bool = False

    def needs_importance(self) -> bool:
        return self.sort_by == "importance" or self.importance_weight > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The hits, best first, and what happened. `matches` counts what passed the floor before the cut, as far as the
    legs looked: at least 100 memories each, and four times the limit."""

    hits: list[Hit]
    outcome: Outcome
    matches: int

    def check_answered(self) -> None:
        """Raises IndexUnavailable where a leg failed and nothing was found.

        For answers that have no room for the outcome, so that broken never looks like empty.
        """
        if self.outcome.kind is OutcomeKind.DEGRADED and not self.hits:
            raise IndexUnavailable(self.outcome.message, part="index")


Ranker = Callable[[list[Fused]], list[Fused]]


def search(call: Call, request: Search, rerank: Ranker | None = None) -> Found:
    """The best memories for a query. Counts as access to those it answers.

    `rerank` may change the scores of what passed the floor before they are sorted. Ties go to the
    better score, then the newest, then the smallest id. Raises InvalidInput for a blank query,
    Unavailable when no leg answers.
    """
    query = _query(call, request)
    with call.measure.stage("legs"):
        matches = call.space.search(query)
    passed = [f for f in _scored(call, request, matches.candidates) if _passes(f, request)]
    if rerank:
        passed = rerank(passed)
    if request.needs_importance():
        _weigh(call, request, passed)
    found = _hydrate(call, request.filter, _cut(call, request, sorted(passed, key=_ORDERS[request.sort_by])))
    if request.said_once:
        found = said_once(found, request.limit)
    hits = found if request.max_tokens is None else found[: fit([h.memory.content for h in found], request.max_tokens)]
    call.space.note_access([hit.memory.id for hit in hits], call.now())
    call.measure.hits = len(hits)
    return Found(hits=hits, outcome=_outcome(request, matches, hits, len(found)), matches=len(passed))


def _query(call: Call, request: Search) -> Query:
    if not request.query.strip():
        raise InvalidInput("`query` must not be empty: say what to look for.")
    if len(request.query) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(
            f"`query` has {len(request.query):,} characters; at most {MAX_QUERY_CHARACTERS:,} are allowed."
        )
    meant = request.query
    is_ranked_by_rules = _weight(call, request) is None
    if is_ranked_by_rules:
        meant = ranking.without_names(meant, call.space.speakers())
    return Query(
        tokens=tuple(query_tokens(request.query)) if request.mode != "semantic" else (),
        embedding=call.embed([meant], "query")[0] if request.mode != "keyword" else None,
        filter=request.filter,
        per_leg=_per_leg(request),
        by_term=is_ranked_by_rules,
    )


def _per_leg(request: Search) -> int | None:
    # The most important or the newest match may be the least relevant one.
    if request.sort_by != "relevance" or request.importance_weight > 0:
        return None
    pool = request.diversity.pool(request.limit) if request.diversity else 0
    return max(MIN_CANDIDATES, CANDIDATES_PER_RESULT * request.limit, pool)


def _cut(call: Call, request: Search, ranked: list[Fused]) -> list[Fused]:
    diversity = request.diversity
    if diversity is None:
        return ranked[: 2 * request.limit if request.said_once else request.limit]
    pool = [f.candidate.id for f in ranked[: diversity.pool(request.limit)]]
    chosen = set(call.space.distinct(pool, floor=diversity.threshold, limit=request.limit))
    return [f for f in ranked if f.candidate.id in chosen]


def _scored(call: Call, request: Search, candidates: Sequence[Candidate]) -> list[Fused]:
    weight = _weight(call, request)
    if weight is None:
        return ranking.rank(request.query, candidates, unrelated=call.embedder.unrelated)
    # An embedder may have to be asked for its level, and a search by words can do without.
    unrelated = call.embedder.unrelated if weight else 0.0
    scored = fuse(candidates, vector_weight=weight, unrelated=unrelated)
    if request.mode == "semantic":
        # Nothing is fused, so the cosine itself ranks, below the unrelated level too.
        for f in scored:
            f.score = max(0.0, f.candidate.cosine or 0.0)
    return scored


def _weight(call: Call, request: Search) -> float | None:
    """The weight that the mode, the caller or a setting fixes; None leaves it to the ranking rules."""
    if request.mode != "hybrid":
        return 1.0 if request.mode == "semantic" else 0.0
    return request.vector_weight if request.vector_weight is not None else call.rules.vector_weight


def _passes(fused: Fused, request: Search) -> bool:
    if request.mode == "keyword" or (fused.candidate.bm25 or 0.0) > 0:
        return True
    if request.related_only and fused.semantic <= 0:
        return False
    return request.min_similarity <= 0 or (fused.candidate.cosine or 0.0) >= request.min_similarity - _ROUNDING


def _weigh(call: Call, request: Search, passed: Sequence[Fused]) -> None:
    now = to_micros(call.now())
    usage = call.space.usage([f.candidate.id for f in passed])
    for f in passed:
        c = f.candidate
        f.importance = importance(created=c.created, usage=usage.get(c.id, UNREAD), now=now, manual=c.importance)
        if request.importance_weight > 0:
            f.score = weighed(f.score, f.importance, request.importance_weight)


def _by_relevance(fused: Fused) -> tuple[float, int, str]:
    return (-fused.score, -fused.candidate.created, fused.candidate.id)


def _by_importance(fused: Fused) -> tuple[float, float, int, str]:
    return (-(fused.importance or 0.0), -fused.score, -fused.candidate.created, fused.candidate.id)


def _by_age(fused: Fused) -> tuple[int, float, str]:
    return (-fused.candidate.created, -fused.score, fused.candidate.id)


_ORDERS: Final[dict[SortBy, Callable[[Fused], tuple[Any, ...]]]] = {
    "relevance": _by_relevance,
    "importance": _by_importance,
    "created_at": _by_age,
}


def _hydrate(call: Call, filter: Filter, ranked: Sequence[Fused]) -> list[Hit]:
    call.deadline.left()
    with call.measure.stage("hydrate"):
        memories = call.space.get([f.candidate.id for f in ranked])
    # An index that lags may not know yet what was superseded.
    seen = {id for id, memory in memories.items() if sees(filter, memory, call.now())}
    return [_hit(f, memories[f.candidate.id]) for f in ranked if f.candidate.id in seen]


def _hit(fused: Fused, memory: Memory) -> Hit:
    return Hit(
        memory=memory,
        score=round(min(1.0, max(0.0, fused.score)), 4),
        cosine=None if fused.candidate.cosine is None else round(fused.candidate.cosine, 4),
        bm25=None if fused.candidate.bm25 is None else round(fused.candidate.bm25, 4),
        semantic_score=round(fused.semantic, 4),
        keyword_score=round(fused.keyword, 4),
        importance=None if fused.importance is None else round(fused.importance, 4),
        boosts={name: round(value, 4) for name in _RULES if (value := getattr(fused, name))},
    )


def _outcome(request: Search, matches: Matches, hits: Sequence[Hit], found: int) -> Outcome:
    if matches.degraded:
        return Outcome(kind=OutcomeKind.DEGRADED, message=f"The answer may be incomplete: {matches.degraded}")
    if len(hits) < found:
        cut = f"{len(hits)} of {found} are shown: the answer is cut at about {request.max_tokens:,} tokens."
        return Outcome(kind=OutcomeKind.FOUND, message=cut)
    if hits:
        return Outcome(kind=OutcomeKind.FOUND, message=f"{len(hits)} found.")
    if not matches.stored:
        return Outcome(kind=OutcomeKind.NOTHING_STORED, message="Nothing is stored yet.")
    as_of = request.filter.as_of
    if not matches.admitted and as_of is not None and replace(request.filter, as_of=None).is_open():
        return Outcome(
            kind=OutcomeKind.FILTERED_OUT,
            message=f"Nothing was stored yet at {as_of.isoformat()}; search with a later `as_of`, or without it.",
        )
    if not matches.admitted:
        return Outcome(
            kind=OutcomeKind.FILTERED_OUT,
            message=f"None of the {matches.stored} stored memories pass the filter; search with fewer conditions.",
        )
    best = _best_cosine(matches.candidates)
    if request.min_similarity > 0 and best is not None:
        return Outcome(
            kind=OutcomeKind.BELOW_FLOOR,
            message=f"The nearest memory has similarity {best}, below {request.min_similarity:g}; lower the threshold.",
            best_score=best,
        )
    return Outcome(kind=OutcomeKind.NOTHING_MATCHED, message="No memory matches; try other words.", best_score=best)


def _best_cosine(candidates: Sequence[Candidate]) -> float | None:
    cosines = [c.cosine for c in candidates if c.cosine is not None]
    return round(max(cosines), 4) if cosines else None
