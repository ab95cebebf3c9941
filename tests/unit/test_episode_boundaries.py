"""Where a conversation falls into episodes: every boundary from both sides."""

import struct
from collections.abc import Sequence
from datetime import timedelta
from math import sqrt

import pytest

from clock import NOON
from steeltrap.model import MAX_MESSAGES_BYTES
from steeltrap.text.segmentation import Turn, Vector, episodes, vector

MINUTE = timedelta(minutes=1)
QUARTER = timedelta(minutes=15)
INSTANT = timedelta(microseconds=1)


def _turns(
    count: int,
    *,
    said: Sequence[timedelta] = (),
    written: Sequence[timedelta] = (),
    sizes: Sequence[int] = (),
    vectors: Sequence[Vector] = (),
) -> list[Turn]:
    """Turns a minute apart, of a byte each and of no topic, but for what is given."""
    every_minute = [i * MINUTE for i in range(count)]
    return [
        Turn(written_at=NOON + w, said_at=NOON + s, size=size, vector=v)
        for w, s, size, v in zip(
            written or every_minute, said or every_minute, sizes or [1] * count, vectors or [()] * count, strict=True
        )
    ]


def _over(turns: Sequence[Turn], *, idle: timedelta = timedelta(), unrelated: float = 0.0) -> list[int]:
    now = turns[-1].written_at + idle if turns else NOON
    return episodes(turns, unrelated=unrelated, now=now)


# Pauses


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_conversation_is_over_when_it_has_rested_for_15_minutes(count: int) -> None:
    assert _over(_turns(count), idle=QUARTER - INSTANT) == []
    assert _over(_turns(count), idle=QUARTER) == [count]


def test_a_pause_in_the_writing_ends_an_episode_however_short() -> None:
    assert _over(_turns(2, written=[0 * MINUTE, QUARTER])) == [1]
    assert _over(_turns(2, written=[0 * MINUTE, QUARTER - INSTANT])) == []
    written = [0 * MINUTE, 15 * MINUTE, 16 * MINUTE, 31 * MINUTE]
    assert _over(_turns(4, written=written), idle=QUARTER) == [1, 2, 1]


@pytest.mark.parametrize(
    ("said", "lengths"),
    [
        ([0 * MINUTE, MINUTE, 2 * MINUTE, 2 * MINUTE + QUARTER + INSTANT], [3]),
        ([0 * MINUTE, MINUTE, 2 * MINUTE, 2 * MINUTE + QUARTER], []),
        ([20 * MINUTE, 20 * MINUTE, 20 * MINUTE, 4 * MINUTE], [3]),
        ([0 * MINUTE, MINUTE, 30 * MINUTE, 31 * MINUTE], []),
    ],
    ids=["over 15 minutes", "15 minutes", "backwards", "among the first three"],
)
def test_a_longer_gap_in_what_was_said_ends_an_episode_of_three_messages(
    said: list[timedelta], lengths: list[int]
) -> None:
    assert _over(_turns(4, said=said)) == lengths


# Sizes


@pytest.mark.parametrize(("count", "lengths"), [(0, []), (49, []), (50, [50]), (51, [50]), (101, [50, 50])])
def test_an_episode_is_full_with_50_messages(count: int, lengths: list[int]) -> None:
    assert _over(_turns(count)) == lengths


def test_nothing_is_left_to_close_behind_a_full_episode() -> None:
    assert _over(_turns(100), idle=QUARTER) == [50, 50]
    late = [i * MINUTE + (QUARTER if i == 50 else 0 * MINUTE) for i in range(51)]
    assert _over(_turns(51, written=late), idle=QUARTER) == [50, 1]


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [
        ([MAX_MESSAGES_BYTES - 1, 1], []),
        ([MAX_MESSAGES_BYTES - 1, 2], [1]),
        ([MAX_MESSAGES_BYTES // 2, MAX_MESSAGES_BYTES // 2, 1], [2]),
        ([MAX_MESSAGES_BYTES] * 3, [1, 1]),
    ],
)
def test_an_episode_ends_before_it_is_too_large(sizes: list[int], lengths: list[int]) -> None:
    assert _over(_turns(len(sizes), sizes=sizes)) == lengths


# Topics

A: Vector = (1.0, 0.0, 0.0)
B: Vector = (0.0, 1.0, 0.0)
C: Vector = (0.0, 0.0, 1.0)


def _like(of_a: float) -> Vector:
    """A direction whose cosine with A is `of_a`, and with C 0."""
    return (of_a, sqrt(1 - of_a**2), 0.0)


def _near(one: Vector, cosine: float) -> Vector:
    """A direction whose cosine with `one`, of which C is no part, is `cosine`."""
    return (one[0] * cosine, one[1] * cosine, sqrt(1 - cosine**2))


def _cut(*vectors: Vector, unrelated: float = 0.0) -> list[int]:
    return _over(_turns(len(vectors), vectors=vectors), unrelated=unrelated)


@pytest.mark.parametrize(
    ("vectors", "lengths"),
    [
        ((A, A, A, B, B, B, B), [3]),
        ((A, A, A, B, B, B), []),
        ((A, A, B, B, B, B), []),
        ((A, A, A, B, A, A, A), []),
        ((A, A, A, B, A, A, A, B), []),
        ((A, A, A, (), (), (), ()), []),
        (((), (), (), B, B, B, B), []),
        ((A, A, A, B, B, B, B, C, C, C, C), [3, 4]),
        ((A,) * 12, []),
    ],
    ids=[
        "shift",
        "two behind",
        "two before",
        "an aside",
        "two asides",
        "no words",
        "no event",
        "two shifts",
        "one topic",
    ],
)
def test_a_topic_that_the_next_three_messages_stay_with_begins_an_episode(
    vectors: tuple[Vector, ...], lengths: list[int]
) -> None:
    assert _cut(*vectors) == lengths


@pytest.mark.parametrize(("cosine", "unrelated", "ends"), [(0.34, 0.0, True), (0.36, 0.0, False)])
def test_a_message_is_novel_beyond_0_65(cosine: float, unrelated: float, ends: bool) -> None:
    assert _cut(A, A, A, *[_like(cosine)] * 4, unrelated=unrelated) == [3] * ends


@pytest.mark.parametrize(("cosine", "ends"), [(0.47, True), (0.49, False)])
def test_novelty_counts_from_the_level_of_unrelated_texts(cosine: float, ends: bool) -> None:
    # (0.48 - 0.2) / (1 - 0.2) is 0.35.
    assert _cut(A, A, A, *[_like(cosine)] * 4, unrelated=0.2) == [3] * ends


@pytest.mark.parametrize(("of_a", "behind", "ends"), [(0.3, 0.76, True), (0.3, 0.74, False), (-0.5, 0.01, True)])
def test_a_new_topic_is_over_two_and_a_half_times_as_near_to_what_follows(
    of_a: float, behind: float, ends: bool
) -> None:
    turn = _like(of_a)
    assert _cut(A, A, A, turn, *[_near(turn, behind)] * 3) == [3] * ends


@pytest.mark.parametrize(("of_a", "ends"), [(0.26, True), (0.27, False)])
def test_what_follows_is_taken_on_average(of_a: float, ends: bool) -> None:
    turn = _like(of_a)
    # Two thirds are 2.5 times 0.267.
    assert _cut(A, A, A, turn, turn, turn, C) == [3] * ends


@pytest.mark.parametrize(("of_a", "ends"), [(0.16, True), (0.20, False)])
def test_the_newest_message_is_a_fifth_of_the_event(of_a: float, ends: bool) -> None:
    # The event is 0.8 A + 0.2 of a message whose cosine with A is 0.6.
    assert _cut(A, A, A, A, A, A, _like(0.6), *[_like(of_a)] * 4) == [7] * ends


# Vectors


def _packed(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def test_a_texts_vector_lies_between_those_of_its_chunks_and_has_length_1() -> None:
    assert vector([]) == ()
    assert vector([_packed(0.25, 0.5)]) == (0.25, 0.5)
    assert vector([_packed(1, 0), _packed(0, 1)]) == pytest.approx((sqrt(0.5), sqrt(0.5)))
    assert vector([_packed(1, 0), _packed(1, 0), _packed(0, 1)]) == pytest.approx((2 / sqrt(5), 1 / sqrt(5)))
    assert vector([_packed(1, 0), _packed(-1, 0)]) == (0, 0)
