"""Conversations are closed behind the calls that append to them: by a thread of the server, or by another process."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clock import SettableClock
from embedding import HashedWords
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.maintenance import Run
from steeltrap.model import Caller, UserRef
from steeltrap.ports import Deadline
from steeltrap.runtime.background import Closer, closing_in_background
from steeltrap.runtime.local import open_door
from steeltrap.settings import read_settings

ANA = Caller(UserRef("ana"), "assistant")
SECONDS = 60.0


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def plain(tmp_path: Path, clock: SettableClock) -> Iterator[Door]:
    door = open_door(read_settings({}, data=tmp_path), embedder=HashedWords(), clock=clock)
    yield door
    door.store.close()


@pytest.fixture
def door(plain: Door) -> Iterator[Door]:
    with closing_in_background(plain) as door:
        yield door


class Elsewhere:
    """A background that leaves closing to another process."""

    def appended(self, user: UserRef, conversation_id: str) -> None:
        pass

    def wait_for_episodes(self, user: UserRef, deadline: Deadline) -> bool:
        return False


def ask(door: Door, tool: str, caller: Caller = ANA, **arguments: Any) -> Any:
    result = door.invoke(tool, arguments, caller)
    assert result.error is None, result.body
    return result.body


def say(door: Door, *texts: str, conversation: str = "chat", caller: Caller = ANA) -> Any:
    messages = [{"role": "user", "content": text} for text in texts]
    return ask(door, "core.append_messages", caller, messages=messages, conversation_id=conversation)


def episodes(door: Door, caller: Caller = ANA) -> list[int]:
    """The messages in each episode, without closing any."""
    return sorted(len(memory["messages"]) for memory in ask(door, "core.list", caller)["memories"])


def settle(door: Door, clock: SettableClock, caller: Caller = ANA) -> None:
    assert door.background is not None
    assert door.background.wait_for_episodes(caller.user, Deadline.after(SECONDS, clock))


def test_an_append_does_not_make_episodes_and_they_are_made_behind_it(door: Door, clock: SettableClock) -> None:
    answer = say(door, *(f"heron {i}" for i in range(60)))
    assert "episodes" not in answer
    settle(door, clock)
    assert episodes(door) == [50]


def test_an_idle_conversation_is_closed_without_a_call(door: Door, clock: SettableClock) -> None:
    say(door, "The heron fishes.")
    say(door, "The otter swims.", conversation="other")
    settle(door, clock)
    clock.advance(minutes=14)
    say(door, "It still does.", conversation="other")
    settle(door, clock)
    assert episodes(door) == []
    clock.advance(minutes=1)
    settle(door, clock)
    assert episodes(door) == [1]
    clock.advance(minutes=14)
    settle(door, clock)
    assert episodes(door) == [1, 2]


def test_a_retrieval_finds_what_was_appended_just_before_it(door: Door) -> None:
    say(door, *(f"heron {i}" for i in range(50)))
    [found] = ask(door, "episodic.retrieve_memory_raw", query="heron")
    assert len(found["messages"]) == 50


def test_a_retrieval_closes_what_an_earlier_process_left_idle(plain: Door, clock: SettableClock) -> None:
    say(replace(plain, background=Elsewhere()), "The heron fishes.")
    clock.advance(minutes=15)
    with closing_in_background(plain) as door:
        [found] = ask(door, "episodic.retrieve_memory_raw", query="heron")
    assert found["content"] == "User: The heron fishes."


def test_one_users_closing_fails_no_other_and_is_made_up_for(plain: Door, clock: SettableClock) -> None:
    broken = [True]

    class Store:
        def space(self, user: UserRef, deadline: Deadline) -> Any:
            if broken and user.user_id == "ana":
                raise Unavailable("gone", part="store")
            return plain.store.space(user, deadline)

    store: Any = Store()
    closer = Closer(replace(plain, store=store), clock)
    door, bob = replace(plain, background=closer), Caller(UserRef("bob"), "assistant")
    try:
        for caller in (ANA, bob):
            say(door, *(f"heron {i}" for i in range(50)), caller=caller)
            settle(door, clock, caller)
        assert (episodes(door), episodes(door, bob)) == ([], [50])
        broken.clear()
        say(door, "one more")
        settle(door, clock)
        assert episodes(door) == [50]
    finally:
        closer.stop()


def test_nothing_is_closed_after_the_end(plain: Door, clock: SettableClock) -> None:
    with closing_in_background(plain) as door:
        pass
    say(door, *(f"heron {i}" for i in range(50)))
    assert episodes(door) == []
    [found] = ask(plain, "episodic.retrieve_memory_raw", query="heron") or [None]
    assert found is None
    clock.advance(minutes=15)
    assert len(ask(plain, "episodic.retrieve_memory_raw", query="heron")) == 1


@pytest.mark.parametrize("by", ["retrieval", "sweep"])
def test_what_is_left_to_another_process_is_made_by_a_retrieval_or_a_sweep(plain: Door, by: str) -> None:
    door = replace(plain, background=Elsewhere())
    assert "episodes" not in say(door, *(f"heron {i}" for i in range(60)))
    if by == "retrieval":
        ask(door, "core.retrieve_memory", query="heron")
    else:
        failures: list[Any] = []
        report: Callable[..., None] = lambda *failure: failures.append(failure)  # noqa: E731
        Run(store=door.store, call_for=door.call_for, report=report).sweep([ANA.user])
        assert not failures
    assert episodes(door) == [50]


def test_a_conversation_that_ended_is_closed_in_the_call(plain: Door) -> None:
    door = replace(plain, background=Elsewhere())
    said = [{"role": "user", "content": "The heron fishes."}]
    answer = ask(door, "core.append_messages", messages=said, conversation_id="chat", ended=True)
    assert (len(answer["episodes"]), answer["closed"]) == (1, True)
