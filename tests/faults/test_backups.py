"""Backups and restores that are killed at any moment, and backups of a server that is written to."""

import contextlib
import itertools
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from clock import SettableClock
from contracts.entries import EMBEDDER, creation, save
from faults.doors import running
from faults.real_server import serving
from spaces import space_of
from steeltrap.embedders.static import StaticEmbedder
from steeltrap.errors import InvalidInput
from steeltrap.model import UserRef
from steeltrap.runtime import SystemClock
from steeltrap.stores.files.folder import FolderFiles
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.stores.sqlite.backup import back_up, restore

USERS = [f"user {n}" for n in range(12)]
ROUNDS = 12
EACH = 20


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with some users, each with as many memories and an exported file."""
    store = SqliteStore(tmp_path / "data", EMBEDDER, SettableClock())
    for user in USERS:
        space_of(store, user).commit([creation(f"{user} saw heron {n}") for n in range(EACH)])
        FolderFiles(tmp_path / "data").files(UserRef(user)).write("kept.json", user.encode())
    store.close()
    return tmp_path / "data"


_NURSERY = """
import os, signal, sys
from pathlib import Path
from clock import SettableClock
from steeltrap.stores.sqlite.backup import back_up
from steeltrap.stores.sqlite.backup import restore

# A process a round, forked from one that has imported everything, killed by a signal after some seconds.
for line in sys.stdin:
    what, source, target, seconds = line.rstrip().split("|")
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, float(seconds))
        if what == "back up":
            back_up(Path(source), Path(target), SettableClock())
        else:
            restore(Path(source), Path(target), SettableClock(), replace=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFEXITED(status) or os.WTERMSIG(status) == signal.SIGALRM
    os.write(1, b"ended\\n" if status == 0 else b"killed\\n")
"""


class Nursery:
    """Runs backups and restores in processes that die."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ends(self, what: str, source: Path, target: Path, seconds: float = 0) -> bool:
        """Whether it got to its end before it was killed after some seconds; 0 never kills it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(what, source, target, f"{seconds:.6f}", sep="|", file=self._process.stdin, flush=True)
        said = self._process.stdout.readline()
        assert said in ("ended\n", "killed\n")
        return said == "ended\n"

    def seconds(self, what: str, source: Path, target: Path) -> float:
        began = time.monotonic()
        assert self.ends(what, source, target)
        return time.monotonic() - began


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with running(_NURSERY) as process:
        yield Nursery(process)


def moments(whole: float) -> Iterator[float]:
    """Random moments of some work: at least so many, and until the work was killed and has ended at least once."""
    pick = random.Random(18)
    for _ in range(ROUNDS):
        yield pick.uniform(0.001, whole)
    yield 0.001
    yield 60.0


def assert_whole(folder: Path) -> None:
    """Every user has all memories and the exported file."""
    store = SqliteStore(folder, EMBEDDER, SettableClock())
    assert {user.user_id for user in store.users()} == set(USERS)
    for user in USERS:
        assert {memory.content for memory in space_of(store, user).walk()} == {
            f"{user} saw heron {n}" for n in range(EACH)
        }
        assert FolderFiles(folder).files(UserRef(user)).read("kept.json", max_bytes=99) == user.encode()
    store.close()
    for path in folder.glob("users/*/*.db"):
        connection = apsw.Connection(str(path))
        assert connection.pragma("integrity_check") == "ok"
        connection.close()


def assert_whole_or_refused(source: Path, scratch: Path) -> None:
    try:
        restore(source, scratch, SettableClock())
    except InvalidInput as refused:
        half_told = ".unfinished-" in source.name and "is damaged" in refused.message
        assert half_told or "not a finished backup" in refused.message  # noqa: PT017
        assert not scratch.exists()
    else:
        assert_whole(scratch)
        shutil.rmtree(scratch)


@pytest.mark.slow
def test_a_backup_that_is_killed_is_whole_or_refused_and_harms_nothing(
    data: Path, tmp_path: Path, nursery: Nursery
) -> None:
    whole = nursery.seconds("back up", data, tmp_path / "first")
    done = []
    for n, seconds in enumerate(moments(whole)):
        target = tmp_path / f"backup {n}"
        done.append(nursery.ends("back up", data, target, seconds))
        assert target.exists() or not done[-1]
        for left in tmp_path.glob(f"{target.name}*"):
            assert_whole_or_refused(left, tmp_path / "scratch")
            shutil.rmtree(left)
    assert set(done) == {True, False}
    assert_whole(data)


@pytest.mark.slow
def test_a_restore_that_is_killed_leaves_the_old_folder_or_the_whole_new_one(
    data: Path, tmp_path: Path, nursery: Nursery
) -> None:
    source, old = tmp_path / "backup", tmp_path / "old"
    back_up(data, source, SettableClock())
    store = SqliteStore(old, EMBEDDER, SettableClock())
    save(space_of(store, "ana"), "the old folder")
    store.close()
    whole = nursery.seconds("restore", source, Path(shutil.copytree(old, tmp_path / "first")))
    done = []
    for n, seconds in enumerate(moments(whole)):
        folder = Path(shutil.copytree(old, tmp_path / f"folder {n}"))
        done.append(nursery.ends("restore", source, folder, seconds))
        kept = list(tmp_path.glob(f"{folder.name}.before-*"))
        store = SqliteStore(kept[0] if kept else folder, EMBEDDER, SettableClock())
        assert [user.user_id for user in store.users()] == ["ana"]
        assert kept or not done[-1]
        if kept and folder.exists():
            assert_whole(folder)
        for left in tmp_path.glob(f"{folder.name}*"):
            shutil.rmtree(left)
    assert set(done) == {True, False}
    assert_whole_or_refused(source, tmp_path / "scratch")


@pytest.mark.slow
def test_backups_of_a_busy_server_have_all_that_was_acknowledged_before_and_nothing_by_halves(tmp_path: Path) -> None:
    guests = [UserRef(f"guest {n}") for n in range(3)]
    texts = [{"content": f"heron {n}"} for n in range(EACH)]
    acknowledged: list[str] = []
    stop, failed = threading.Event(), []

    def write() -> None:
        while not stop.is_set():
            status, body = server.call("core.save", "writer", content=f"note {len(acknowledged)}")
            acknowledged.append(body["id"]) if status == 200 else failed.append(body)

    def come_and_go() -> None:
        with contextlib.closing(open_store(tmp_path / "data")) as store:
            for guest in itertools.cycle(guests):
                status, body = server.call("core.batch_save", guest.user_id, items=texts)
                if status != 200:
                    failed.append(body)
                if stop.is_set():
                    return
                store.forget_user(guest)

    with serving(tmp_path / "data") as server:
        acknowledged.append(server.call("core.save", "writer", content="the first note")[1]["id"])
        threads = [threading.Thread(target=each) for each in (write, come_and_go)]
        for thread in threads:
            thread.start()
        try:
            for n in range(4):
                before = list(acknowledged)
                back_up(tmp_path / "data", tmp_path / f"backup {n}", SystemClock())
                restore(tmp_path / f"backup {n}", tmp_path / f"restored {n}", SystemClock())
                with contextlib.closing(open_store(tmp_path / f"restored {n}")) as store:
                    assert set(before) <= {memory.id for memory in space_of(store, "writer").walk()}
                    for guest in guests:
                        assert space_of(store, guest.user_id).statistics()["memories"] in (0, EACH)
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
        assert failed == []
        assert server.command("doctor").returncode == 0
        assert server.command("doctor", "--data", tmp_path / "restored 3").returncode == 0


def open_store(folder: Path) -> SqliteStore:
    return SqliteStore(folder, StaticEmbedder(), SystemClock())


def test_a_folder_that_a_server_uses_is_not_restored_over(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server:
        server.call("core.save", "ana", content="the heron")
        assert server.command("backup", tmp_path / "backup").returncode == 0
        refused = server.command("restore", tmp_path / "backup", "--replace")
        assert refused.returncode == 5
        assert "stop it first" in refused.stderr
    assert server.command("restore", tmp_path / "backup", "--replace").returncode == 0
