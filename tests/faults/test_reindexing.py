"""Comparing the index with the table, building it anew, and searching what it doesn't know yet, on the real parts."""

import os
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest

from contracts.entries import delete, save, update, vector
from embedding import HashedWords
from faults.indexing_homes import ONE_NODE, SECONDS, Home, document, story
from spaces import in_time
from steeltrap.engine.upkeep import count_strays, mend, reindex, verify
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Memory, UserRef, to_micros
from steeltrap.ports import Tombstone
from steeltrap.runtime import SystemClock
from steeltrap.runtime import aws as runtime_aws
from steeltrap.stores.dynamodb.documents import DynamoTruth
from steeltrap.stores.opensearch import Indices, OpenSearchIndex, OpenSearchUpkeep
from steeltrap.toolsets import CATALOGUE

ROUNDS = int(os.environ.get("STEELTRAP_TEST_ROUNDS", "100"))


# Comparing and building anew


def test_every_kind_of_difference_is_found_and_mended(home: Home) -> None:
    missing, stale, deleted = (save(home.space, f"the heron saw {what}") for what in "abc")
    assert home.take([*home.of(stale.id), *home.of(deleted.id)]) == []
    home.clock.advance(seconds=1)
    update(home.space, stale, content="the otter", updated_at=home.clock.now())
    delete(home.space, deleted, home.clock.now())
    stray = str(uuid4())
    index = OpenSearchIndex(
        home.following.client, Indices(home.following.client, home.parts.settings.opensearch_index, SystemClock())
    )
    assert index.write([document(home.key, stray)], deadline=in_time(SECONDS)) == {}
    found = verify(home.truth, home.parts.upkeep, [home.user], pause=lambda seconds: None)
    assert {(one.id, one.kind) for one in found} == {
        (missing.id, "missing"),
        (stale.id, "stale"),
        (deleted.id, "superfluous"),
        (stray, "superfluous"),
    }
    mend(home.truth, home.parts.upkeep, home.key)
    assert home.differences() == {}
    assert home.held() == {missing.id: True, stale.id: True, deleted.id: False, stray: False}


def test_what_is_on_its_way_into_the_index_is_no_difference(home: Home) -> None:
    save(home.space, "the heron")

    def pause(seconds: float) -> None:
        assert home.take(home.records()) == []

    assert list(verify(home.truth, home.parts.upkeep, [home.user], pause=pause)) == []


def test_documents_of_nobody_are_counted(home: Home) -> None:
    now = to_micros(home.clock.now()) + 10**12
    index = OpenSearchIndex(
        home.following.client, Indices(home.following.client, home.parts.settings.opensearch_index, SystemClock())
    )
    nobody, id = UserRef(f"nobody-{uuid4()}").key, str(uuid4())
    before = count_strays(home.truth, home.parts.upkeep, before=now)
    assert index.write([document(nobody, id)], deadline=in_time(SECONDS)) == {}
    assert count_strays(home.truth, home.parts.upkeep, before=now) == before + 1
    assert index.write([Tombstone(user=nobody, id=id, index_version=2)], deadline=in_time(SECONDS)) == {}
    assert count_strays(home.truth, home.parts.upkeep, before=now) == before


def test_an_index_that_is_built_anew_has_what_is_written_meanwhile_and_is_searched_then(home: Home) -> None:
    expected = story(home)
    saved: list[Memory] = []
    waited: list[float] = []

    def write_on(written: int) -> None:
        """The calls of an agent while the index is built, and of the indexer after it."""
        if len(saved) == 3:
            return
        home.clock.advance(seconds=1)
        saved.append(save(home.space, f"meanwhile {written}"))
        with closing(runtime_aws.open_indexer(home.parts.settings)) as other:
            assert other.take(home.of(saved[-1].id), timeout=SECONDS) == []

    old = home.parts.upkeep._indices.current()
    done = reindex(home.truth, home.parts.upkeep, advance=write_on, pause=waited.append)
    new = home.parts.upkeep._indices.current()
    assert old is not None
    assert new is not None
    assert done.switched
    assert new.name != old.name
    assert waited == [home.parts.upkeep.learned_seconds]
    assert home.held() == expected | dict.fromkeys((memory.id for memory in saved), True)
    assert home.differences() == {}
    # The indexer that knew of one index only goes on with the one that is searched.
    home.clock.advance(seconds=1)
    late = save(home.space, "late")
    assert home.take(home.of(late.id)) == []
    assert home.found_by_the_index("late") == {late.id}


def test_a_building_that_was_cut_short_goes_on_where_it_was(home: Home) -> None:
    expected = story(home)

    class Cut(DynamoTruth):
        def everything(self, *, after: str = "") -> Any:
            for number, block in enumerate(super().everything(after=after)):
                if number == 2:
                    raise Unavailable("The memory store does not answer; try again.", part="store")
                yield block

    with pytest.raises(Unavailable):
        reindex(Cut(home.store.tables, block=2), home.parts.upkeep, pause=lambda seconds: None)
    waited: list[float] = []
    begun = home.parts.upkeep.begin()
    assert begun != ""
    assert reindex(home.truth, home.parts.upkeep, pause=waited.append).switched
    assert waited == []
    assert home.held() == expected


def test_an_index_that_refuses_a_memory_is_not_searched_unless_that_is_accepted(home: Home) -> None:
    save(home.space, "the heron", vectors=[vector(1)[:8]])
    old = home.parts.upkeep._indices.current()
    done = reindex(home.truth, home.parts.upkeep, pause=lambda seconds: None)
    assert (done.refused >= 1, done.switched) == (True, False)
    assert home.parts.upkeep._indices.current() == old
    assert reindex(home.truth, home.parts.upkeep, accept_refused=True, pause=lambda seconds: None).switched
    home.store.forget_user(UserRef(home.name))


def test_an_index_of_another_embedder_is_told_and_built_anew_from_its_beginning(home: Home) -> None:
    other = HashedWords(dimension=32)
    client, name = home.following.client, home.parts.settings.opensearch_index
    upkeep = OpenSearchUpkeep(
        client, name, SystemClock(), embedder=other.name, dimension=other.dimension, settings=ONE_NODE
    )
    assert home.parts.upkeep.unfit() is None
    assert "hashed-words/64" in str(upkeep.unfit())
    assert upkeep.begin() == ""
    upkeep.reached("somewhere")
    assert upkeep.begin() == "somewhere"
    assert home.parts.upkeep.begin() == ""
    home.parts.upkeep.switch()


# Read your writes


@pytest.mark.slow
def test_every_search_sees_the_last_save_update_and_delete_while_nothing_reaches_the_index(home: Home) -> None:
    door = Door(catalogue=CATALOGUE, store=home.store, embedder=home.parts.embedder, clock=home.clock)
    me = Caller(UserRef(home.name), "assistant")

    def ask(tool: str, **arguments: Any) -> Any:
        result = door.invoke(f"core.{tool}", arguments, me)
        assert result.error is None, result.error
        return result.body

    def texts(query: str) -> dict[str, str]:
        return {hit["id"]: hit["content"] for hit in ask("search", query=query, limit=5)["results"]}

    indexed = [ask("save", content=f"kiwi{number} in the index")["id"] for number in range(10)]
    assert home.take(home.records()) == []
    home.parts.upkeep.refresh()
    home.clock.advance(minutes=6)
    for number in range(ROUNDS):
        home.clock.advance(seconds=5)
        id = ask("save", content=f"heron{number} by the lake")["id"]
        assert texts(f"heron{number}").get(id) == f"heron{number} by the lake"
        ask("update", id=id, content=f"otter{number} in the river")
        assert next(iter(texts(f"otter{number}").items())) == (id, f"otter{number} in the river")
        ask("delete", id=id)
        assert id not in texts(f"otter{number}")
    for number, id in enumerate(indexed):
        assert id in texts(f"kiwi{number}")
