"""A client's view of the cloud on the real parts, each of which stands behind a proxy that can fail it.

No test waits: the time of deadlines stands still but for the pauses between attempts, which are not slept. The
index hears of a write when a test hands it the stream's records.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from clock import SettableClock
from embedding import HashedWords
from faults.doors import answer
from faults.indexing_homes import Home, RealParts, opened_home
from faults.proxy import Proxy, proxied
from steeltrap.engine.upkeep import sweep
from steeltrap.errors import SteeltrapError
from steeltrap.invoke import Door, Result
from steeltrap.model import Caller, UserRef
from steeltrap.runtime import aws as runtime_aws
from steeltrap.stores.dynamodb import searching
from steeltrap.toolsets import CATALOGUE

PATIENCE = 60.0
"""Seconds for the index's answer where it does answer: a busy machine must not look like a bad day."""


@dataclass
class Client:
    """One user's doors over both parts. `home` is the same user's memories with nothing in between."""

    home: Home
    index: Proxy
    table: Proxy
    _opened: list[Any] = field(default_factory=list)
    _door: Door | None = None

    @property
    def me(self) -> Caller:
        return Caller(UserRef(self.home.name), agent_id="agent", conversation_id="talk")

    @property
    def clock(self) -> SettableClock:
        return self.home.clock

    def open_door(
        self, *, clock: SettableClock | None = None, embedder: HashedWords | None = None, **settings: Any
    ) -> Door:
        """One more process over the same parts, or over others that the settings name."""
        clock, embedder = clock or self.clock, embedder or self.home.parts.embedder
        store = runtime_aws.open_store(self._settings(settings), embedder, clock)
        store.tables._pause = self.clock.sleep
        self._opened.append(store)
        return Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock)

    def open_indexer(self, **settings: Any) -> runtime_aws.Following:
        following = runtime_aws.open_indexer(self._settings(settings))
        following.tables._pause = self.clock.sleep
        self._opened.append(following)
        return following

    @property
    def door(self) -> Door:
        self._door = self._door or self.open_door()
        return self._door

    def invoke(self, tool: str, **arguments: Any) -> Result:
        return self.door.invoke(tool, arguments, self.me)

    def ask(self, tool: str, **arguments: Any) -> Any:
        """The answer of a tool; an error is raised."""
        return answer(self.door, tool, self.me, **arguments)

    def refused(self, tool: str, **arguments: Any) -> SteeltrapError:
        """The error that a tool answers."""
        error = self.invoke(tool, **arguments).error
        assert error is not None, tool
        return error

    def save(self, content: str, **arguments: Any) -> str:
        return str(self.ask("core.save", content=content, **arguments)["id"])

    def found(self, query: str, **arguments: Any) -> dict[str, str]:
        """The answer of a search that reports no failure."""
        body = self.ask("core.search", query=query, **arguments)
        assert body["outcome"]["kind"] != "degraded", body["outcome"]
        return {hit["id"]: hit["content"] for hit in body["results"]}

    def history(self, id: str) -> dict[int, str]:
        """A memory's texts by version, in the order of the answer."""
        images = [each["memory"] for each in self.ask("core.history", id=id)["revisions"]]
        return {image["version"]: image["content"] for image in images}

    def sweep(self) -> None:
        sweep(self.door.call_for(self.me, seconds=PATIENCE))

    def settle(self) -> None:
        """The index gets what the stream has, and so much time goes by that it alone knows of it."""
        assert self.home.take(self.home.records()) == []
        self.home.parts.upkeep.refresh()
        self.clock.advance(minutes=6)

    def everything(self) -> Any:
        """All that is stored, as an export has it."""
        return self.ask("core.export")["records"]

    def _settings(self, settings: dict[str, Any]) -> Any:
        urls = {"opensearch_url": self.index.url, "dynamodb_url": self.table.url}
        return self.home.parts.settings.with_values(**urls, **settings)

    def close(self) -> None:
        for each in self._opened:
            each.close()


@contextmanager
def opened_client(parts: RealParts, clock: SettableClock, name: str | None = None) -> Iterator[Client]:
    """A client of some parts, under a name that nobody had or a chosen one."""
    clock.stand()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "INDEX_SECONDS", PATIENCE)
        with (
            opened_home(parts, clock, name) as home,
            proxied(str(parts.settings.opensearch_url)) as index,
            proxied(str(parts.settings.dynamodb_url)) as table,
        ):
            home.store.tables._pause = clock.sleep
            home.following.tables._pause = clock.sleep
            home.following.tables._clock = clock
            opened = Client(home, index, table)
            yield opened
            opened.close()
