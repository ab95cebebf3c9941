"""Forgetting on a full disk: it works in the room that is kept for it, or says how much room it needs."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from clock import SettableClock
from contracts.entries import EMBEDDER, creation, save
from faults.doors import running
from spaces import space_of
from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.stores.sqlite.connection import DISK_FULL

SECRET = b"quagmire plenipotentiary"


class Disk(apsw.VFS):
    """The file system as it is, but that a folder may not grow beyond `capacity` bytes."""

    def __init__(self, folder: Path) -> None:
        super().__init__("a-small-disk", "")
        self.folder = folder
        self.capacity = 1 << 40

    def used(self) -> int:
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def fill(self) -> None:
        self.capacity = self.used()

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _File(self, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._disk = disk

    def xWrite(self, data: bytes, offset: int) -> None:
        grown = offset + len(data) - self.xFileSize()
        if grown > 0 and self._disk.used() + grown > self._disk.capacity:
            raise apsw.FullError("no room")
        super().xWrite(data, offset)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk(tmp_path)
    connect = apsw.Connection
    monkeypatch.setattr(apsw, "Connection", lambda path, **how: connect(path, vfs="a-small-disk", **how))
    yield disk
    disk.unregister()


@pytest.fixture
def store(tmp_path: Path, disk: Disk, clock: SettableClock) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "data", EMBEDDER, clock)
    yield store
    disk.capacity = 1 << 40
    store.close()


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def filled(store: SqliteStore, disk: Disk, memories: int) -> str:
    """A full disk, with many memories in one user's file; the id of the secret one."""
    changes = [creation(f"note {i} " * 20) for i in range(memories)]
    space_of(store, "ana").commit(changes)
    secret = save(space_of(store, "ana"), SECRET.decode())
    disk.fill()
    with pytest.raises(Unavailable, match="disk is full"):
        space_of(store, "ana").commit([creation("one more " * 40) for _ in range(memories)])
    return secret.id


@pytest.mark.parametrize("memories", [10, 1000])
def test_a_server_forgets_to_the_bytes_on_a_full_disk(store: SqliteStore, disk: Disk, memories: int) -> None:
    store.check()
    secret = filled(store, disk, memories)
    assert space_of(store, "ana").purge([secret]) == [secret]
    assert space_of(store, "ana").traces(secret) == []
    assert SECRET not in bytes_of(store.folder)
    assert len(list(space_of(store, "ana").walk())) == memories


@pytest.mark.parametrize("memories", [10, 1000])
def test_a_server_forgets_a_user_on_a_full_disk(store: SqliteStore, disk: Disk, memories: int) -> None:
    store.check()
    filled(store, disk, memories)
    assert store.forget_user(UserRef("ana"))
    assert list(store.users()) == []
    assert SECRET not in bytes_of(store.folder)


def test_a_file_with_the_words_of_an_earlier_version_is_read_and_forgotten_on_a_full_disk(
    store: SqliteStore, disk: Disk, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    store.check()
    secret = filled(store, disk, 1000)
    disk.capacity = 1 << 40
    store.close()
    with apsw.Connection(str(store.path(UserRef("ana")))) as raw:
        raw.execute("DELETE FROM meta WHERE key = 'words_version'; UPDATE search SET terms = x''")
    disk.fill()
    store = SqliteStore(store.folder, EMBEDDER, clock)
    assert space_of(store, "ana").get([secret])
    assert "may not be found by words" in caplog.text
    assert space_of(store, "ana").purge([secret]) == [secret]
    assert SECRET not in bytes_of(store.folder)
    store.close()


def test_forgetting_that_has_no_room_says_how_much_to_free_and_changes_nothing(store: SqliteStore, disk: Disk) -> None:
    secret = filled(store, disk, 10)
    for forget in (
        lambda: space_of(store, "ana").purge([secret]),
        lambda: store.forget_user(UserRef("ana")),
    ):
        with pytest.raises(Unavailable, match="nothing was forgotten: free at least 8 MB") as refused:
            forget()
        assert refused.value.can_retry
    assert space_of(store, "ana").get([secret])
    disk.capacity += 8 * 1024 * 1024
    assert space_of(store, "ana").purge([secret]) == [secret]
    assert SECRET not in bytes_of(store.folder)


def test_a_file_that_has_no_room_to_be_rewritten_is_finished_by_the_next_call(
    store: SqliteStore, disk: Disk, tmp_path: Path
) -> None:
    secret = filled(store, disk, 1000)
    disk.capacity += 600 * 1024  # enough to remove the row, too little for a second file
    with pytest.raises(Unavailable, match=r"gone from every answer, but the disk is too full.*free \d+ MB"):
        space_of(store, "ana").purge([secret])
    assert space_of(store, "ana").get([secret], deleted=True) == {}
    disk.capacity += 16 * 1024 * 1024
    space_of(store, "ana").purge([secret])
    assert SECRET not in bytes_of(store.folder)


def test_the_room_for_forgetting_is_kept_again_when_there_is_room(
    store: SqliteStore, disk: Disk, clock: SettableClock
) -> None:
    store.check()
    room = store.folder / ".reserve"
    assert room.stat().st_mode & 0o777 == 0o600
    secret = filled(store, disk, 10)
    space_of(store, "ana").purge([secret])
    assert not room.exists()
    clock.advance(seconds=10)
    store.check()
    assert room.stat().st_size == 8 * 1024 * 1024


def test_the_room_for_forgetting_is_not_kept_where_it_would_fill_the_disk(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 63 * 1024 * 1024

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    store.check()
    assert not (store.folder / ".reserve").exists()
    save(space_of(store, "ana"), "one")
    assert space_of(store, "ana").statistics()["memories"] == 1
    assert list(store.users()) == [UserRef("ana")]


@pytest.mark.parametrize("room", range(0, 200_000, 10_000))
def test_a_copy_of_a_log_that_finds_no_room_says_so(
    tmp_path: Path, disk: Disk, clock: SettableClock, room: int
) -> None:
    logs, cache = FolderLogs(tmp_path / "log"), tmp_path / "cache"
    with closing(ReplicaStore(tmp_path / "first", logs, EMBEDDER, clock)) as first:
        one = save(space_of(first, "ana"), "the heron")
    disk.capacity = disk.used() + room
    refusals: list[str] = []
    with closing(ReplicaStore(cache, logs, EMBEDDER, clock)) as second:
        for _ in range(3):
            try:
                assert [each.id for each in space_of(second, "ana").walk()] == [one.id]
            except Unavailable as refusal:
                refusals.append(refusal.message)
        disk.capacity = 1 << 40
        assert [each.id for each in space_of(second, "ana").walk()] == [one.id]
    assert set(refusals) <= {DISK_FULL}


_WITHOUT_ROOM_FOR_SHARED_MEMORY = """
import resource, sys
from pathlib import Path
from clock import SettableClock
from contracts.entries import EMBEDDER
from spaces import space_of
from steeltrap.errors import SteeltrapError
from steeltrap.stores.sqlite import SqliteStore

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    list(space_of(SqliteStore(Path(sys.argv[1]), EMBEDDER, SettableClock()), "ana").walk())
except SteeltrapError as error:
    print(error.message, flush=True)
"""


def test_a_file_whose_shared_memory_finds_no_room_says_so(tmp_path: Path, clock: SettableClock) -> None:
    with closing(SqliteStore(tmp_path / "data", EMBEDDER, clock)) as store:
        save(space_of(store, "ana"), "the heron")
    with running(_WITHOUT_ROOM_FOR_SHARED_MEMORY, tmp_path / "data") as process:
        said, _ = process.communicate()
    assert said.strip() == DISK_FULL
