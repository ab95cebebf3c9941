"""The scheduled function: everyone is swept, within the time there is; who fails is told and holds up nobody."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from clock import SettableClock
from embedding import HashedWords
from spaces import space_of
from steeltrap.errors import SteeltrapError, Unavailable, moved_away
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ports import Deadline
from steeltrap.runtime.local import open_door
from steeltrap.servers.aws_lambda.upkeep import maintenance_handler
from steeltrap.settings import read_settings


@dataclass
class Context:
    """Lambda's context, with the time that is left."""

    milliseconds: int = 60_000

    def get_remaining_time_in_millis(self) -> int:
        return self.milliseconds


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def door(tmp_path: Any, clock: SettableClock) -> Iterator[Door]:
    """Ana and Bob have a memory that has expired and one that hasn't."""
    door = open_door(read_settings({}, data=tmp_path), embedder=HashedWords(), clock=clock)
    for user in ("ana", "bob"):
        for content, more in (("soon gone", {"ttl_seconds": 60}), ("stays", {})):
            saved = door.invoke("core.save", {"content": content, **more}, Caller(UserRef(user), "default"))
            assert saved.error is None, saved.body
    clock.advance(hours=1)
    yield door
    door.store.close()


def left_of(door: Door, user: str) -> dict[str, int]:
    counts = space_of(door.store, user).statistics()
    return {name: counts[name] for name in ("memories", "deleted")}


def test_everyone_is_swept(door: Door) -> None:
    handler = maintenance_handler(open=lambda: door)
    assert handler({}, Context()) == {"users": 2, "memories": 2, "left": 0, "moved": 0, "failed": 0}
    assert left_of(door, "ana") == left_of(door, "bob") == {"memories": 1, "deleted": 0}
    assert handler({}, None)["memories"] == 0


def test_who_is_not_reached_in_time_is_left_for_the_next_time(door: Door) -> None:
    done = maintenance_handler(open=lambda: door)({}, Context(milliseconds=3_000))
    assert (done["users"], done["left"]) == (0, 2)
    assert left_of(door, "ana") == {"memories": 1, "deleted": 1}


class Worn:
    """A store that refuses all that is asked for Ana."""

    def __init__(self, store: Any, refusal: SteeltrapError) -> None:
        self.store = store
        self.refusal = refusal

    def space(self, user: UserRef, deadline: Deadline) -> Any:
        if user == UserRef("ana"):
            raise self.refusal
        return self.store.space(user, deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


@pytest.mark.parametrize("first", ["ana", "bob"])
def test_who_fails_holds_up_nobody_and_is_told_without_a_name(
    door: Door, first: str, caplog: pytest.LogCaptureFixture
) -> None:
    def order(users: list[Any]) -> None:
        users.sort(key=lambda user: user.user_id != first)

    worn = replace(door, store=Worn(door.store, Unavailable("The store is away.", part="store")))
    with pytest.raises(Unavailable, match="1 of 2 users"):
        maintenance_handler(open=lambda: worn, shuffle=order)({}, Context())
    assert left_of(door, "bob") == {"memories": 1, "deleted": 0}
    assert "The store is away" in caplog.text
    assert "ana" not in caplog.text


def test_who_was_moved_is_counted_and_told_without_a_name(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    worn = replace(door, store=Worn(door.store, moved_away("file:///elsewhere")))
    done = maintenance_handler(open=lambda: worn)({}, Context())
    assert done == {"users": 1, "memories": 1, "left": 0, "moved": 1, "failed": 0}
    key = UserRef("ana").key
    assert f"the upkeep of {key} was passed over: These memories were moved to file:///elsewhere" in caplog.text
    assert "ana" not in caplog.text
