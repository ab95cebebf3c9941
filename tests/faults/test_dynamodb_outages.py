"""DynamoDB throttles, loses answers, leaves things undone, is down; the index too: what a client sees."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from clock import NOON
from cloud import Cloud, cloud
from contracts.entries import creation, embed, found, memory, probe, save, search, update
from contracts.entries import store as commit
from spaces import space_of
from steeltrap.engine import reading
from steeltrap.errors import Conflict, IndexThrottled, IndexUnavailable, SteeltrapError, Throttled, Unavailable
from steeltrap.model import Filter, Link, Session
from steeltrap.ports import Create, Gone, Guard, Space
from unruly import down, halved, nothing_done, refused, unheard

__all__ = ["cloud"]
THROTTLED = refused("ThrottlingException")


@pytest.mark.parametrize(
    "passing",
    [
        THROTTLED,
        refused("ProvisionedThroughputExceededException"),
        refused("InternalServerError", 500),
        refused("NeverHeardOf", 503),
        down,
    ],
)
def test_what_passes_soon_is_not_noticed_but_for_jittered_pauses(cloud: Cloud, passing: Any) -> None:
    space = space_of(cloud.store(), "ana")
    for operation in ("batch_get_item", "put_item", "transact_write_items", "query"):
        cloud.unruly.faults[operation] = [passing, passing, passing]
    old = save(space, "the heron")
    new = update(space, old, content="the otter", links=(Link(target_id=old.id, strength=1.0),))
    assert space.get([old.id]) == {old.id: new}
    assert found(search(space, "otter", near=embed("otter")[0])) == {old.id}
    assert len(set(cloud.pauses)) == len(cloud.pauses) >= 9
    assert all(0 <= pause <= 1 for pause in cloud.pauses)


def test_throttling_without_end_says_when_to_come_again(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    save(space, "the heron")
    cloud.unruly.always["*"] = THROTTLED
    with pytest.raises(Throttled) as throttled:
        space.commit([creation("the otter")])
    assert throttled.value.can_retry
    assert throttled.value.details["retry_after"] == 1


_READS: list[Callable[[Space], Any]] = [
    lambda space: space.get([memory("x").id]),
    lambda space: search(space, "heron"),
    lambda space: search(space, near=embed("heron")[0]),
    lambda space: space.look_around([probe("heron")], floor=0, top_k=1),
    lambda space: space.page(Filter(), limit=1),
    lambda space: list(space.walk()),
    lambda space: reading.open_turns(space, "talk"),
    lambda space: space.idle_conversations(NOON, limit=1),
    lambda space: space.embeddings([memory("x").id]),
    lambda space: reading.associations(space, [memory("x").id]),
    lambda space: space.speakers(),
    lambda space: space.scopes(),
    lambda space: space.sessions(),
    lambda space: space.revisions(memory("x").id),
    lambda space: space.usage([memory("x").id]),
    lambda space: space.find(Gone(NOON)),
    lambda space: space.traces(memory("x").id),
    lambda space: space.statistics(),
]
_WRITES: list[Callable[[Space], Any]] = [
    lambda space: space.commit([creation("x")]),
    lambda space: space.purge([memory("x").id]),
    lambda space: space.add_session(Session(id="s", created_at=NOON)),
    lambda space: space.remove_session("s"),
    lambda space: space.keep_review(memory("x").id, previous=None, card="c"),
]


@pytest.mark.parametrize("ask", [*_READS, *_WRITES], ids=lambda ask: None)
def test_a_store_that_is_down_never_looks_empty(cloud: Cloud, ask: Callable[[Space], Any]) -> None:
    space = space_of(cloud.store(), "ana")
    save(space, "the heron")
    cloud.unruly.always["*"] = down
    with pytest.raises(Unavailable) as unavailable:
        ask(space)
    assert unavailable.value.can_retry
    assert unavailable.value.details["part"] == "store"


def test_reading_statistics_never_fail_a_read(cloud: Cloud) -> None:
    store = cloud.store()
    one = save(space_of(store, "ana"), "the heron")
    cloud.unruly.always["update_item"] = down
    space_of(store, "ana").note_access([one.id], NOON)
    space_of(store, "ana").note_review(one.id, previous=None, card="card")
    store.flush()


def test_a_save_whose_answer_got_lost_is_no_conflict_with_itself(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    save(space, "the first")
    cloud.unruly.faults["put_item"] = [unheard]
    one = save(space, "the heron")
    assert space.get([one.id]) == {one.id: one}
    with pytest.raises(Conflict):
        save(space, "the otter", id=one.id)


def test_an_update_whose_answer_got_lost_is_no_conflict_with_itself(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    one = save(space, "the heron")
    cloud.unruly.faults["transact_write_items"] = [unheard]
    new = update(space, one, content="the otter")
    assert space.get([one.id]) == {one.id: new}
    assert [revision.memory for revision in space.revisions(one.id)] == [one]


def test_what_a_batch_left_undone_is_done_in_the_end(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    cloud.unruly.always["batch_get_item"] = halved
    cloud.unruly.always["batch_write_item"] = halved
    targets = [save(space, f"target {i}") for i in range(20)]
    many = [creation(f"note {i}", links=tuple(Link(target_id=t.id, strength=1.0) for t in targets)) for i in range(30)]
    space.commit(many)
    assert len(space.get([change.entry.memory.id for change in many])) == 30
    assert len(reading.associations(space, [targets[0].id])[targets[0].id]) == 30
    assert space.purge([targets[0].id]) == [targets[0].id]
    assert space.traces(targets[0].id) == []


@pytest.mark.parametrize("operation", ["batch_get_item", "batch_write_item"])
def test_a_batch_that_is_never_done_is_an_error(cloud: Cloud, operation: str) -> None:
    space = space_of(cloud.store(), "ana")
    target = save(space, "target")
    cloud.unruly.always[operation] = nothing_done
    with pytest.raises(Unavailable):
        space.commit([creation(f"{i}", links=(Link(target_id=target.id, strength=1.0),)) for i in range(99)])
    cloud.unruly.always.clear()
    assert list(space.walk()) == [target]


# The index


def test_without_its_index_a_search_answers_from_recent_writes_and_says_so(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    old = save(space, "the heron fishes")
    cloud.clock.advance(minutes=6)
    new = save(space, "the heron sleeps")
    assert found(search(space, "heron")) == {old.id, new.id}
    cloud.index.failing = IndexUnavailable("The search index does not answer.", part="index")
    matches = search(space, "heron", near=embed("heron")[0])
    assert found(matches) == {new.id}
    assert (
        matches.degraded
        == "The search index does not answer. Only what was written in the last 5 minutes was searched."
    )
    assert space.page(Filter(), limit=9).total == 2
    assert space.get([old.id]) == {old.id: old}


@pytest.mark.parametrize(
    "failing", [IndexUnavailable("down", part="index"), IndexThrottled("slow down", retry_after=1)]
)
def test_without_its_index_a_look_around_is_an_error_and_a_save_is_not(cloud: Cloud, failing: SteeltrapError) -> None:
    space = space_of(cloud.store(telling=False), "ana")
    cloud.index.failing = failing
    one = save(space, "the heron")
    assert space.get([one.id]) == {one.id: one}
    with pytest.raises(type(failing)):
        space.look_around([probe("heron")], floor=0, top_k=1)
    with pytest.raises(type(failing)):
        save(space, "the heron", guard=Guard(threshold=0.9))
    assert list(space.walk()) == [one]


def test_an_index_that_is_further_behind_than_the_overlay_reaches_is_told(cloud: Cloud) -> None:
    space = space_of(cloud.store(telling=False), "ana")
    save(space, "the heron fishes")
    assert search(space, "heron").degraded is None
    cloud.clock.advance(minutes=6)
    matches = search(space, "heron")
    assert matches.degraded is not None
    assert matches.degraded.startswith("index_lagging")


def test_more_recent_writes_than_are_looked_at_are_the_indexs(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steeltrap.stores.dynamodb.searching.MOST", 5)
    space = space_of(cloud.store(), "ana")
    made = [save(space, f"the heron {i}") for i in range(12)]
    for _ in range(2):
        matches = search(space, "heron", near=embed("heron")[0])
        assert (found(matches), matches.stored, matches.degraded) == ({m.id for m in made}, 12, None)


def test_an_index_that_lags_behind_what_is_looked_at_is_told_each_time(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steeltrap.stores.dynamodb.searching.MOST", 5)
    space = space_of(cloud.store(telling=False), "ana")
    for i in range(12):
        save(space, f"the heron {i}")
    for _ in range(3):
        degraded = search(space, "heron", near=embed("heron")[0]).degraded
        assert degraded is not None
        assert "index_lagging" in degraded


# What a request costs


def test_a_search_asks_the_index_once_and_hydrates_in_one_read(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    made = [save(space, f"the heron {i}") for i in range(20)]
    cloud.unruly.asked.clear()
    cloud.index.asked = 0
    candidates = search(space, "heron", near=embed("heron")[0]).candidates
    # The second query is side by side with the first: it tells whether the index lags.
    assert (cloud.unruly.asked, cloud.index.asked) == ({"query": 2}, 1)
    space.get([candidate.id for candidate in candidates])
    assert cloud.unruly.asked == {"query": 2, "batch_get_item": 1}
    assert len(made) == len(candidates)


def test_a_save_is_one_read_and_one_write(cloud: Cloud) -> None:
    space = space_of(cloud.store(telling=False), "ana")
    target = save(space, "the first")
    for links, write in (((), "put_item"), ((Link(target_id=target.id, strength=1.0),), "transact_write_items")):
        cloud.unruly.asked.clear()
        save(space, "the heron", links=links)
        assert cloud.unruly.asked == {"batch_get_item": 1, write: 1}
    cloud.unruly.asked.clear()
    update(space, target, content="changed")
    assert cloud.unruly.asked == {"batch_get_item": 1, "transact_write_items": 1}


def test_expired_and_deleted_are_judged_at_the_moment_of_asking(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    commit(space, Create(entry=creation("the heron", expires_at=NOON + timedelta(minutes=9)).entry))
    cloud.clock.advance(minutes=8)
    assert search(space, "heron").stored == 1
    cloud.clock.advance(minutes=1)
    assert (search(space, "heron").stored, space.page(Filter(), limit=1).total) == (0, 0)
