"""The server's log of a request, as JSON: how it went, never its texts or its user."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from clock import SettableClock
from embedding import HashedWords
from steeltrap.invoke import Door
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.asgi.telemetry import RequestLog
from steeltrap.servers.auth.identity import TrustedHeaders
from steeltrap.servers.process.logs import log_to_stderr
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.toolsets import CATALOGUE
from surfaces.serving import served
from worker_server import worker_server

Logged = Callable[[], list[dict[str, Any]]]
MCP = {"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-06-18"}


@pytest.fixture
def logged(capsys: pytest.CaptureFixture[str]) -> Logged:
    """The lines of the log so far."""
    log_to_stderr("info", format="json", serving=True)
    lines: list[dict[str, Any]] = []

    def logged() -> list[dict[str, Any]]:
        lines.extend(json.loads(line) for line in capsys.readouterr().err.splitlines())
        return lines

    return logged


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    embedder, clock = HashedWords(), SettableClock()
    door = Door(catalogue=CATALOGUE, store=SqliteStore(tmp_path, embedder, clock), embedder=embedder, clock=clock)
    app = RequestLog(create_app(door, TrustedHeaders(), local=False))
    with served(app) as url, httpx.Client(base_url=url, headers={"X-User-Id": "ana-of-acme"}) as client:
        yield client


def of(lines: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """The one line that has these fields."""
    [line] = [line for line in lines if fields.items() <= line.items()]
    return line


def test_a_call_and_its_request_share_an_id_that_the_client_gets(logged: Logged, client: httpx.Client) -> None:
    answer = client.post("/v1/core/save", json={"content": "Zebras sleep standing."})
    id = answer.headers["X-Request-Id"]
    call = of(logged(), tool="core.save")
    assert (call["request_id"], call["code"], call["level"]) == (id, "ok", "info")
    assert call["ms"] > 0
    request = of(logged(), path="/v1/core/save")
    assert (request["request_id"], request["method"], request["status"]) == (id, "POST", 200)
    assert client.post("/v1/core/save", json={"content": "Another."}).headers["X-Request-Id"] != id


def test_a_call_over_mcp_has_the_id_of_its_request(logged: Logged, client: httpx.Client) -> None:
    params = {"name": "recall", "arguments": {"query": "zebras"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = client.post("/mcp", json=message, headers=MCP)
    assert answer.status_code == 200
    assert of(logged(), tool="agent.recall")["request_id"] == answer.headers["X-Request-Id"]


def test_an_id_that_a_gateway_gave_is_kept_and_one_that_is_none_is_replaced(
    logged: Logged, client: httpx.Client
) -> None:
    kept = client.get("/healthz", headers={"X-Request-Id": "gw-1.2_Z"})
    assert kept.headers["X-Request-Id"] == "gw-1.2_Z"
    for bad in ("x" * 129, 'a"b', "a b", "ä"):
        assert client.get("/healthz", headers={"X-Request-Id": bad.encode()}).headers["X-Request-Id"] != bad
    twice = [("X-Request-Id", "a"), ("X-Request-Id", "b")]
    assert client.get("/healthz", headers=twice).headers["X-Request-Id"] not in ("a", "b")


def test_a_refused_request_is_logged_with_its_status_and_a_failed_call_with_its_code(
    logged: Logged, client: httpx.Client
) -> None:
    assert client.post("/v1/core/save", json={}).status_code == 400
    assert of(logged(), tool="core.save")["code"] == "invalid_input"
    assert client.get("/nowhere").status_code == 404
    assert of(logged(), path="/nowhere")["status"] == 404
    assert client.post("/v1/core/list", json={}, headers={"X-User-Id": ""}).status_code == 401
    assert of(logged(), path="/v1/core/list")["status"] == 401


def test_no_line_has_a_text_a_query_or_a_user(
    logged: Logged, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    quoted = "could not parse: zebras sleep standing"

    def failing(*_: Any) -> Any:
        raise ValueError(quoted)

    client.post("/v1/core/save", json={"content": "Zebras sleep standing."})
    client.post("/v1/core/search", json={"query": "where do zebras sleep?"})
    client.get("/healthz?q=zebras")
    client.get("/a%0Ab%22zebra".replace("zebra", "x"))
    monkeypatch.setattr(SqliteStore, "space", failing)
    assert client.post("/v1/core/list", json={}).status_code == 500
    said = json.dumps(logged()).lower()
    assert "zebra" not in said
    assert "ana-of-acme" not in said
    fault = of(logged(), fault="ValueError")
    assert "in failing" in fault["traceback"]
    assert fault["request_id"] == of(logged(), path="/v1/core/list")["request_id"]
    assert of(logged(), status=404)["path"] == "/a%0Ab%22x"


@pytest.mark.slow
def test_every_line_of_a_server_with_workers_is_json(tmp_path: Path) -> None:
    settings = {"STEELTRAP_LOG": "info", "STEELTRAP_LOG_FORMAT": "json"}
    with worker_server(tmp_path, **settings) as server:
        for worker in server.workers():
            server.connected_to(worker).save("Zebras sleep standing.")
        server.process.terminate()
        _, said = server.process.communicate(timeout=30)
    lines = [json.loads(line) for line in [*server.said, *said.splitlines()]]
    saves = [line for line in lines if line.get("tool") == "core.save"]
    assert len({line["process"] for line in saves}) == 2
    assert any("listens on" in line["message"] for line in lines)
