"""How well a memory would be remembered today: FSRS-6 by the `fsrs` package, default parameters."""

from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, Protocol

from ..model import Usage

if TYPE_CHECKING:
    from fsrs import Card, Scheduler

Grade = Literal["again", "hard", "good", "easy"]
REVIEW_PAUSE: Final = timedelta(days=1)
SURPRISE_GAIN: Final = 0.5


class Remembered(Protocol):
    """What decay depends on: a memory has it, and so has a candidate that was not read yet."""

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


def reviewed(memory: Remembered, usage: Usage, at: datetime, grade: Grade = "good") -> str | None:
    """The card after a review, as JSON, or None when the last one is under a day ago."""
    from fsrs import Rating

    card = card_of(memory, usage)
    if card.last_review is not None and at - card.last_review < REVIEW_PAUSE:
        return None
    after, _ = _scheduler().review_card(card, Rating[grade.capitalize()], at)
    return after.to_json()


def card_of(memory: Remembered, usage: Usage) -> "Card":
    """The stored card, or the one that saving made: surprise lengthens its stability by up to half."""
    from fsrs import Card

    if usage.card is not None:
        return Card.from_json(usage.card)
    first = _first_card()
    card = Card(
        card_id=0,
        state=first.state,
        stability=(first.stability or 0.0) * (1 + SURPRISE_GAIN * (memory.surprise or 0.0)),
        difficulty=first.difficulty,
        due=memory.created_at,
        last_review=memory.created_at,
    )
    return card


@lru_cache(maxsize=1)
def _scheduler() -> "Scheduler":
    from fsrs import Scheduler

    return Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)


@lru_cache(maxsize=1)
def _first_card() -> "Card":
    from datetime import UTC

    from fsrs import Card, Rating

    card, _ = _scheduler().review_card(Card(card_id=0), Rating.Good, datetime(2000, 1, 1, tzinfo=UTC))
    return card
