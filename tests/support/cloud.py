"""A DynamoDB store in this process, with a client that can be told to misbehave and an index in memory.

The time of its deadlines goes on by the pauses between attempts alone, which nobody waits for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from clock import SettableClock
from contracts.dynamodb_stores import emulated, tables, tell
from contracts.entries import EMBEDDER
from contracts.memory_index import MemoryIndex
from embedding import HashedWords
from steeltrap.invoke import Door
from steeltrap.ports import Clock, Embedder, Index
from steeltrap.stores.dynamodb import DynamoStore
from steeltrap.toolsets import CATALOGUE
from unruly import Unruly


@dataclass
class Cloud:
    """The parts that a test of faults works with. `pauses` are the seconds that were waited for, without waiting."""

    unruly: Unruly
    names: tuple[str, str]
    index: MemoryIndex
    clock: SettableClock
    opened: list[DynamoStore]
    pauses: list[float]

    def store(
        self,
        index: Index | None = None,
        *,
        clock: Clock | None = None,
        embedder: Embedder = EMBEDDER,
        window: timedelta = timedelta(minutes=5),
        telling: bool = True,
    ) -> DynamoStore:
        """One more process over the same tables, with the cloud's index or another. With `telling` the index knows
        of each write at once."""
        index = index or self.index
        clock = clock or self.clock
        pause, connect = self._pause, self.unruly
        store = DynamoStore(*self.names, embedder, clock, index, connect=connect, window=window, pause=pause)
        if telling:
            tell(store, index)
        self.opened.append(store)
        return store

    def door(self, index: Index, *, embedder: HashedWords = EMBEDDER, told: bool = False) -> Door:
        """A door over one more process. With `told` the index knows of each write at once."""
        store = self.store(index, embedder=embedder, telling=told)
        return Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=self.clock)

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock.sleep(seconds)

    def items(self, prefix: str) -> list[Any]:
        """The sort keys that begin with something, of all users."""
        client = self.unruly(3.0)._client
        found = [item["k"]["S"] for item in client.scan(TableName=self.names[0])["Items"]]
        return sorted(key for key in found if key.startswith(prefix))


@pytest.fixture
def cloud(clock: SettableClock) -> Iterator[Cloud]:
    clock.stand()
    with emulated() as connect, tables(connect, fetches=False) as names:
        made = Cloud(Unruly(connect), names, MemoryIndex(), clock, [], [])
        yield made
        made.unruly.always.clear()
        made.unruly.faults.clear()
        for store in made.opened:
            store.close()
