"""OpenSearch has a bad day: what a client sees on the real parts, and that nothing it was told is lost."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from asking import send_to_index
from clock import SettableClock
from embedding import HashedWords
from faults.clients import Client, opened_client
from faults.indexing_homes import ONE_NODE, SECONDS, RealParts, opened_parts
from faults.proxy import Answered, Asked, Send, hanging_up, late, passing, saying
from steeltrap.engine.upkeep import mend, reindex
from steeltrap.errors import NotFound, Throttled, Unavailable
from steeltrap.model import OutcomeKind, UserRef
from steeltrap.stores.dynamodb import searching
from steeltrap.stores.opensearch.indices import index_body

Day = Callable[[Client, pytest.MonkeyPatch], AbstractContextManager[str]]
"""A bad day, as long as the block lasts: the words by which a client learns of it."""


@contextmanager
def down(client: Client, patch: pytest.MonkeyPatch) -> Iterator[str]:
    client.index.stop()
    try:
        yield "can't be reached"
    finally:
        client.index.start()


def ruled(rule: Any, words: str) -> Day:
    @contextmanager
    def day(client: Client, patch: pytest.MonkeyPatch) -> Iterator[str]:
        client.index.rule = rule
        try:
            yield words
        finally:
            client.index.rule = passing

    return day


@contextmanager
def slow(client: Client, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """It answers later than anybody waits, and does then what it was asked for."""
    patch.setattr(searching, "INDEX_SECONDS", 0.3)
    client.index.rule = late
    try:
        yield "did not answer in time"
    finally:
        client.index.rule = passing
        patch.undo()


@contextmanager
def blocked(client: Client, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """OpenSearch itself forbids reading and writing, as it does when a disk is full."""
    _set(client, {"index.blocks.read": True, "index.blocks.write": True})
    try:
        yield "status 403"
    finally:
        _set(client, {"index.blocks.read": None, "index.blocks.write": None})


@contextmanager
def no_alias(client: Client, patch: pytest.MonkeyPatch) -> Iterator[str]:
    there = client.home.parts.upkeep._indices.current()
    assert there is not None
    _alias(client, "remove", there.name)
    try:
        yield "status 404"
    finally:
        _alias(client, "add", there.name)


def _send(client: Client, method: str, path: str, body: Any = None) -> Any:
    return send_to_index(client.home.following.client, method, path, body, timeout=SECONDS)


def _set(client: Client, settings: dict[str, Any]) -> None:
    _send(client, "PUT", f"/{client.home.parts.settings.opensearch_index}/_settings", settings)


def _alias(client: Client, action: str, index: str) -> None:
    alias = client.home.parts.settings.opensearch_index
    _send(client, "POST", "/_aliases", {"actions": [{action: {"index": index, "alias": alias}}]})


DAYS: dict[str, Day] = {
    "down": down,
    "hanging up": ruled(hanging_up, "can't be reached"),
    "slow": slow,
    "too many requests": ruled(saying(429, {}), "is overloaded"),
    "forbidden": ruled(saying(403, {}), "status 403"),
    "blocked": blocked,
    "no alias": no_alias,
    "failing": ruled(saying(503, {}), "status 503"),
    "no JSON": ruled(saying(200, b"<html>"), "did not answer with JSON"),
}


@pytest.mark.parametrize("day", DAYS.values(), ids=DAYS)
def test_what_is_written_on_a_bad_day_is_safe_and_found_and_completed_later_and_every_answer_says_what_it_left_out(
    client: Client, day: Day, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = client.save("The heron fishes at dawn")
    client.settle()
    with day(client, monkeypatch) as words:
        saved = client.invoke("core.save", content="The heron fishes at dawn by the pond")
        assert saved.error is None
        assert saved.outcome is not None
        assert saved.outcome.kind is OutcomeKind.DEGRADED
        assert words in saved.outcome.message
        assert "pending" in saved.outcome.message
        new = saved.body["id"]
        _is_degraded(client, words, old, new)
        assert client.ask("core.update", id=old, content="The otter fishes at dusk")["version"] == 2
        assert _searched(client, "otter") == [old]
        records = client.home.records()
        latest = {client.home.of(id)[-1]["dynamodb"]["SequenceNumber"] for id in (old, new)}
        again = client.open_indexer().take(records, timeout=0.5 if day is slow else SECONDS)
        assert latest <= set(again)
    client.sweep()
    client.settle()
    assert client.found("otter dusk")[old] == "The otter fishes at dusk"
    assert client.found("pond")[new] == "The heron fishes at dawn by the pond"
    completed = client.ask("core.get", id=new)
    assert 0 <= completed["surprise"] <= 1
    assert completed["version"] == 1
    assert client.home.differences() == {}


def _is_degraded(client: Client, words: str, old: str, new: str) -> None:
    """Searches say what they left out; what needs the index is refused; the rest is as ever."""
    found = client.ask("core.search", query="heron")
    assert [hit["id"] for hit in found["results"]] == [new]
    assert found["outcome"]["kind"] == "degraded"
    assert words in found["outcome"]["message"]
    assert "Only what was written in the last 5 minutes was searched" in found["outcome"]["message"]
    client.clock.advance(minutes=6)
    for tool in ("notes.memory_search", "categories.search_memories", "records.memory_search"):
        refused = client.refused(tool, query="heron")
        assert isinstance(refused, Unavailable), tool
        assert refused.can_retry, tool
    refused = client.refused("core.save", content="The heron fishes at dawn", duplicate_threshold=0.9)
    assert isinstance(refused, Unavailable | Throttled)
    assert refused.can_retry
    assert client.ask("core.get", id=old)["content"] == "The heron fishes at dawn"
    assert {memory["id"] for memory in client.ask("core.list")["memories"]} == {old, new}
    assert len(client.ask("core.history", id=old)["revisions"]) == 1


def _searched(client: Client, query: str) -> list[str]:
    return [hit["id"] for hit in client.ask("core.search", query=query)["results"]]


def test_of_a_batch_only_what_the_index_has_no_room_for_comes_again(client: Client) -> None:
    first, second = client.save("The heron fishes"), client.save("The otter swims")

    def full_for_the_second(asked: Asked, send: Send) -> Answered:
        lines = asked.body.splitlines(keepends=True)
        if asked.operation != "_bulk" or not any(second.encode() in line for line in lines):
            return send(asked)
        pairs = list(zip(lines[::2], lines[1::2], strict=True))
        taken = [pair for pair in pairs if second.encode() not in pair[0]]
        done = iter(json.loads(send(asked.but(b"".join(map(b"".join, taken)))).body)["items"])
        full = {"index": {"status": 429, "error": {"type": "rejected_execution_exception"}}}
        items = [next(done) if pair in taken else full for pair in pairs]
        return Answered(200, json.dumps({"items": items}).encode())

    client.index.rule = full_for_the_second
    records = client.home.records()
    [place] = [each["dynamodb"]["SequenceNumber"] for each in client.home.of(second)]
    assert client.open_indexer().take(records, timeout=SECONDS) == [place]
    assert client.home.held() == {first: True}
    assert set(client.found("heron otter")) == {first, second}
    client.index.rule = passing
    client.settle()
    assert set(client.found("heron otter")) == {first, second}


# Half of it


@pytest.fixture(scope="module")
def halved() -> Iterator[RealParts]:
    """An index of two shards on a node that has room for one."""
    with opened_parts(HashedWords(), {**ONE_NODE, "number_of_shards": 2}) as parts:
        there = parts.upkeep._indices.current()
        assert there is not None
        send_to_index(parts.upkeep._client, "DELETE", f"/{there.name}", timeout=SECONDS)
        body = {"settings": {ROOM: 1}, "aliases": {parts.settings.opensearch_index: {}}}
        at_once = {"wait_for_active_shards": "0"}
        send_to_index(parts.upkeep._client, "PUT", f"/{there.name}", body, timeout=SECONDS, params=at_once)
        yield parts


ROOM = "index.routing.allocation.total_shards_per_node"


def test_while_a_shard_is_missing_its_users_learn_of_it_and_the_others_notice_nothing(
    halved: RealParts, clock: SettableClock
) -> None:
    whole, broken = _names_by_shard(halved)
    with opened_client(halved, clock, whole) as fine, opened_client(halved, clock, broken) as bad:
        there = fine.save("The heron fishes at dawn")
        pending = bad.invoke("core.save", content="The heron fishes at dawn")
        assert pending.outcome is not None
        assert "status 503" in pending.outcome.message
        records = [*fine.home.records(), *bad.home.records()]
        # A refresh of the whole index would wait for the shard that is missing.
        fine.index.rule = lambda asked, send: send(replace(asked, path=f"{asked.path}&refresh=true"))
        again = fine.open_indexer().take(records, timeout=4)
        fine.index.rule = passing
        assert again == [each["dynamodb"]["SequenceNumber"] for each in bad.home.of(pending.body["id"])]
        clock.advance(minutes=6)
        assert list(fine.found("heron")) == [there]
        found = bad.ask("core.search", query="heron")
        assert (found["results"], found["outcome"]["kind"]) == ([], "degraded")
        assert "status 503" in found["outcome"]["message"]
        assert bad.refused("notes.memory_search", query="heron").can_retry
        assert bad.ask("core.list")["total"] == 1
        _set(bad, {ROOM: None})
        _send(bad, "GET", f"/_cluster/health/{halved.settings.opensearch_index}?wait_for_status=green&timeout=60s")
        bad.sweep()
        bad.settle()
        assert list(bad.found("heron")) == [pending.body["id"]]
        assert bad.home.differences() == fine.home.differences() == {}


def _names_by_shard(parts: RealParts) -> tuple[str, str]:
    """A user whose shard is there, and one whose shard is not."""
    client, index = parts.upkeep._client, parts.settings.opensearch_index
    healthy = f"/_cluster/health/{index}?wait_for_no_initializing_shards=true&timeout=60s"
    send_to_index(client, "GET", healthy, timeout=SECONDS)
    found: dict[bool, str] = {}
    while len(found) < 2:
        name = f"user-{uuid4()}"
        place = f"/{index}/_search_shards?routing={UserRef(name).key}"
        [copies] = send_to_index(client, "GET", place, timeout=SECONDS)["shards"]
        found[bool(copies)] = name
    return found[True], found[False]


# Of another form


@contextmanager
def other_index(client: Client, make: Callable[[str], None]) -> Iterator[None]:
    """Searches meet another index, as `make` builds it under a name; then the right one again."""
    right = client.home.parts.upkeep._indices.current()
    assert right is not None
    name = f"other-{uuid4().hex[:12]}"
    make(name)
    _alias(client, "remove", right.name)
    _alias(client, "add", name)
    try:
        yield
    finally:
        _alias(client, "remove", name)
        _alias(client, "add", right.name)
        _send(client, "DELETE", f"/{name}")


def test_an_index_for_other_vectors_is_said_and_loses_nothing(client: Client) -> None:
    old = client.save("The heron fishes at dawn")

    def narrow(name: str) -> None:
        _send(client, "PUT", f"/{name}", index_body(8, "another", settings=ONE_NODE))

    with other_index(client, narrow):
        saved = client.invoke("core.save", content="The heron sleeps")
        assert saved.outcome is not None
        assert "rejects this request" in saved.outcome.message
        assert client.open_indexer().take(client.home.records(), timeout=SECONDS) == []  # a dead letter: no retry helps
        client.home.parts.upkeep.refresh()
        assert client.home.differences() == {"missing": 2}
        client.clock.advance(minutes=6)
        found = client.ask("core.search", query="heron")
        assert (found["results"], found["outcome"]["kind"]) == ([], "degraded")
        assert client.refused("records.memory_search", query="heron").code == "unavailable"
    assert mend(client.home.truth, client.home.parts.upkeep, client.home.key).refused == 0
    client.sweep()
    client.settle()
    assert set(client.found("heron")) == {old, saved.body["id"]}


def test_an_index_that_nobody_built_is_said_and_loses_nothing(client: Client) -> None:
    old = client.save("The heron fishes at dawn")
    client.settle()
    with other_index(client, lambda name: _send(client, "PUT", f"/{name}", {"mappings": {"dynamic": "strict"}})):
        saved = client.invoke("core.save", content="The heron fishes at noon")
        client.open_indexer().take(client.home.records(), timeout=SECONDS)
        client.clock.advance(minutes=6)
        found = client.ask("core.search", query="heron")
        assert (found["results"], found["outcome"]["kind"]) == ([], "degraded")
        assert client.refused("notes.memory_search", query="heron").can_retry
    assert mend(client.home.truth, client.home.parts.upkeep, client.home.key).refused == 0
    client.sweep()
    client.settle()
    assert set(client.found("heron")) == {old, saved.body["id"]}
    assert client.ask("core.get", id=saved.body["id"])["surprise"] < 0.5


# Being built anew


def test_while_the_index_is_built_anew_every_write_is_found_and_no_search_is_worse(client: Client) -> None:
    kept, gone, changed = (client.save(f"The heron number {number} fishes") for number in ("one", "two", "three"))
    client.settle()
    late: list[str] = []

    def go_on(written: int) -> None:
        if late:
            return
        late.append(client.save("An otter swims meanwhile"))
        client.ask("core.update", id=changed, content="The stork number three rests")
        client.ask("core.forget", id=gone)
        assert client.open_indexer().take(client.home.records(), timeout=SECONDS) == []
        assert set(client.found("heron", mode="keyword")) == {kept}
        assert list(client.found("otter", mode="keyword")) == late
        client.home.parts.upkeep.refresh()
        client.clock.advance(minutes=6)
        assert set(client.found("heron otter stork", mode="keyword")) == {kept, changed, *late}

    before = client.home.parts.upkeep._indices.current()
    assert reindex(client.home.truth, client.home.parts.upkeep, advance=go_on, pause=client.clock.sleep).switched
    assert client.home.parts.upkeep._indices.current() != before
    assert client.home.differences() == {}
    client.clock.advance(minutes=6)
    assert client.found("heron otter stork", mode="keyword") == {
        kept: "The heron number one fishes",
        changed: "The stork number three rests",
        late[0]: "An otter swims meanwhile",
    }
    assert isinstance(client.refused("core.get", id=gone), NotFound)
