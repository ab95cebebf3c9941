"""Upkeep of all users: nobody holds up the others, counts are right, time is kept."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clock import SettableClock
from embedding import HashedWords
from steeltrap.errors import SteeltrapError, Unavailable
from steeltrap.invoke import Door
from steeltrap.maintenance import LEAST_SECONDS, Run, forget_user
from steeltrap.model import Caller, UserRef
from steeltrap.runtime.local import open_door
from steeltrap.settings import read_settings
from steeltrap.stores.sqlite import store as stores

NAMES = ("ana", "bob", "eve")
BLOCKS_OF_300 = [256, 300]


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def open_with(tmp_path: Path, clock: SettableClock) -> Iterator[Callable[[HashedWords], Door]]:
    """Opens one data folder with an embedder."""
    doors: list[Door] = []

    def opened(embedder: HashedWords) -> Door:
        doors.append(open_door(read_settings({}, data=tmp_path), embedder=embedder, clock=clock))
        return doors[-1]

    yield opened
    for door in doors:
        door.store.close()


@pytest.fixture
def door(open_with: Callable[[HashedWords], Door], clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> Door:
    """Three users, each with a memory that has expired and one that hasn't. The store sweeps none of its own accord."""
    monkeypatch.setattr(stores, "FLUSH_SECONDS", 3600)
    door = open_with(HashedWords())
    for name in NAMES:
        save(door, name, content="soon gone", ttl_seconds=60)
        save(door, name, content="stays")
    clock.advance(hours=1)
    return door


@dataclass
class Heard:
    """The users that failed, and why."""

    failures: list[tuple[str | None, str]] = field(default_factory=list)

    def __call__(self, whose: UserRef | None, error: SteeltrapError) -> None:
        self.failures.append((whose and whose.user_id, error.message))


class Worn:
    """A store that can't read one user, and can't read its list of users to the end."""

    def __init__(self, store: Any, *, unreadable: str = "", lists: int = len(NAMES)) -> None:
        self.store = store
        self._unreadable = UserRef(unreadable).key
        self._lists = lists

    def users(self) -> Iterator[UserRef]:
        found = sorted(self.store.users(), key=lambda user: user.user_id)
        yield from found[: self._lists]
        if self._lists < len(found):
            raise Unavailable("The list is away.", part="store")

    def call_for(self, door: Door) -> Callable[..., Any]:
        def call(caller: Caller, *, seconds: float) -> Any:
            if caller.user.key == self._unreadable:
                raise Unavailable("The file is away.", part="store")
            return door.call_for(caller, seconds=seconds)

        return call

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


def save(door: Door, user: str, **memory: Any) -> None:
    saved = door.invoke("core.save", memory, Caller(UserRef(user), "default"))
    assert saved.error is None, saved.body


def run_over(door: Door, heard: Heard | None = None, worn: Worn | None = None) -> Run:
    worn = worn or Worn(door.store)
    return Run(store=worn, call_for=worn.call_for(door), report=heard or Heard())  # type: ignore[arg-type]


def expired(door: Door) -> list[str]:
    """The users with a memory that a sweep would purge."""
    return [name for name in NAMES if door.call_for(Caller(UserRef(name)), seconds=60).space.statistics()["deleted"]]


def test_a_sweep_reaches_everyone(door: Door) -> None:
    run = run_over(door)
    run.sweep(run.everyone())
    assert (run.users, run.memories, run.left, run.failed) == (3, 3, 0, 0)
    assert expired(door) == []


def test_a_sweep_that_runs_out_of_time_leaves_the_others_for_the_next_run(door: Door) -> None:
    left = iter([60.0, LEAST_SECONDS - 0.1])
    run = run_over(door)
    run.sweep(run.everyone(), seconds_left=lambda: next(left))
    assert (run.users, run.memories, run.left) == (1, 1, 2)
    assert expired(door) == ["bob", "eve"]


@pytest.mark.parametrize("name", NAMES)
def test_a_user_whose_sweep_fails_holds_up_nobody_and_is_reported(door: Door, name: str) -> None:
    heard = Heard()
    run = run_over(door, heard, Worn(door.store, unreadable=name))
    run.sweep(run.everyone())
    assert (run.users, run.memories, run.failed) == (2, 2, 1)
    assert heard.failures == [(name, "The file is away.")]
    assert expired(door) == [name]


def test_a_list_of_users_that_breaks_off_is_a_failure_and_those_it_named_are_swept(door: Door) -> None:
    heard = Heard()
    run = run_over(door, heard, Worn(door.store, lists=2))
    run.sweep(run.everyone())
    assert (run.users, run.failed) == (2, 1)
    assert heard.failures == [(None, "The list is away.")]
    assert expired(door) == ["eve"]


def test_to_forget_a_user_removes_memories_and_files_of_nobody_else(door: Door) -> None:
    assert door.files is not None
    for name in ("ana", "bob"):
        door.files.files(UserRef(name)).write("all.json", b"[]")
    assert forget_user(UserRef("ana"), door.store, door.files)
    assert sorted(user.user_id for user in door.store.users()) == ["bob", "eve"]
    assert [door.files.files(UserRef(name)).names() for name in ("ana", "bob")] == [[], ["all.json"]]
    assert not forget_user(UserRef("ana"), door.store, door.files)


def test_to_forget_a_user_who_has_files_only_is_not_nothing(door: Door) -> None:
    assert door.files is not None
    door.files.files(UserRef("zoe")).write("all.json", b"[]")
    assert forget_user(UserRef("zoe"), door.store, door.files)
    assert not forget_user(UserRef("zoe"), door.store, None)


def test_to_forget_a_user_who_has_memories_only_is_not_nothing(door: Door) -> None:
    assert forget_user(UserRef("ana"), door.store, door.files)


def test_only_users_with_vectors_of_another_embedder_are_embedded_unless_all_are_wanted(
    door: Door, open_with: Callable[[HashedWords], Door]
) -> None:
    door.store.close()
    other = open_with(HashedWords(dimension=32))
    first = run_over(other)
    first.reembed(first.everyone()[:1])
    assert (first.users, first.already) == (1, 0)
    rest, all_of_them = run_over(other), run_over(other)
    rest.reembed(rest.everyone())
    assert (rest.users, rest.already) == (2, 1)
    all_of_them.reembed(all_of_them.everyone(), again=True)
    assert (all_of_them.users, all_of_them.already) == (3, 0)
    assert other.invoke("core.search", {"query": "stays"}, Caller(UserRef("eve"), "default")).error is None


def test_embedding_says_how_far_it_is_and_counts_what_is_done_when_it_is_interrupted(
    open_with: Callable[[HashedWords], Door],
) -> None:
    door = open_with(HashedWords())
    for name in ("ana", "bob"):
        for block in range(3):
            items = [{"content": f"note {block} {number}"} for number in range(100)]
            assert door.invoke("core.batch_save", {"items": items}, Caller(UserRef(name), "default")).error is None
    seen: list[tuple[float, int]] = []

    def interrupted_at_bob(users: float, memories: int) -> None:
        seen.append((users, memories))
        if memories > 300:
            raise KeyboardInterrupt

    run = run_over(door)
    with pytest.raises(KeyboardInterrupt):
        run.reembed(run.everyone(), again=True, advance=interrupted_at_bob)
    ana = [(made / 300, made) for made in BLOCKS_OF_300]
    assert seen == [*ana, (1, 300), (1 + ana[0][0], 300 + ana[0][1])]
    assert (run.users, run.memories) == (1, 300)


def test_while_vectors_are_rebuilt_tools_answer_by_words_and_what_is_saved_is_linked_afterwards(
    open_with: Callable[[HashedWords], Door],
) -> None:
    ana = Caller(UserRef("ana"), "default")
    save(open_with(HashedWords()), "ana", content="the heron nests by the lake")
    dies = HashedWords(dimension=32)
    door = open_with(dies)
    refused = door.invoke("core.search", {"query": "heron"}, ana)
    assert "steeltrap reembed" in str(refused.body)
    dies.state = "broken"
    heard = Heard()
    run_over(door, heard).reembed([UserRef("ana")])
    assert heard.failures == [("ana", "The embedder refuses to answer.")]
    dies.state = "working"
    saved = door.invoke("core.save", {"content": "the heron nests by the lake again"}, ana)
    assert saved.error is None
    assert "surprise" not in saved.body
    found = door.invoke("core.search", {"query": "heron"}, ana).body
    assert len(found["results"]) == 2
    assert found["outcome"]["kind"] == "degraded"
    assert "vectors are being rebuilt for hashed-words/32 (1 of 2 memories are done)" in found["outcome"]["message"]
    run = run_over(door)
    run.reembed(run.everyone())
    assert (run.users, run.memories, run.already) == (1, 2, 0)
    run.sweep(run.everyone())
    found = door.invoke("core.search", {"query": "heron"}, ana).body
    assert found["outcome"]["kind"] == "found"
    linked = door.invoke("core.associations", {"id": saved.body["id"]}, ana).body
    assert len(linked["associations"]) == 1


def test_a_user_who_can_not_be_embedded_keeps_the_old_vectors_and_holds_up_nobody(door: Door) -> None:
    heard = Heard()
    run = run_over(door, heard, Worn(door.store, unreadable="bob"))
    run.reembed(run.everyone(), again=True)
    assert (run.users, run.failed, heard.failures) == (2, 1, [("bob", "The file is away.")])
    assert door.invoke("core.search", {"query": "stays"}, Caller(UserRef("bob"), "default")).error is None
