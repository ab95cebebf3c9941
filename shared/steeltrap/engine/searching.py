"""Searching: query both legs, combine their scores, drop what is below the floor, sort, cut, and report the outcome."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import isnan
from typing import TYPE_CHECKING, Final

from ..errors import IndexUnavailable, InvalidInput
from ..model import (
    Candidates,
    Days,
    Embedding,
    Filter,
    Hit,
    Matches,
    Memory,
    Outcome,
    OutcomeKind,
    Query,
    Search,
    to_micros,
)
from ..model.frozen import frozen
from ..ports import KnowsWords
from ..ranking import choosing
from ..ranking.asking import asks_for_past, embedded_with_question, without_frame
from ..ranking.budget import fit, long_in_part
from ..ranking.choosing import said_once, without_repeats
from ..ranking.fading import UNREAD, importance
from ..text.date_questions import QuestionDates, find_dates, may_name_days
from ..text.dates import around, in_zone, minute_text
from ..text.matching import sees
from ..text.patterns import lazy_pattern
from ..text.vectors import has_direction
from ..text.words import query_tokens, runs, searchable_text, tokens
from .call import Call
from .lifting import (
    are_crowded_out,
    give_scores_to_successors,
    lift_by_wording,
    lift_named,
    lift_past,
    names_another,
    successors,
)
from .reading import nothing_stored

if TYPE_CHECKING:
    from ..ranking.on_days import OnDays
    from ..ranking.scored import Column, Fused, Scored

# Ranking needs numpy, which is a large part of a function's cold start: only a search imports it.

_WORD: Final = lazy_pattern(r"\w+")
_ROUNDING: Final = 1e-6
"""How far a cosine of 1 may fall short of it in single precision."""
MIN_CANDIDATES: Final = 200
"""Per leg. Ranking rules look at messages nearby, which are among the candidates only if those are many."""
CANDIDATES_PER_RESULT: Final = 4
MAX_QUERY_CHARACTERS: Final = 8 * 1024


@frozen
class Found:
    """The hits, best first, and the outcome.

    `matches` is the number of candidates above the floor before the limit was applied. Each leg looks at 100 memories
    at least, and at four times the limit.
    """

    hits: list[Hit]
    outcome: Outcome
    matches: int

    def check_answered(self) -> None:
        """Raises IndexUnavailable where a leg failed and nothing was found.

        For answers that have no room for the outcome, so that broken never looks like empty.
        """
        if self.outcome.kind is OutcomeKind.DEGRADED and not self.hits:
            raise IndexUnavailable(self.outcome.message, part="index")


Ranker = Callable[[Iterable["Fused"]], list["Fused"]]


def search(call: Call, request: Search, rerank: Ranker | None = None) -> Found:
    """The best memories for a query. Counts as access to those it answers.

    `rerank` takes what passed the floor, best first, and may change the scores. Ties go to the better score, then the
    newest, then the smallest id. Raises InvalidInput for a blank query, Unavailable when no leg answers.
    """
    request = _with_past(request)
    plan = _plan(call, request)
    with call.measure.stage("legs"):
        matches = call.space.search(plan.query)
        if corrected := _corrected(call, plan.query, request.query, matches):
            return _search_corrected(call, request, rerank, corrected)
    with call.measure.stage("rank"):
        ranking = _rank(call, request, plan, matches)
    answer = _answer(call, request, plan, ranking, rerank)
    outcome = call.with_offline_notice(answer.outcome)
    return answer if outcome is None or outcome is answer.outcome else replace(answer, outcome=outcome)


def _with_past(request: Search) -> Search:
    """The request; where its filter does not say whether to include what was superseded, a query that asks for the past
    includes it, unless `as_of` says of what time."""
    filter = request.filter
    if filter.include_superseded is not None or filter.as_of is not None or not asks_for_past(request.query):
        return request
    return replace(request, filter=replace(filter, include_superseded=True))


@frozen
class _Plan:
    """The decisions about a search: the query for the stores, the days that it names, the names of speakers where the
    ranking rules want them, and the weight that the mode, the caller or a setting fixes, None for the rules' own."""

    query: Query
    named_days: QuestionDates | None
    speakers: frozenset[str]
    weight: float | None

    @property
    def is_wordless(self) -> bool:
        """Whether there is nothing to compare: every memory would score 0, and an answer of them would be by chance."""
        query = self.query
        has_words = bool(query.tokens) or (query.embedding is not None and has_direction([query.embedding]))
        return self.named_days is None and not has_words


@frozen
class _Ranking:
    """The candidates with their scores, and the places of those that passed the floor, and of those that the precision
    keeps."""

    matches: Matches
    scored: "Scored"
    passed: "Column"
    relevant: "Column"


def _rank(call: Call, request: Search, plan: _Plan, matches: Matches) -> _Ranking:
    query = plan.query
    days, scored = _scored_on_days(call, request, plan, matches.candidates)
    if query.with_superseded and (newest := successors(call, scored, request.pool())):
        superseded = scored
        if are_crowded_out(scored, newest):
            # Thousands of revisions of one text took all places: look among what is current alone.
            matches = call.space.search(replace(query, with_superseded=False))
            days, scored = _scored_on_days(call, request, plan, matches.candidates)
        give_scores_to_successors(call, scored, newest, superseded)
    passed = _passed(scored, request)
    if plan.is_wordless:
        passed = passed[:0]
    if query.by_term:
        names_days = plan.named_days is not None
        lift_by_wording(call, scored, passed, request.query, matches.admitted, names_days=names_days)
        if request.filter.include_superseded and asks_for_past(request.query):
            lift_past(call, scored)
        if matches.degraded is None:
            scored.judge(passed)
            # The days first: the other rule may read a memory.
            if _is_on_other_days(scored, passed, days) or (
                not _is_date(plan, request.query) and names_another(call, scored, passed, request.query, plan.query)
            ):
                scored.doubt()
    relevant = _relevant(scored, passed, request, days, matches)
    if request.sort_by == "relevance" and request.precision in ("all", "likely"):
        lift_named(call, scored, passed, request.query, plan.query)
    return _Ranking(matches=matches, scored=scored, passed=passed, relevant=relevant)


def _is_date(plan: _Plan, query: str) -> bool:
    """Whether a query is a date and nothing else: the marks in it are those of dates."""
    parts = () if plan.named_days is None else plan.named_days.parts
    return bool(parts) and [word for part in parts for word in runs(part.text)] == runs(query)


def _is_on_other_days(scored: "Scored", passed: "Column", days: "OnDays | None") -> bool:
    """Whether nothing happened on the days that a query names, and no memory is likely to be about the rest of it."""
    if days is None or scored.confidence is None or not len(passed) or days.exact[passed].any():
        return False
    return bool(scored.confidence[passed].max() < choosing.SURE)


def _answer(call: Call, request: Search, plan: _Plan, ranking: _Ranking, rerank: Ranker | None) -> Found:
    scored, passed, relevant, matches = ranking.scored, ranking.passed, ranking.relevant, ranking.matches
    with call.measure.stage("rank"):
        ranked = _ordered(call, request, scored, passed if request.mentions and len(relevant) else relevant)
        if rerank:
            ranked = sorted(rerank(ranked), key=lambda f: (-f.score, -f.created, f.id))
        best = _cut(call, request, ranked)
        less_sure = _less_sure(request, scored, passed, relevant) if request.precision == "likely" else []
    all_hits = _hydrate(call, request.filter, best, scored.names)
    if request.mentions:
        all_hits = _mentioned(all_hits, request, {scored.candidates.ids[place] for place in relevant})
    if request.said_once:
        all_hits = said_once(all_hits, request.limit)
    if less_sure:
        all_hits += [replace(hit, less_sure=True) for hit in _hydrate(call, request.filter, less_sure, scored.names)]
    if request.precision == "likely":
        all_hits = without_repeats(all_hits)
    hits = all_hits
    if request.max_tokens is None or request.sized is None:
        hits = long_in_part(all_hits, request.query)
    if request.max_tokens is not None:
        hits = fit(hits, request.query, request.max_tokens, request.sized)
    if request.count_access:
        call.space.note_access([hit.memory.id for hit in hits if not hit.less_sure], call.now())
    call.measure.hits = len(hits)
    if len(passed) and not all_hits:
        nearest = _hydrate(call, request.filter, list(islice(scored.best_first(passed), 1)), {})
        outcome = nothing_relevant(() if plan.named_days is None else plan.named_days.spans, matches.admitted, nearest)
        return Found(hits=[], outcome=outcome, matches=0)
    outcome = outcome_of(call, request, matches, hits, len(all_hits))
    if plan.is_wordless and outcome.kind in (OutcomeKind.NOTHING_MATCHED, OutcomeKind.BELOW_FLOOR):
        outcome = WORDLESS
    return Found(hits=hits, outcome=outcome, matches=len(relevant))


def _corrected(call: Call, query: Query, text: str, matches: Matches) -> dict[str, str]:
    """The misspelt words of a query, each with what the user's own memories have in its place."""
    frequencies = matches.candidates.frequencies
    if not query.by_term or matches.degraded or not matches.stored or all(frequencies.values()):
        return {}
    from ..text.spelling import best_corrections, corrections, misspelt

    corrected: dict[str, str] = {}
    knows = call.embedder.knows if isinstance(call.embedder, KnowsWords) else None
    for word in misspelt(text, frequencies, knows):
        near = corrections(word, call.space.vocabulary())
        if not near:
            continue
        words = replace(query, tokens=tuple(near), embedding=None, per_leg=1, by_term=False, during=())
        tokens = best_corrections(word, near, call.space.search(words).candidates.frequencies)
        # A word that only memories out of the filter have is nobody's here.
        written = (_as_written(call, words, near[token], token) for token in tokens[:_MOST_MEANT])
        if (better := next(filter(None, written), None)) is not None:
            spellings = [each for each in _WORD.findall(text) if runs(each) == [word]]
            corrected |= {each: _in_case_of(each, better) for each in spellings}
    return corrected


def _as_written(call: Call, words: Query, others: Sequence[str], token: str) -> str | None:
    """The word with this token as a memory that the query admits has it; None where none has it."""
    from ..text.spelling import as_written

    memories = call.space.get(call.space.search(replace(words, tokens=(token,))).candidates.ids)
    return as_written(others, token, "\n".join(map(searchable_text, memories.values()))) if memories else None


def _in_case_of(word: str, better: str) -> str:
    if len(word) > 1 and word.isupper():
        return better.upper()
    return better.capitalize() if word[0].isupper() else better


def _search_corrected(call: Call, request: Search, rerank: Ranker | None, corrected: dict[str, str]) -> Found:
    """The search with these words in place of others, whose outcome says so."""
    query = _WORD.sub(lambda word: corrected.get(word[0], word[0]), request.query)
    result = search(call, replace(request, query=query), rerank)
    changes = ", ".join(f'"{better}" instead of "{word}"' for word, better in corrected.items())
    sentence = f"Searched for {changes}."
    outcome = replace(result.outcome, message=f"{sentence} {result.outcome.message}", corrected=sentence)
    return replace(result, outcome=outcome)


_MOST_MEANT: Final = 3
"""Words that a misspelt one may have been meant to be, the best ones, that are looked for in the memories."""
_MOST_DAYS: Final = 31
_YEARS: Final = 10
"""A day without a year is looked for in so many years before this one, and in the next."""


def _days(call: Call, query: str) -> QuestionDates | None:
    """The days that a query names, where the caller is."""
    query = query[:MAX_QUERY_CHARACTERS]
    if not may_name_days(query):
        return None
    today = in_zone(call.now(), call.zone).date()
    return find_dates(query, today, range(max(1, today.year - _YEARS), min(9999, today.year + 1) + 1))


def _scored_on_days(call: Call, request: Search, plan: _Plan, candidates: Candidates) -> "tuple[OnDays | None, Scored]":
    """How the candidates stand to the days that a query names, if it names any, and the scores of all."""
    if plan.named_days is None:
        return None, _scored(call, request, plan, candidates, None)
    from ..ranking.on_days import on_days

    days = on_days(request.query, candidates, in_zone(call.now(), call.zone).date(), call.zone)
    return days, _scored(call, request, plan, candidates if days is None else days.candidates, days)


def _plan(call: Call, request: Search) -> _Plan:
    if not request.query.strip():
        raise InvalidInput("`query` must not be empty: say what to look for.")
    if len(request.query) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(
            f"`query` has {len(request.query):,} characters; at most {MAX_QUERY_CHARACTERS:,} are allowed."
        )
    named_days = _days(call, request.query)
    # The words of a date say when, not what.
    text = worded = request.query
    if named_days is not None and query_tokens(named_days.rest):
        text = named_days.rest
    weight = _weight(call, request)
    is_ranked_by_rules = weight is None
    speakers: frozenset[str] = frozenset()
    if is_ranked_by_rules:
        from ..ranking.scoring import without_names

        speakers = call.space.speakers()
        worded = without_frame(request.query)
        text = without_names(worded if text is request.query else without_frame(text), speakers)
    query = Query(
        tokens=_tokens(worded, named_days) if request.mode != "semantic" else (),
        embedding=_embedding(call, request, text, is_ranked_by_rules),
        filter=request.filter,
        per_leg=_per_leg(request),
        by_term=is_ranked_by_rules,
        with_superseded=is_ranked_by_rules and _answers_for_superseded(call, request),
        during=() if named_days is None else tuple(around(named_days.spans, call.zone)),
    )
    return _Plan(query=query, named_days=named_days, speakers=speakers, weight=weight)


def _embedding(call: Call, request: Search, text: str, is_ranked_by_rules: bool) -> Embedding | None:
    if request.mode == "keyword":
        return None
    if is_ranked_by_rules:
        return embedded_with_question(text, call.embed, call.embedder)
    return call.embed([text], "query")[0]


def _tokens(query: str, named_days: QuestionDates | None) -> tuple[str, ...]:
    """The tokens of the words leg: the query's words, and the days that it names where they are few."""
    return (
        *query_tokens(query),
        *(day.isoformat() for day in (() if named_days is None else named_days.days(_MOST_DAYS))),
    )


def _answers_for_superseded(call: Call, request: Search) -> bool:
    """Whether a memory may be found by what it superseded: not where that is asked for itself, nor where the caller
    puts a floor under each memory's own cosine."""
    return call.rules.ranking.superseded > 0 and not request.shows_superseded() and request.min_similarity <= 0


def _per_leg(request: Search) -> int | None:
    # The most important or the newest match may be the least relevant one.
    if request.sort_by != "relevance" or request.importance_weight > 0:
        return None
    return max(MIN_CANDIDATES, CANDIDATES_PER_RESULT * request.limit, request.pool())


def _cut(call: Call, request: Search, ranked: "Iterable[Fused]") -> "list[Fused]":
    diversity = request.diversity
    if diversity is None:
        return list(islice(ranked, 2 * request.limit if request.said_once else request.limit))
    from ..ranking.likeness import distinct, to_chunks

    pool = list(islice(ranked, request.pool()))
    ids = [f.id for f in pool]
    vectors = to_chunks(call.space.embeddings(ids))
    distinct_ids = set(distinct(ids, vectors, diversity.threshold, request.limit, call.deadline))
    return [f for f in pool if f.id in distinct_ids]


def _scored(call: Call, request: Search, plan: _Plan, candidates: Candidates, days: "OnDays | None") -> "Scored":
    from ..ranking.scoring import fuse, rank

    weight = plan.weight
    if weight is None:
        near = None if days is None else days.lift()
        ranking = call.rules.ranking
        return rank(request.query, candidates, call.embedder, speakers=plan.speakers, near_days=near, weights=ranking)
    # An embedder may have to be asked for its level, and a search by words can do without.
    unrelated = call.embedder.unrelated if weight else 0.0
    scored = fuse(candidates, vector_weight=weight, unrelated=unrelated)
    if request.mode == "semantic" and candidates.cosine is not None:
        # Nothing is fused, so the cosine itself ranks, below the unrelated level too.
        scored.score = candidates.cosine.clip(0.0)
    return scored


def _weight(call: Call, request: Search) -> float | None:
    """The weight that the mode, the caller or a setting fixes; None leaves it to the ranking rules."""
    if request.mode != "hybrid":
        return 1.0 if request.mode == "semantic" else 0.0
    return request.vector_weight if request.vector_weight is not None else call.rules.vector_weight


def _passed(scored: "Scored", request: Search) -> "Column":
    """Positions of the candidates above the floor, without superseded ones."""
    if request.mode == "keyword":
        return scored.above(0.0, related_only=False)
    least = request.min_similarity - _ROUNDING if request.min_similarity > 0 else -2.0
    if request.floors_every_hit and request.min_similarity > 0:
        above = scored.similar(least)
    else:
        above = scored.above(least, related_only=request.related_only)
    return above if request.shows_superseded() else scored.current(above)


def _ordered(call: Call, request: Search, scored: "Scored", passed: "Column") -> "Iterable[Fused]":
    """The candidates that passed, in the order that was asked for."""
    created = scored.candidates.created
    if request.needs_importance():
        scored.weigh(_importance(call, scored.candidates, passed), request.importance_weight)
        if request.sort_by == "importance" and scored.importance is not None:
            return scored.best_first(passed, (scored.importance, scored.score, created))
    if request.sort_by == "created_at":
        return scored.best_first(passed, (created, scored.score))
    return scored.best_first(passed)


def _importance(call: Call, candidates: Candidates, passed: "Column") -> dict[int, float]:
    """The importance of the memories at some places."""
    now = to_micros(call.now())
    ids = [candidates.ids[place] for place in passed]
    usage = call.space.usage(ids)
    created, manual_scores = candidates.created[passed].tolist(), candidates.importance[passed].tolist()
    return {
        place: importance(created=at, usage=usage.get(id, UNREAD), now=now, manual=None if isnan(manual) else manual)
        for place, id, at, manual in zip(passed.tolist(), ids, created, manual_scores, strict=True)
    }


def _relevant(scored: "Scored", passed: "Column", request: Search, days: "OnDays | None", matches: Matches) -> "Column":
    """Places that the precision keeps, of those that passed; none where even the best is unrelated.

    What happened on the days that the query names is related to it: all of that where the query asks for nothing else,
    and nothing but that where it is among the best. A degraded search lacks a leg, so its scores say nothing.
    """
    if request.precision == "all" or not len(passed):
        return passed
    share = 1.0 if request.precision == "best" else choosing.NEAR_THE_BEST
    degraded = matches.degraded is not None
    floor = choosing.floor(request.query, scored.candidates.frequencies, matches.admitted)
    is_related = degraded or scored.legs[passed].max() >= floor
    if scored.is_doubtful and request.precision == "likely":
        return passed[:0]
    then = passed[:0] if days is None else passed[days.exact[passed]]
    if request.precision == "related" and not degraded:
        related: Column = passed[(scored.legs[passed] >= floor) | (False if days is None else days.exact[passed])]
        return related
    if days is not None and len(then):
        best = scored.score[then].max()
        is_best = bool(best >= share * scored.score[passed].max())
        is_told_elsewhere = not is_best and scored.semantic[passed].max() >= choosing.CLEARLY
        says_nothing_else = not days.says_more[then].any() and scored.semantic[then].max() < choosing.TOLD
        is_best = is_best or (days.is_short and not says_nothing_else)
        if not is_related or (days.is_short and says_nothing_else and not is_told_elsewhere):
            return then[scored.score[then] == best] if request.precision == "best" else then
        if is_best:
            passed = then
    elif not is_related:
        return passed[:0]
    if request.precision != "best" and scored.confidence is not None:
        confidence = scored.confidence[passed]
        as_sure: Column = passed[confidence >= choosing.AS_SURE * confidence.max()]
        return as_sure
    score = scored.score[passed]
    near_the_best: Column = passed[score >= share * score.max()]
    return near_the_best


def _less_sure(request: Search, scored: "Scored", passed: "Column", sure: "Column") -> "list[Fused]":
    """The next best of what passed, where the best is not sure to be all that the query asks for."""
    if scored.confidence is None or not len(passed) or scored.is_sure(passed, request.query):
        return []
    if scored.legs[passed].max() < choosing.floor_of_less_sure(request.query, scored.candidates.frequencies):
        return []
    is_sure = set(sure.tolist())
    near = passed[scored.score[passed] >= choosing.NEXT_BEST * scored.score[passed].max()]
    others = near[[place not in is_sure for place in near.tolist()]]
    return list(islice(scored.best_first(others), request.most_less_sure))


def _mentioned(hits: list[Hit], request: Search, relevant: Collection[str]) -> list[Hit]:
    """The relevant results, and those that have every word of what the query is about."""
    about = choosing.subject(request.query)
    return [
        hit
        for hit in hits
        if hit.memory.id in relevant or (about and about.issubset(tokens(searchable_text(hit.memory))))
    ]


def _hydrate(call: Call, filter: Filter, ranked: "Sequence[Fused]", names: Mapping[str, str]) -> list[Hit]:
    call.deadline.left()
    with call.measure.stage("hydrate"):
        memories = call.space.get([f.id for f in ranked])
    # An index that lags may not know yet what was superseded.
    now = call.now()
    visible_ids = {id for id, memory in memories.items() if sees(filter, memory, now)}
    return [_hit(f, memories[f.id], names) for f in ranked if f.id in visible_ids]


def _hit(fused: "Fused", memory: Memory, names: Mapping[str, str]) -> Hit:
    """A memory with its scores. `names` are those that led to others, by their tokens."""
    return Hit(
        memory=memory,
        score=round(min(1.0, max(0.0, fused.score)), 4),
        cosine=None if fused.cosine is None else round(fused.cosine, 4),
        bm25=None if fused.bm25 is None else round(fused.bm25, 4),
        semantic_score=round(fused.semantic, 4),
        keyword_score=round(fused.keyword, 4),
        importance=None if fused.importance is None else round(fused.importance, 4),
        confidence=None if fused.confidence is None else round(fused.confidence, 2),
        boosts={name: round(value, 4) for name, value in fused.boosts.items()},
        led_by=_names_in(memory, names) if "name" in fused.boosts else (),
    )


def _names_in(memory: Memory, names: Mapping[str, str]) -> tuple[str, ...]:
    having = [names[token] for token in tokens(searchable_text(memory)) if token in names]
    return tuple(dict.fromkeys(having))


WORDLESS: Final = Outcome(
    kind=OutcomeKind.NOTHING_MATCHED, message="The query has no word to search by; say what to look for."
)


def nothing_relevant(days: Sequence[Days], memories: int, nearest: Sequence[Hit]) -> Outcome:
    """The outcome of a search whose best memory is unrelated to the query, and to the days that it names.

    No score can tell that nothing is known: it says how many memories were compared, and which was nearest.
    """
    among = "the one memory here" if memories == 1 else f"{memories:,} memories"
    naming = ""
    if days:
        first, last = days[-1]
        naming = f" and {first}" if first == last else f" and {first} to {last}"
    return Outcome(
        kind=OutcomeKind.NOTHING_RELEVANT,
        message=f"Nothing close to this{naming} among {among}.",
        nearest=nearest[0] if nearest else None,
    )


def outcome_of(call: Call, request: Search, matches: Matches, hits: Sequence[Hit], count: int) -> Outcome:
    """The outcome of a search that found so many memories, of which the hits are shown."""
    more = count - len(hits)
    if matches.degraded:
        incomplete = f"The answer may be incomplete: {matches.degraded}"
        return Outcome(kind=OutcomeKind.DEGRADED, message=incomplete, more=more)
    parts = sum(hit.left_out > 0 for hit in hits)
    if parts and request.max_tokens is None:
        return Outcome(
            kind=OutcomeKind.FOUND, message=f"{len(hits)} found. The best part of {parts} long ones is shown."
        )
    if more or parts:
        sentence = f"{len(hits)} of {count} are shown" + (f", {parts} of them in part" if parts else "")
        cut = f"{sentence}: the answer is cut at about {request.max_tokens:,} tokens."
        return Outcome(kind=OutcomeKind.FOUND, message=cut, more=more)
    if hits and all(hit.less_sure for hit in hits):
        return Outcome(kind=OutcomeKind.LESS_SURE, message=f"None is sure to be about it; {len(hits)} may be.")
    if hits:
        return Outcome(kind=OutcomeKind.FOUND, message=f"{len(hits)} found.")
    if not matches.stored:
        nothing = request.nothing_stored or partial(nothing_stored, call, Filter(project=request.filter.project))
        return Outcome(kind=OutcomeKind.NOTHING_STORED, message=nothing())
    as_of = request.filter.as_of
    if not matches.admitted and as_of is not None and replace(request.filter, as_of=None).is_open():
        return Outcome(
            kind=OutcomeKind.FILTERED_OUT,
            message=f"Nothing was stored yet at {minute_text(as_of, call.zone)}; "
            "search with a later `as_of`, or without it.",
        )
    if not matches.admitted:
        one = matches.stored == 1
        none = "The one stored memory does not" if one else f"None of the {matches.stored} stored memories"
        filtered_out = f"{none} pass the filter; search with fewer conditions."
        return Outcome(kind=OutcomeKind.FILTERED_OUT, message=filtered_out)
    cosines = matches.candidates.cosine
    best = None if cosines is None or not len(cosines) else round(float(cosines.max()), 4)
    if request.min_similarity > 0 and best is not None:
        return Outcome(
            kind=OutcomeKind.BELOW_FLOOR,
            message=f"The nearest memory has similarity {best}, below {request.min_similarity:g}; lower the threshold.",
            best_score=best,
        )
    return Outcome(kind=OutcomeKind.NOTHING_MATCHED, message="No memory matches; try other words.", best_score=best)
