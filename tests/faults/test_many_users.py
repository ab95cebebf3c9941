"""A real server with few descriptors and many users: all are served, and nothing acknowledged is lost."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from faults.real_server import RealServer, contents, serving

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
