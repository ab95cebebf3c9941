"""The computer's clock."""

import time
from datetime import UTC, datetime


class SystemClock:
    """The time as the computer has it."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
