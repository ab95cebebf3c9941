"""A replica of a folder log earns the contract of a store."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contracts.reembedding_contract import ReembeddingContract
from contracts.store_contract import StoreContract
from steeltrap.ports import Clock, Embedder, MemoryStore
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Callable[[Clock, Embedder], MemoryStore]]:
    opened: list[ReplicaStore] = []

    def open_store(clock: Clock, embedder: Embedder) -> MemoryStore:
        opened.append(ReplicaStore(tmp_path / "cache", FolderLogs(tmp_path / "log"), embedder, clock))
        return opened[-1]

    yield open_store
    for each in opened:
        each.close()


class TestReplica(StoreContract, ReembeddingContract):
    pass
