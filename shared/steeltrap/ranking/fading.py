"""Surprise, importance and fading: how new a text is, how important, and how well it would be remembered. Pure.

Fading is FSRS-6 by the `fsrs` package, with its default parameters.
"""

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from math import exp
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from ..model import MICROS_PER_DAY, Link, Memory, Neighbour, Surroundings, Usage, to_micros
from ..ports import Scale
from ..text.sentences import telling
from ..text.vectors import calibrated
from ..text.words import label_of

if TYPE_CHECKING:
    from fsrs import Card, Scheduler

LINK_FLOOR: Final = 0.7
SURPRISE_OF_THE_FIRST: Final = 0.5

KEY_MOMENT: Final = 0.7
"""From this surprise on a memory is a key moment; what is just new enough has it."""

SURPRISE_OF_THE_FAMILIAR: Final = 0.3
"""A surprise below it means that the memory was said before, in the same or other words."""

FAMILIAR: Final = 0.25
"""Where the familiar begins: this share of the way from the level of the new to a cosine of 1."""

UNLABELLED: Final = 5 / 6
"""Where a text that begins with no name is new: this share of the way from the unrelated to the novel. Turns
that begin with their speakers' names have at least those in common."""

CORRECTED: Final = 0.05
"""Where what corrects a memory begins: this share of the way from the level of the new to a cosine of 1. Of 35
corrections of facts 28 lie nearer to what they correct, and of 437 other facts 24 to the fact nearest to them."""
_THE_SAME: Final = 0.9995
"""From this cosine on two texts have the same words."""

_KANA: Final = re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc]")


def surprise(text: str, around: Surroundings, scale: Scale) -> float:
    """How far the nearest memory is, 0 to 1, by the embedder's own levels of cosine.

    1 at the level of unrelated texts (of Japanese ones where this is Japanese) or below, `KEY_MOMENT` where
    this text begins to be new, 0.3 where it begins to be familiar, 0 at a cosine of 1, on straight lines between
    them. In an empty space there is nothing to compare with: 0.5.
    """
    if around.nearest is None:
        return SURPRISE_OF_THE_FIRST
    unrelated = max(scale.unrelated, scale.unrelated_japanese) if is_japanese(text) else scale.unrelated
    near = calibrated(around.nearest.cosine, unrelated)
    new = calibrated(scale.novel, scale.unrelated) * (1 if label_of(text) else UNLABELLED)
    levels = ((0.0, 1.0), (new, KEY_MOMENT), (new + FAMILIAR * (1 - new), SURPRISE_OF_THE_FAMILIAR), (1.0, 0.0))
    for (low, above), (high, below) in pairwise(levels):
        if low < near <= high:
            return round(above + (below - above) * (near - low) / (high - low), 4)
    return 1.0 if near <= 0 else 0.0


def surprise_of(memory: Memory, around: Surroundings, scale: Scale) -> float:
    """The surprise of a memory; an episode's is how new it is, and at most how telling. The first of a space is new."""
    if not memory.messages:
        return surprise(memory.content, around, scale)
    new = 1.0 if around.nearest is None else surprise(memory.content, around, scale)
    return min(new, telling(memory.messages))


def is_japanese(text: str) -> bool:
    """Whether at least a fifth of the characters are kana."""
    return not text.isascii() and 5 * len(_KANA.findall(text)) >= len(text)


def others(around: Surroundings | None, known: Collection[str]) -> list[Neighbour]:
    """The ids of what lies near, nearest first, without these ids."""
    if around is None or around.nearest is None:
        return []
    near = {neighbour.id: neighbour for neighbour in (around.nearest, *around.near)}
    return [neighbour for neighbour in near.values() if neighbour.id not in known]


def probably_superseded(nearest: Neighbour, scale: Scale) -> bool:
    """Whether a new memory probably corrects the one nearest to it: about the same, not in the same words.

    Of two memories that are as near only the nearest is: to name more is wrong far more often than right.
    """
    new = calibrated(scale.novel, scale.unrelated)
    near = calibrated(nearest.cosine, scale.unrelated)
    return near >= new + CORRECTED * (1 - new) and nearest.cosine < _THE_SAME


def links(around: Surroundings) -> tuple[Link, ...]:
    """The automatic associations: near memories in the same scope; the strength is the cosine."""
    return tuple(Link(target_id=near.id, strength=round(min(1.0, near.cosine), 4)) for near in around.near)


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

    after, _ = _scheduler().review_card(card_of(memory, usage), Rating[grade.capitalize()], at)
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


@lru_cache(maxsize=1)
def _scheduler() -> "Scheduler":
    from fsrs import Scheduler

    return Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
