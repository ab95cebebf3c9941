"""A replica's cache may be too small, removed, shared or full: answers are whole or an error, never empty."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import apsw
import pytest

from contracts.entries import EMBEDDER, found, save, search
from faults.doors import running
from spaces import in_time, space_of
from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from steeltrap.ports import Space
from steeltrap.runtime import SystemClock
from steeltrap.stores.logs.folder import FolderLog, FolderLogs
from steeltrap.stores.replica import ReplicaStore
from steeltrap.stores.replica.bases import make_base
from steeltrap.stores.replica.cached_file import discard
from steeltrap.stores.replica.entries import LogEntry
from steeltrap.stores.replica.position import open_replica

Open = Callable[..., ReplicaStore]
T = TypeVar("T")


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Open]:
    opened: list[ReplicaStore] = []

    def opening(cache: str = "cache", *, disk_bytes: float = inf) -> ReplicaStore:
        logs = FolderLogs(tmp_path / "log")
        opened.append(ReplicaStore(tmp_path / cache, logs, EMBEDDER, SystemClock(), disk_bytes=disk_bytes))
        return opened[-1]

    yield opening
    for each in opened:
        each.close()


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _size_of_one(opening: Open, tmp_path: Path) -> int:
    with closing(opening("measured")) as store:
        save(space_of(store, "measured"), "the heron waits")
    return _bytes(tmp_path / "measured" / "users")


@pytest.mark.parametrize(("users", "room"), [(30, 5), pytest.param(300, 50, marks=pytest.mark.slow)])
def test_more_users_than_a_cache_has_room_for_are_all_answered_and_it_stays_small(
    opening: Open, tmp_path: Path, users: int, room: int
) -> None:
    one = _size_of_one(opening, tmp_path)
    store = opening(disk_bytes=room * one)
    most = 0
    for number in range(users):
        save(space_of(store, f"user-{number}"), f"the heron waits {number}")
        most = max(most, _bytes(tmp_path / "cache" / "users"))
    for number in range(users):
        [memory] = space_of(store, f"user-{number}").walk()
        assert memory.content == f"the heron waits {number}"
        most = max(most, _bytes(tmp_path / "cache" / "users"))
    # The last one is made before its size is known; an open file has a log of up to its size beside it.
    assert most <= (room + 4) * one


def test_what_was_used_last_stays_in_the_cache(opening: Open, tmp_path: Path) -> None:
    one = _size_of_one(opening, tmp_path)
    store = opening(disk_bytes=6 * one)
    save(space_of(store, "often"), "the heron waits")
    for number in range(20):
        save(space_of(store, f"user-{number}"), "the reed grows")
        assert store.path(UserRef("often")).exists()
        assert len(list(space_of(store, "often").walk())) == 1


def test_a_cache_that_is_removed_between_calls_is_made_again(opening: Open, tmp_path: Path) -> None:
    store = opening()
    first = save(space_of(store, "ana"), "the heron waits")
    shutil.rmtree(tmp_path / "cache")
    assert found(search(space_of(store, "ana"), "heron")) == {first.id}
    shutil.rmtree(tmp_path / "cache")
    second = save(space_of(store, "ana"), "the heron flies")
    shutil.rmtree(tmp_path / "cache")
    assert space_of(store, "ana").purge([first.id]) == [first.id]
    assert [memory.id for memory in space_of(store, "ana").walk()] == [second.id]


def test_a_cache_that_is_removed_within_a_call_is_never_an_empty_memory(opening: Open, tmp_path: Path) -> None:
    store = opening()
    first = save(space_of(store, "ana"), "the heron waits")
    for is_open in (True, False):
        space = store.space(UserRef("ana"), in_time())
        assert found(search(space, "heron")) == {first.id}
        if not is_open:
            assert store._replica(UserRef("ana")).put_away()
        shutil.rmtree(tmp_path / "cache")
        assert found(search(space, "heron")) == {first.id}
        assert space.get([first.id]).keys() == {first.id}
        shutil.rmtree(tmp_path / "cache")
        assert space.purge(["00000000-0000-4000-8000-000000000000"]) == []
        assert len(list(space.walk())) == 1


@contextmanager
def _full_disk() -> Iterator[None]:
    """Nothing of the log can be written to a cache meanwhile."""

    def full(*_: object) -> None:
        raise apsw.FullError("no room")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("steeltrap.stores.replica.file.write_position", full)
        patch.setattr("steeltrap.stores.replica.applying.Applier.apply", full)
        yield


def test_what_the_log_took_is_saved_though_the_caches_disk_is_full(opening: Open) -> None:
    store = opening()
    first = save(space_of(store, "ana"), "the heron waits")

    with _full_disk():
        second = save(space_of(store, "ana"), "the heron flies")
        with pytest.raises(Unavailable, match="The disk is full"):
            search(space_of(store, "ana"), "heron")
        with pytest.raises(Unavailable, match="The disk is full"):
            save(space_of(store, "ana"), "the heron sleeps")
    for each in (store, opening("elsewhere")):
        assert found(search(space_of(each, "ana"), "heron")) == {first.id, second.id}


@pytest.mark.parametrize("at", [0, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_a_damaged_file_is_made_again_from_the_log(opening: Open, damage: str, at: float) -> None:
    with closing(opening()) as store:
        ids = {save(space_of(store, "ana"), f"the heron waits {number}" * 20).id for number in range(30)}
        path = store.path(UserRef("ana"))
    size = path.stat().st_size
    with path.open("r+b") as file:
        if damage == "cut":
            file.truncate(int(size * at))
        else:
            file.seek(int(size * at))
            file.write(b"\x90" * 8192)
    store = opening()
    refusals: list[Unavailable] = []

    def answer(call: Callable[[Space], T]) -> T:
        """The answer of a call that is repeated once where it meets the damage."""
        try:
            return call(space_of(store, "ana"))
        except Unavailable as refusal:
            refusals.append(refusal)
            return call(space_of(store, "ana"))

    assert {memory.id for memory in answer(lambda space: list(space.walk()))} == ids
    assert found(answer(lambda space: search(space, "heron"))) <= ids
    new = answer(lambda space: save(space, "the heron flies"))
    assert {memory.id for memory in answer(lambda space: list(space.walk()))} == ids | {new.id}
    assert all(refusal.can_retry and "They are in the log" in refusal.message for refusal in refusals)


def _damage_one_page(path: Path, text: bytes) -> None:
    """Overwrite the beginning of the page of a file that has a text."""
    content = bytearray(path.read_bytes())
    at = content.rindex(text) // 4096 * 4096
    content[at : at + 64] = b"\x90" * 64
    path.write_bytes(content)


_STEPS: dict[str, Callable[[ReplicaStore], object]] = {
    "read": lambda store: list(space_of(store, "ana").walk()),
    "scrub": lambda store: store._replica(UserRef("ana")).scrub(in_time()),
    "base": lambda store: store._replica(UserRef("ana")).put_base(),
}


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("step", _STEPS)
def test_damage_that_a_step_meets_is_gone_with_the_next_call(opening: Open, step: str, is_restarted: bool) -> None:
    with closing(opening()) as store:
        ids = {save(space_of(store, "ana"), f"the heron waits {number:03} " * 20).id for number in range(30)}
        path = store.path(UserRef("ana"))
    _damage_one_page(path, b"waits 017")
    with closing(opening()) as store:
        space_of(store, "ana").sessions()
        with pytest.raises(Unavailable, match="They are in the log") as refusal:
            _STEPS[step](store)
        assert refusal.value.can_retry
        if not is_restarted:
            assert {memory.id for memory in space_of(store, "ana").walk()} == ids
    with closing(opening()) as store:
        assert {memory.id for memory in space_of(store, "ana").walk()} == ids
        _STEPS[step](store)
    assert not path.with_name(f"{path.name}-damaged").exists()


def _cut(opening: Open, content: str) -> Path:
    """The file of a user with one memory, damaged."""
    with closing(opening()) as store:
        save(space_of(store, "ana"), content)
        path = store.path(UserRef("ana"))
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 3)
    return path


def test_a_damaged_file_stays_where_the_log_lacks_what_it_held(opening: Open, tmp_path: Path) -> None:
    path = _cut(opening, "the heron waits")
    for entry in [*(tmp_path / "log" / "u").rglob("*")]:
        if entry.is_file():
            entry.unlink()
    store = opening()
    for _ in range(3):
        with pytest.raises(Unavailable):
            list(space_of(store, "ana").walk())
    assert path.exists()


def test_a_damaged_file_stays_until_the_log_can_be_read(opening: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _cut(opening, "the heron waits")
    store = opening()

    def unreachable(*_: object) -> None:
        raise Unavailable("The bucket can't be reached.", part="store")

    with monkeypatch.context() as patch:
        patch.setattr(FolderLog, "read", unreachable)
        for _ in range(3):
            with pytest.raises(Unavailable):
                list(space_of(store, "ana").walk())
            assert path.exists()
    assert [memory.content for memory in space_of(store, "ana").walk()] == ["the heron waits"]


def test_a_damaged_file_that_is_ahead_of_its_log_stays_for_every_process(opening: Open, tmp_path: Path) -> None:
    with closing(opening()) as store:
        for number in range(30):
            save(space_of(store, "ana"), f"the heron waits {number:03} " * 20)
        path = store.path(UserRef("ana"))
    _damage_one_page(path, b"waits 017")
    with closing(opening()) as store:
        space_of(store, "ana").sessions()
        with pytest.raises(Unavailable, match="They are in the log"):
            list(space_of(store, "ana").walk())
    [latest] = [entry for entry in (tmp_path / "log" / "u").rglob("*") if entry.name.endswith(f"{30:012}")]
    latest.unlink()  # the bucket was rolled back
    before = path.read_bytes()
    for _ in range(2):
        with closing(opening()) as store, pytest.raises(Unavailable, match="entries are missing"):
            list(space_of(store, "ana").walk())
    assert path.read_bytes() == before


def test_a_log_that_is_damaged_itself_is_an_error_that_no_repetition_mends(opening: Open) -> None:
    with closing(opening()) as store:
        save(space_of(store, "ana"), "the heron waits")
        path = store.path(UserRef("ana"))
    path.write_bytes(path.read_bytes().replace(b"heron", b"her\x90n"))
    with closing(opening()) as store:
        space_of(store, "ana").scopes()
        store._replica(UserRef("ana")).put_base()
    elsewhere = opening("elsewhere")
    refusals = []
    for _ in range(3):
        with pytest.raises(Unavailable) as refusal:
            list(space_of(elsewhere, "ana").walk())
        refusals.append(refusal.value.can_retry)
    assert refusals == [True, False, False]


def test_nothing_is_forgotten_before_the_file_is_without_it(opening: Open) -> None:
    store = opening()
    first = save(space_of(store, "ana"), "the heron waits")

    with _full_disk(), pytest.raises(Unavailable, match="The disk is full"):
        space_of(store, "ana").purge([first.id])
    assert space_of(store, "ana").purge([first.id]) == []
    for each in (store, opening("elsewhere")):
        assert list(space_of(each, "ana").walk()) == []


def test_a_file_that_goes_between_two_looks_at_it_is_an_error_to_try_again(opening: Open, tmp_path: Path) -> None:
    store = opening()
    save(space_of(store, "ana"), "the heron waits")
    file = store._replica(UserRef("ana"))
    file.catch_up(in_time())
    for is_open in (True, False):
        if not is_open:
            file.catch_up(in_time())
            assert file.put_away()
        shutil.rmtree(tmp_path / "cache")
        with pytest.raises(Unavailable, match="The cache was removed") as failed, file.reading():
            pass
        assert failed.value.can_retry
        with pytest.raises(Unavailable, match="The cache was removed"):
            file.is_there()


@pytest.mark.parametrize("has_base", [False, True])
def test_two_threads_that_begin_with_a_users_first_memories_both_get_them(
    opening: Open, monkeypatch: pytest.MonkeyPatch, has_base: bool
) -> None:
    """The second reads the log's first entry before the first has let go of the file."""
    store, other = opening(), opening("other")
    assert list(space_of(store, "ana").walk()) == []
    if has_base:
        save(space_of(other, "ana"), "the reed grows")
        other._replica(UserRef("ana")).put_base()
    read = FolderLog.read

    def read_after_another(log: FolderLog, numbers: Sequence[int]) -> list[bytes | None]:
        monkeypatch.undo()
        save(space_of(store, "ana"), "the heron waits")
        return read(log, numbers)

    monkeypatch.setattr(FolderLog, "read", read_after_another)
    contents = [memory.content for memory in space_of(store, "ana").walk()]
    assert contents == ["the reed grows", "the heron waits"][not has_base :]


def test_a_file_that_another_process_makes_again_is_never_an_empty_memory(opening: Open) -> None:
    store = opening()
    first = save(space_of(store, "ana"), "the heron waits")
    path = store.path(UserRef("ana"))
    for _ in range(20):  # a new file often gets the number of the old one's inode
        space = store.space(UserRef("ana"), in_time())
        assert found(search(space, "heron")) == {first.id}
        file = store._replica(UserRef("ana"))
        assert file.put_away()
        assert discard(path)
        with closing(open_replica(path, new=True).connection):  # what another process has made at first
            with pytest.raises(Unavailable, match="The cache was removed") as failed:
                list(space.walk())
            assert failed.value.can_retry
            with pytest.raises(Unavailable, match="The cache was removed"):
                file.put_base()
            assert [memory.id for memory in space_of(store, "ana").walk()] == [first.id]


def test_a_base_is_put_beside_a_writer_who_goes_on(opening: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opening()
    save(space_of(store, "ana"), "the heron waits")

    def make_beside_a_save(*arguments: Any, **options: Any) -> LogEntry:
        base = make_base(*arguments, **options)
        save(space_of(store, "ana"), "the reed grows")
        return base

    monkeypatch.setattr("steeltrap.stores.replica.file.make_base", make_beside_a_save)
    store._replica(UserRef("ana")).put_base()
    assert len(list(space_of(opening("fresh"), "ana").walk())) == 2


_PROGRAM = """
import sys
from pathlib import Path
from contracts.entries import EMBEDDER, save
from spaces import space_of
from steeltrap.errors import Unavailable
from steeltrap.runtime import SystemClock
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore
from steeltrap.stores.replica.cached_file import discard

folder, step, room = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
store = ReplicaStore(folder / "cache", FolderLogs(folder / "log"), EMBEDDER, SystemClock(), disk_bytes=room)
for turn in range(60):
    user = f"user-{turn * step % 8}"
    try:
        print(len(list(space_of(store, user).walk())), flush=True)
        if turn % 10 == 0:
            save(space_of(store, f"{user}-{step}"), "the reed grows")
    except Unavailable as error:
        print("again" if error.can_retry else error.message, flush=True)
store.close()
"""


def test_two_processes_with_one_small_cache_answer_in_full(opening: Open, tmp_path: Path) -> None:
    one = _size_of_one(opening, tmp_path)
    with closing(opening()) as store:
        for number in range(8):
            save(space_of(store, f"user-{number}"), "the heron waits")
    with (
        running(_PROGRAM, tmp_path, 1, 3 * one) as first,
        running(_PROGRAM, tmp_path, 3, 3 * one) as second,
    ):
        said = [line for process in (first, second) for line in process.communicate()[0].split()]
        assert (first.returncode, second.returncode) == (0, 0)
    assert set(said) <= {"1", "again"}
    assert said.count("1") > 100


def test_a_file_that_another_process_has_open_is_not_removed(opening: Open, tmp_path: Path) -> None:
    one = opening()
    save(space_of(one, "ana"), "the heron waits")
    path = one.path(UserRef("ana"))
    assert not discard(path)
    assert path.exists()
    one._replica(UserRef("ana")).put_away()
    assert discard(path)
    assert [each.name for each in path.parent.iterdir()] == []
