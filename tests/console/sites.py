"""A served console, as the tests see it."""

from clock import SettableClock
from steeltrap.client.in_process import Memory


class Site:
    """A served console, with the memory that it shows."""

    def __init__(self, url: str, memory: Memory, clock: SettableClock, ids: dict[str, str]) -> None:
        self.url = url
        self.memory = memory
        self.clock = clock
        self.ids = ids

    def of(self, name: str, action: str = "") -> str:
        """The address of a seeded memory."""
        return f"{self.url}/console/memories/{self.ids[name]}" + (f"/{action}" if action else "")
