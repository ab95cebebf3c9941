"""Importance by hand, by recency and by frequency."""

from datetime import UTC, datetime, timedelta
from math import e

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.model import Usage, to_micros
from steeltrap.ranking.fading import importance, weighed

NOW = datetime(2026, 1, 31, tzinfo=UTC)
DAYS = st.floats(0, 3650)
COUNTS = st.integers(0, 1000)
UNIT = st.floats(0, 1)


def of(*, age: float, count: int = 0, since: float | None = None, manual: float | None = None) -> float:
    """The importance of a memory that is `age` days old and was last read `since` days ago."""
    last = None if since is None else NOW - timedelta(days=since)
    usage = Usage(access_count=count, last_accessed_at=last)
    created = to_micros(NOW - timedelta(days=age))
    return importance(created=created, usage=usage, now=to_micros(NOW), manual=manual)


@pytest.mark.parametrize(
    ("age", "count", "since", "expected"),
    [
        (0, 0, None, 0.6),
        (30, 0, None, 0.6 / e),
        (60, 0, None, 0.6 / e**2),
        (15, 0, None, 0.6 / e**0.5),
        (60, 1, 30, 0.6 / e + 0.004),
        (60, 25, 0, 0.7),
        (0, 99, 0, 0.996),
        (0, 100, 0, 1.0),
        (0, 101, 0, 1.0),
        (0, 1000, 30, 0.6 / e + 0.4),
    ],
)
def test_importance_is_the_formula(age: float, count: int, since: float | None, expected: float) -> None:
    assert of(age=age, count=count, since=since) == pytest.approx(expected, abs=1e-9)


def test_a_fraction_of_a_day_counts() -> None:
    assert of(age=0.5) == pytest.approx(0.6 * e ** (-1 / 60))


def test_what_lies_in_the_time_to_come_counts_as_now() -> None:
    assert of(age=-5) == 0.6


@given(age=DAYS, count=COUNTS, manual=UNIT)
def test_a_score_set_by_hand_sticks(age: float, count: int, manual: float) -> None:
    assert of(age=age, count=count, since=0, manual=manual) == manual


def test_a_score_of_0_is_no_missing_score() -> None:
    assert of(age=0, manual=0.0) == 0.0


@given(age=DAYS, count=COUNTS)
def test_importance_is_from_0_to_1(age: float, count: int) -> None:
    assert 0 <= of(age=age, count=count) <= 1


@given(ages=st.lists(DAYS, min_size=2, max_size=2), count=COUNTS)
def test_what_was_read_longer_ago_is_never_more_important(ages: list[float], count: int) -> None:
    older, younger = max(ages), min(ages)
    assert of(age=4000, count=count, since=older) <= of(age=4000, count=count, since=younger)


@given(age=DAYS, count=COUNTS)
def test_one_more_reading_never_makes_less_important(age: float, count: int) -> None:
    assert of(age=age, count=count, since=age) <= of(age=age, count=count + 1, since=age)


@pytest.mark.parametrize(
    ("relevance", "value", "weight", "expected"),
    [(0.8, 0.2, 0.0, 0.8), (0.8, 0.2, 1.0, 0.2), (0.8, 0.2, 0.25, 0.65), (0.0, 1.0, 0.3, 0.3)],
)
def test_a_weight_mixes_relevance_and_importance(
    relevance: float, value: float, weight: float, expected: float
) -> None:
    assert weighed(relevance, value, weight) == pytest.approx(expected)


@given(relevance=UNIT, value=UNIT, weight=UNIT)
def test_a_mixture_lies_between_the_two(relevance: float, value: float, weight: float) -> None:
    mixed = weighed(relevance, value, weight)
    assert min(relevance, value) - 1e-9 <= mixed <= max(relevance, value) + 1e-9
