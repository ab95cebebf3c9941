"""How important a memory is, 0 to 1: set manually; otherwise from how often and how recently it was read. Pure."""

from math import exp
from typing import Any, Final

from ..model import MICROS_PER_DAY, Usage, to_micros

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
