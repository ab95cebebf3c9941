"""How hooks find and enter a server: a file with a token, which opens the routes of hooks and nothing else."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from clock import NOON
from faults.doors import open_door
from hooks.conftest import Computer
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.surfaces.asgi.app import create_app
from steeltrap.surfaces.asgi.hooks import hook_routes
from steeltrap.surfaces.auth.api_keys import ApiKeys
from steeltrap.surfaces.hooks import server_file
from surfaces.asgi import Request

RUNNING = server_file.RunningServer(
    "127.0.0.1", 8765, 1, "local", "a-made-up-token-of-43-characters", "0123456789abcdef"
)
EVENT = {"client": "codex", "folder": "/", "input": {"session_id": "s1", "turn_id": "t1", "prompt": "Tea or coffee?"}}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    opened = open_door(tmp_path)
    yield opened
    opened.store.close()


def post(door: Door, folder: Path, path: str, token: str | None, body: Any = EVENT) -> Request:
    """A request to a server that requires API keys."""
    request = Request(path, [json.dumps(body).encode()], {"Authorization": f"Bearer {token}"} if token else {})

    async def run() -> None:
        routes = hook_routes(door, RUNNING, folder)
        await request.to(create_app(door, ApiKeys(folder / "keys"), local=False, closes_store=False, routes=routes))

    anyio.run(run)
    return request


def test_the_token_lets_hooks_in_whatever_else_authenticates_callers(door: Door, tmp_path: Path) -> None:
    answer = post(door, tmp_path, "/hooks/prompt", RUNNING.token)
    assert (answer.status, answer.json["print"]) == (200, "")
    assert answer.answered["x-steeltrap-instance"] == RUNNING.instance
    stored = door.invoke("core.stats", {}, Caller(UserRef("local"), "codex")).body
    assert stored["turns"] == 1


@pytest.mark.parametrize("path", ["/v1/core/list", "/v1/core/forget", "/mcp"])
def test_the_token_opens_nothing_else(door: Door, tmp_path: Path, path: str) -> None:
    assert post(door, tmp_path, path, RUNNING.token, {}).status == 401


@pytest.mark.parametrize("token", [None, "", "x", RUNNING.token[:-1]])
def test_without_the_token_hooks_are_refused(door: Door, tmp_path: Path, token: str | None) -> None:
    answer = post(door, tmp_path, "/hooks/prompt", token)
    assert (answer.status, answer.read) == (401, 0)


def test_somebody_elses_key_is_no_token(door: Door, tmp_path: Path) -> None:
    _, secret = ApiKeys(tmp_path / "keys").add(Caller(UserRef("ana")), "", NOON)
    assert post(door, tmp_path, "/hooks/prompt", secret).status == 401


@pytest.mark.parametrize("body", [[], {}, {"input": 7}, {"input": {}}, {"input": {"session_id": "s"}, "client": "vim"}])
def test_what_no_hook_sends_is_refused(door: Door, tmp_path: Path, body: Any) -> None:
    assert post(door, tmp_path, "/hooks/prompt", RUNNING.token, body).status in (400, 422)


def test_the_file_is_its_owners_alone_and_gone_when_the_server_ends(
    computer: Computer, server: server_file.RunningServer
) -> None:
    path = computer.data / server_file.NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert server_file.is_running(server)
    os.kill(server.process, signal.SIGTERM)
    os.waitpid(server.process, 0)
    assert not path.exists()


def test_a_server_removes_no_other_servers_file(tmp_path: Path) -> None:
    mine, other = (server_file.of_this_process("127.0.0.1", port, "local") for port in (1, 2))
    server_file.write(str(tmp_path), mine)
    server_file.write(str(tmp_path), other)
    server_file.remove(str(tmp_path), mine)
    assert server_file.read(str(tmp_path)) == other
    server_file.remove(str(tmp_path), other)
    assert list(tmp_path.iterdir()) == []


def test_an_address_of_all_interfaces_is_told_as_the_loopback_one() -> None:
    assert server_file.of_this_process("0.0.0.0", 1, "local").host == "127.0.0.1"
    assert server_file.of_this_process("::", 1, "local").host == "::1"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"host": 1}', json.dumps(RUNNING._asdict() | {"port": "8765"})])
def test_a_file_that_is_not_whole_is_no_server(tmp_path: Path, text: str) -> None:
    (tmp_path / server_file.NAME).write_text(text)
    assert server_file.read(str(tmp_path)) is None


def test_another_users_server_is_not_asked(computer: Computer, server: server_file.RunningServer) -> None:
    computer.environment["STEELTRAP_USER"] = "ana"
    event = {"session_id": "s1", "turn_id": "t1", "prompt": "I drink tea.", "cwd": "/"}
    assert computer.hook("prompt", event) == ""
    done = subprocess.run(
        computer.command("call", "core.stats", "{}"), env=computer.environ(), capture_output=True, check=True
    )
    assert json.loads(done.stdout)["turns"] == 1
