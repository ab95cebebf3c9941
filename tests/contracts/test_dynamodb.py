"""DynamoDB earns the contract of a store: emulated and as DynamoDB Local, with all that is found in the latest writes,
in the index, or some here and some there."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest
from memory_index import MemoryIndex
from store_contract import *  # noqa: F403 - the suite

from components import dynamodb_url
from contracts.dynamodb_stores import emulated, local, stores, tables
from recollect.ports import Clock, Embedder, MemoryStore

MINUTE = timedelta(minutes=1)
SOME_WRITES = timedelta(microseconds=-20)
"""Versions count up from the clock, which stands still: the first writes are the index's, the others are recent."""


@pytest.fixture(
    params=[("moto", 5 * MINUTE), ("moto", -5 * MINUTE), ("local", SOME_WRITES)],
    ids=["moto-recent", "moto-indexed", "local-mixed"],
)
def store(request: pytest.FixtureRequest) -> Iterator[Callable[[Clock, Embedder], MemoryStore]]:
    where, window = request.param
    index = MemoryIndex()
    with ExitStack() as opened:
        connect = local(dynamodb_url()) if where == "local" else opened.enter_context(emulated())
        names = opened.enter_context(tables(connect, fetches=where == "local"))
        yield opened.enter_context(stores(connect, names, lambda embedder: index, window))
