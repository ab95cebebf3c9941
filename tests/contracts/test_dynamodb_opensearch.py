"""DynamoDB Local with a real OpenSearch earns the contract of a store: what production runs on."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import uuid4

import pytest
from store_contract import *  # noqa: F403 - the suite

from components import dynamodb_url, opensearch_url
from contracts.dynamodb_stores import Apart, local, stores, tables
from recollect.adapters.opensearch import Indices, OpenSearchIndex, Wire, connect
from recollect.ports import Clock, Embedder, Index, MemoryStore

ONE_NODE = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"}
SOME_WRITES = timedelta(microseconds=-20)


@pytest.fixture(scope="module")
def indices() -> Iterator[Callable[[Embedder], tuple[Wire, Indices]]]:
    """An index an embedder, which the tests share: making one takes longer than most of them."""
    made: dict[str, tuple[Wire, Indices]] = {}

    def of(embedder: Embedder) -> tuple[Wire, Indices]:
        if embedder.name not in made:
            wire = Wire(connect(opensearch_url()))
            fresh = Indices(wire, f"test-{uuid4().hex[:12]}")
            fresh.build(embedder.dimension, embedder.name, settings=ONE_NODE)
            made[embedder.name] = wire, fresh
        return made[embedder.name]

    yield of
    for wire, one in made.values():
        wire.send("DELETE", f"/{one.alias}-*", timeout=30)
        wire.send("DELETE", f"/_index_template/{one.alias}", timeout=30)
        wire.close()


@pytest.fixture(params=[timedelta(minutes=-5), SOME_WRITES], ids=["indexed", "mixed"])
def store(
    request: pytest.FixtureRequest, indices: Callable[[Embedder], tuple[Wire, Indices]]
) -> Iterator[Callable[[Clock, Embedder], MemoryStore]]:
    part = uuid4().hex

    def indexing(embedder: Embedder) -> Index:
        wire, one = indices(embedder)
        return Apart(OpenSearchIndex(wire, one), part, one.refresh)

    dynamodb = local(dynamodb_url())
    with tables(dynamodb, fetches=True) as names, stores(dynamodb, names, indexing, request.param) as opening:
        yield opening
