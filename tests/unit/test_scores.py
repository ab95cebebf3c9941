"""BM25, fusion, links, retrievability: numbers, by their formulas and their invariants."""

from datetime import UTC, datetime, timedelta
from math import isclose, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clock import NOON
from steeltrap.model import Candidate, Candidates, Memory, Neighbour, Surroundings, Usage
from steeltrap.ranking import novelty, weights
from steeltrap.ranking.fading import Grade, card_of, falls_below, graded, retrievability, reviewed
from steeltrap.ranking.scored import Fused
from steeltrap.ranking.scoring import fuse
from steeltrap.text.vectors import calibrated

COUNTS = st.integers(1, 10_000)


# BM25


@given(COUNTS, COUNTS)
def test_idf_is_never_negative_and_falls_with_frequency(a: int, b: int) -> None:
    frequent, documents = min(a, b), max(a, b)
    assert weights.idf(frequent, documents) > 0
    if frequent > 1:
        assert weights.idf(frequent - 1, documents) > weights.idf(frequent, documents)


@given(COUNTS, COUNTS, st.floats(1, 5000), st.floats(0.01, 20))
def test_a_terms_score_grows_with_its_frequency_and_stays_bounded(
    count: int, length: int, average: float, weight: float
) -> None:
    score = weights.term_score(float(count), float(length), average, weight)
    assert 0 < score < weight * (weights.K1 + 1)
    assert weights.term_score(float(count + 1), float(length), average, weight) >= score
    assert weights.term_score(float(count), float(length + 1), average, weight) <= score


def test_scores_are_those_of_the_formula_by_hand() -> None:
    # Three documents, the term in one of them, twice among four tokens, three tokens on average.
    weight = log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    assert weights.idf(1, 3) == pytest.approx(weight)
    assert weights.idf(1, 3) == pytest.approx(0.98083, abs=1e-5)
    norm = 1.2 * (1 - 0.75 + 0.75 * 4 / 3)
    assert weights.term_score(2.0, 4.0, 3.0, weight) == pytest.approx(weight * 2 * 2.2 / (2 + norm))
    assert weights.term_score(2.0, 4.0, 3.0, weight) == pytest.approx(1.23304, abs=1e-5)


# Fusion


_CANDIDATES = st.lists(
    st.tuples(st.floats(-1, 1), st.floats(0, 50, allow_subnormal=False)),
    min_size=1,
    max_size=30,
).map(lambda scores: Candidates.of([Candidate(str(i), c, b, i) for i, (c, b) in enumerate(scores)]))


def _fused(candidates: Candidates, weight: float, unrelated: float) -> list[Fused]:
    scored = fuse(candidates, vector_weight=weight, unrelated=unrelated)
    return scored.rows(range(len(candidates)))


@given(st.data())
def test_the_best_are_those_of_the_scores_of_the_moment(data: st.DataObject) -> None:
    score = st.sampled_from([0.0, 0.1, 0.2, 0.5])
    scores = data.draw(st.lists(score, min_size=1, max_size=150))
    candidates = Candidates.of([Candidate(str(i), s, s, i // 3) for i, s in enumerate(scores)])
    scored = fuse(candidates, vector_weight=0.5, unrelated=0.0)
    everywhere, some = np.arange(len(scores)), np.arange(0, len(scores), 2)
    for places in data.draw(st.lists(st.sampled_from([everywhere, everywhere, some]), min_size=2, max_size=6)):
        order = sorted(places.tolist(), key=lambda at: (-scored.score[at], -candidates.created[at], candidates.ids[at]))
        assert scored.leading(places, 20) == order[:20]
        if np.count_nonzero(scored.score[places]) >= 64:
            assert [fused.id for fused in scored.best_first(places)] == [candidates.ids[at] for at in order]
        scored.add("rule", [data.draw(st.integers(0, len(scores) - 1))], data.draw(score))


@given(_CANDIDATES, st.floats(0, 1), st.floats(0, 0.99))
def test_fused_scores_lie_between_0_and_1_in_the_order_given(
    candidates: Candidates, weight: float, unrelated: float
) -> None:
    fused = _fused(candidates, weight, unrelated)
    assert [(f.id, f.cosine, f.bm25) for f in fused] == [(c.id, c.cosine, c.bm25) for c in candidates]
    for f in fused:
        assert 0 <= f.semantic <= 1 + 1e-9
        assert 0 <= f.keyword <= 1 + 1e-9
        assert 0 <= f.score <= 1 + 1e-9


@given(_CANDIDATES, st.floats(0, 1), st.floats(0, 0.99))
def test_who_is_better_in_both_legs_is_never_behind(candidates: Candidates, weight: float, unrelated: float) -> None:
    fused = _fused(candidates, weight, unrelated)
    for one in fused:
        for other in fused:
            if (one.cosine or 0) >= (other.cosine or 0) and (one.bm25 or 0) >= (other.bm25 or 0):
                assert one.score >= other.score - 1e-9


@given(_CANDIDATES)
def test_with_one_leg_only_its_order_is_kept(candidates: Candidates) -> None:
    keyword = _fused(candidates, 0.0, 0.1)
    semantic = _fused(candidates, 1.0, 0.1)
    assert all(isclose(f.score, f.keyword) for f in keyword)
    assert all(isclose(f.score, f.semantic) for f in semantic)


def test_ties_stay_ties_and_a_missing_leg_is_worth_nothing() -> None:
    rows = [Candidate("a", 0.5, 2.0, 1), Candidate("b", 0.5, 2.0, 2), Candidate("c", None, None, 3)]
    one, other, none = _fused(Candidates.of(rows), 0.5, 0.0)
    assert one.score == other.score > 0
    assert (none.score, none.semantic, none.keyword) == (0, 0, 0)
    assert _fused(Candidates.of([]), 0.5, 0.1) == []


def test_a_cosine_counts_from_the_level_of_unrelated_texts() -> None:
    assert calibrated(0.1, 0.1) == 0
    assert calibrated(-1, 0.1) == 0
    assert calibrated(1.0, 0.1) == pytest.approx(1)
    assert calibrated(0.55, 0.1) == pytest.approx(0.5)
    assert calibrated(None, 0.1) == 0


# Links


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=150, max_size=400))
def test_many_candidates_come_in_the_order_of_few(scores: list[tuple[int, int]]) -> None:
    rows = [
        Candidate(id=f"{number * 7919 % 1000:03}", cosine=cosine / 10, bm25=None, created=created)
        for number, (cosine, created) in enumerate(scores)
    ]
    scored = fuse(Candidates.of(rows), vector_weight=1.0, unrelated=0.0)
    found = [f.id for f in scored.best_first(scored.above(-1.0, related_only=False))]
    assert found == [c.id for c in sorted(rows, key=lambda c: (-(c.cosine or 0), -c.created, c.id))]


def test_links_are_as_strong_as_the_memories_are_near() -> None:
    around = Surroundings(nearest=None, near=(Neighbour("a", 1.0000002), Neighbour("b", 0.70004)))
    assert [(link.target_id, link.strength, link.manual) for link in novelty.links(around)] == [
        ("a", 1.0, False),
        ("b", 0.7, False),
    ]


# Retrievability


def _memory(**fields: object) -> Memory:
    return Memory(id="a", content="x", created_at=NOON, updated_at=NOON, **fields)  # type: ignore[arg-type]


def test_a_memory_begins_with_the_stability_of_a_first_good_review() -> None:
    card = card_of(_memory(), Usage())
    assert card.stability == pytest.approx(2.3065, abs=1e-4)
    assert card.difficulty == pytest.approx(2.118, abs=1e-3)


@pytest.mark.parametrize(("days", "expected"), [(0, 1.0), (7, 0.808), (30, 0.668)])
def test_a_memory_fades_by_the_curve(days: int, expected: float) -> None:
    assert retrievability(_memory(), Usage(), NOON + timedelta(days=days)) == pytest.approx(expected, abs=1e-3)


@given(st.integers(0, 5000), st.floats(0, 1))
def test_retrievability_falls_with_time_and_less_for_what_surprised(days: int, surprise: float) -> None:
    at = NOON + timedelta(days=days)
    plain = retrievability(_memory(), Usage(), at)
    assert 0 < plain <= 1
    assert retrievability(_memory(), Usage(), at + timedelta(days=1)) < plain
    assert retrievability(_memory(surprise=surprise), Usage(), at) >= plain


def test_a_pinned_memory_never_fades() -> None:
    assert retrievability(_memory(pinned=True), Usage(), NOON + timedelta(days=9999)) == 1


def test_full_surprise_makes_stability_half_as_long_again() -> None:
    assert card_of(_memory(surprise=1.0), Usage()).stability == pytest.approx(2.3065 * 1.5, abs=1e-3)


def test_a_review_counts_once_a_day_and_strengthens() -> None:
    memory = _memory()
    assert reviewed(memory, Usage(), NOON + timedelta(hours=23, minutes=59)) is None
    later = NOON + timedelta(days=3)
    card = reviewed(memory, Usage(), later)
    assert card is not None
    usage = Usage(card=card)
    assert retrievability(memory, usage, later) == pytest.approx(1)
    much_later = NOON + timedelta(days=30)
    assert retrievability(memory, usage, much_later) > retrievability(memory, Usage(), much_later)
    assert reviewed(memory, usage, later + timedelta(hours=1)) is None


@pytest.mark.parametrize(("grade", "sooner"), [("again", True), ("hard", True), ("good", False), ("easy", False)])
def test_a_grade_decides_how_soon_a_memory_fades(grade: Grade, sooner: bool) -> None:
    later = NOON + timedelta(days=2)
    after = card_of(_memory(), Usage(card=graded(_memory(), Usage(), later, grade)))
    good = card_of(_memory(), Usage(card=graded(_memory(), Usage(), later, "good")))
    assert after.last_review == later
    assert after.stability is not None
    assert good.stability is not None
    assert (after.stability < good.stability) is sooner


def test_a_grade_of_the_same_day_counts_too() -> None:
    card = graded(_memory(), Usage(), NOON + timedelta(hours=1), "easy")
    much_later = NOON + timedelta(days=30)
    assert retrievability(_memory(), Usage(card=card), much_later) > retrievability(_memory(), Usage(), much_later)


@given(st.floats(0.05, 0.99), st.floats(0, 1))
def test_a_memory_falls_below_a_share_on_the_first_day_that_it_is_below(share: float, surprise: float) -> None:
    memory = _memory(surprise=surprise)
    day = falls_below(memory, Usage(), share)
    if day is None:
        assert retrievability(memory, Usage(), datetime.max.replace(tzinfo=UTC)) >= share
    else:
        assert retrievability(memory, Usage(), day) < share
        assert retrievability(memory, Usage(), day - timedelta(days=1)) >= share
        assert day - NOON == timedelta(days=(day - NOON).days)


def test_what_is_pinned_falls_below_nothing() -> None:
    assert falls_below(_memory(pinned=True), Usage(), 0.9) is None
