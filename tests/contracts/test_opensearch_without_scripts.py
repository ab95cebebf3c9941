"""An OpenSearch that refuses scripted similarities earns the contract of an index too."""

import logging
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from contracts.entries import EMBEDDER
from contracts.index_contract import IndexContract
from contracts.refusing_scripts import refusing_scripts
from faults.proxy import Proxy, saying
from steeltrap.errors import Internal
from steeltrap.runtime import SystemClock
from steeltrap.stores.opensearch import Indices, OpenSearch, OpenSearchIndex, OpenSearchUpkeep, connect_index

ONE_NODE = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1", "gc_deletes": "1ms"}


@pytest.fixture(scope="module")
def refusing() -> Iterator[tuple[OpenSearch, Proxy]]:
    with refusing_scripts() as proxy:
        client = connect_index(proxy.url)
        yield client, proxy
        client.close()


@pytest.fixture
def indices(refusing: tuple[OpenSearch, Proxy]) -> Iterator[Indices]:
    client, _ = refusing
    indices = Indices(client, f"test-{uuid4().hex[:12]}", SystemClock())
    indices.build(EMBEDDER.dimension, EMBEDDER.name, settings=ONE_NODE)
    yield indices
    indices.remove()


@pytest.fixture
def index(refusing: tuple[OpenSearch, Proxy], indices: Indices) -> OpenSearchIndex:
    return OpenSearchIndex(refusing[0], indices)


@pytest.fixture
def settle(indices: Indices) -> Callable[[], None]:
    return indices.refresh


def test_an_index_is_made_without_scripts_where_they_are_refused_and_says_so(
    refusing: tuple[OpenSearch, Proxy], indices: Indices, caplog: pytest.LogCaptureFixture
) -> None:
    client, _ = refusing
    current = indices.current()
    assert current is not None
    assert current.similarity == "BM25"
    with caplog.at_level(logging.WARNING, "steeltrap"):
        new = indices.build(EMBEDDER.dimension, EMBEDDER.name, settings=ONE_NODE)
    assert f"OpenSearch refuses scripted similarities: in {new} " in caplog.text
    indices.reach(indices.building(), "half")  # type: ignore[arg-type] - it is there
    building = indices.building()
    assert building is not None
    assert (building.similarity, building.reached) == ("BM25", "half")
    upkeep = OpenSearchUpkeep(
        client, indices.alias, SystemClock(), embedder=EMBEDDER.name, dimension=EMBEDDER.dimension
    )
    assert upkeep.unfit() is None


def test_a_refusal_that_scripts_are_not_to_blame_for_is_told_as_it_was(refusing: tuple[OpenSearch, Proxy]) -> None:
    client, proxy = refusing
    indices = Indices(client, f"test-{uuid4().hex[:12]}", SystemClock())
    with pytest.raises(Internal, match="rejects this"):
        indices.build(EMBEDDER.dimension, EMBEDDER.name, settings={"no_such_setting": 1})
    refused, proxy.rule = (
        proxy.rule,
        lambda asked, send: saying(503, {})(asked, send) if asked.method == "PUT" else send(asked),
    )
    before = proxy.asked.total()
    try:
        with pytest.raises(Exception, match="503"):
            indices.build(EMBEDDER.dimension, EMBEDDER.name, settings=ONE_NODE)
    finally:
        proxy.rule = refused
    # Two aliases, the names, one attempt: an outage is no reason to make another kind of index.
    assert proxy.asked.total() - before == 4


class TestOpenSearchWithoutScripts(IndexContract):
    pass
