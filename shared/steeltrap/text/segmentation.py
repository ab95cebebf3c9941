"""Where a conversation falls into episodes. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt
from typing import Final

from ..model import MAX_MESSAGES_BYTES, Embedding
from .vectors import Vector, calibrated, dot, numbers

MIN_MESSAGES: Final = 3
MAX_MESSAGES: Final = 50
PAUSE: Final = timedelta(minutes=15)
"""A conversation that rests so long is over, and so is what was said before a longer gap."""
ALPHA: Final = 0.2
"""The weight of the newest message in the rolling event embedding."""
NOVELTY: Final = 0.65
AHEAD: Final = 3
NEARER: Final = 2.5
"""Most messages of small talk are novel; a new topic is one that the next messages stay with."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn as the rules look at it: when it was written and said, its bytes, and a unit vector of its text."""

    written_at: datetime
    said_at: datetime
    size: int
    vector: Vector


def episodes(turns: Sequence[Turn], *, unrelated: float, now: datetime) -> list[int]:
    """The lengths of the episodes that are over, from the first turn on; the turns after them stay open.

    An episode ends where nothing was written for 15 minutes (now included), however short it is. With
    three messages or more it ends before a gap of over 15 minutes between what was said and before a
    shift of topic; with 50 it is full, and before 128 KiB. What is said later changes no earlier end.
    """
    lengths: list[int] = []
    start = 0
    while start < len(turns):
        end = _end(turns, start)
        stop = _shift(turns[start:end], unrelated) or (None if end is None else end - start)
        if stop is None:
            if now - turns[-1].written_at >= PAUSE:
                lengths.append(len(turns) - start)
            break
        lengths.append(stop)
        start += stop
    return lengths


def vector(chunks: Sequence[Embedding]) -> Vector:
    """One unit vector for a text: the direction between those of its chunks; () without any."""
    unpacked = [numbers(chunk) for chunk in chunks]
    if len(unpacked) <= 1:
        return unpacked[0] if unpacked else ()
    total = [sum(values) for values in zip(*unpacked, strict=True)]
    length = sqrt(dot(total, total)) or 1.0
    return tuple(value / length for value in total)


def _end(turns: Sequence[Turn], start: int) -> int | None:
    """Where the episode that begins at `start` must end, whatever it is about; None where it may go on."""
    size = 0
    for i in range(start, len(turns)):
        size += turns[i].size
        if start < i and _is_apart(turns[i - 1], turns[i], i - start):
            return i
        if size > MAX_MESSAGES_BYTES:
            return i
        if i - start + 1 == MAX_MESSAGES:
            return i + 1
    return None


def _is_apart(before: Turn, turn: Turn, messages: int) -> bool:
    if turn.written_at - before.written_at >= PAUSE:
        return True
    return messages >= MIN_MESSAGES and abs(turn.said_at - before.said_at) > PAUSE


def _shift(turns: Sequence[Turn], unrelated: float) -> int | None:
    """Where the topic changes for the first time, after three messages and with three more to confirm it."""
    event = _Event()
    for i in range(len(turns) - AHEAD):
        if i >= MIN_MESSAGES and _is_new_topic(turns[i], turns[i + 1 : i + 1 + AHEAD], event, unrelated):
            return i
        event.hear(turns[i])
    return None


class _Event:
    """The messages of an episode so far: their number, their sum, and the rolling event embedding."""

    def __init__(self) -> None:
        self.messages = 0
        self.sum: Sequence[float] = ()
        self.rolling: Sequence[float] = ()

    def hear(self, turn: Turn) -> None:
        self.messages += 1
        if not turn.vector:
            return
        if not self.rolling:
            self.sum = self.rolling = turn.vector
            return
        self.sum = [a + b for a, b in zip(self.sum, turn.vector, strict=True)]
        self.rolling = [(1 - ALPHA) * a + ALPHA * b for a, b in zip(self.rolling, turn.vector, strict=True)]


def _is_new_topic(turn: Turn, ahead: Sequence[Turn], event: _Event, unrelated: float) -> bool:
    """Whether a turn is novel against the event, and 2.5 times as near to those that follow it as to the
    messages of the event."""
    if not turn.vector or not event.rolling:
        return False
    length = sqrt(dot(event.rolling, event.rolling)) or 1.0
    if 1 - calibrated(dot(turn.vector, event.rolling) / length, unrelated) <= NOVELTY:
        return False
    before = dot(turn.vector, event.sum) / event.messages
    similarity_after = sum(dot(turn.vector, next_.vector) for next_ in ahead) / AHEAD
    return calibrated(similarity_after, unrelated) > NEARER * calibrated(before, unrelated)
