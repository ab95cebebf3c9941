"""Files and folders that are replaced or removed while they are served: nothing acknowledged is lost."""

import contextlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from clock import NOON, SettableClock
from contracts.entries import EMBEDDER, SECONDS, found, save, search
from spaces import in_time, space_of
from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from steeltrap.ports import Space
from steeltrap.stores.data_folder import DataFolder
from steeltrap.stores.sqlite import SqliteStore, file, opening

ANA = UserRef("ana")
Opening = Callable[[], SqliteStore]


@pytest.fixture
def open_store(tmp_path: Path, clock: SettableClock) -> Iterator[Opening]:
    opened: list[SqliteStore] = []

    def open_store() -> SqliteStore:
        opened.append(SqliteStore(tmp_path / "data", EMBEDDER, clock))
        return opened[-1]

    yield open_store
    for store in opened:
        store.close()


@pytest.fixture
def served(open_store: Opening) -> SqliteStore:
    """A store that has written and read, so that both connections and the index are open."""
    store = open_store()
    store.check()
    save(space_of(store, "ana"), "the heron of the backup")
    assert search(space_of(store, "ana"), "heron").stored == 1
    return store


@pytest.fixture
def backup(served: SqliteStore, tmp_path: Path) -> Path:
    """A copy of ana's file, to which the served one has got something more since."""
    copy = tmp_path / "backup.db"
    with (
        contextlib.closing(apsw.Connection(str(copy))) as target,
        contextlib.closing(apsw.Connection(str(served.path(ANA)))) as source,
        target.backup("main", source, "main") as copying,
    ):
        copying.step(-1)
    save(space_of(served, "ana"), "the otter that came later")
    return copy


def contents(space: Space) -> set[str]:
    return {memory.content for memory in space.walk()}


def integrity(path: Path) -> str:
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        return str(connection.pragma("integrity_check"))


def replace(store: SqliteStore, backup: Path, how: str) -> None:
    """Put the backup in place of ana's file, as people do."""
    path = store.path(ANA)
    if how == "renamed over":
        shutil.copy(backup, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)
        return
    if how == "file moved away":
        path.rename(path.with_suffix(".away"))
    elif how == "file and log moved away":
        for each in list(path.parent.glob(f"{path.name}*")):
            each.rename(each.parent / f"away-{each.name}")
    elif how == "removed":
        path.unlink()
    shutil.copy(backup, path)


WAYS = ["renamed over", "file moved away", "file and log moved away", "removed"]


@pytest.mark.parametrize("how", WAYS)
def test_a_write_goes_into_the_file_that_was_put_in_place(
    open_store: Opening, served: SqliteStore, backup: Path, how: str
) -> None:
    replace(served, backup, how)
    save(space_of(served, "ana"), "written after the restore")
    expected = {"the heron of the backup", "written after the restore"}
    assert contents(space_of(served, "ana")) == expected
    served.close()
    assert contents(space_of(open_store(), "ana")) == expected
    assert integrity(served.path(ANA)) == "ok"


@pytest.mark.parametrize("how", WAYS)
def test_a_search_answers_from_the_file_that_was_put_in_place(
    open_store: Opening, served: SqliteStore, backup: Path, how: str
) -> None:
    assert search(space_of(served, "ana"), "otter").stored == 2
    replace(served, backup, how)
    assert search(space_of(served, "ana"), "otter").stored == 1
    save(space_of(served, "ana"), "written after the restore")
    served.close()
    assert contents(space_of(open_store(), "ana")) == {"the heron of the backup", "written after the restore"}


def test_a_file_that_was_moved_away_takes_all_that_was_acknowledged_along(
    open_store: Opening, served: SqliteStore, backup: Path
) -> None:
    path = served.path(ANA)
    path.rename(path.with_suffix(".away"))
    shutil.copy(backup, path)
    assert contents(space_of(served, "ana")) == {"the heron of the backup"}
    served.close()
    path.with_suffix(".away").replace(path)
    assert contents(space_of(open_store(), "ana")) == {"the heron of the backup", "the otter that came later"}


def test_a_server_that_stops_after_a_restore_leaves_the_restored_file_whole(
    open_store: Opening, served: SqliteStore, backup: Path
) -> None:
    replace(served, backup, "file moved away")
    served.close()
    assert contents(space_of(open_store(), "ana")) == {"the heron of the backup"}


def test_two_processes_go_over_to_the_file_that_was_put_in_place(
    open_store: Opening, served: SqliteStore, backup: Path
) -> None:
    other = open_store()
    save(space_of(other, "ana"), "the second process was here")
    replace(served, backup, "file moved away")
    save(space_of(served, "ana"), "first")
    save(space_of(other, "ana"), "second")
    save(space_of(served, "ana"), "third")
    expected = {"the heron of the backup", "first", "second", "third"}
    assert contents(space_of(served, "ana")) == contents(space_of(other, "ana")) == expected
    served.close()
    other.close()
    assert contents(space_of(open_store(), "ana")) == expected
    assert integrity(served.path(ANA)) == "ok"


@pytest.mark.parametrize("moment", ["before the commit", "at the commit"])
def test_a_write_whose_file_is_replaced_meanwhile_is_refused_and_can_be_repeated(
    served: SqliteStore, backup: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    require = file.UserFile._require_in_place
    looks = []

    def replaced_then_looked(self: file.UserFile, opened: file.Opened) -> None:
        looks.append(opened)
        if len(looks) == (1 if moment == "before the commit" else 2):
            replace(served, backup, "file moved away")
        require(self, opened)

    monkeypatch.setattr(file.UserFile, "_require_in_place", replaced_then_looked)
    with pytest.raises(Unavailable, match="replaced or removed") as refused:
        save(space_of(served, "ana"), "the swallow")
    assert refused.value.can_retry
    assert served.path(ANA).name in refused.value.message
    save(space_of(served, "ana"), "the swallow")
    assert contents(space_of(served, "ana")) == {"the heron of the backup", "the swallow"}


def test_many_threads_lose_nothing_that_was_acknowledged_while_the_file_is_replaced(
    open_store: Opening, served: SqliteStore, backup: Path
) -> None:
    start = threading.Barrier(5)
    replaced = threading.Event()
    acknowledged: set[str] = set()

    def write(thread: int) -> None:
        start.wait(SECONDS)
        for i in range(25):
            content = f"note {i} of thread {thread}"
            begun_behind = replaced.is_set()
            with contextlib.suppress(Unavailable):
                save(space_of(served, "ana"), content)
                if begun_behind:
                    acknowledged.add(content)
            search(space_of(served, "ana"), "note")

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(write, thread) for thread in range(4)]
        start.wait(SECONDS)
        replace(served, backup, "renamed over")
        replaced.set()
        for each in done:
            each.result(SECONDS)
    save(space_of(served, "ana"), "the last one")
    served.close()
    assert contents(space_of(open_store(), "ana")) >= acknowledged | {"the last one"}
    assert integrity(served.path(ANA)) == "ok"


def test_a_removed_file_is_an_error_until_it_is_put_back(served: SqliteStore) -> None:
    path = served.path(ANA)
    path.rename(path.with_suffix(".away"))
    space = space_of(served, "ana")
    for use in (lambda: search(space, "heron"), lambda: save(space, "two"), lambda: contents(space)):
        with pytest.raises(Unavailable, match=f"{path.name} was removed while it was in use: put it back"):
            use()
    assert not path.exists()
    path.with_suffix(".away").rename(path)
    save(space, "two")
    assert contents(space) == {"the heron of the backup", "two"}


def test_a_reader_that_looks_while_the_first_memory_is_saved_does_not_take_the_file_for_removed(
    open_store: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()

    def look(path: Path) -> file.Identity | None:
        identity = opening.identity(path)
        monkeypatch.undo()
        save(space_of(store, "ana"), "the first heron")
        return identity

    monkeypatch.setattr(file, "identity", look)
    assert store.open_file(ANA, in_time()).is_there() is False
    assert contents(space_of(store, "ana")) == {"the first heron"}


def test_a_user_whose_file_was_removed_can_be_forgotten_and_begins_anew(
    open_store: Opening, served: SqliteStore
) -> None:
    served.path(ANA).unlink()
    assert served.forget_user(UserRef("ana")) is False
    assert contents(space_of(served, "ana")) == set()
    save(space_of(served, "ana"), "a fresh start")
    assert contents(space_of(open_store(), "ana")) == {"a fresh start"}


@pytest.mark.parametrize("what", ["folder", "users"])
def test_a_removed_data_folder_is_an_error_and_is_not_made_anew(served: SqliteStore, what: str) -> None:
    gone = served.folder if what == "folder" else served.folder / "users"
    away = gone.with_name("away")
    gone.rename(away)
    uses: list[Callable[[], object]] = [
        served.check,
        lambda: save(space_of(served, "ana"), "two"),
        lambda: search(space_of(served, "ana"), "heron"),
        lambda: save(space_of(served, "a new user"), "one"),
        lambda: search(space_of(served, "a new user"), "one"),
        lambda: served.forget_user(UserRef("ana")),
        lambda: list(served.users()),
    ]
    for use in uses:
        with pytest.raises(Unavailable, match="data folder was removed, or its disk was unmounted"):
            use()
    assert not gone.exists()
    away.rename(gone)
    for use in uses[:-2]:
        use()
    assert contents(space_of(served, "ana")) == {"the heron of the backup", "two"}


def test_a_disk_that_is_unmounted_does_not_look_like_an_empty_folder(served: SqliteStore) -> None:
    served.folder.rename(served.folder.with_name("the disk"))
    served.folder.mkdir()
    with pytest.raises(Unavailable, match="unmounted"):
        search(space_of(served, "ana"), "heron")
    with pytest.raises(Unavailable, match="unmounted"):
        served.check()
    assert list(served.folder.iterdir()) == []


def test_another_folder_in_its_place_is_served(open_store: Opening, served: SqliteStore, tmp_path: Path) -> None:
    shutil.copytree(served.folder, tmp_path / "copy")
    save(space_of(served, "ana"), "written after the copy")
    served.folder.rename(tmp_path / "away")
    (tmp_path / "copy").rename(served.folder)
    assert contents(space_of(served, "ana")) == {"the heron of the backup"}
    one = save(space_of(served, "ana"), "two")
    assert one.id in found(search(space_of(served, "ana"), "two"))
    served.close()
    assert contents(space_of(open_store(), "ana")) == {"the heron of the backup", "two"}


def test_a_reader_of_a_folder_that_was_never_there_finds_nothing_and_makes_nothing(open_store: Opening) -> None:
    store = open_store()
    assert search(space_of(store, "ana"), "heron").stored == 0
    assert list(store.users()) == []
    assert not store.folder.exists()


def test_readiness_writes_at_most_once_in_ten_seconds(
    served: SqliteStore, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    touched = []
    touch = Path.touch

    def count(path: Path, **how: int) -> None:
        touched.append(path.name)
        touch(path, **how)

    monkeypatch.setattr(Path, "touch", count)
    clock.advance(seconds=10)
    for _ in range(100):
        served.check()
    assert len(touched) == 1
    clock.advance(seconds=9.9)
    served.check()
    assert len(touched) == 1
    clock.advance(seconds=0.1)
    served.check()
    assert len(touched) == 2


def test_readiness_that_failed_is_looked_at_again_at_once(
    served: SqliteStore, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, **how: int) -> None:
        raise OSError(28, "No space left on device")

    clock.advance(seconds=10)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "touch", refused)
        with pytest.raises(Unavailable, match="No space left"):
            served.check()
    served.check()


def test_reading_statistics_of_a_removed_file_are_dropped_with_one_warning(
    served: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    [memory] = space_of(served, "ana").walk()
    space_of(served, "ana").note_access([memory.id], NOON)
    served.path(ANA).unlink()
    for _ in range(3):
        served.flush()
    assert caplog.text.count("reading statistics were not kept") == 1


def test_a_file_that_is_put_in_place_keeps_its_own_mode(served: SqliteStore, backup: Path) -> None:
    os.chmod(backup, 0o640)
    replace(served, backup, "removed")
    search(space_of(served, "ana"), "heron")
    assert stat.S_IMODE(served.path(ANA).stat().st_mode) == 0o640


def test_a_folder_that_another_thread_makes_during_the_look_is_not_taken_for_a_removed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = DataFolder(tmp_path / "data")
    looked = os.path.isdir

    def made_meanwhile(path: Path) -> bool:
        there = looked(path)
        monkeypatch.undo()
        data.make()
        return there

    monkeypatch.setattr("os.path.isdir", made_meanwhile)
    data.require()
    assert (tmp_path / "data").is_dir()
