"""A real server with few descriptors and many users: all are served, and nothing acknowledged is lost."""

import os
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import apsw
import pytest

from clock import SettableClock
from contracts.entries import EMBEDDER
from contracts.entries import save as save_to
from faults.real_server import RealServer, contents, save, serving
from spaces import space_of
from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from steeltrap.stores.sqlite import SqliteStore, opening

_LIMITED: Final = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {0}))"
CLIENTS: Final = 12


def in_parallel(work: Any, items: Any) -> list[Any]:
    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(work, items))


def open_files(server: RealServer) -> int:
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


@pytest.mark.slow
def test_a_server_with_64_descriptors_serves_forty_users_at_once(tmp_path: Path) -> None:
    users = [f"user {n}" for n in range(40)]
    saved: dict[str, set[str]] = {user: set() for user in users}

    def save_one(turn: int) -> None:
        user = users[turn % len(users)]
        while True:
            try:
                status, body = server.call("core.save", user, content=f"heron {turn}")
            except OSError:
                continue  # more clients than connections: refused at once
            if status == 200:
                saved[user].add(body["id"])
                return
            assert status in (429, 503), body
            assert body["retryable"], body["detail"]
            said = ("Too many files are open", "Too many connections are open", "The memory store is busy")
            assert body["detail"].startswith(said)

    with serving(tmp_path / "data", before=_LIMITED.format(64)) as server:
        in_parallel(save_one, range(400))
        for user in users:
            assert set(contents(server, user)) == saved[user]
        assert open_files(server) <= 64
        assert server.command("doctor").returncode == 0
    assert sum(map(len, saved.values())) == 400


def lacking_descriptors(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """SQLite fails to open files so many times, as it does where the process has too many open."""
    connect, left = apsw.Connection, iter(range(times))

    def failing(*arguments: Any, **how: Any) -> apsw.Connection:
        if next(left, None) is not None:
            raise apsw.CantOpenError("unable to open database file")
        return connect(*arguments, **how)

    monkeypatch.setattr(apsw, "Connection", failing)


def test_a_file_is_opened_once_a_descriptor_is_free(
    tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path, EMBEDDER, clock)
    lacking_descriptors(monkeypatch, times=3)
    kept = save_to(space_of(store, "ana"), "the heron")
    assert set(space_of(store, "ana").get([kept.id])) == {kept.id}
    store.close()


def test_a_file_that_was_opened_to_be_read_only_is_opened_again(
    tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path, EMBEDDER, clock)
    save_to(space_of(store, "ana"), "the heron")
    store.close()
    connect, opened = apsw.Connection, []

    def read_only_at_first(name: str, flags: int) -> apsw.Connection:
        opened.append(name)
        return connect(name, flags=apsw.SQLITE_OPEN_READONLY if len(opened) < 4 else flags)

    monkeypatch.setattr(apsw, "Connection", read_only_at_first)
    store = SqliteStore(tmp_path, EMBEDDER, clock)
    kept = save_to(space_of(store, "ana"), "the bittern")
    assert set(space_of(store, "ana").get([kept.id])) == {kept.id}
    assert len(opened) > 4
    store.close()


def test_a_lack_of_descriptors_is_said_and_the_call_can_be_repeated(
    tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_DESCRIPTOR_SECONDS", 0.0)
    store = SqliteStore(tmp_path, EMBEDDER, clock)
    lacking_descriptors(monkeypatch, times=2)
    with pytest.raises(Unavailable, match="Too many files are open: raise the server's limit") as said:
        save_to(space_of(store, "ana"), "the heron")
    assert said.value.can_retry
    monkeypatch.undo()
    assert save_to(space_of(store, "ana"), "the heron")
    store.close()


@pytest.mark.slow
def test_ten_thousand_users_are_served_by_a_few_open_files(tmp_path: Path) -> None:
    users = [f"user {n:05}" for n in range(10_000)]
    with serving(tmp_path / "data") as server:
        known = save(server, "user xxxxx", "the heron of everyone")
    for user in users:
        give_copy(tmp_path / "data", "user xxxxx", user)
    pick = random.Random(7)
    with serving(tmp_path / "data", before=_LIMITED.format(1024)) as server:

        def look(user: str) -> None:
            status, body = server.call("core.get", user, id=known)
            assert (status, body["content"]) == (200, "the heron of everyone")

        in_parallel(look, pick.sample(users, 700))
        writers = pick.sample(users, 100)
        ids = in_parallel(lambda user: save(server, user, f"note of {user}"), writers)
        in_parallel(look, pick.sample(users, 300))
        for user, id in zip(writers, ids, strict=True):
            assert contents(server, user) == {known: "the heron of everyone", id: f"note of {user}"}
        assert open_files(server) < 1024
    shutil.rmtree(tmp_path / "data")


def give_copy(data: Path, owner: str, user: str) -> None:
    """Give a user a copy of another's file; the ids are equally long."""
    paths = [data / "users" / key[:2] / f"{key}.db" for key in (UserRef(owner).key, UserRef(user).key)]
    paths[1].parent.mkdir(exist_ok=True)
    paths[1].write_bytes(paths[0].read_bytes().replace(owner.encode(), user.encode()))
