"""Doors over DynamoDB in this process, with an index and a table that fail when they are told to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any

from clock import SettableClock
from contracts.dynamodb_stores import emulated, tables, tell
from contracts.memory_index import MemoryIndex
from embedding import HashedWords
from steeltrap.adapters.dynamodb import DynamoStore
from steeltrap.errors import SteeltrapError
from steeltrap.invoke import Door
from steeltrap.ports import Index
from steeltrap.toolsets import CATALOGUE

Trouble = Callable[[str, Any, Callable[[], Any]], Any]
"""What becomes of a request to DynamoDB: its operation, what it says, and how to send it."""


@dataclass
class FailingIndex:
    """An index in memory that raises `error` when it is asked, if there is one."""

    index: MemoryIndex = field(default_factory=MemoryIndex)
    error: SteeltrapError | None = None

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self.index, name)

        def answer(*arguments: Any, **named: Any) -> Any:
            if self.error is not None and name != "write":
                raise self.error
            return asked(*arguments, **named)

        return answer


class Troubled:
    """A client of DynamoDB whose requests go by `trouble` of the cloud, when it has one."""

    def __init__(self, cloud: "Cloud", client: Any) -> None:
        self._cloud = cloud
        self._client = client

    def __getattr__(self, operation: str) -> Any:
        def send(**request: Any) -> Any:
            self._cloud.asked.append(operation)
            trouble = self._cloud.trouble
            sent: Callable[[], Any] = lambda: getattr(self._client, operation)(**request)  # noqa: E731
            return trouble(operation, request, sent) if trouble else sent()

        return getattr(self._client, operation) if operation in ("close", "meta") else send


class Cloud:
    """Tables of one test. `trouble` is what happens to each request from now on."""

    def __init__(self, connect: Any, names: tuple[str, str]) -> None:
        self._connect = connect
        self._names = names
        self.clock = SettableClock()
        self.clock.stand()
        self.trouble: Trouble | None = None
        self.asked: list[str] = []
        self._opened: list[DynamoStore] = []

    def door(self, index: Index, *, embedder: HashedWords | None = None, told: bool = False) -> Door:
        """A door over the tables; with `told` the index knows each write at once."""
        embedder = embedder or HashedWords()
        connect = lambda seconds: Troubled(self, self._connect(seconds))  # noqa: E731
        store = DynamoStore(*self._names, embedder, self.clock, index, connect=connect, window=timedelta(minutes=5))
        store.tables._pause = self.clock.sleep
        if told:
            tell(store, index)
        self._opened.append(store)
        return Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=self.clock)

    def close(self) -> None:
        self.trouble = None
        for store in self._opened:
            store.close()


@contextmanager
def clouds() -> Iterator[Cloud]:
    """A cloud whose requests are repeated without waiting."""
    with emulated() as connect, tables(connect, fetches=False) as names:
        cloud = Cloud(connect, names)
        yield cloud
        cloud.close()


def failing(error: Callable[[], Exception], *, times: int | None = None, only: str = "") -> Trouble:
    """Raises an error, so many times or always, for one operation or all."""
    failures = count()

    def trouble(operation: str, request: Any, send: Callable[[], Any]) -> Any:
        if operation.startswith(only) and (times is None or next(failures) < times):
            raise error()
        return send()

    return trouble
