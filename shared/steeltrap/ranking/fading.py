"""Importance and fading: how important a memory is, and how well it would be remembered. Pure.

Fading is FSRS-6 by the `fsrs` package, with its default parameters.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import exp
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from ..model import MICROS_PER_DAY, Usage, to_micros

if TYPE_CHECKING:
    from fsrs import Card, Scheduler


RECENCY: Final = 0.6
FREQUENCY: Final = 0.4
DECAY_DAYS: Final = 30
ENOUGH_READINGS: Final = 100
"""So many readings, or more, count in full."""

UNREAD: Final = Usage()


def importance(*, created: int, usage: Usage = UNREAD, now: int, manual: float | None = None) -> float:
    """`manual` where it is set, 0.0 included, else 0.6 x e^(-days / 30) + 0.4 x min(readings / 100, 1).

    The days count from the last reading, before the first one from when it was saved. Times are in
    microseconds since 1970; a time to come counts as now.
    """
    if manual is not None:
        return manual
    last = created if usage.last_accessed_at is None else to_micros(usage.last_accessed_at)
    days = max(0, now - last) / MICROS_PER_DAY
    return RECENCY * exp(-days / DECAY_DAYS) + FREQUENCY * min(usage.access_count / ENOUGH_READINGS, 1)


def weighed(relevance: Any, importance: Any, weight: float) -> Any:
    """(1 - `weight`) x relevance + `weight` x importance: numbers or arrays alike."""
    return (1 - weight) * relevance + weight * importance


Grade = Literal["again", "hard", "good", "easy"]
REVIEW_PAUSE: Final = timedelta(days=1)
SURPRISE_GAIN: Final = 0.5
_LONGEST_DAYS: Final = 36_500
"""The next review is due within this time, and before the year 10,000."""


class Remembered(Protocol):
    """The fields that decay depends on: a memory has it, and so has a candidate that was not read yet."""

    @property
    def created_at(self) -> datetime: ...
    @property
    def surprise(self) -> float | None: ...
    @property
    def pinned(self) -> bool: ...


def retrievability(memory: Remembered, usage: Usage, at: datetime) -> float:
    """The probability, 0 to 1, of recalling a memory at a time: 1 when fresh or pinned, then decaying.

    Time counts in whole days since the last review; saving counts as the first one, graded "good".
    """
    if memory.pinned:
        return 1.0
    return float(_scheduler().get_card_retrievability(card_of(memory, usage), at))


def reviewed(memory: Remembered, usage: Usage, at: datetime) -> str | None:
    """The card after a memory was recalled ("good"), as JSON, or None when the last review is under a day ago."""
    last = card_of(memory, usage).last_review
    if last is not None and at - last < REVIEW_PAUSE:
        return None
    return graded(memory, usage, at, "good")


def graded(memory: Remembered, usage: Usage, at: datetime, grade: Grade) -> str:
    """The card after a review, as JSON. Within a day of the last one FSRS's rule for the same day applies."""
    from fsrs import Rating

    days = min(_LONGEST_DAYS, (datetime.max.replace(tzinfo=UTC) - at).days)
    after, _ = _scheduler(days).review_card(card_of(memory, usage), Rating[grade.capitalize()], at)
    return after.to_json()


def falls_below(memory: Remembered, usage: Usage, share: float) -> datetime | None:
    """When retrievability is below a share for the first time; None for never, or after the year 9999."""
    last = card_of(memory, usage).last_review
    if memory.pinned or last is None:
        return None
    low, high = 0, 1
    most = (datetime.max.replace(tzinfo=UTC) - last).days
    if most < high:
        return None
    while retrievability(memory, usage, last + timedelta(days=high)) >= share:
        if high == most:
            return None
        low, high = high, min(most, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        if retrievability(memory, usage, last + timedelta(days=middle)) >= share:
            low = middle
        else:
            high = middle
    return last + timedelta(days=high)


def card_of(memory: Remembered, usage: Usage) -> "Card":
    """The stored card, or the one that saving made: surprise lengthens its stability by up to half."""
    if usage.card is not None:
        return _stored_card(usage.card)
    return _first_card(memory.created_at, memory.surprise or 0.0)


# The package's functions copy a card before they change it, so that one can stand for many readings.


@lru_cache(maxsize=4096)
def _stored_card(text: str) -> "Card":
    from fsrs import Card

    return Card.from_json(text)


@lru_cache(maxsize=4096)
def _first_card(created_at: datetime, surprise: float) -> "Card":
    from fsrs import Card

    fresh = _fresh_card()
    return Card(
        card_id=0,
        state=fresh.state,
        stability=(fresh.stability or 0.0) * (1 + SURPRISE_GAIN * surprise),
        difficulty=fresh.difficulty,
        due=created_at,
        last_review=created_at,
    )


@lru_cache(maxsize=1)
def _fresh_card() -> "Card":
    from fsrs import Card, Rating

    card, _ = _scheduler().review_card(Card(card_id=0), Rating.Good, datetime(2000, 1, 1, tzinfo=UTC))
    return card


@lru_cache(maxsize=8)
def _scheduler(longest_days: int = _LONGEST_DAYS) -> "Scheduler":
    from fsrs import Scheduler

    return Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False, maximum_interval=longest_days)
