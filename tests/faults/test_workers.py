"""Several workers over one data folder: each sees at once what another wrote, and none is missed when it dies."""

import json
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steeltrap.errors import Unavailable
from steeltrap.servers.process.workers import supervise
from worker_server import Connection, WorkerServer, is_alive, worker_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerServer]:
    with worker_server(tmp_path_factory.mktemp("data")) as server:
        yield server


def until(true: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    waiting = threading.Event()
    for _ in range(600):
        if true():
            return
        waiting.wait(0.05)
    raise AssertionError("it never came true")


def both(server: WorkerServer) -> tuple[Connection, Connection]:
    one, other = server.workers()
    return server.connected_to(one), server.connected_to(other)


def test_what_one_worker_saved_changed_or_deleted_the_other_finds_at_once_as_it_is(server: WorkerServer) -> None:
    one, other = both(server)
    for here, there in ((one, other), (other, one)):
        assert here.found("herons") == []
        assert there.found("herons") == []
        saved = here.save("The herons came back to the reeds.")
        assert there.found("herons") == ["The herons came back to the reeds."]
        edit = {"id": saved["id"], "version": 1, "content": "The herons have left."}
        assert there.call("/v1/core/update", **edit)[0] == 200
        assert here.found("herons") == ["The herons have left."]
        assert here.call("/v1/core/delete", id=saved["id"])[0] == 200
        assert there.found("herons") == []


def test_an_edit_based_on_what_another_worker_has_changed_is_a_conflict(server: WorkerServer) -> None:
    one, other = both(server)
    saved = one.save("The bridge opens at noon.")
    assert other.call("/v1/core/update", id=saved["id"], version=1, content="The bridge opens at one.")[0] == 200
    assert one.call("/v1/core/update", id=saved["id"], version=1, content="The bridge is shut.")[0] == 409


def test_an_mcp_conversation_may_go_on_at_any_worker(server: WorkerServer) -> None:
    one, other = both(server)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    assert one.call("/mcp", jsonrpc="2.0", id=1, method="initialize", params=hello)[0] == 200
    said = {"name": "remember", "arguments": {"content": "Ana collects maps of lighthouses."}}
    _, remembered = other.call("/mcp", jsonrpc="2.0", id=2, method="tools/call", params=said)
    assert not remembered["result"]["isError"]
    asked = {"name": "recall", "arguments": {"query": "lighthouses"}}
    _, recalled = one.call("/mcp", jsonrpc="2.0", id=3, method="tools/call", params=asked)
    assert "maps of lighthouses" in json.dumps(recalled)


def test_a_killed_worker_loses_nothing_it_acknowledged_and_another_takes_its_place(tmp_path: Path) -> None:
    with worker_server(tmp_path) as server:
        victim, survivor = server.workers()
        dying, living = server.connected_to(victim), server.connected_to(survivor)
        acknowledged = {dying.save(f"Fact {n} of the one that dies.")["id"] for n in range(30)}
        acknowledged |= {living.save(f"Fact {n} of the other.")["id"] for n in range(30)}
        server.kill(victim)
        [successor] = set(server.workers()) - {survivor}
        for connection in (living, server.connected_to(successor)):
            _, listed = connection.call("/v1/core/list", limit=100)
            assert {memory["id"] for memory in listed["memories"]} == acknowledged
            assert len(connection.found("one that dies")) > 0
        assert server.process.stderr is not None
        assert "A worker died (SIGKILL); another one takes its place." in server.process.stderr.readline()


def test_workers_count_the_calls_of_a_user_together(tmp_path: Path) -> None:
    with worker_server(tmp_path, "--user-header", "X-User", STEELTRAP_CALLS_PER_MINUTE="20") as server:
        connections = both(server)

        def calls_of(user: str) -> list[int]:
            return [connections[n % 2].call("/v1/core/list", {"X-User": user})[0] for n in range(21)]

        minute = time.time() // 60
        statuses = calls_of("ana")
        if time.time() // 60 != minute:  # the count began anew
            statuses = calls_of("bob")
        assert statuses == [200] * 20 + [429]
        assert connections[0].call("/v1/core/list", {"X-User": "cleo"})[0] == 200


def test_sigterm_ends_every_worker_and_frees_the_port(tmp_path: Path) -> None:
    with worker_server(tmp_path) as server:
        workers = server.workers()
        both(server)  # idle connections keep nobody
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        assert not any(map(is_alive, workers))
        socket.create_server(("127.0.0.1", server.port)).close()


def test_workers_do_not_outlive_the_process_that_started_them(tmp_path: Path) -> None:
    with worker_server(tmp_path) as server:
        workers = server.workers()
        server.process.kill()
        server.process.wait(30)
        until(lambda: not any(map(is_alive, workers)))
        socket.create_server(("127.0.0.1", server.port)).close()


def test_what_keeps_all_workers_from_serving_is_said_once_and_ends_the_command(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").write_text("a file, not a folder")
    with pytest.raises(AssertionError) as failed, worker_server(tmp_path / "data"):
        pass
    assert str(failed.value).count("is not a folder") == 1


def ending(serves: Callable[[], None]) -> None:
    raise SystemExit(3)


def test_a_worker_that_never_comes_to_serve_ends_the_command() -> None:
    serving: list[bool] = []
    with pytest.raises(Unavailable, match="A worker could not start"):
        supervise(ending, (), count=2, all_serve=lambda: serving.append(True))
    assert not serving
