"""The names of speakers that a user's own item keeps: writers that meet, processes that die, items from before."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cloud import Cloud, cloud
from contracts.entries import delete, entry, save, search, turn
from contracts.entries import store as commit
from spaces import space_of
from steeltrap.model import Memory, UserRef
from steeltrap.ports import Create, Replace, Space
from unruly import down

__all__ = ["cloud"]
ANA = "ana"


def say(space: Space, name: str, *, times: int = 1) -> list[Memory]:
    """Turns by a name, each in a commit of its own."""
    said = [turn("hello", "talk") for _ in range(times)]
    return [commit(space, Create(entry=replace(entry(each), speaker=name))) for each in said]


def kept(cloud: Cloud) -> set[str] | None:
    """The names in Ana's own item; None where it keeps none."""
    item = cloud.unruly(3.0)._client.get_item(TableName=cloud.names[0], Key=_KEY)["Item"]
    return set(item["speakers"]["SS"]) - {""} if "speakers" in item else None


def change(cloud: Cloud, expression: str, *names: str) -> None:
    """Change Ana's own item behind the store's back."""
    values = {"ExpressionAttributeValues": {":names": {"SS": list(names)}}} if names else {}
    cloud.unruly(3.0)._client.update_item(TableName=cloud.names[0], Key=_KEY, UpdateExpression=expression, **values)


_KEY = {"u": {"S": UserRef(ANA).key}, "k": {"S": "user"}}


def test_who_speaks_follows_what_is_said_changed_deleted_and_restored(cloud: Cloud) -> None:
    space = space_of(cloud.store(), ANA)
    first, second = say(space, "ana", times=2)
    say(space, "bob")
    assert space.speakers() == {"ana"}
    theirs = replace(second, version=2)
    commit(space, Replace(entry=replace(entry(theirs), speaker="bob"), expected=1))
    assert space.speakers() == {"bob"}
    gone = delete(space, theirs)
    assert space.speakers() == frozenset()
    back = replace(gone, version=4, deleted_at=None)
    commit(space, Replace(entry=replace(entry(back), speaker="ana"), expected=3))
    assert space.speakers() == kept(cloud) == {"ana"}
    assert space.purge([first.id, second.id])
    assert space.speakers() == kept(cloud) == set()


def test_a_batch_of_a_new_user_keeps_the_names_of_all_who_speak_twice_in_it(cloud: Cloud) -> None:
    space = space_of(cloud.store(), ANA)
    names = [f"name {i}" for i in range(30)]
    said = [replace(entry(turn("hello", "talk")), speaker=name) for name in [*names, *names, "once"]]
    space.commit([Create(entry=each) for each in said])
    assert space.speakers() == set(names)


def test_of_two_writers_at_once_who_both_say_a_name_first_one_keeps_it(cloud: Cloud) -> None:
    one, other = space_of(cloud.store(), ANA), space_of(cloud.store(), ANA)
    save(one, "the heron")
    others = iter([lambda: say(other, "ana")])

    def meanwhile(operation: str, request: Any) -> None:
        if operation == "put_item":  # the first has looked, and is about to write
            next(others, lambda: [])()

    cloud.unruly.before = meanwhile
    say(one, "ana")
    assert one.speakers() == other.speakers() == {"ana"}


def test_a_name_that_is_said_again_while_it_is_removed_stays(cloud: Cloud) -> None:
    one, other = space_of(cloud.store(), ANA), space_of(cloud.store(), ANA)
    first, _ = say(one, "ana", times=2)
    others = iter([lambda: say(other, "ana")])

    def meanwhile(operation: str, request: Any) -> None:
        if operation == "update_item" and "DELETE" in request["UpdateExpression"]:  # one is counted to be left
            next(others, lambda: [])()

    cloud.unruly.before = meanwhile
    assert one.purge([first.id]) == [first.id]
    assert one.speakers() == other.speakers() == {"ana"}


def test_a_save_is_done_even_if_its_name_cannot_be_kept_which_the_next_save_makes_up_for(cloud: Cloud) -> None:
    space = space_of(cloud.store(), ANA)
    say(space, "ana")
    cloud.unruly.always["query"] = down
    [second] = say(space, "ana")
    assert kept(cloud) == set()
    cloud.unruly.always.clear()
    assert space.get([second.id]) == {second.id: second}
    say(space, "ana")
    assert space.speakers() == {"ana"}


def test_a_purge_drops_names_that_an_earlier_one_left_behind(cloud: Cloud) -> None:
    space = space_of(cloud.store(), ANA)
    first, _, _ = say(space, "ana", times=3)
    say(space, "bob")
    change(cloud, "ADD speakers :names", "bob", "cleo")
    assert space.purge([first.id]) == [first.id]
    assert space.speakers() == kept(cloud) == {"ana"}


def test_an_item_that_keeps_no_names_yet_is_counted_until_a_write_keeps_them(cloud: Cloud) -> None:
    space = space_of(cloud.store(), ANA)
    for name in ("ana", "bob"):
        say(space, name, times=2)
    change(cloud, "REMOVE speakers")
    later = space_of(cloud.store(), ANA)
    assert later.speakers() == {"ana", "bob"}
    assert kept(cloud) is None
    cloud.unruly.asked.clear()
    search(later, "hello")
    assert later.speakers() == {"ana", "bob"}
    assert cloud.unruly.asked["query"] == 2  # the latest writes, and the last one before them
    save(later, "said by nobody")
    assert kept(cloud) == later.speakers() == {"ana", "bob"}


def test_no_more_than_two_hundred_names_are_kept(cloud: Cloud) -> None:
    space = space_of(cloud.store(), ANA)
    names = [f"name {i:03d}" for i in range(205)]
    for some in (names[:99], names[99:198]):
        for _ in range(2):
            said = [replace(entry(turn("hello", "talk")), speaker=each) for each in some]
            space.commit([Create(entry=each) for each in said])
    # One at a time from here on: moto's conditions don't hold among threads, DynamoDB's do.
    for name in names[198:]:
        say(space, name, times=2)
    assert len(space.speakers()) == 200
    assert space.speakers() < set(names)


@pytest.mark.parametrize("seen", [lambda space: search(space, "hello"), lambda space: space.purge(["nothing"])])
def test_what_another_process_heard_is_known_after_the_next_search(cloud: Cloud, seen: Callable[[Space], Any]) -> None:
    here, there = space_of(cloud.store(), ANA), space_of(cloud.store(), ANA)
    say(here, "ana", times=2)
    search(here, "hello")
    assert here.speakers() == {"ana"}
    say(there, "bob", times=2)
    seen(here)
    assert here.speakers() == {"ana", "bob"}


def test_names_that_were_read_longer_ago_than_the_window_are_read_again(cloud: Cloud) -> None:
    here, there = (space_of(cloud.store(window=timedelta(minutes=5)), ANA) for _ in range(2))
    say(here, "ana", times=2)
    assert here.speakers() == {"ana"}
    say(there, "bob", times=2)
    cloud.clock.advance(minutes=6)
    assert here.speakers() == {"ana", "bob"}
