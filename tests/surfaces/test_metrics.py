"""Prometheus reads a server's metrics: calls, times and sums over workers; never a user, a text or a client's word."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from clock import SettableClock
from embedding import HashedWords
from steeltrap.invoke import Door
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.asgi.telemetry import Metrics, RequestLog, metrics_route
from steeltrap.servers.auth.identity import Identity, LocalUser, TrustedHeaders
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.toolsets import CATALOGUE
from surfaces.serving import served
from worker_server import worker_server

TOKEN = "a-token-that-nobody-guesses"


@contextmanager
def client_of(folder: Path, identity: Identity, *, token: str = "") -> Iterator[httpx.Client]:
    """A client of a server with metrics."""
    embedder, clock, metrics = HashedWords(), SettableClock(), Metrics()
    store = SqliteStore(folder, embedder, clock)
    metrics.caches = store
    door = Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock, observe=metrics.observe)
    app = create_app(door, identity, local=isinstance(identity, LocalUser), routes=[metrics_route(metrics, token)])
    with served(RequestLog(app, metrics.answered)) as url, httpx.Client(base_url=url) as client:
        yield client


def samples(text: str) -> dict[tuple[str, ...], float]:
    """The value of each sample, by its name and labels."""
    return {
        (sample.name, *(sample.labels[label] for label in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_calls_errors_times_stages_and_open_users_are_counted(tmp_path: Path) -> None:
    with client_of(tmp_path, LocalUser("local", "default")) as client:
        for n in range(2):
            client.post("/v1/core/save", json={"content": f"Zebras sleep standing, {n}."})
        client.post("/v1/core/search", json={"query": "zebras"})
        client.post("/v1/core/save", json={})
        answer = client.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain")
    found = samples(answer.text)
    assert found["steeltrap_calls_total", "ok", "core.save"] == 2
    assert found["steeltrap_calls_total", "invalid_input", "core.save"] == 1
    assert found["steeltrap_call_seconds_count", "core.save"] == 3
    assert found["steeltrap_stage_seconds_count", "write", "core.save"] == 2
    assert found["steeltrap_stage_seconds_count", "legs", "core.search"] == 1
    assert found["steeltrap_http_answers_total", "200"] == 3
    assert found["steeltrap_http_answers_total", "400"] == 1
    assert found["steeltrap_open_users",] == 1
    assert found["steeltrap_index_bytes",] > 1000


def test_no_metric_has_a_user_a_text_or_what_a_client_made_up(tmp_path: Path) -> None:
    with client_of(tmp_path, TrustedHeaders(), token=TOKEN) as client:
        ana = {"X-User-Id": "ana-of-acme", "X-Agent-Id": "agent-of-ana"}
        client.post("/v1/core/save", json={"content": "Zebras sleep standing."}, headers=ana)
        client.post("/v1/core/madeup", json={}, headers=ana)
        client.request("MADEUP", "/madeup", headers=ana)
        params = {"name": "madeup", "arguments": {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        client.post("/mcp", json=message, headers={**ana, "Accept": "application/json, text/event-stream"})
        text = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text
    assert "steeltrap_calls_total" in text
    for word in ("ana-of-acme", "agent-of-ana", "Zebras", "madeup", "MADEUP"):
        assert word not in text


@pytest.mark.parametrize("sent", [None, "Bearer wrong", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer é"])
def test_with_a_token_nobody_else_reads_them(tmp_path: Path, sent: str | None) -> None:
    with client_of(tmp_path, TrustedHeaders(), token=TOKEN) as client:
        headers = {} if sent is None else {b"Authorization": sent.encode()}
        answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 401
    assert "steeltrap_calls" not in answer.text


@pytest.mark.slow
def test_any_worker_answers_with_the_sum_of_all_and_a_death_takes_no_count_away(tmp_path: Path) -> None:
    with worker_server(tmp_path) as server:
        one, other = map(server.connected_to, server.workers())
        for n in range(3):
            one.save(f"Fact {n}.")
        other.save("Another fact.")
        for connection in (one, other):
            found = samples(connection.get("/metrics")[1])
            assert found["steeltrap_calls_total", "ok", "core.save"] == 4
            assert found["steeltrap_open_users",] == 2
        server.kill(server.workers()[0])
        [survivor, successor] = server.workers()
        for worker in (survivor, successor):
            found = samples(server.connected_to(worker).get("/metrics")[1])
            assert found["steeltrap_calls_total", "ok", "core.save"] == 4
            assert found["steeltrap_open_users",] == 1


@pytest.mark.slow
def test_a_server_with_keys_shows_metrics_only_to_who_has_their_token(tmp_path: Path) -> None:
    settings = {"STEELTRAP_AUTH": "keys", "STEELTRAP_METRICS_TOKEN": TOKEN}
    with worker_server(tmp_path / "with", **settings) as server:
        worker = server.connected_to(server.workers()[0])
        assert worker.get("/metrics")[0] == 401
        assert worker.get("/metrics", {"Authorization": f"Bearer {TOKEN}"})[0] == 200
    with worker_server(tmp_path / "without", STEELTRAP_AUTH="keys") as server:
        assert server.connected_to(server.workers()[0]).get("/metrics")[0] == 404
    with (
        pytest.raises(AssertionError, match="STEELTRAP_METRICS_TOKEN must have at least 16"),
        worker_server(tmp_path / "weak", STEELTRAP_AUTH="keys", STEELTRAP_METRICS_TOKEN="short"),
    ):
        pass
