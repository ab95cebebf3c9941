"""The stream repeats itself, ids come back, the table is restored: what a client sees on the real parts."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import boto3
import pytest

from faults.clients import Client
from faults.indexing_homes import SECONDS, RealParts, Records
from steeltrap.engine.upkeep import reindex, verify
from steeltrap.errors import NotFound
from steeltrap.runtime import aws as runtime_aws
from steeltrap.stores.dynamodb.documents import DynamoTruth

WORDS = "heron otter stork egret zebra"


def _shuffled(records: Records) -> Records:
    return random.Random(7).sample(records, len(records))


ORDERS: dict[str, Callable[[Records], Records]] = {
    "from the beginning": lambda records: records,
    "shuffled": _shuffled,
    "doubled": lambda records: [each for record in records for each in (record, record)],
    "backwards and doubled": lambda records: [each for record in records[::-1] for each in (record, record)],
}


def _told(client: Client) -> Any:
    """All that a client can see: what it finds, with scores, and what is listed."""
    found = client.ask("core.search", query=WORDS, limit=50, why=True)
    listed = client.ask("core.list", limit=100)
    return {"found": found, "listed": listed, "stored": client.everything()}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_whatever_the_stream_repeats_a_client_sees_no_difference(
    client: Client, order: Callable[[Records], Records]
) -> None:
    kept, changed, deleted, forgotten = (client.save(f"The {word} fishes at dawn") for word in WORDS.split()[:4])
    client.ask("core.update", id=changed, content="The zebra sleeps")
    client.ask("core.delete", id=deleted)
    client.ask("core.forget", id=forgotten)
    client.settle()
    before = _told(client)
    assert {hit["id"] for hit in before["found"]["results"]} == {kept, changed}
    for record in order(client.home.records()):
        assert client.home.take([record]) == []
    client.home.parts.upkeep.refresh()
    assert _told(client) == before
    assert client.open_indexer().take(order(client.home.records()), timeout=SECONDS) == []
    client.home.parts.upkeep.refresh()
    assert _told(client) == before
    assert client.found("otter stork egret", mode="keyword") == {}
    assert client.home.differences() == {}


def test_an_old_creation_that_comes_again_when_deletes_are_forgotten_brings_nothing_back(client: Client) -> None:
    deleted, forgotten = client.save("The heron fishes"), client.save("The otter swims")
    created = client.home.records()
    client.settle()
    client.ask("core.delete", id=deleted)
    client.ask("core.forget", id=forgotten)
    client.settle()  # refreshed: versions of deletes older than gc_deletes are forgotten
    assert client.home.take(created) == []
    client.home.parts.upkeep.refresh()
    assert client.found("heron otter") == {}
    assert client.ask("core.search", query="heron")["outcome"]["kind"] == "nothing_stored"
    for id in (deleted, forgotten):
        assert isinstance(client.refused("core.get", id=id), NotFound)
    assert client.home.held() == {deleted: False, forgotten: False}
    assert client.ask("core.undo", id=deleted)["content"] == "The heron fishes"
    client.settle()
    assert client.home.take(created) == []
    client.home.parts.upkeep.refresh()
    assert client.found("heron otter") == {deleted: "The heron fishes"}


def test_an_id_that_is_written_again_after_a_forget_is_found_whatever_comes_again(client: Client) -> None:
    def save(content: str) -> str:
        result = client.door.invoke("core.save", {"content": content}, client.me, idempotency_key="one")
        assert result.error is None
        return str(result.body["id"])

    id = save("The heron fishes")
    client.settle()
    assert client.ask("core.forget", id=id)["verified"]
    assert save("The otter swims") == id
    assert client.found("heron otter", mode="keyword") == {id: "The otter swims"}
    records = client.home.of(id)
    assert client.home.take(records[::-1]) == []
    assert client.home.take(records[:-1]) == []
    client.home.parts.upkeep.refresh()
    client.clock.advance(minutes=6)
    assert client.found("heron", mode="keyword") == {}
    assert client.found("otter", mode="keyword") == {id: "The otter swims"}
    assert sorted(client.history(id)) == [1]
    assert client.home.differences() == {}


# A restore


@contextmanager
def _restored(client: Client, items: list[Any]) -> Iterator[str]:
    """A table with the items of a backup, as AWS restores one: beside the old, under another name."""
    settings = client.home.parts.settings.with_values(memory_table=f"restored-{uuid4().hex[:12]}")
    assert runtime_aws.set_up(settings, client.home.parts.embedder, expire=False) == [settings.memory_table]
    dynamodb = boto3.client("dynamodb", endpoint_url=settings.dynamodb_url)
    try:
        for item in items:
            dynamodb.put_item(TableName=settings.memory_table, Item=item)
        yield settings.memory_table
    finally:
        dynamodb.delete_table(TableName=settings.memory_table)
        dynamodb.close()


def _backup(parts: RealParts, user: str) -> list[Any]:
    dynamodb = boto3.client("dynamodb", endpoint_url=parts.settings.dynamodb_url)
    condition = {"KeyConditionExpression": "u = :u", "ExpressionAttributeValues": {":u": {"S": user}}}
    try:
        return list(dynamodb.query(TableName=parts.settings.memory_table, **condition)["Items"])
    finally:
        dynamodb.close()


def test_after_a_restore_from_a_backup_a_client_sees_the_backup_and_the_index_follows(client: Client) -> None:
    kept, changed, gone = (client.save(f"The {word} fishes at dawn") for word in ("heron", "otter", "stork"))
    client.settle()
    backup = _backup(client.home.parts, client.home.key)
    then = client.everything()
    client.ask("core.update", id=changed, content="The egret sleeps")
    client.ask("core.forget", id=gone)
    later = client.save("A zebra, later than the backup")
    client.settle()
    upkeep = client.home.parts.upkeep
    with _restored(client, backup) as table:
        client._door = client.open_door(memory_table=table)
        assert client.everything() == then
        # The index still has what the backup doesn't know; nothing of it is answered, and nothing that is gone.
        for hit in client.ask("core.search", query="egret sleeps zebra later heron")["results"]:
            assert hit["id"] in {kept, changed}
            assert hit["content"] in {"The heron fishes at dawn", "The otter fishes at dawn"}
        assert isinstance(client.refused("core.get", id=later), NotFound)
        truth = DynamoTruth(client.open_indexer(memory_table=table).tables)
        assert list(verify(truth, upkeep, [client.home.user], pause=client.clock.sleep)) != []
        assert reindex(truth, upkeep, pause=client.clock.sleep).switched
        assert list(verify(truth, upkeep, [client.home.user], pause=client.clock.sleep)) == []
        expected = {
            id: f"The {word} fishes at dawn" for id, word in ((kept, "heron"), (changed, "otter"), (gone, "stork"))
        }
        assert client.found("heron otter stork egret zebra", mode="keyword") == expected
        again = client.ask("core.update", id=changed, content="The egret wakes")
        assert again["version"] == 2
        assert client.found("egret", mode="keyword") == {changed: "The egret wakes"}
    client._door = None
    assert reindex(client.home.truth, upkeep, pause=client.clock.sleep).switched
    assert client.home.differences() == {}
