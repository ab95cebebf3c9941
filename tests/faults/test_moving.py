"""Memories that are moved between folders, logs and DynamoDB: all arrive, and nobody goes on with what is left."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from embedding import HashedWords
from faults.moving_sides import ANA, KEPT, Open, cut_short, killed, move
from spaces import in_time
from steeltrap.errors import Conflict, SteeltrapError, Unavailable
from steeltrap.ports import Deadline
from steeltrap.runtime import SystemClock
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore, history, moving
from steeltrap.stores.replica.file import ReplicaFile
from steeltrap.stores.replica.moving import move_user
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.stores.sqlite.connection import DamagedFile
from steeltrap.stores.sqlite.file import Kind, UserFile

FILES = [("folder", "log"), ("log", "folder"), ("folder", "folder-2"), ("log", "log-2")]
WAYS = [*FILES, ("aws", "log"), ("log", "aws"), ("aws", "folder"), ("folder", "aws")]


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


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_a_second_move_finds_nothing_to_do(open_side: Open, source: str, target: str) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="one")
    assert move(old, new) == 1
    new.ask("core.save", content="two")
    assert move(old, new) is None
    assert new.contents() == {"one", "two"}


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_who_has_memories_at_both_places_keeps_both(open_side: Open, source: str, target: str) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="one")
    new.ask("core.save", content="two")
    with pytest.raises(Conflict, match="The target has other memories of this user"):
        move(old, new)
    old.ask("core.save", content="three")
    assert old.contents() == {"one", "three"}
    assert new.contents() == {"two"}


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_what_was_moved_to_one_place_is_not_moved_to_another(open_side: Open, source: str, target: str) -> None:
    old, new, third = open_side(source), open_side(target), open_side("log-3")
    old.ask("core.save", content="one")
    move(old, new)
    with pytest.raises(Conflict, match=f"were moved to {target} before"):
        move(old, third)
    assert third.contents() == set()


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_a_move_that_was_cut_short_is_finished_by_the_next(open_side: Open, source: str, target: str) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="one")
    cut_short(old, new, "take")
    with pytest.raises(Unavailable, match="run `steeltrap move` again"):
        old.ask("core.save", content="two")
    assert move(old, new) == 1
    assert new.contents() == {"one"}


@pytest.mark.parametrize(("source", "target"), WAYS)
@pytest.mark.parametrize("step", ["mark", "take"])
def test_nobody_writes_to_the_target_before_the_memories_are_there(
    open_side: Open, monkeypatch: pytest.MonkeyPatch, source: str, target: str, step: Literal["mark", "take"]
) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="one")
    place = type((old if step == "mark" else new).place)
    original = getattr(place, step)

    def with_a_call_before(*arguments: Any) -> Any:
        with pytest.raises(Unavailable, match=f"These memories were moved to {source}: "):
            open_side(target).ask("core.save", content="too early")
        return original(*arguments)

    cut_short(old, new, step)
    monkeypatch.setattr(place, step, with_a_call_before)
    assert move(old, new) == 1
    assert open_side(target).contents() == {"one"}


@pytest.mark.parametrize(("source", "target"), WAYS)
@pytest.mark.parametrize("first_moves", [0, 2])
@pytest.mark.parametrize("step", ["mark", "take"])
def test_a_move_the_other_way_while_one_is_cut_short_takes_nothing_away(
    open_side: Open, source: str, target: str, step: Literal["mark", "take"], first_moves: int
) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="one")
    for there, back in [(old, new), (new, old)][:first_moves]:
        move(there, back)
    old.ask("core.save", content="two")

    cut_short(old, new, step)
    assert move(new, old) is None
    assert move(old, new) == 2
    assert new.contents() == {"one", "two"}


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_a_user_who_is_forgotten_while_a_move_begins_may_save_at_both_places(
    open_side: Open, monkeypatch: pytest.MonkeyPatch, source: str, target: str
) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="one")
    reserve = type(new.place).reserve

    def reserve_and_forget(*arguments: Any) -> None:
        reserve(*arguments)
        old.store.forget_user(ANA)

    monkeypatch.setattr(type(new.place), "reserve", reserve_and_forget)
    assert move(old, new) is None
    new.ask("core.save", content="two")
    assert new.contents() == {"two"}


@pytest.mark.parametrize(("source", "target"), WAYS)
@pytest.mark.parametrize("fault", [KeyboardInterrupt(), Unavailable("The bucket does not answer.", part="store")])
def test_a_move_that_fails_leaves_everything_where_it_was(
    open_side: Open, monkeypatch: pytest.MonkeyPatch, fault: BaseException, source: str, target: str
) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="one")

    def failing(*_: object) -> int:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(type(new.place), "take", failing)
        with pytest.raises(type(fault)):
            move(old, new)
    old.ask("core.save", content="two")
    with pytest.raises(Unavailable, match=f"moved to {source}: "):
        new.ask("core.save", content="too early")
    assert move(old, new) == 2
    assert new.contents() == {"one", "two"}


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


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), Unavailable("The rights have expired.", part="store")])
def test_a_move_that_ends_once_its_rows_are_in_the_log_leaves_them_at_one_place(
    open_side: Open, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    old, new = open_side("folder"), open_side("log")
    old.ask("core.save", content="one")
    append = ReplicaFile._append
    fails = iter([True])

    def append_and_fail(self: ReplicaFile, *arguments: Any) -> Any:
        position = append(self, *arguments)
        if len(arguments[3]) > 500 and next(fails, False):  # the rows, not a mark; and it was once
            self._created = None
            raise fault
        return position

    monkeypatch.setattr(ReplicaFile, "_append", append_and_fail)
    with pytest.raises(type(fault)):
        move(old, new)
    assert open_side("log").contents() == {"one"}
    with pytest.raises(Unavailable, match="moved to log: "):
        old.ask("core.save", content="two")
    assert move(old, new) is None


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_who_still_uses_the_first_place_is_told_after_a_move_back_that_failed(
    open_side: Open, monkeypatch: pytest.MonkeyPatch, source: str, target: str
) -> None:
    first, second = open_side(source), open_side(target)
    first.ask("core.save", content="one")
    move(first, second)
    with monkeypatch.context() as patch:
        patch.setattr(type(first.place), "take", killed)
        with pytest.raises(SystemExit):
            move(second, first)
    with pytest.raises(Unavailable, match=f"moved to {target}: "):
        first.ask("core.save", content="lost")
    assert second.contents() == {"one"}
    assert move(second, first) == 1


@pytest.mark.parametrize(("source", "target"), FILES)
def test_of_two_moves_at_once_one_that_fails_does_not_let_the_source_go_on_beside_the_other(
    open_side: Open, monkeypatch: pytest.MonkeyPatch, source: str, target: str
) -> None:
    old, new, others = open_side(source), open_side(target), (open_side(source), open_side(target))
    old.ask("core.save", content="one")
    transaction, calls = UserFile.transaction, iter(["reserve", "mark", "take"])

    def transaction_after_another_move(self: UserFile, kind: Kind, redo: Any, deadline: Deadline | None = None) -> Any:
        if kind == "move" and next(calls, None) == "take":
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(moving, "_take", killed)
                with pytest.raises(SystemExit):
                    move(*others)
            others[0].ask("core.save", content="two")
        return transaction(self, kind, redo, deadline)

    with monkeypatch.context() as patch:
        patch.setattr(UserFile, "transaction", transaction_after_another_move)
        with pytest.raises(Conflict, match="Another move of this user came between"):
            move(old, new)
    assert open_side(source).contents() == {"one", "two"}
    assert move(old, new) == 2
    assert open_side(target).contents() == {"one", "two"}


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_what_was_forgotten_at_the_new_place_does_not_come_back(open_side: Open, source: str, target: str) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="secret")
    move(old, new)
    assert new.store.forget_user(ANA)
    with pytest.raises(Conflict, match="they were forgotten there"):
        move(old, new)
    assert new.contents() == set()


@pytest.mark.parametrize("how", ["a move", "forgetting"])
@pytest.mark.parametrize(("source", "target"), WAYS)
def test_who_was_forgotten_while_a_move_was_cut_short_may_begin_anew(
    open_side: Open, source: str, target: str, how: str
) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="secret")
    cut_short(old, new, "mark")
    assert old.store.forget_user(ANA)
    if how == "a move":
        assert move(old, new) is None
    else:
        assert new.store.forget_user(ANA)
    new.ask("core.save", content="anew")
    assert new.contents() == {"anew"}


def test_memories_that_were_moved_are_not_put_back_as_they_were(open_side: Open, tmp_path: Path) -> None:
    old, new = open_side("log"), open_side("folder")
    old.ask("core.save", content="one")
    then = SystemClock().now()
    move(old, new)
    assert isinstance(old.store, ReplicaStore)
    old.store.build(ANA, then, tmp_path / "then.db")
    with pytest.raises(Unavailable, match="moved to folder: "):
        history.put_back(old.store.open_file(ANA, in_time()), tmp_path / "then.db", in_time())
    assert new.contents() == {"one"}


def test_older_rows_are_not_taken_for_what_was_moved(open_side: Open, tmp_path: Path) -> None:
    first, second = open_side("folder"), open_side("log")
    first.ask("core.save", content="one")
    copy = shutil.copytree(tmp_path / "folder", tmp_path / "backup")
    move(first, second)
    second.ask("core.save", content="two")
    cut_short(second, first, "take")
    first.store.close()
    shutil.rmtree(tmp_path / "folder")
    copy.rename(tmp_path / "folder")
    with pytest.raises(Conflict, match="The target has other memories"):
        move(second, open_side("folder"))


@pytest.mark.parametrize(
    ("source", "target"), [("folder", "log"), ("log", "folder"), ("log", "aws"), ("folder", "aws")]
)
def test_the_source_is_named_whose_file_is_damaged(open_side: Open, tmp_path: Path, source: str, target: str) -> None:
    side = open_side(source)
    for number in range(30):
        side.ask("core.save", content=f"the heron waits {number:03} " * 20)
    path = side.store.path(ANA)  # type: ignore[attr-defined]
    side.store.close()
    content = bytearray(path.read_bytes())
    at = content.rindex(b"waits 017") // 4096 * 4096
    content[at : at + 64] = b"\x90" * 64
    path.write_bytes(content)
    damaged, new = replace(side.place, store=_opened_again(tmp_path, source)), open_side(target)
    with closing(damaged.store):
        if source == "folder":
            with pytest.raises(DamagedFile, match=f"{path.name} is damaged and was left as it is: run `steeltrap doc"):
                move_user(ANA, damaged, new.place, in_time())
        else:
            with pytest.raises(DamagedFile, match="They are in the log, from which it is made again: try again"):
                move_user(ANA, damaged, new.place, in_time())
            assert move_user(ANA, damaged, new.place, in_time()) == 30


def _opened_again(tmp_path: Path, kind: str) -> SqliteStore:
    """A store over the files of the first side."""
    if kind == "folder":
        return SqliteStore(tmp_path / "folder", HashedWords(), SystemClock(), retention=KEPT)
    logs = FolderLogs(tmp_path / "log")
    return ReplicaStore(tmp_path / "cache-0", logs, HashedWords(), SystemClock(), retention=KEPT)
