"""Where a conversation falls into episodes: by pauses, by number and size, by topic."""

from datetime import datetime, timedelta
from itertools import pairwise
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clock import NOON
from steeltrap.model import MAX_MESSAGES_BYTES
from steeltrap.text.segmentation import PAUSE, Turn, Vector, episodes, vector
from steeltrap.text.vectors import unit_vector

SAME = (1.0, 0.0, 0.0)
OTHER = (0.0, 1.0, 0.0)
THIRD = (0.0, 0.0, 1.0)
NOTHING = timedelta(0)


def said(
    count: int, *, at: timedelta = timedelta(0), written: timedelta = timedelta(0), **fields: object
) -> list[Turn]:
    """Turns, a minute apart, of one topic."""
    steps = [timedelta(minutes=i) for i in range(count)]
    values = {"size": 10, "vector": SAME, **fields}
    return [Turn(written_at=NOON + written + step, said_at=NOON + at + step, **values) for step in steps]  # type: ignore[arg-type]


def cut(turns: list[Turn], now: datetime | None = None) -> list[int]:
    return episodes(turns, unrelated=0.1, now=now or turns[-1].written_at)


# Pauses


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_an_idle_conversation_is_closed_however_short(count: int) -> None:
    turns = said(count)
    assert cut(turns, turns[-1].written_at + PAUSE - timedelta(seconds=1)) == []
    assert cut(turns, turns[-1].written_at + PAUSE) == [count]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_was_written_before_a_pause_is_closed_however_short(count: int) -> None:
    rest = timedelta(minutes=count - 1) + PAUSE
    assert cut(said(count) + said(2, written=rest)) == [count]
    assert cut(said(count) + said(2, written=rest - timedelta(seconds=1))) == []


@pytest.mark.parametrize(
    ("count", "gap", "closed"),
    [
        (3, timedelta(minutes=15), []),
        (3, timedelta(minutes=15, seconds=1), [3]),
        (3, timedelta(days=400), [3]),
        (3, timedelta(days=-400), [3]),
        (2, timedelta(days=1), []),
    ],
)
def test_a_gap_between_said_times_closes_three_messages_or_more(count: int, gap: timedelta, closed: list[int]) -> None:
    earlier = said(count)
    assert cut(earlier + said(2, at=timedelta(minutes=count - 1) + gap, written=timedelta(minutes=count))) == closed


# Number and size


@pytest.mark.parametrize(("count", "closed"), [(49, []), (50, [50]), (51, [50]), (100, [50, 50]), (103, [50, 50])])
def test_fifty_messages_are_an_episode(count: int, closed: list[int]) -> None:
    assert cut(said(count)) == closed


def test_an_episode_holds_no_more_than_fits() -> None:
    quarter = MAX_MESSAGES_BYTES // 4
    assert cut(said(5, size=quarter)) == [4]
    assert cut(said(4, size=quarter)) == []
    assert cut(said(5, size=quarter + 1)) == [3]


# Topics


def topics(*parts: tuple[Vector, int]) -> list[Turn]:
    vectors = [vector for vector, count in parts for _ in range(count)]
    return [Turn(turn.written_at, turn.said_at, 10, v) for turn, v in zip(said(len(vectors)), vectors, strict=True)]


@pytest.mark.parametrize(
    ("parts", "closed"),
    [
        ([(SAME, 10)], []),
        ([(SAME, 3), (OTHER, 4)], [3]),
        ([(SAME, 8), (OTHER, 4)], [8]),
        # Too short to be an episode: the new topic joins it.
        ([(SAME, 2), (OTHER, 4)], []),
        # Nobody knows yet whether they stay with it.
        ([(SAME, 8), (OTHER, 3)], []),
        # A remark aside that nobody takes up.
        ([(SAME, 5), (OTHER, 1), (SAME, 5)], []),
        ([(SAME, 4), (OTHER, 4), (THIRD, 4)], [4, 4]),
        # Small talk: each is new, and none is near the next.
        ([(SAME, 1), (OTHER, 1), (THIRD, 1)] * 4, []),
    ],
)
def test_a_shift_of_topic_that_the_next_messages_stay_with_ends_an_episode(
    parts: list[tuple[Vector, int]], closed: list[int]
) -> None:
    assert cut(topics(*parts)) == closed


def turned(cosine: float, *, towards: Vector = OTHER) -> Vector:
    """A direction with this cosine to SAME."""
    return tuple(cosine * a + sqrt(1 - cosine**2) * b for a, b in zip(SAME, towards, strict=True))


# Calibrated from the embedder's 0.1 on, a novelty of 0.65 is a cosine of 0.415.
@pytest.mark.parametrize(("cosine", "closed"), [(0.414, [5]), (0.416, [])])
def test_a_turn_is_novel_above_0_65_on_the_embedders_scale(cosine: float, closed: list[int]) -> None:
    assert cut(topics((SAME, 5), (turned(cosine), 4))) == closed


# Behind two of one kind and one of another the event is (0.8, 0.2): the newest counts a fifth.
@pytest.mark.parametrize(("cosine", "closed"), [(0.427, [3]), (0.429, [])])
def test_the_newest_message_counts_a_fifth_in_the_event(cosine: float, closed: list[int]) -> None:
    assert cut(topics((SAME, 2), (OTHER, 1), (turned(cosine, towards=THIRD), 4))) == closed


# 2.5 times as near as a cosine of 0.3 is one of 0.6.
@pytest.mark.parametrize(("cosine", "closed"), [(0.61, [5]), (0.59, [])])
def test_a_topic_is_new_when_the_next_messages_are_2_5_times_as_near(cosine: float, closed: list[int]) -> None:
    new = turned(0.3)
    next_ = tuple(cosine * a + sqrt(1 - cosine**2) * b for a, b in zip(new, THIRD, strict=True))
    assert cut(topics((SAME, 5), (new, 1), (next_, 3))) == closed


def test_a_turn_without_a_vector_ends_nothing() -> None:
    assert cut(topics((SAME, 5), ((), 4))) == []
    assert cut(topics(((), 5), (SAME, 4))) == []


def test_a_long_turn_points_between_its_chunks() -> None:
    assert vector([]) == ()
    one, other = unit_vector([1.0, 0.0]), unit_vector([0.0, 1.0])
    assert vector([one]) == (1.0, 0.0)
    assert vector([one, other]) == pytest.approx((sqrt(0.5), sqrt(0.5)))
    assert vector([one, unit_vector([-1.0, 0.0])]) == pytest.approx((0.0, 0.0))


# Invariants

DIRECTIONS: list[Vector] = [SAME, OTHER, THIRD, ()]
TURNS = st.lists(
    st.tuples(
        st.integers(0, 20), st.integers(0, 40), st.integers(1, 33_000), st.sampled_from([SAME, OTHER, THIRD, ()])
    ),
    min_size=1,
    max_size=130,
)


@given(TURNS)
def test_episodes_are_whole_bounded_and_stay_as_they_are_when_more_is_said(
    parts: list[tuple[int, int, int, Vector]],
) -> None:
    turns: list[Turn] = []
    written = said_at = NOON
    for pause, gap, size, direction in parts:
        written, said_at = written + timedelta(minutes=pause), said_at + timedelta(minutes=gap)
        turns.append(Turn(written, said_at, size, direction))
    lengths = cut(turns)
    assert all(1 <= length <= 50 for length in lengths)
    assert sum(lengths) <= len(turns)
    starts = [0, *(sum(lengths[: i + 1]) for i in range(len(lengths)))]
    for start, stop in pairwise(starts):
        assert sum(turn.size for turn in turns[start:stop]) <= MAX_MESSAGES_BYTES
        if stop - start < 3:
            assert turns[stop].written_at - turns[stop - 1].written_at >= PAUSE
    for count in range(1, len(turns)):
        earlier = cut(turns[:count])
        assert lengths[: len(earlier)] == earlier
    assert sum(cut(turns, written + PAUSE)) == len(turns)
