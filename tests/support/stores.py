"""The store that a test's door stands over: SQLite, or with STEELTRAP_TEST_STORE=aws DynamoDB Local and OpenSearch,
or with STEELTRAP_TEST_STORE=replica files over a log: in a folder, or with STEELTRAP_TEST_LOG=s3 or azure in a bucket.

The real parts are asked for one pair of tables and one index a worker; every store that is opened over them has
users of its own. The index is told of each write at once, and its answers are never older than a write.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol
from uuid import uuid4

import pytest

from components import dynamodb_url, opensearch_url
from contracts import dynamodb_stores
from steeltrap.model import Query, UserRef
from steeltrap.ports import Clock, Deadline, Embedder, Index, Indexed, IndexedSurroundings, Logs, MemoryStore, Probe
from steeltrap.runtime import SystemClock
from steeltrap.stores.logs.bucket import BucketLogs
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore
from steeltrap.stores.sqlite import SqliteStore

Kind = Literal["sqlite", "replica", "aws"]

FIRST_WRITES = timedelta(microseconds=-20)
"""Versions count up from the clock, which stands still: the first writes are the index's, the others are recent."""
_ONE_NODE = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"}


def chosen() -> Kind:
    """The store that this run is about."""
    kind = os.environ.get("STEELTRAP_TEST_STORE", "sqlite")
    if kind not in ("sqlite", "replica", "aws"):
        raise ValueError(f"STEELTRAP_TEST_STORE is {kind!r}: it may be sqlite, replica or aws.")
    return kind  # type: ignore[return-value]


class Opening(Protocol):
    """Opens a store that is empty. A folder is what SQLite keeps its files in."""

    def __call__(self, folder: Path, embedder: Embedder, clock: Clock) -> MemoryStore: ...


@contextmanager
def _empty_logs() -> Iterator[Callable[[Path], Logs]]:
    """Makes logs in a folder, or in the service that STEELTRAP_TEST_LOG names."""
    name = os.environ.get("STEELTRAP_TEST_LOG", "folder")
    if name == "folder":
        yield lambda folder: FolderLogs(folder / "logs")
        return
    from contracts import log_places  # it knows every part, which a run of a few tests needs not have

    with pytest.MonkeyPatch.context() as patch:
        yield lambda _: BucketLogs({"s3": log_places.s3, "azure": log_places.azure}[name](patch))


@contextmanager
def opening(kind: Kind) -> Iterator[Opening]:
    """Stores of a kind, as long as the block lasts."""
    if kind == "sqlite":
        yield SqliteStore
        return
    if kind == "replica":
        with _empty_logs() as make:
            yield lambda folder, embedder, clock: ReplicaStore(folder, make(folder), embedder, clock)
        return
    with parts() as found:
        yield lambda folder, embedder, clock: found.open(embedder, clock)


@contextmanager
def parts() -> Iterator["Parts"]:
    """The real parts, with tables that are gone in the end."""
    from steeltrap.stores.dynamodb import searching

    connect = cache(dynamodb_stores.local(dynamodb_url()))
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        # On a busy machine the index may take seconds: an answer without it would be another one.
        patch.setattr(searching, "INDEX_SECONDS", dynamodb_stores.SECONDS)
        tables = stack.enter_context(dynamodb_stores.tables(connect, fetches=True))
        yield Parts(connect, tables, stack)


@dataclass
class Parts:
    """Tables, and an index for each kind of vector."""

    connect: Any
    tables: tuple[str, str]
    stack: ExitStack
    indices: dict[str, "Fresh"] = field(default_factory=dict)

    def open(
        self,
        embedder: Embedder,
        clock: Clock,
        *,
        window: timedelta = FIRST_WRITES,
        index: Index | None = None,
        part: str | None = None,
    ) -> MemoryStore:
        """A store with users of its own, or those of a part, over an index of this worker or another one."""
        from steeltrap.stores.dynamodb import DynamoStore

        index = index or self.index(embedder)
        store = DynamoStore(*self.tables, embedder, clock, index, connect=self.connect, window=window)
        dynamodb_stores.tell(store, index)
        return Apart(store, part or uuid4().hex)

    def index(self, embedder: Embedder) -> "Fresh":
        """The index for an embedder's vectors."""
        if embedder.name not in self.indices:
            self.indices[embedder.name] = self.build(embedder, opensearch_url())
        return self.indices[embedder.name]

    def build(self, embedder: Embedder, url: str) -> "Fresh":
        """A new index at a URL, gone in the end."""
        from steeltrap.stores.opensearch import Indices, OpenSearchIndex, connect_index

        client = connect_index(url)
        indices = Indices(client, f"test-{uuid4().hex[:12]}", SystemClock())
        indices.build(embedder.dimension, embedder.name, settings=_ONE_NODE)
        self.stack.callback(client.close)
        self.stack.callback(indices.remove)
        return Fresh(OpenSearchIndex(client, indices), indices)


class Fresh:
    """An index that finds what was just written."""

    def __init__(self, index: Index, indices: Any) -> None:
        self.index = index
        self._indices = indices
        self._is_behind = False

    def write(self, documents: Any, deadline: Deadline) -> Any:
        self._is_behind = True
        return self.index.write(documents, deadline=deadline)

    def search(self, user: str, query: Query, *, deadline: Deadline, **how: Any) -> Indexed:
        return self.index.search(user, query, deadline=self._refresh(deadline), **how)

    def look_around(
        self, user: str, probes: Sequence[Probe], *, deadline: Deadline, **how: Any
    ) -> list[IndexedSurroundings]:
        return self.index.look_around(user, probes, deadline=self._refresh(deadline), **how)

    def check(self) -> None:
        self.index.check()

    def _refresh(self, deadline: Deadline) -> Deadline:
        if not self._is_behind:
            return deadline
        self._indices.refresh()
        self._is_behind = False
        # A refresh can take seconds on a busy disk. The product never waits for one, so it must not pay for it.
        return Deadline.after(deadline.seconds, deadline.clock)


class Apart:
    """A store over tables that many share: its users are of a tenant that nobody else has."""

    def __init__(self, store: Any, part: str) -> None:
        self.store = store
        self._part = part

    def space(self, user: UserRef, deadline: Deadline) -> Any:
        return self.store.space(self._here(user), deadline)

    def users(self) -> Iterator[UserRef]:
        for user in self.store.users():
            if user.tenant.startswith(self._part):
                yield UserRef(user.user_id, user.tenant.removeprefix(self._part))

    def forget_user(self, user: UserRef) -> bool:
        return bool(self.store.forget_user(self._here(user)))

    def _here(self, user: UserRef) -> UserRef:
        return UserRef(user.user_id, self._part + user.tenant)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)
