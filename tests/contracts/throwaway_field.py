"""Outcomes for a field that was just made filterable: `test_throwaway_field.py` runs this over a copy that has one."""

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import pytest

from clock import SettableClock
from components import opensearch_url
from contracts.dynamodb_stores import Apart, emulated, stores, tables
from contracts.entries import EMBEDDER, creation, embed, found, memory, save, search, update
from contracts.memory_index import MemoryIndex
from spaces import space_of
from steeltrap.errors import InvalidInput
from steeltrap.model import Caller, Filter, UserRef
from steeltrap.ports import MemoryStore, Space
from steeltrap.runtime import SystemClock
from steeltrap.stores.opensearch import Indices, OpenSearchIndex, connect_index
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.text.limits import check_memory
from surfaces.callers import SURFACES

ANA = Caller(UserRef("ana"), "default")
ONE_NODE = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"}


@contextlib.contextmanager
def sqlite(folder: Path, clock: SettableClock) -> Iterator[MemoryStore]:
    store = SqliteStore(folder, EMBEDDER, clock)
    yield store
    store.close()


@contextlib.contextmanager
def latest(folder: Path, clock: SettableClock) -> Iterator[MemoryStore]:
    """DynamoDB where all that is found is among the latest writes."""
    with emulated() as connect, tables(connect, fetches=False) as names:
        index = MemoryIndex()
        with stores(connect, names, lambda embedder: index, timedelta(days=1)) as opening:
            yield opening(clock, EMBEDDER)


@contextlib.contextmanager
def indexed(folder: Path, clock: SettableClock) -> Iterator[MemoryStore]:
    """DynamoDB where all that is found is in OpenSearch."""
    client = connect_index(opensearch_url())
    indices = Indices(client, f"test-{uuid4().hex[:12]}", SystemClock())
    indices.build(EMBEDDER.dimension, EMBEDDER.name, settings=ONE_NODE)
    index: Any = Apart(OpenSearchIndex(client, indices), uuid4().hex, indices.refresh)
    try:
        with (
            emulated() as connect,
            tables(connect, fetches=False) as names,
            stores(connect, names, lambda embedder: index, timedelta(minutes=-5)) as opening,
        ):
            yield opening(clock, EMBEDDER)
    finally:
        indices.remove()
        client.close()


STORES = {"sqlite": sqlite, "dynamodb-latest": latest, "dynamodb-indexed": indexed}


def with_mood(space: Space, mood: str) -> set[str]:
    """The memories that a mood finds: in each leg and in a list alike."""
    by_words, by_meaning = (search(space, **leg, mood=mood) for leg in ({"text": "heron"}, {"near": embed("heron")[0]}))
    page = space.page(Filter(mood=mood), limit=10)  # type: ignore[call-arg]
    listed = {one.id for one in page.memories}
    assert found(by_words) == found(by_meaning) == listed
    assert by_words.admitted == by_meaning.admitted == page.total == len(listed)
    return listed


@pytest.mark.parametrize("kind", STORES)
def test_stores_find_by_it(kind: str, tmp_path: Path, clock: SettableClock) -> None:
    with STORES[kind](tmp_path, clock) as store:
        space = space_of(store, "ana")
        calm, tense = (save(space, f"the {mood} heron", mood=mood) for mood in ("calm", "tense"))
        plain = save(space, "the heron", metadata={"mood": "calm"})
        assert with_mood(space, "calm") == {calm.id}
        assert with_mood(space, "tense") == {tense.id}
        assert with_mood(space, "") == set()
        assert space.get([calm.id]) == {calm.id: calm}
        update(space, calm, mood=None)
        changed = update(space, plain, mood="calm")
        assert with_mood(space, "calm") == {changed.id}


def test_older_file_gets_its_column(clock: SettableClock) -> None:
    folder = Path(os.environ["THROWAWAY_FOLDER"])
    with sqlite(folder, clock) as store:
        space = space_of(store, "ana")
        assert with_mood(space, "calm") == set()
        assert space.page(Filter(agent_label="older"), limit=10).total == 1
        calm = save(space, "the calm heron", mood="calm")
        assert with_mood(space, "calm") == {calm.id}
        path = store.path(UserRef("ana"))  # type: ignore[attr-defined]
    # A field may have been stored long before it became filterable: its column then has what the images say.
    with contextlib.closing(apsw.Connection(str(path))) as file:
        file.execute("ALTER TABLE memory DROP COLUMN mood")
    with sqlite(folder, clock) as store:
        assert with_mood(space_of(store, "ana"), "calm") == {calm.id}


def test_limit_of_its_length() -> None:
    assert check_memory(memory("x", mood="m" * 256))
    with pytest.raises(InvalidInput, match="`mood`"):
        check_memory(creation("x", mood="m" * 257).entry.memory)


@pytest.mark.parametrize("surface", SURFACES)
def test_surfaces_offer_it(surface: str, tmp_path: Path) -> None:
    with SURFACES[surface](tmp_path) as call_as:
        call = call_as(ANA)
        calm, tense = (
            call("core.save", {"content": f"The {mood} heron.", "mood": mood}).body["id"] for mood in ("calm", "tense")
        )
        assert _ids(call("core.search", {"query": "heron", "mood": "calm"}).body["results"]) == [calm]
        edited = call("core.update", {"id": tense, "mood": "calm"})
        assert not edited.is_error, edited
        assert sorted(_ids(call("core.list", {"mood": "calm"}).body["memories"])) == sorted([calm, tense])
        refused = call("core.search", {"query": "heron", "mood": "m" * 257})
        assert refused.is_error
        assert "`mood`" in refused.message


def _ids(shown: list[dict[str, Any]]) -> list[str]:
    return [one.get("memory", one)["id"] for one in shown]
