"""DynamoDB Local with a real OpenSearch earns the contract of a store: with all that is found in the index, and with
the last writes found in the table."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from uuid import uuid4

import pytest

from contracts.reembedding_contract import ReembeddingContract
from contracts.store_contract import StoreContract
from steeltrap.ports import Clock, Embedder, MemoryStore
from stores import FIRST_WRITES, Parts, parts

NO_WRITES = timedelta(minutes=-5)


@pytest.fixture
def examples() -> int:
    return 40


@pytest.fixture(scope="module")
def shared() -> Iterator[Parts]:
    """Tables and indices that the tests share: making them takes longer than most tests."""
    with parts() as found:
        yield found


@pytest.fixture(params=[NO_WRITES, FIRST_WRITES], ids=["indexed", "mixed"])
def store(request: pytest.FixtureRequest, shared: Parts) -> Iterator[Callable[[Clock, Embedder], MemoryStore]]:
    part = uuid4().hex
    with ExitStack() as opened:

        def open_store(clock: Clock, embedder: Embedder) -> MemoryStore:
            store = shared.open(embedder, clock, window=request.param, part=part)
            opened.callback(store.close)
            return store

        yield open_store


class TestDynamodbWithOpenSearch(StoreContract, ReembeddingContract):
    pass
