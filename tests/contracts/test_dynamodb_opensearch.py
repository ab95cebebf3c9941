"""DynamoDB with a real OpenSearch earns the contract of a store: emulated, with all that is found in the index, and as
DynamoDB Local, with the last writes found in the table."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from store_contract import *  # noqa: F403 - the suite

from contracts.dynamodb_stores import emulated, tables
from contracts.reembedding_contract import *  # noqa: F403 - the suite
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


@pytest.fixture(
    params=[("moto", NO_WRITES), ("local", FIRST_WRITES)],
    ids=["moto-indexed", "local-mixed"],
)
def store(request: pytest.FixtureRequest, shared: Parts) -> Iterator[Callable[[Clock, Embedder], MemoryStore]]:
    where, window = request.param
    part = uuid4().hex
    with ExitStack() as opened:
        found = shared
        if where == "moto":
            connect = opened.enter_context(emulated())
            found = replace(shared, connect=connect, tables=opened.enter_context(tables(connect, fetches=False)))

        def open_store(clock: Clock, embedder: Embedder) -> MemoryStore:
            store = found.open(embedder, clock, window=window, part=part)
            opened.callback(store.close)
            return store

        yield open_store
