"""DynamoDB earns the contract of a store, emulated in this process, with all that is found in the latest writes.

`test_dynamodb_opensearch.py` has a real index behind it.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from memory_index import MemoryIndex
from store_contract import *  # noqa: F403 - the suite

from contracts.dynamodb_stores import emulated, stores, tables
from steeltrap.ports import Clock, Embedder, MemoryStore

ALL = timedelta(days=1)


@pytest.fixture
def examples() -> int:
    return 15


@pytest.fixture
def store() -> Iterator[Callable[[Clock, Embedder], MemoryStore]]:
    index = MemoryIndex()
    with (
        emulated() as connect,
        tables(connect, fetches=False) as names,
        stores(connect, names, lambda embedder: index, ALL) as opening,
    ):
        yield opening
