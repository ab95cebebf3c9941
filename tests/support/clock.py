"""A clock for tests: its time stands still until it is told to go on."""

import time
from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class SettableClock:
    """Begins at noon of 2026-01-01.

    The seconds of `monotonic` go by as everywhere else, and as much faster as the clock is told to go on. After
    `stand` they go by only as it is told, or slept by.
    """

    def __init__(self, now: datetime = NOON) -> None:
        self._now = now
        self._passed = 0.0
        self._stands = False
        self.slept = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._passed if self._stands else self._passed + time.monotonic()

    def advance(self, **units: float) -> datetime:
        """Go on by `timedelta(**units)`; answers the new time."""
        delta = timedelta(**units)
        self._now += delta
        self._passed += delta.total_seconds()
        return self._now

    def jump(self, **units: float) -> None:
        """Be set by `timedelta(**units)`, while no second goes by."""
        self._now += timedelta(**units)

    def stand(self) -> None:
        """Let no second go by that nobody told of."""
        self._stands = True
        self._passed = 0.0

    def sleep(self, seconds: float) -> None:
        """In place of waiting: only `monotonic` goes on."""
        self._passed += seconds
        self.slept += seconds
