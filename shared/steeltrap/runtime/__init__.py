"""The composition root: settings in, a door over the chosen stores and embedder out.

Here: what serves which port, the computer's clock, and a server's background threads. Not here: anything that decides.
Only this package imports stores and embedders; servers and `bench` call it.
"""

import time
from datetime import UTC, datetime


class SystemClock:
    """The time as the computer has it."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
