"""DynamoDB, the embedder or the clocks have a bad day: what a client sees on the real parts."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import pytest

from clock import NOON, SettableClock
from embedding import HashedWords
from faults.clients import Client
from faults.doors import answer
from faults.indexing_homes import SECONDS
from faults.proxy import Answered, Asked, Rule, Send, first, hanging_up, passing, refusing, unheard
from spaces import in_time
from steeltrap.errors import Conflict, NotFound, Throttled, Unavailable
from steeltrap.model import Embedding, UserRef

THROTTLED = refusing("ProvisionedThroughputExceededException")
FAILING = refusing("InternalServerError", 500)
CANCELLED = refusing(
    "TransactionCanceledException", CancellationReasons=[{"Code": "ThrottlingError"}, {"Code": "None"}]
)
CONFLICTING = refusing(
    "TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}, {"Code": "None"}]
)


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(first(2, THROTTLED), id="throttled"),
        pytest.param(first(2, FAILING), id="failing"),
        pytest.param(first(2, hanging_up), id="hanging up"),
        pytest.param(first(2, CANCELLED, "TransactWriteItems"), id="transactions throttled"),
        pytest.param(first(2, CONFLICTING, "TransactWriteItems"), id="transactions in conflict"),
        pytest.param(first(1, unheard, "PutItem", "TransactWriteItems", "BatchWriteItem"), id="answers lost"),
    ],
)
def test_what_passes_soon_is_not_noticed_and_nothing_is_done_twice(client: Client, rule: Rule) -> None:
    other = client.save("An egret sleeps on one leg")
    client.table.rule = rule
    id = client.save("The heron fishes at dawn by the pond")
    assert client.ask("core.update", id=id, content="The otter swims by the pond")["version"] == 2
    assert client.found("otter pond")[id] == "The otter swims by the pond"
    assert [one["id"] for one in client.ask("core.list")["memories"]] == sorted([other, id])
    assert client.ask("core.forget", id=other)["verified"]
    client.table.rule = passing
    assert client.ask("core.list")["total"] == 1
    assert sorted(client.history(id)) == [1, 2]
    client.settle()
    assert list(client.found("otter")) == [id]
    assert client.home.differences() == {}


CALLS: Sequence[tuple[str, dict[str, Any]]] = (
    ("core.save", {"content": "The otter sleeps"}),
    ("core.update", {"id": "ID", "content": "The heron sleeps"}),
    ("core.delete", {"id": "ID"}),
    ("core.forget", {"id": "ID"}),
    ("core.search", {"query": "heron"}),
    ("core.get", {"id": "ID"}),
    ("core.list", {}),
    ("core.history", {"id": "ID"}),
    ("core.stats", {}),
    ("core.export", {}),
    ("core.append_messages", {"messages": [{"role": "user", "content": "said"}]}),
    ("notes.memory_search", {"query": "heron"}),
    ("categories.search_memories", {"query": "heron"}),
    ("categories.list_memories", {"category": "fact"}),
    ("records.memory_list", {}),
    ("associative.memory_search", {"query": "heron"}),
    ("episodic.retrieve_memory", {"query": "heron"}),
)


@pytest.mark.parametrize(
    ("rule", "kind"),
    [(THROTTLED, Throttled), (FAILING, Unavailable), (hanging_up, Unavailable), (None, Unavailable)],
    ids=["throttled", "failing", "hanging up", "down"],
)
def test_what_lasts_is_an_error_that_may_be_tried_again_and_never_an_empty_answer(
    client: Client, rule: Rule | None, kind: type[Exception]
) -> None:
    id = client.save("The heron fishes at dawn", category="fact")
    client.settle()
    before = client.everything()
    if rule is None:
        client.table.stop()
    else:
        client.table.rule = rule
    for tool, arguments in CALLS:
        refused = client.refused(tool, **{name: id if value == "ID" else value for name, value in arguments.items()})
        assert isinstance(refused, kind), tool
        assert refused.can_retry, tool
        assert "heron" not in refused.message
    if rule is None:
        client.table.start()
    client.table.rule = passing
    assert client.everything() == before
    assert list(client.found("heron")) == [id]


def test_what_somebody_has_to_set_right_is_told_at_once(client: Client) -> None:
    door = client.open_door(memory_table="nobody-made-it")
    refused = door.invoke("core.save", {"content": "The heron fishes"}, client.me).error
    assert isinstance(refused, Unavailable)
    assert not refused.can_retry
    assert client.clock.slept == 0.0


def _halved(asked: Asked, send: Send) -> Answered:
    """Does only the first half of a batch."""
    if not asked.operation.startswith("Batch"):
        return send(asked)
    [(table, batch)] = asked.json["RequestItems"].items()
    reads = isinstance(batch, dict)
    some = batch["Keys"] if reads else batch
    half = -(-len(some) // 2)

    def part(of: Any) -> Any:
        return {table: {**batch, "Keys": of} if reads else of}

    answered = json.loads(send(asked.but({**asked.json, "RequestItems": part(some[:half])})).body)
    left = "UnprocessedKeys" if reads else "UnprocessedItems"
    return Answered(200, json.dumps({**answered, left: part(some[half:]) if some[half:] else {}}).encode())


def _undone(asked: Asked, send: Send) -> Answered:
    """Does nothing of a batch."""
    if not asked.operation.startswith("Batch"):
        return send(asked)
    batch = asked.json["RequestItems"]
    reads = asked.operation == "BatchGetItem"
    said = {"Responses": {}, "UnprocessedKeys": batch} if reads else {"UnprocessedItems": batch}
    return Answered(200, json.dumps(said).encode())


def test_what_a_batch_leaves_undone_is_done_before_the_answer(client: Client) -> None:
    client.table.rule = _halved
    items = [{"content": f"The heron number {number} fishes at dawn"} for number in range(40)]
    ids = client.ask("core.batch_save", items=items)["ids"]
    hub = client.save("The heron of all herons fishes at dawn")
    found = client.found("heron", limit=50)
    assert set(found) == {*ids, hub}
    assert client.ask("core.list", limit=100)["total"] == 41
    assert client.ask("core.forget", id=hub)["verified"]
    client.table.rule = passing
    assert {memory["id"] for memory in client.ask("core.list", limit=100)["memories"]} == set(ids)
    for id in ids[:4]:
        client.ask("core.update", id=id, content="The otter swims")
    client.table.rule = _halved
    assert client.door.store.forget_user(UserRef(client.home.name))
    client.table.rule = passing
    left = client.home.store.tables.items(client.home.key, "k >= :first", {":first": " "}, in_time(SECONDS))
    assert {str(item["k"])[:2] for item in left} == {"m#"}  # tombstones
    assert client.ask("core.list")["total"] == 0


def test_a_batch_that_is_never_done_is_an_error_and_no_half_an_answer(client: Client) -> None:
    id = client.save("The heron fishes at dawn")
    client.table.rule = _undone
    for tool, arguments in (("core.get", {"id": id}), ("core.search", {"query": "heron"}), ("core.forget", {"id": id})):
        refused = client.refused(tool, **arguments)
        assert isinstance(refused, Unavailable), tool
        assert refused.can_retry
    client.table.rule = passing
    assert client.ask("core.forget", id=id)["verified"]
    assert client.ask("core.list")["total"] == 0


# Two at once


def test_of_two_agents_that_change_one_memory_one_is_told_of_the_other(client: Client) -> None:
    other = client.open_door()
    id = client.save("The heron fishes at dawn")
    met: list[int] = []

    def other_comes_first(asked: Asked, send: Send) -> Answered:
        if asked.operation == "TransactWriteItems" and not met:
            met.append(1)
            met.append(answer(other, "core.update", client.me, id=id, content="The heron sleeps", version=1)["version"])
        return send(asked)

    client.table.rule = other_comes_first
    refused = client.refused("core.update", id=id, content="The heron swims", version=1)
    assert met == [1, 2]
    assert isinstance(refused, Conflict)
    assert refused.details["version"] == 2
    assert client.ask("core.get", id=id)["content"] == "The heron sleeps"
    assert client.ask("core.update", id=id, content="The heron swims", version=2)["version"] == 3
    assert sorted(client.history(id)) == [1, 2, 3]


def test_of_many_agents_that_change_one_memory_at_once_nothing_acknowledged_is_lost(client: Client) -> None:
    id = client.save("The heron fishes")
    doors = [client.open_door() for _ in range(3)]

    def work(number: int) -> list[tuple[int, str]]:
        acknowledged = []
        for turn in range(3):
            text = f"agent {number} wrote {turn}"
            while True:
                version = answer(doors[number], "core.get", client.me, id=id)["version"]
                arguments = {"id": id, "content": text, "version": version}
                result = doors[number].invoke("core.update", arguments, client.me)
                if result.error is None:
                    acknowledged.append((result.body["version"], text))
                    break
                assert isinstance(result.error, Conflict)
        return acknowledged

    with ThreadPoolExecutor(3) as pool:
        acknowledged = sorted(one for some in pool.map(work, range(3)) for one in some)
    assert [version for version, _ in acknowledged] == list(range(2, 11))
    assert client.history(id) == {1: "The heron fishes", **dict(acknowledged)}


def test_of_two_that_save_under_one_key_both_are_told_of_one_memory(client: Client) -> None:
    other = client.open_door()
    met: list[Any] = []

    def other_comes_first(asked: Asked, send: Send) -> Answered:
        if asked.operation in ("PutItem", "TransactWriteItems") and not met:
            met.append(None)
            met[0] = other.invoke("core.save", {"content": "The heron fishes"}, client.me, idempotency_key="one").body
        return send(asked)

    client.table.rule = other_comes_first
    saved = client.door.invoke("core.save", {"content": "The heron fishes"}, client.me, idempotency_key="one")
    assert saved.error is None
    assert saved.body["id"] == met[0]["id"]
    assert client.ask("core.list")["total"] == 1


# The embedder


class Slow(HashedWords):
    """Takes its time; a call's time is over before the embeddings are there."""

    clock: SettableClock | None = None

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        if self.clock is not None:
            self.clock.sleep(timeout + 1)
        return super().embed(texts, purpose=purpose, timeout=timeout)


@pytest.mark.parametrize("state", ["stuck", "broken", "slow"])
def test_an_embedder_that_fails_leaves_nothing_written_and_what_needs_none_goes_on(client: Client, state: Any) -> None:
    embedder = Slow()
    client._door = client.open_door(embedder=embedder)
    id = client.save("The heron fishes at dawn")
    client.settle()
    before = client.everything()
    if state == "slow":
        embedder.clock = client.clock
    else:
        embedder.state = state
    for tool, arguments in (
        ("core.save", {"content": "new"}),
        ("core.update", {"id": id, "content": "changed"}),
        ("core.append_messages", {"messages": [{"role": "user", "content": "said"}]}),
        *(
            ()
            if state == "slow"
            else (("core.search", {"query": "heron"}), ("notes.memory_search", {"query": "heron"}))
        ),
    ):
        refused = client.refused(tool, **arguments)
        assert isinstance(refused, Unavailable), tool
        assert refused.can_retry, tool
    assert client.everything() == before
    assert list(client.found("heron", mode="keyword")) == [id]
    assert client.ask("core.get", id=id)["content"] == "The heron fishes at dawn"
    assert client.ask("core.delete", id=id)["deleted"] == [id]


# Clocks


@pytest.mark.parametrize("minutes", [1, -1])
def test_writers_whose_clocks_differ_by_a_minute_are_found_at_once_and_in_order(client: Client, minutes: int) -> None:
    skewed = SettableClock(NOON)
    skewed.advance(minutes=minutes)
    doors = [client.open_door(clock=skewed), client.door]

    def seen(word: str) -> list[list[str]]:
        asked = {"query": word, "mode": "keyword"}
        return [[hit["id"] for hit in answer(d, "core.search", client.me, **asked)["results"]] for d in doors]

    id = answer(doors[0], "core.save", client.me, content="The heron fishes")["id"]
    assert seen("heron") == [[id], [id]]
    for door, word in ((doors[1], "otter"), (doors[0], "stork"), (doors[1], "egret")):
        answer(door, "core.update", client.me, id=id, content=f"The {word} fishes")
        assert seen(word) == [[id], [id]]
        assert seen("heron") == [[], []]
    texts = [f"The {word} fishes" for word in ("heron", "otter", "stork", "egret")]
    assert client.history(id) == dict(enumerate(texts, start=1))
    assert client.home.take(client.home.records()[::-1]) == []
    assert client.home.differences() == {}
    skewed.advance(minutes=6)
    client.clock.advance(minutes=6)
    assert seen("egret") == [[id], [id]]
    assert seen("stork") == [[], []]
    assert answer(doors[1], "core.forget", client.me, id=id)["verified"]
    assert seen("egret") == [[], []]
    for door in doors:
        assert isinstance(door.invoke("core.get", {"id": id}, client.me).error, NotFound)
