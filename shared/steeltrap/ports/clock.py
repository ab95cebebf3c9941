"""What tells the time, and when a call must have answered."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ..errors import Unavailable


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The current time, UTC, timezone-aware."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that is never set: only the difference of two answers says something."""
        ...


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment by which a call must have answered. `seconds` is how long there was when it was set."""

    seconds: float
    ends: float
    clock: Clock

    @classmethod
    def after(cls, seconds: float, clock: Clock) -> "Deadline":
        """So many seconds from now."""
        return cls(seconds, clock.monotonic() + seconds, clock)

    def within(self, seconds: float) -> "Deadline":
        """So many seconds from now, or this one where it comes first."""
        sooner = Deadline.after(seconds, self.clock)
        return sooner if sooner.ends < self.ends else self

    def before(self, rest: float = 0.0) -> float:
        """Seconds until only `rest` seconds are left; 0 when no more are left."""
        return max(0.0, self.ends - self.clock.monotonic() - rest)

    def left(self) -> float:
        """Seconds left, more than 0. Raises Unavailable when there are none."""
        left = self.ends - self.clock.monotonic()
        if left <= 0:
            raise Unavailable(
                f"The call took longer than its {self.seconds:g} s and was given up; try again.", part="deadline"
            )
        return left
