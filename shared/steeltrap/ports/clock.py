"""The clock, and the deadline of a call."""

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
        """Seconds on a clock that is never adjusted; only differences are meaningful."""
        ...


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment by which a call must end. `seconds` is the whole time that it was given."""

    seconds: float
    ends: float
    clock: Clock

    @classmethod
    def after(cls, seconds: float, clock: Clock) -> "Deadline":
        """The deadline this many seconds from now."""
        return cls(seconds, clock.monotonic() + seconds, clock)

    def within(self, seconds: float) -> "Deadline":
        """The earlier of this deadline and the one this many seconds from now."""
        sooner = Deadline.after(seconds, self.clock)
        return sooner if sooner.ends < self.ends else self

    def before(self, rest: float = 0.0) -> float:
        """Seconds left, minus `rest`; at least 0."""
        return max(0.0, self.ends - self.clock.monotonic() - rest)

    def left(self) -> float:
        """Seconds left, more than 0. Raises Unavailable if there are none."""
        left = self.ends - self.clock.monotonic()
        if left <= 0:
            raise Unavailable(
                f"The call took longer than {self.seconds:g} s and was stopped; try again.", part="deadline"
            )
        return left
