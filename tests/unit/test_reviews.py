"""Reviews: from when on one counts, what each grade does, and when a memory falls below a share."""

from datetime import timedelta

import pytest
from fsrs import Card
from hypothesis import example, given
from hypothesis import strategies as st

from clock import NOON
from steeltrap.model import Memory, Usage
from steeltrap.ranking.fading import Grade, card_of, falls_below, graded, retrievability, reviewed

MEMORY = Memory(id="a", content="x", created_at=NOON, updated_at=NOON)
PINNED = Memory(id="a", content="x", created_at=NOON, updated_at=NOON, pinned=True)


def test_a_review_counts_from_a_day_after_the_last_one_on() -> None:
    day = NOON + timedelta(days=1)
    assert reviewed(MEMORY, Usage(), day - timedelta(microseconds=1)) is None
    assert reviewed(MEMORY, Usage(), day) is not None


def test_a_review_is_of_its_own_time() -> None:
    at = NOON + timedelta(days=3)
    card = reviewed(MEMORY, Usage(), at)
    assert card == graded(MEMORY, Usage(), at, "good")
    assert Card.from_json(card).last_review == at
    assert retrievability(MEMORY, Usage(card=card), at) == 1
    assert retrievability(MEMORY, Usage(card=card), at + timedelta(days=30)) == pytest.approx(0.8388, abs=1e-4)


# By FSRS-6 with its default parameters, after a first good review.
@pytest.mark.parametrize(
    ("grade", "days", "stability", "difficulty"),
    [
        ("again", 3, 0.6369, 7.3945),
        ("hard", 3, 9.2349, 4.7529),
        ("good", 3, 13.8269, 2.1112),
        ("easy", 3, 23.8831, 1.0),
        ("again", 0, 0.7751, 7.3945),
        ("easy", 0, 3.9461, 1.0),
    ],
)
def test_a_grade_changes_stability_and_difficulty(grade: Grade, days: int, stability: float, difficulty: float) -> None:
    card = Card.from_json(graded(MEMORY, Usage(), NOON + timedelta(days=days, hours=1), grade))
    assert card.stability == pytest.approx(stability, abs=1e-4)
    assert card.difficulty == pytest.approx(difficulty, abs=1e-4)


def test_a_stored_card_goes_before_the_one_that_saving_makes() -> None:
    card = graded(MEMORY, Usage(), NOON + timedelta(days=3), "easy")
    assert card_of(MEMORY, Usage(card=card)).to_json() == card


@pytest.mark.parametrize(("share", "days"), [(1.0, 1), (0.9, 3), (0.8, 8)])
def test_a_memory_falls_below_a_share_on_the_first_day_that_it_is_less(share: float, days: int) -> None:
    assert falls_below(MEMORY, Usage(), share) == NOON + timedelta(days=days)


@given(st.integers(0, 2000))
@example(1)
@example(4)
def test_what_a_day_still_has_is_not_below(days: int) -> None:
    share = retrievability(MEMORY, Usage(), NOON + timedelta(days=days))
    assert falls_below(MEMORY, Usage(), share) == NOON + timedelta(days=days + 1)


@given(st.floats(0.3, 1))
def test_the_day_before_it_is_not_less_yet(share: float) -> None:
    below = falls_below(MEMORY, Usage(), share)
    assert below is not None
    assert retrievability(MEMORY, Usage(), below) < share <= retrievability(MEMORY, Usage(), below - timedelta(days=1))


def test_what_is_pinned_falls_below_no_share_and_nothing_falls_below_none() -> None:
    assert falls_below(PINNED, Usage(), 0.9) is None
    assert falls_below(MEMORY, Usage(), 0.0) is None
