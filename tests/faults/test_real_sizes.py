"""The largest memory, a user with very many, very many users: what a client sees on the real parts.

A run makes a tenth or less of the sizes; STEELTRAP_TEST_MEMORIES=100000 and STEELTRAP_TEST_USERS=10000 make them whole.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from clock import SettableClock
from contracts.entries import entry, ids, memory
from embedding import HashedWords
from faults.clients import Client, opened_client
from faults.indexing_homes import ONE_NODE, SECONDS, RealParts, opened_parts
from spaces import in_time
from steeltrap.model import Caller, UserRef, to_micros
from steeltrap.runtime import SystemClock
from steeltrap.stores.dynamodb import items, users
from steeltrap.stores.dynamodb.documents import document
from steeltrap.stores.dynamodb.items import Item
from steeltrap.stores.opensearch import Indices, OpenSearchIndex

MEMORIES = int(os.environ.get("STEELTRAP_TEST_MEMORIES", "2000"))
USERS = int(os.environ.get("STEELTRAP_TEST_USERS", "500"))
_BLOCK = 500


@pytest.fixture(scope="module")
def wide() -> Iterator[RealParts]:
    """Parts with vectors of 1,024 dimensions."""
    with opened_parts(HashedWords(dimension=1024), ONE_NODE) as parts:
        yield parts


def test_the_largest_memory_is_saved_found_changed_exported_and_forgotten_whole(
    wide: RealParts, clock: SettableClock
) -> None:
    content = " ".join(f"w{number:x}" for number in range(7_000))[: 32 * 1024]
    with opened_client(wide, clock) as client:
        other = client.save("The heron fishes at dawn")
        id = client.save(content)
        assert client.ask("core.stats")["chunks"] >= 61
        for _ in range(2):
            assert client.found("w64")[id] == content
            assert next(iter(client.found(content[16_000:16_600], mode="semantic"))) == id
            assert client.ask("core.get", id=id)["content"] == content
            assert [record["content"] for record in client.everything() if record["id"] == id] == [content]
            client.settle()
        assert client.home.differences() == {}
        assert client.ask("core.update", id=id, tags=["large"])["version"] == 2
        assert client.ask("core.update", id=id, content="Small now, an otter")["version"] == 3
        assert client.found("w64", mode="keyword") == {}
        assert client.history(id) == {1: content, 2: content, 3: "Small now, an otter"}
        client.settle()
        assert client.found("w64", mode="keyword") == {}
        assert client.found("otter", mode="keyword") == {id: "Small now, an otter"}
        assert client.ask("core.forget", id=id)["verified"]
        client.settle()
        assert list(client.found("heron otter w64")) == [other]


def test_more_than_the_largest_memory_is_refused_with_a_word_and_nothing_is_kept(client: Client) -> None:
    refused = client.refused("core.save", content="x" * (32 * 1024 + 1))
    assert "32" in refused.message
    assert not refused.can_retry
    assert client.ask("core.list")["total"] == 0


# Many


@pytest.fixture(scope="module")
def small() -> Iterator[RealParts]:
    """Parts with vectors of 8 dimensions, so that many are quickly there."""
    with opened_parts(HashedWords(dimension=8), ONE_NODE) as parts:
        yield parts


def _in_blocks(some: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(some)
    while block := list(islice(rest, _BLOCK)):
        yield block


def _pour(client: Client, some: Iterable[Item]) -> None:
    """Put items of memories, and of users, into the table, and the documents of memories into the index."""
    index = OpenSearchIndex(
        client.home.following.client,
        Indices(client.home.following.client, client.home.parts.settings.opensearch_index, SystemClock()),
    )
    for block in _in_blocks(some):
        client.home.following.tables.put_all(block, in_time(SECONDS))
        made = [item for item in block if str(item["k"]).startswith("m#")]
        documents = [document(item, str(item["image"]).encode(), item["search"]) for item in made]  # type: ignore[arg-type]
        assert index.write(documents, deadline=in_time(SECONDS)) == {}
    client.home.parts.upkeep.refresh()


def _item(client: Client, user: str, id: str, content: str, number: int) -> Item:
    """A memory's item, written an hour ago and some microseconds each."""
    at = client.clock.now()
    embedder = client.home.parts.embedder
    made = memory(content, id=id, created_at=at, surprise=0.5)
    vectors = embedder.embed([content], purpose="document", timeout=SECONDS)
    w = to_micros(at) - 3_600_000_000 + number
    item = items.memory_item(user, entry(made, vectors), w=w, position=None, room=items.Room()).item
    return {**item, "made": w}


def test_a_user_with_very_many_memories_finds_lists_and_changes_each(small: RealParts, clock: SettableClock) -> None:
    with opened_client(small, clock) as client:
        first = client.save("The heron fishes at dawn")  # makes the user
        client.settle()
        many = ids(MEMORIES)
        words = [f"number{number:06d} of the flock{number % 97}" for number in range(MEMORIES)]
        _pour(client, (_item(client, client.home.key, *one, n) for n, one in enumerate(zip(many, words, strict=True))))
        for number in (0, MEMORIES // 2, MEMORIES - 1):
            assert next(iter(client.found(f"number{number:06d}", limit=5))) == many[number]
        flock = client.ask("core.search", query="flock7", mode="keyword", limit=10)
        assert len(flock["results"]) == 10
        assert all("flock7" in hit["content"].split() for hit in flock["results"])
        assert client.ask("core.list", limit=3)["total"] == MEMORIES + 1
        page = client.ask("core.list", limit=3, offset=MEMORIES - 1)["memories"]
        assert len(page) == 2
        stored = client.ask("core.stats")
        assert stored["memories"] == MEMORIES + 1
        assert client.ask("core.update", id=many[7], content="The otter swims")["version"] == 2
        assert client.found("otter", mode="keyword") == {many[7]: "The otter swims"}
        assert client.found("number000007", mode="keyword") == {}
        assert client.ask("core.forget", id=many[8])["verified"]
        assert client.found("number000008", mode="keyword") == {}
        assert client.found("heron", mode="keyword") == {first: "The heron fishes at dawn"}
        changes = [record for id in many[7:9] for record in client.home.of(id)[1:]]
        assert client.home.take(changes) == []
        assert client.home.differences() == {}


def test_of_very_many_users_each_finds_their_own_and_is_moved_by_nobody(small: RealParts, clock: SettableClock) -> None:
    with opened_client(small, clock) as client:
        client.save("The heron fishes at dawn")
        client.save("The otter swims at dusk")
        client.settle()
        alone = client.ask("core.search", query="heron dawn", why=True)
        names = [f"{client.home.name}-{number}" for number in range(USERS)]
        _pour(client, _everyones(client, names))
        client.home.parts.upkeep.refresh()
        assert client.ask("core.search", query="heron dawn", why=True) == alone
        for number in (0, USERS // 2, USERS - 1):
            caller = Caller(UserRef(names[number]), agent_id="agent")
            found = client.door.invoke("core.search", {"query": "heron", "limit": 50}, caller)
            assert [hit["content"] for hit in found.body["results"]] == [f"The heron of user{number:x} fishes at dawn"]
            assert found.body["outcome"]["kind"] == "found"
            listed = client.door.invoke("core.list", {}, caller).body
            assert listed["total"] == 1
        everyone = {user.user_id for user in client.door.store.users()}
        assert {client.home.name, *names} <= everyone
        gone = names[USERS // 2]
        assert client.door.store.forget_user(UserRef(gone))
        assert client.door.invoke("core.list", {}, Caller(UserRef(gone), agent_id="agent")).body["total"] == 0
        assert gone not in {user.user_id for user in client.door.store.users()}
        assert client.ask("core.search", query="heron dawn", why=True) == alone


def _everyones(client: Client, names: list[str]) -> Iterator[Item]:
    """A user's own item and one memory each."""
    partition: Any = client.home.store.partition(UserRef(client.home.name), in_time())
    for number, (name, id) in enumerate(zip(names, ids(len(names)), strict=True)):
        user = UserRef(name)
        put = users.creation(replace(partition, user=user, key=user.key)).put
        assert put is not None
        yield dict(put)
        yield _item(client, user.key, id, f"The heron of user{number:x} fishes at dawn", number)
