"""A write and the forgetting of its user meet in DynamoDB: what the write leaves behind is found and forgotten, too."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest

from clock import NOON, SettableClock
from cloud import Cloud, cloud
from components import dynamodb_url
from contracts.dynamodb_stores import emulated, local, tables, tell
from contracts.entries import EMBEDDER, SECONDS, creation, found, probe, save, search
from contracts.memory_index import MemoryIndex
from spaces import in_time, space_of
from steeltrap.errors import Unavailable
from steeltrap.model import Link, Memory, Surroundings, UserRef, to_micros
from steeltrap.stores.dynamodb import DynamoStore, keys
from steeltrap.stores.dynamodb.client import Cancelled
from unruly import conflicting

__all__ = ["cloud"]

Opening = Callable[[], DynamoStore]


@pytest.fixture(params=["moto", "local"])
def opening(request: pytest.FixtureRequest, clock: SettableClock) -> Iterator[Opening]:
    """Opens processes over the same tables."""
    index = MemoryIndex()
    with ExitStack() as opened:
        connect = local(dynamodb_url()) if request.param == "local" else opened.enter_context(emulated())
        names = opened.enter_context(tables(connect, fetches=request.param == "local"))

        def open_store() -> DynamoStore:
            window = timedelta(minutes=5)
            store = DynamoStore(*names, EMBEDDER, clock, index, connect=connect, window=window, pause=clock.sleep)
            opened.callback(store.close)
            tell(store, index)
            return store

        yield open_store


def _forgotten_meanwhile(opening: Opening, *, then: Callable[[DynamoStore], None]) -> tuple[DynamoStore, Memory]:
    """A memory whose user was forgotten by one process while another wrote it, to which something happens then."""
    writer, other = opening(), opening()
    save(space_of(writer, "ana"), "an egret")
    call = writer.tables.call

    def forgetting_comes_first(operation: str, request: Any, deadline: Any) -> Any:
        if operation != "put_item":
            return call(operation, request, deadline)
        writer.tables.call = call  # type: ignore[method-assign]
        assert other.forget_user(UserRef("ana"))
        answer = call(operation, request, in_time(SECONDS))  # forgetting takes its time
        then(writer)
        return answer

    writer.tables.call = forgetting_comes_first  # type: ignore[method-assign]
    return other, save(space_of(writer, "ana"), "the heron")


def _left_behind(opening: Opening) -> tuple[DynamoStore, Memory]:
    """The same, where the process that wrote the memory reaches nothing afterwards."""

    def ends(writer: DynamoStore) -> None:
        def nothing_answers(operation: str, request: Any, deadline: Any) -> Any:
            raise Unavailable("The memory store does not answer; try again.", part="store")

        writer.tables.call = nothing_answers  # type: ignore[method-assign]

    other, one = _forgotten_meanwhile(opening, then=ends)
    assert list(other.users()) == []
    return other, one


def test_who_saves_while_being_forgotten_is_among_the_users_again(opening: Opening) -> None:
    store, one = _forgotten_meanwhile(opening, then=lambda writer: None)
    assert list(store.users()) == [UserRef("ana")]
    assert [each.id for each in space_of(store, "ana").images()] == [one.id]


def test_a_forgetting_waits_for_what_was_begun_before_it(opening: Opening) -> None:
    writer, other = opening(), opening()
    save(space_of(writer, "ana"), "an egret")
    held: list[Any] = []
    write, forget = writer.tables.call, other.tables.call

    def comes_late(operation: str, request: Any, deadline: Any) -> Any:
        if operation != "put_item":
            return write(operation, request, deadline)
        held.append(request)
        return {}

    def written_after_the_tombstones(operation: str, request: Any, deadline: Any) -> Any:
        answer = forget(operation, request, deadline)
        if operation == "transact_write_items" and held:
            write("put_item", held.pop(), in_time(SECONDS))
        return answer

    writer.tables.call = comes_late  # type: ignore[method-assign]
    other.tables.call = written_after_the_tombstones  # type: ignore[method-assign]
    save(space_of(writer, "ana"), "the heron")
    assert other.forget_user(UserRef("ana"))
    assert held == []
    assert _items(other) == []


def test_the_tombstone_of_an_update_that_comes_between_is_newer_than_the_update(opening: Opening) -> None:
    writer, other = opening(), opening()
    one = save(space_of(writer, "ana"), "an egret")
    forget = other.tables.call

    def update_comes_first(operation: str, request: Any, deadline: Any) -> Any:
        if operation == "transact_write_items":
            other.tables.call = forget  # type: ignore[method-assign]
            writer.tables.call("update_item", held.pop(), in_time(SECONDS))
        return forget(operation, request, deadline)

    held = [
        {
            "TableName": writer.tables.memory,
            "Key": {"u": {"S": UserRef("ana").key}, "k": {"S": keys.memory(one.id)}},
            "UpdateExpression": "SET w = :later",
            "ExpressionAttributeValues": {":later": {"N": str(to_micros(NOON + timedelta(days=1)))}},
        }
    ]
    other.tables.call = update_comes_first  # type: ignore[method-assign]
    assert other.forget_user(UserRef("ana"))
    assert _items(other) == []
    stones = other.tables._client(SECONDS).scan(TableName=other.tables.memory)["Items"]
    assert [int(stone["w"]["N"]) > to_micros(NOON + timedelta(days=1)) for stone in stones] == [True]


def _items(store: DynamoStore) -> list[Any]:
    """All that is stored of anybody, tombstones aside."""
    client = store.tables._client(SECONDS)
    there = [
        item for name in (store.tables.memory, store.tables.usage) for item in client.scan(TableName=name)["Items"]
    ]
    return [item for item in there if "gone" not in item]


def test_who_is_forgotten_while_a_memory_is_written_can_be_forgotten_again(opening: Opening) -> None:
    store, one = _left_behind(opening)
    assert _items(store) != []
    assert store.forget_user(UserRef("ana"))
    assert _items(store) == []
    assert space_of(store, "ana").get([one.id]) == {}
    assert not store.forget_user(UserRef("ana"))


def test_the_next_write_makes_a_forgotten_user_whose_memory_was_written_meanwhile(opening: Opening) -> None:
    store, one = _left_behind(opening)
    again = save(space_of(store, "ana"), "the otter")
    assert list(store.users()) == [UserRef("ana")]
    assert found(search(space_of(store, "ana"), "heron otter")) == {one.id, again.id}
    assert store.forget_user(UserRef("ana"))
    assert _items(store) == []


def test_a_memory_written_while_its_user_was_forgotten_can_be_forgotten_alone(opening: Opening) -> None:
    store, one = _left_behind(opening)
    assert space_of(store, "ana").purge([one.id]) == [one.id]
    assert space_of(store, "ana").traces(one.id) == []
    assert list(store.users()) == [UserRef("ana")]


def test_readings_that_were_written_down_while_their_user_was_forgotten_go_too(opening: Opening) -> None:
    reader, other = opening(), opening()
    one = save(space_of(reader, "ana"), "the heron")
    space_of(reader, "ana").note_access([one.id], NOON)
    call = reader.tables.call

    def forgetting_comes_first(operation: str, request: Any, deadline: Any) -> Any:
        if operation == "update_item" and request["TableName"] == reader.tables.usage:
            assert other.forget_user(UserRef("ana"))
        return call(operation, request, in_time(SECONDS))  # forgetting takes its time

    reader.tables.call = forgetting_comes_first  # type: ignore[method-assign]
    reader.flush()
    assert _items(other) != []
    assert other.forget_user(UserRef("ana"))
    assert _items(other) == []
    assert not other.forget_user(UserRef("ana"))


def test_a_large_commit_during_which_its_user_is_forgotten_makes_the_user_again(opening: Opening) -> None:
    writer, other = opening(), opening()
    save(space_of(writer, "ana"), "an egret")
    call, transactions = writer.tables.call, 0

    def forgetting_comes_between(operation: str, request: Any, deadline: Any) -> Any:
        nonlocal transactions
        transactions += operation == "transact_write_items"
        if transactions == 2:
            writer.tables.call = call  # type: ignore[method-assign]
            assert other.forget_user(UserRef("ana"))
        return call(operation, request, in_time(SECONDS))

    writer.tables.call = forgetting_comes_between  # type: ignore[method-assign]
    space_of(writer, "ana").commit([creation(f"heron {n}") for n in range(120)])
    assert list(other.users()) == [UserRef("ana")]
    assert 0 < len(list(space_of(other, "ana").images())) < 120


def test_a_save_with_links_is_not_written_before_the_last_step_of_a_forgetting(opening: Opening) -> None:
    writer, other = opening(), opening()
    egret = save(space_of(writer, "ana"), "an egret")
    write, forget = writer.tables.call, other.tables.call

    def forgetting_comes_first(operation: str, request: Any, deadline: Any) -> Any:
        if operation != "transact_write_items":
            return write(operation, request, deadline)
        refusals: list[Cancelled] = []

        def written_before_the_last_step(last: str, deletion: Any, ends: Any) -> Any:
            if last == "transact_write_items" and "Delete" in deletion["TransactItems"][0]:
                other.tables.call = forget  # type: ignore[method-assign]
                try:
                    write(operation, request, in_time(SECONDS))
                except Cancelled as refusal:
                    refusals.append(refusal)
            return forget(last, deletion, ends)

        writer.tables.call = write  # type: ignore[method-assign]
        other.tables.call = written_before_the_last_step  # type: ignore[method-assign]
        assert other.forget_user(UserRef("ana"))
        for refusal in refusals:
            raise refusal
        return {}

    writer.tables.call = forgetting_comes_first  # type: ignore[method-assign]
    heron = save(space_of(writer, "ana"), "a heron", links=(Link(target_id=egret.id, strength=0.9),))
    assert other.tables.call == forget
    assert [each.id for each in space_of(other, "ana").images()] == [heron.id]
    assert list(other.users()) == [UserRef("ana")]


def test_nothing_comes_to_be_of_someone_who_never_was(opening: Opening) -> None:
    store = opening()
    assert not store.forget_user(UserRef("nobody"))
    assert space_of(store, "nobody").purge(["3b6c4fd0-8b7f-4a52-9c6c-0f3df1f1e001"]) == []
    assert _items(store) == []


def test_a_look_around_while_the_user_is_forgotten_costs_nobody_who_comes_after(opening: Opening) -> None:
    slow, other = opening(), opening()
    space = space_of(slow, "ana")
    save(space, "an egret")
    asked = probe("the heron")
    begun = {
        "TableName": slow.tables.memory,
        "Key": {"u": {"S": UserRef("ana").key}, "k": {"S": "user"}},
        "UpdateExpression": "SET forgetting = :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    slow.tables.call("update_item", begun, in_time(SECONDS))
    assert space.look_around([asked], floor=0.5, top_k=5) == [Surroundings(nearest=None)]
    assert other.forget_user(UserRef("ana"))
    after = save(space_of(other, "ana"), "the otter")
    late = save(space, "the heron")
    assert set(space_of(other, "ana").get([after.id, late.id])) == {after.id, late.id}


# Several at once. DynamoDB cancels a transaction while another one is at one of the same items; no emulator does.


def _being_forgotten(cloud: Cloud) -> DynamoStore:
    """A store with a user whose forgetting was begun."""
    store = cloud.store()
    for n in range(3):
        save(space_of(store, "ana"), f"the heron {n}")
    begun = {
        "TableName": store.tables.memory,
        "Key": {"u": {"S": UserRef("ana").key}, "k": {"S": "user"}},
        "UpdateExpression": "SET forgetting = :token",
        "ExpressionAttributeValues": {":token": {"S": "of another process"}},
    }
    store.tables.call("update_item", begun, in_time(SECONDS, cloud.clock))
    cloud.pauses.clear()
    return store


def test_who_saves_while_another_process_removes_all_waits_for_it(cloud: Cloud) -> None:
    store, other = _being_forgotten(cloud), cloud.store()

    def other_is_through(call: Callable[..., Any], request: dict[str, Any]) -> Any:
        cloud.unruly.faults.clear()
        assert other.forget_user(UserRef("ana"))
        conflicting(call, request)

    cloud.unruly.faults["transact_write_items"] = [conflicting, conflicting, other_is_through]
    one = save(store.space(UserRef("ana"), in_time(SECONDS, cloud.clock)), "the otter")
    assert [each.id for each in space_of(store, "ana").images()] == [one.id]
    assert len(set(cloud.pauses[:2])) == 2  # both are random


def test_who_saves_for_as_long_as_another_process_removes_all_is_told_so(cloud: Cloud) -> None:
    store = _being_forgotten(cloud)
    cloud.unruly.always["transact_write_items"] = conflicting
    with pytest.raises(Unavailable, match="are being forgotten right now; try again") as told:
        save(store.space(UserRef("ana"), in_time(SECONDS, cloud.clock)), "the otter")
    assert told.value.can_retry


def test_a_save_whose_transaction_meets_another_one_is_tried_again(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    egret = save(space, "an egret")
    cloud.unruly.faults["transact_write_items"] = [conflicting, conflicting]
    heron = save(space, "a heron", links=(Link(target_id=egret.id, strength=0.9),))
    assert {each.id for each in space.images()} == {egret.id, heron.id}
    assert len(cloud.pauses) == 2
    cloud.unruly.always["transact_write_items"] = conflicting
    with pytest.raises(Unavailable, match="busy; try again"):
        save(space, "a stork", links=(Link(target_id=egret.id, strength=0.9),))
