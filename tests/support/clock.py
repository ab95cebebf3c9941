"""A clock for tests: it stands still until it is told to go on."""

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class SettableClock:
    """Begins at noon of 2026-01-01."""

    def __init__(self, now: datetime = NOON) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, **units: float) -> datetime:
        """Go on by `timedelta(**units)`; answers the new time."""
        self._now += timedelta(**units)
        return self._now
