"""Memories that are moved between a folder and a log: all of them arrive, and nobody goes on with what is left."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from embedding import HashedWords
from faults.doors import answer
from spaces import in_time
from steeltrap.errors import Conflict, SteeltrapError, Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.runtime.clock import SystemClock
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore, moving
from steeltrap.stores.replica.moving import Place, move_user
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.toolsets import CATALOGUE

ANA = UserRef("ana")
Open = Callable[[str], "Side"]


class Side:
    """A place, and the tools over it as one process has them."""

    def __init__(self, name: str, store: SqliteStore) -> None:
        self.store = store
        self.place = Place(name, store)
        self.door = Door(catalogue=CATALOGUE, store=store, embedder=HashedWords(), clock=SystemClock())

    def ask(self, tool: str, **arguments: Any) -> Any:
        """The answer of a tool; an error is raised."""
        return answer(self.door, tool, Caller(ANA), **arguments)

    def contents(self) -> set[str]:
        return {memory["content"] for memory in self.ask("core.list", limit=1000)["memories"]}


@pytest.fixture
def open_side(tmp_path: Path) -> Iterator[Open]:
    """Opens a process over a place by its name: `folder`, `log`, or another one of these kinds."""
    opened: list[Side] = []

    def open_side(name: str) -> Side:
        store: SqliteStore
        if name.startswith("log"):
            cache = tmp_path / f"cache-{len(opened)}"
            store = ReplicaStore(cache, FolderLogs(tmp_path / name), HashedWords(), SystemClock())
        else:
            store = SqliteStore(tmp_path / name, HashedWords(), SystemClock(), retention=timedelta(days=30))
        opened.append(Side(name, store))
        return opened[-1]

    yield open_side
    for each in opened:
        each.store.close()


def move(source: Side, target: Side) -> int | None:
    return move_user(ANA, source.place, target.place, in_time())


WAYS = [("folder", "log"), ("log", "folder"), ("folder", "folder-2"), ("log", "log-2")]


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_all_that_a_user_has_arrives(open_side: Open, source: str, target: str) -> None:
    old, new = open_side(source), open_side(target)
    lisbon = old.ask("core.save", content="Ana lives in Lisbon.", tags=["home"])["id"]
    porto = old.ask("core.save", content="Ana moved to Porto.", supersedes=[lisbon])["id"]
    old.ask("core.update", id=porto, content="Ana moved to Porto in May.")
    gone = old.ask("core.save", content="A heron stands in the river.")["id"]
    old.ask("core.delete", id=gone)
    records = old.ask("core.export")
    assert move(old, new) == 3
    assert new.ask("core.export") == records
    assert new.ask("core.search", query="where does Ana live")["results"][0]["id"] == porto
    assert len(new.ask("core.history", id=porto)["revisions"]) == 2
    new.ask("core.undo", id=gone)
    assert "A heron stands in the river." in new.contents()
    assert list(new.store.users()) == [ANA]
    assert list(old.store.users()) == []


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_whoever_still_uses_the_old_place_is_told_of_the_new_one(open_side: Open, source: str, target: str) -> None:
    old, new, other_process = open_side(source), open_side(target), open_side(source)
    id = old.ask("core.save", content="Ana lives in Lisbon.")["id"]
    assert other_process.contents() == {"Ana lives in Lisbon."}
    move(old, new)
    for side in (old, other_process, open_side(source)):
        for tool, arguments in [
            ("core.get", {"id": id}),
            ("core.list", {}),
            ("core.search", {"query": "Lisbon"}),
            ("core.save", {"content": "Lost?"}),
            ("core.delete", {"id": id}),
            ("core.forget", {"id": id}),
        ]:
            with pytest.raises(Unavailable, match=f"These memories were moved to {target}: ") as refusal:
                side.ask(tool, **arguments)
            assert not refusal.value.can_retry
    assert new.contents() == {"Ana lives in Lisbon."}


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_memories_that_were_moved_can_be_moved_back_and_forth(open_side: Open, source: str, target: str) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="one")
    move(old, new)
    new.ask("core.save", content="two")
    assert move(new, old) == 2
    old.ask("core.save", content="three")
    assert old.contents() == {"one", "two", "three"}
    assert move(old, new) == 3
    assert new.contents() == {"one", "two", "three"}
    assert open_side(target).contents() == {"one", "two", "three"}


def test_a_second_move_finds_nothing_to_do(open_side: Open) -> None:
    old, new = open_side("folder"), open_side("log")
    old.ask("core.save", content="one")
    assert move(old, new) == 1
    new.ask("core.save", content="two")
    assert move(old, new) is None
    assert new.contents() == {"one", "two"}


def test_who_has_memories_at_both_places_keeps_both(open_side: Open) -> None:
    old, new = open_side("folder"), open_side("log")
    old.ask("core.save", content="one")
    new.ask("core.save", content="two")
    with pytest.raises(Conflict, match="The target has other memories of this user"):
        move(old, new)
    old.ask("core.save", content="three")
    assert old.contents() == {"one", "three"}
    assert new.contents() == {"two"}


def test_what_was_moved_to_one_place_is_not_moved_to_another(open_side: Open) -> None:
    old, new, third = open_side("folder"), open_side("log"), open_side("log-3")
    old.ask("core.save", content="one")
    move(old, new)
    with pytest.raises(Conflict, match="were moved to log before"):
        move(old, third)
    assert third.contents() == set()


def test_a_move_that_was_cut_short_is_finished_by_the_next(open_side: Open) -> None:
    old, new = open_side("folder"), open_side("log")
    old.ask("core.save", content="one")
    file = old.store.open_file(ANA, in_time())
    file.transaction("move", lambda connection, _: moving._mark(connection, "log"))  # and then it was killed
    with pytest.raises(Unavailable, match="run `steeltrap move` again"):
        old.ask("core.save", content="two")
    assert move(old, new) == 1
    assert new.contents() == {"one"}


@pytest.mark.parametrize(("source", "target"), WAYS)
@pytest.mark.parametrize("step", ["_mark", "_take"])
def test_nobody_writes_to_the_target_before_the_memories_are_there(
    open_side: Open, monkeypatch: pytest.MonkeyPatch, source: str, target: str, step: str
) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="one")
    original = getattr(moving, step)

    def with_a_call_before(*arguments: Any) -> Any:
        with pytest.raises(Unavailable, match=f"These memories were moved to {source}: "):
            open_side(target).ask("core.save", content="too early")
        return original(*arguments)

    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(moving, step, killed)
        patch.setattr(moving, "_is_moved", killed)
        with pytest.raises(SystemExit):
            move(old, new)
    monkeypatch.setattr(moving, step, with_a_call_before)
    assert move(old, new) == 1
    assert open_side(target).contents() == {"one"}


@pytest.mark.parametrize("first_moves", [0, 2])
@pytest.mark.parametrize("step", ["_mark", "_take"])
def test_a_move_the_other_way_while_one_is_cut_short_takes_nothing_away(
    open_side: Open, monkeypatch: pytest.MonkeyPatch, step: str, first_moves: int
) -> None:
    old, new = open_side("folder"), open_side("log")
    old.ask("core.save", content="one")
    for source, target in [(old, new), (new, old)][:first_moves]:
        move(source, target)
    old.ask("core.save", content="two")

    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(moving, step, killed)
        patch.setattr(moving, "_is_moved", killed)
        with pytest.raises(SystemExit):
            move(old, new)
    assert move(new, old) is None
    assert move(old, new) == 2
    assert new.contents() == {"one", "two"}


def test_a_user_who_is_forgotten_while_a_move_begins_may_save_at_both_places(
    open_side: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = open_side("folder"), open_side("log")
    old.ask("core.save", content="one")
    reserve = moving._reserve

    def reserve_and_forget(*arguments: Any) -> None:
        reserve(*arguments)
        old.store.forget_user(ANA)

    monkeypatch.setattr(moving, "_reserve", reserve_and_forget)
    assert move(old, new) is None
    new.ask("core.save", content="two")
    assert new.contents() == {"two"}


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), Unavailable("The bucket does not answer.", part="store")])
def test_a_move_that_fails_leaves_everything_where_it_was(
    open_side: Open, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    old, new = open_side("folder"), open_side("log")
    old.ask("core.save", content="one")

    def failing(*_: object) -> int:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(moving, "_take", failing)
        with pytest.raises(type(fault)):
            move(old, new)
    old.ask("core.save", content="two")
    assert new.contents() == set()
    assert move(old, new) == 2


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_nothing_that_was_acknowledged_beside_a_move_is_lost(open_side: Open, source: str, target: str) -> None:
    old, new, writer = open_side(source), open_side(target), open_side(source)
    old.ask("core.save", content="the first")

    def save_until_refused() -> set[str]:
        saved: set[str] = set()
        while True:
            try:
                writer.ask("core.save", content=f"heron {len(saved)}")
            except SteeltrapError as error:
                if "moved to" in error.message:
                    return saved
                continue
            saved.add(f"heron {len(saved)}")

    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(save_until_refused)
        while not any("heron" in each for each in old.contents()):
            pass
        move(old, new)
        saved = writing.result(60)
    assert new.contents() == saved | {"the first"}
