"""Simulate decay: how well a memory would be remembered on a date, if nobody recalls it until then."""

from datetime import datetime

from ..model import Memory, Usage
from ..model.frozen import frozen
from ..rules.retrievability import falls_below, retrievability
from .call import Call
from .get import find


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
