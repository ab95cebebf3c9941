"""The fixtures that the contracts of a store ask for, where a test file has none of its own."""

import pytest
from hypothesis import settings

from clock import SettableClock
from contracts.entries import EMBEDDER, Opening
from spaces import space_of
from steeltrap.ports import MemoryStore, Space


@pytest.fixture
def opened(store: Opening, clock: SettableClock) -> MemoryStore:
    return store(clock, EMBEDDER)


@pytest.fixture
def space(opened: MemoryStore) -> Space:
    return space_of(opened, "ana")


@pytest.fixture
def examples() -> int:
    """How many filters are tried: fewer where each takes long."""
    return settings().max_examples * 5 // 2


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for blocks in ("sqlite.header", "dynamodb.reembedding"):
        monkeypatch.setattr(f"steeltrap.stores.{blocks}._BLOCK", 40)
