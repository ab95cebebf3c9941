"""Scoring: how important a memory is, how well it would be remembered on a date, and reviews, which change that."""

from datetime import datetime

from ..model import Edit, Importance, Memory, Usage, to_micros
from ..model.frozen import frozen
from ..ranking.fading import UNREAD, Grade, falls_below, graded, importance, retrievability
from ..text import limits
from .call import Call
from .reading import find
from .updating import commit_edits


@frozen
class ImportanceReport:
    """A memory with its importance now, 0 to 1, and the reading that it follows from unless it was set manually."""

    memory: Memory
    importance: float
    usage: Usage


@frozen
class Rescored:
    """A memory whose importance was set, and what it was just before."""

    memory: Memory
    previous: float


def score(call: Call, id: str) -> ImportanceReport:
    """The importance of a memory, to four places unless it was set manually. Raises NotFound.

    Asking does not count as a reading.
    """
    memory = find(call, id)
    usage = call.space.usage([memory.id]).get(memory.id, UNREAD)
    return ImportanceReport(memory=memory, importance=_of(memory, usage, call.now()), usage=usage)


def set_score(call: Call, id: str, value: float, reason: str) -> Rescored:
    """Set the importance manually, 0 to 1; it stays until it is set again. The reason is kept with it.

    Raises NotFound, InvalidInput.
    """
    limits.check_range("score", value, 0, 1)
    limits.check_length("reason", reason, limits.MAX_CONTEXT_CHARACTERS)

    def write(current: Memory) -> Rescored:
        now = call.now()
        usage = call.space.usage([current.id]).get(current.id, UNREAD)
        edit = Edit(importance=Importance(score=value, reason=reason, set_at=now))
        [memory] = commit_edits(call, [(current, edit)])
        return Rescored(memory=memory, previous=_of(current, usage, now))

    return call.change(lambda: find(call, id), write)


def _of(memory: Memory, usage: Usage, now: datetime) -> float:
    if memory.importance is not None:
        return memory.importance.score
    return round(importance(created=to_micros(memory.created_at), usage=usage, now=to_micros(now)), 4)


@frozen
class Decay:
    """Retrievability, 0 to 1, at a time, and from when on it is below 0.9 and 0.5; None for never."""

    id: str
    at: datetime
    retrievability: float
    below_90_percent_at: datetime | None
    below_50_percent_at: datetime | None


def simulate_decay(call: Call, id: str, at: datetime) -> Decay:
    """A look ahead that counts as no reading. Raises NotFound."""
    memory = find(call, id)
    return decay(memory, call.space.usage([memory.id]).get(memory.id, Usage()), at)


def decay(memory: Memory, usage: Usage, at: datetime) -> Decay:
    """The decay of a memory with this usage."""
    return Decay(
        id=memory.id,
        at=at,
        retrievability=round(retrievability(memory, usage, at), 4),
        below_90_percent_at=falls_below(memory, usage, 0.9),
        below_50_percent_at=falls_below(memory, usage, 0.5),
    )


def review(call: Call, id: str, grade: Grade) -> Decay:
    """How the memory fades from now on, once the grade is written durably.

    A grade is someone's word, so it counts at any time, not once a day as a retrieval does. Raises
    NotFound, and Unavailable where it can't be kept.
    """
    while True:
        memory = find(call, id)
        usage = call.space.usage([memory.id]).get(memory.id, Usage())
        now = call.now()
        card = graded(memory, usage, now, grade)
        if call.space.keep_review(memory.id, previous=usage.card, card=card):
            return decay(memory, Usage(card=card), now)
