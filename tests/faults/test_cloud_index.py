"""The search index fails: writes go on, a search says what it left out, and no outage looks like an empty memory."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cloud import Cloud, cloud
from contracts.memory_index import MemoryIndex
from faults.doors import ANA, answer
from steeltrap.engine.upkeep import sweep
from steeltrap.errors import IndexThrottled, IndexUnavailable, NotFound, Unavailable
from steeltrap.invoke import Door
from steeltrap.model import OutcomeKind
from steeltrap.runtime import SystemClock
from steeltrap.stores.dynamodb import searching
from steeltrap.stores.opensearch import Indices, OpenSearchIndex, connect_index

__all__ = ["cloud"]

DOWN = IndexUnavailable("The search index can't be reached", advice="try again", part="index")


@contextmanager
def _listening(status: int | None, body: bytes) -> Iterator[str]:
    """A server in OpenSearch's place: one answer to everything, or with no status none before the end."""
    ended = threading.Event()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            if status is None:
                ended.wait(60)
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


def _down() -> str:
    with _listening(200, b"") as url:
        return url


_MAPPING = b'{"error": {"type": "query_shard_exception", "reason": "heron"}, "status": 400}'
_PARTS = b'{"responses": [' + b", ".join([_MAPPING] * 3) + b"]}"
_BAD_DAYS = {
    "down": (0, b"", "can't be reached"),
    "slow": (None, b"", "did not answer in time"),
    "throttling": (429, b"{}", "is overloaded"),
    "forbidden": (403, b"{}", "status 403"),
    "no alias": (404, b"{}", "status 404"),
    "broken": (503, b"{}", "status 503"),
    "wrong mapping": (400, _MAPPING, "rejects this request"),
    "wrong mapping of a part": (200, _PARTS, "rejects this request"),
    "no JSON": (200, b"<html>", "did not answer with JSON"),
}


@pytest.fixture(params=_BAD_DAYS, ids=_BAD_DAYS)
def bad_day(
    request: pytest.FixtureRequest, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Door, str]]:
    """A door over an index that fails, and the words that say how."""
    status, body, words = _BAD_DAYS[request.param]
    # One that answers is waited for, however busy the machine is.
    monkeypatch.setattr(searching, "INDEX_SECONDS", 0.3 if request.param == "slow" else 60.0)
    with _listening(status, body) if status != 0 else _nobody() as url:
        client = connect_index(url)
        yield cloud.door(OpenSearchIndex(client, Indices(client, "memories", SystemClock()))), words
        client.close()


@contextmanager
def _nobody() -> Iterator[str]:
    yield _down()


def test_what_is_written_is_safe_and_found_and_every_answer_says_what_is_missing(bad_day: tuple[Door, str]) -> None:
    door, words = bad_day
    saved = door.invoke("core.save", {"content": "The heron fishes at dawn"}, ANA)
    assert saved.error is None
    assert saved.body["links"] == 0
    assert "surprise" not in saved.body or saved.body["surprise"] is None
    assert saved.outcome is not None
    assert saved.outcome.kind is OutcomeKind.DEGRADED
    assert words in saved.outcome.message
    assert "pending" in saved.outcome.message
    found = answer(door, "core.search", query="heron")
    assert [hit["id"] for hit in found["results"]] == [saved.body["id"]]
    assert found["outcome"]["kind"] == "degraded"
    assert words in found["outcome"]["message"]
    assert "Only what was written in the last 5 minutes was searched" in found["outcome"]["message"]
    id = saved.body["id"]
    assert answer(door, "core.get", id=id)["content"] == "The heron fishes at dawn"
    assert answer(door, "core.update", id=id, content="The otter fishes at dusk")["version"] == 2
    assert answer(door, "core.search", query="otter")["results"][0]["content"] == "The otter fishes at dusk"
    assert answer(door, "core.list")["total"] == 1
    answer(door, "core.delete", id=id)
    assert answer(door, "core.search", query="otter")["results"] == []


@pytest.mark.parametrize("tool", ["notes.memory_search", "categories.search_memories", "records.memory_search"])
def test_an_empty_answer_of_a_dialect_is_an_error_while_the_index_is_down(cloud: Cloud, tool: str) -> None:
    door = cloud.door(MemoryIndex(DOWN))
    result = door.invoke(tool, {"query": "heron"}, ANA)
    assert isinstance(result.error, Unavailable)
    assert result.error.can_retry


@pytest.mark.parametrize("error", [DOWN, IndexThrottled("The search index is overloaded.", part="index")])
def test_what_needs_the_whole_memory_is_refused_and_may_be_tried_again(cloud: Cloud, error: Exception) -> None:
    index = MemoryIndex()
    door = cloud.door(index, told=True)
    answer(door, "core.save", content="The heron fishes at dawn")
    index.failing = error  # type: ignore[assignment]
    refused = door.invoke("core.save", {"content": "The heron fishes at noon", "duplicate_threshold": 0.9}, ANA).error
    assert refused is not None
    assert refused.can_retry
    assert answer(door, "core.list")["total"] == 1


def test_a_sweep_completes_what_was_saved_without_the_index(cloud: Cloud) -> None:
    index = MemoryIndex()
    door = cloud.door(index, told=True)
    other = answer(door, "core.save", content="The heron fishes at dawn by the pond")["id"]
    index.failing = DOWN
    saved = answer(door, "core.save", content="The heron fishes at dawn by the river")
    own = answer(door, "core.save", content="A heron sleeps", surprise=0.25)
    index.failing = None
    sweep(door.call_for(ANA, seconds=60))
    completed = answer(door, "core.get", id=saved["id"])
    assert completed["surprise"] < 0.5
    assert completed["version"] == 1
    assert [link["id"] for link in answer(door, "core.associations", id=saved["id"])["associations"]] == [other]
    assert answer(door, "core.get", id=own["id"])["surprise"] == 0.25


def test_a_sweep_while_the_index_is_down_says_so_and_loses_nothing(cloud: Cloud) -> None:
    index = MemoryIndex(DOWN)
    door = cloud.door(index, told=True)
    id = answer(door, "core.save", content="The heron fishes at dawn")["id"]
    with pytest.raises(Unavailable):
        sweep(door.call_for(ANA, seconds=60))
    index.failing = None
    assert answer(door, "core.search", query="heron")["results"][0]["id"] == id


def test_an_index_that_lags_behind_the_latest_writes_is_told(cloud: Cloud) -> None:
    door = cloud.door(MemoryIndex())
    answer(door, "core.save", content="The heron fishes at dawn")
    assert answer(door, "core.search", query="heron")["outcome"]["kind"] == "found"
    cloud.clock.advance(hours=1)
    found = answer(door, "core.search", query="heron")
    assert found["outcome"]["kind"] == "degraded"
    assert "index_lagging" in found["outcome"]["message"]


def test_what_the_index_still_has_of_a_forgotten_memory_is_not_answered(cloud: Cloud) -> None:
    index = MemoryIndex()
    id = answer(cloud.door(index, told=True), "core.save", content="The heron fishes at dawn")["id"]
    door = cloud.door(index)
    cloud.clock.advance(hours=1)
    assert answer(door, "core.forget", id=id)["verified"]
    cloud.clock.advance(hours=1)
    assert answer(door, "core.search", query="heron")["results"] == []
    with pytest.raises(NotFound):
        answer(door, "core.get", id=id)
