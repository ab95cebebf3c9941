"""SQLite earns the contract of a store."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contracts.reembedding_contract import ReembeddingContract
from contracts.store_contract import StoreContract
from steeltrap.ports import Clock, Embedder, MemoryStore
from steeltrap.stores.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Callable[[Clock, Embedder], MemoryStore]]:
    opened: list[SqliteStore] = []

    def open_store(clock: Clock, embedder: Embedder) -> MemoryStore:
        opened.append(SqliteStore(tmp_path, embedder, clock))
        return opened[-1]

    yield open_store
    for each in opened:
        each.close()


class TestSqlite(StoreContract, ReembeddingContract):
    pass
