"""The function that keeps the search index, on DynamoDB Local and OpenSearch."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from contracts.named_parts import named_parts, own_upkeep
from steeltrap.errors import InvalidInput
from steeltrap.model import Caller, UserRef
from steeltrap.runtime import local as runtime
from steeltrap.servers.aws_lambda import upkeep as lambda_index
from steeltrap.servers.aws_lambda.upkeep import index_handler
from steeltrap.settings import read_settings


class Context:
    """An invocation that has so many seconds left."""

    def __init__(self, seconds: int = 900) -> None:
        self.seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return 1000 * self.seconds


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with named_parts(monkeypatch) as name:
        yield name


@contextmanager
def formation() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Where CloudFormation waits for an answer, and what it heard."""
    heard: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/answer?signed", heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def request(kind: str, url: str) -> dict[str, Any]:
    names = {"StackId": "stack", "RequestId": "request", "LogicalResourceId": "Index"}
    return {"RequestType": kind, "ResponseURL": url, "ResourceProperties": {}, **names}


def test_a_stack_makes_the_index_once_and_leaves_it_when_it_goes(name: str) -> None:
    handler = index_handler(open=own_upkeep)
    with formation() as (url, heard):
        for kind in ("Create", "Update", "Delete"):
            handler(request(kind, url), Context())
    assert [(told["Status"], told["Data"]["Made"]) for told in heard] == [
        ("SUCCESS", "true"),
        ("SUCCESS", "false"),
        ("SUCCESS", "false"),
    ]
    assert {told["PhysicalResourceId"] for told in heard} == {"steeltrap-search-index"}
    upkeep = own_upkeep()
    assert not upkeep.index.create()
    upkeep.close()


def test_a_stack_hears_why_the_index_was_not_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELTRAP_OPENSEARCH_URL", "http://127.0.0.1:9")
    with formation() as (url, heard):
        index_handler(open=own_upkeep)(request("Create", url), Context(seconds=10))
    [told] = heard
    assert told["Status"] == "FAILED"
    assert "search index can't be reached" in told["Reason"]


def test_an_index_that_is_refused_at_first_is_asked_for_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = os.environ["STEELTRAP_OPENSEARCH_URL"]
    monkeypatch.setenv("STEELTRAP_OPENSEARCH_URL", "http://127.0.0.1:9")
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        monkeypatch.setenv("STEELTRAP_OPENSEARCH_URL", right)

    with formation() as (url, heard):
        index_handler(open=own_upkeep, pause=pause)(request("Create", url), Context())
    assert [(told["Status"], told["Data"]["Made"]) for told in heard] == [("SUCCESS", "true")]
    assert len(waited) == 1


def test_a_rebuild_that_runs_out_of_time_goes_on_when_it_is_called_again(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime.set_up(read_settings())
    door = runtime.open_door(read_settings())
    for text in ("the heron eats fish", "the otter eats crabs"):
        assert door.invoke("core.save", {"content": text}, Caller(UserRef("ana"))).error is None
    door.store.close()
    handler = index_handler(open=own_upkeep)
    with monkeypatch.context() as late:
        late.setattr(lambda_index, "time_left", lambda context: 0.0)
        assert handler({"rebuild": True}, Context()) == {"written": 2, "switched": False}
    done = handler({"rebuild": True}, Context())
    assert (done["switched"], done["refused"]) == (True, 0)


@pytest.mark.parametrize("event", [{}, None, [], {"rebuild": "yes"}, {"source": "elsewhere"}])
def test_an_unknown_event_is_refused_with_what_there_is(event: Any) -> None:
    with pytest.raises(InvalidInput, match="takes a schedule"):
        index_handler(open=own_upkeep)(event, Context())


def test_settings_that_do_not_fit_fail_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELTRAP_STORE", "paper")
    with pytest.raises(InvalidInput, match="STEELTRAP_STORE"):
        index_handler()
