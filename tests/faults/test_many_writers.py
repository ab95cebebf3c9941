"""Many writers at once: nobody is told that a database is locked, and nothing is lost."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clock import SettableClock
from contracts.entries import EMBEDDER, SECONDS, embed, found, save, search, update
from faults.doors import answer, lines_of, open_door
from spaces import space_of
from steeltrap.errors import Conflict
from steeltrap.model import Caller, UserRef
from steeltrap.stores.sqlite import SqliteStore

WRITERS = 32


@pytest.mark.parametrize("users", [1, WRITERS])
def test_32_threads_lose_nothing(tmp_path: Path, users: int) -> None:
    store = SqliteStore(tmp_path, EMBEDDER, SettableClock())

    def write(writer: int) -> set[str]:
        space = space_of(store, f"user {writer % users}")
        saved = set()
        for i in range(8):
            saved.add(save(space, f"heron {writer} {i}").id)
            assert saved <= found(search(space, "heron", near=embed("heron")[0], per_leg=None))
        return saved

    with ThreadPoolExecutor(WRITERS) as pool:
        saved = list(pool.map(write, range(WRITERS)))
    store.close()
    again = SqliteStore(tmp_path, EMBEDDER, SettableClock())
    for user in range(users):
        expected = set().union(*saved[user::users])
        space = space_of(again, f"user {user}")
        assert {memory.id for memory in space.walk()} == expected
        assert found(search(space, "heron", near=embed("heron")[0], per_leg=None)) == expected
    again.close()


def test_of_guarded_first_writes_of_a_user_one_wins_and_the_others_are_told(tmp_path: Path) -> None:
    door = open_door(tmp_path)
    together = threading.Barrier(8)

    def write(user: str) -> bool:
        together.wait(SECONDS)
        try:
            answer(door, "core.save", Caller(UserRef(user)), content="of zebras and herons", duplicate_threshold=0.9)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        for turn in range(6):
            assert sorted(pool.map(write, [f"user {turn}"] * 8)) == [False] * 7 + [True]
    door.store.close()


_WRITERS = """
import os, sys
from pathlib import Path
from clock import SettableClock
from contracts.entries import EMBEDDER, save
from spaces import space_of
from steeltrap.stores.sqlite import SqliteStore

children = []
for n in range(int(sys.argv[2])):
    pid = os.fork()
    if pid == 0:
        store = SqliteStore(Path(sys.argv[1]), EMBEDDER, SettableClock())
        for i in range(6):
            for user in ("all", f"user {n}"):
                os.write(1, f"{user}|{save(space_of(store, user), f'heron {n} {i}').id}\\n".encode())
        store.close()
        os._exit(0)
    children.append(pid)
sys.exit(any(os.waitpid(pid, 0)[1] for pid in children))
"""


@pytest.mark.slow
def test_32_processes_lose_nothing(tmp_path: Path) -> None:
    saved: dict[str, set[str]] = {}
    for line in lines_of(_WRITERS, tmp_path, WRITERS):
        user, id = line.split("|")
        saved.setdefault(user, set()).add(id)
    assert len(saved) == WRITERS + 1
    assert len(saved["all"]) == 6 * WRITERS
    store = SqliteStore(tmp_path, EMBEDDER, SettableClock())
    for user, ids in saved.items():
        assert {memory.id for memory in space_of(store, user).walk()} == ids
        assert found(search(space_of(store, user), "heron", per_leg=None)) == ids
    store.close()


def test_of_writers_of_one_version_one_wins_and_the_others_are_told(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, EMBEDDER, SettableClock())
    old = save(space_of(store, "ana"), "heron")

    def write(writer: int) -> str:
        try:
            return update(space_of(store, "ana"), old, content=f"heron {writer}").content
        except Conflict as conflict:
            return f"lost to version {conflict.details['version']}"

    with ThreadPoolExecutor(16) as pool:
        ends = sorted(pool.map(write, range(16)))
    assert ends[1:] == ["lost to version 2"] * 15
    assert ends[:1] == [space_of(store, "ana").get([old.id])[old.id].content]
    store.close()
