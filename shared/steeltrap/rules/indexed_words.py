"""The words that a memory is found by, and the version of the rules that choose them."""

from typing import Final

from ..model import Memory
from .analysis import tokens
from .days import is_day, possible_days

WORDS_VERSION: Final = 1
"""To be raised with every change of the words that a stored memory gets, here or in `analysis.py`: where words were
stored by a lower version, they are made again. Before version 1 no store knew its version."""

_MONTHS: Final = "January February March April May June July August September October November December".split()


def indexed_words(memory: Memory) -> tuple[str, ...]:
    """What a store indexes of a memory, in order, repeats kept."""
    return (*tokens(searchable_text(memory)), *_day_tokens(memory))


def searchable_text(memory: Memory) -> str:
    """What the keyword leg reads: the content and its context, of an episode all that was said, and the day it is
    about."""
    parts = [memory.content]
    if memory.context is not None:
        parts.append(memory.context)
    if memory.source != "conversation":  # a turn's one message is its content
        parts += [message.content for message in memory.messages]
    if memory.occurred_at is not None and is_day(memory.occurred_at):
        # In words, since that is how a question names a day: "8 May 2023". On which day a moment is depends on who
        # asks, so it has no such words: `on_days.py` says what they count.
        parts.append(f"{memory.occurred_at.day} {_MONTHS[memory.occurred_at.month - 1]} {memory.occurred_at.year}")
    return "\n".join(parts)


def _day_tokens(memory: Memory) -> list[str]:
    return [] if memory.occurred_at is None else [day.isoformat() for day in possible_days(memory.occurred_at)]
