"""DynamoDB earns the contract of a store, emulated in this process, with all that is found in the latest writes.

`test_dynamodb_opensearch.py` has a real index behind it.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest

from clock import SettableClock
from contracts.dynamodb_stores import emulated, stores, tables
from contracts.entries import EMBEDDER, SECONDS, entry, save, search
from contracts.memory_index import MemoryIndex
from contracts.reembedding_contract import OTHER, ReembeddingContract, anew, cut_short, save_many, vectors
from contracts.store_contract import StoreContract
from embedding import HashedWords
from spaces import space_of
from steeltrap.engine.upkeep import reanalyse
from steeltrap.errors import IndexUnavailable, Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Filter, Memory, UserRef
from steeltrap.ports import Clock, Embedder, Entry, MemoryStore, Probe
from steeltrap.stores.dynamodb import items, reembedding
from steeltrap.stores.dynamodb.partition import Partition
from steeltrap.text.dates import start_of
from steeltrap.toolsets import CATALOGUE

ALL = timedelta(days=1)
pytestmark = pytest.mark.usefixtures("small_blocks")


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


def test_a_run_that_is_cut_short_while_vectors_are_put_in_place_searches_by_words_until_the_next_one_ends(
    store: Callable[[Clock, Embedder], MemoryStore], clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = space_of(store(clock, EMBEDDER), "ana")
    made = save_many(old, 20)
    new = space_of(store(clock, OTHER), "ana")
    taken = []

    def some(partition: Partition, key: str) -> None:
        taken.append(key)
        if len(taken) > 5:
            raise Unavailable("The table is away.", part="store")
        take(partition, key)

    take = reembedding._take
    with monkeypatch.context() as patch:
        patch.setattr(reembedding, "_take", some)
        with pytest.raises(Unavailable, match="away"):
            new.reembed(anew)
    assert not new.is_embedded()
    [near] = OTHER.embed(["heron 7"], purpose="query", timeout=9)
    matches = search(new, "7", near=near)
    assert [(hit.id, hit.cosine) for hit in matches.candidates] == [(made[7].id, None)]
    assert "being rebuilt" in (matches.degraded or "")
    with pytest.raises(IndexUnavailable, match="being rebuilt"):
        new.look_around([Probe(embeddings=(near,), scope=None)], floor=0.5, top_k=1)
    saved = save(new, "a badger came by", vectors=vectors("a badger came by"))
    assert new.reembed(anew) == 21
    assert new.is_embedded()
    expected = {memory.id: vectors(memory.content) for memory in (*made, saved)}
    assert new.embeddings(list(expected)) == expected
    assert search(new, "7", near=near).degraded is None


def test_a_date_that_an_earlier_release_kept_as_a_moment_is_a_day_again_once_it_was_analysed(
    store: Callable[[Clock, Embedder], MemoryStore], clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = store(clock, EMBEDDER)
    space = space_of(opened, "ana")
    now = items.facts
    with monkeypatch.context() as earlier:
        earlier.setattr(items, "facts", lambda memory: now(memory) - {items.DAY})
        dated = save(space, "the heron fished", occurred_at=date(2026, 5, 12))
    fresh = save(space, "the otter fished", occurred_at=date(2026, 5, 12))
    space.set_analysis(0)
    zone = ZoneInfo("America/New_York")
    on_the_day = Filter(
        occurred_after=start_of(date(2026, 5, 12), zone),
        occurred_before=start_of(date(2026, 5, 13), zone),
        first_day=date(2026, 5, 12),
        end_day=date(2026, 5, 13),
    )

    def listed() -> set[str]:
        return {memory.id for memory in space.page(on_the_day, limit=5).memories}

    assert listed() == {fresh.id}
    door = Door(catalogue=CATALOGUE, store=opened, embedder=EMBEDDER, clock=clock)
    assert reanalyse(door.call_for(Caller(UserRef("ana")), seconds=SECONDS)) == 2
    assert listed() == {dated.id, fresh.id}


def test_what_was_made_for_another_embedder_is_made_again(
    store: Callable[[Clock, Embedder], MemoryStore], clock: SettableClock
) -> None:
    made = save_many(space_of(store(clock, EMBEDDER), "ana"), 60)
    with pytest.raises(KeyboardInterrupt):
        space_of(store(clock, OTHER), "ana").reembed(cut_short(1, KeyboardInterrupt()))
    third = HashedWords(dimension=16)
    space = space_of(store(clock, third), "ana")

    def by_third(memories: Sequence[Memory]) -> list[Entry]:
        return [entry(m, third.embed([m.content], purpose="document", timeout=9)) for m in memories]

    assert space.reembed(by_third) == 60
    assert all(len(of_one[0]) == 64 for of_one in space.embeddings([memory.id for memory in made]).values())
    assert space.traces(made[0].id) == ["memory"], "nothing staged is left"


class TestDynamodb(StoreContract, ReembeddingContract):
    pass
