"""Lambda adds kinds of events, routing by operation, base64, lean and lazy handlers."""

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from spaces import space_of
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ports import Deadline
from steeltrap.servers.aws_lambda.asgi import app_handler, mcp_handler
from steeltrap.servers.aws_lambda.tools import tool_handler
from surfaces.callers import ROOT, opened
from surfaces.conftest import FailingStore
from surfaces.events import as_v1, as_v2

ME = Caller(UserRef("ana"), "default")
SAVE = "/v1/core/save"
KINDS = pytest.mark.parametrize("event", [as_v1, as_v2])


@pytest.fixture
def handler(door: Door) -> Any:
    return tool_handler("save", open=lambda: door)


def refused(answer: dict[str, Any], status: int, says: str = "") -> None:
    assert answer["statusCode"] == status
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    assert says in json.loads(answer["body"])["detail"]


@KINDS
def test_a_base64_body_is_read(handler: Any, event: Any) -> None:
    body = base64.b64encode('{"content": "Café."}'.encode()).decode()
    assert handler(event(SAVE, body, ME, isBase64Encoded=True), None)["statusCode"] == 200
    refused(handler(event(SAVE, "é%", ME, isBase64Encoded=True), None), 400, "base64")


@KINDS
@pytest.mark.parametrize("body", ["{", "[1]", None, "\ud800", '{"content": "\\u0000"}', '{"content": NaN}'])
def test_a_bad_body_is_a_bad_request(handler: Any, event: Any, body: str | None) -> None:
    refused(handler(event(SAVE, body, ME), None), 400)


@KINDS
def test_without_an_authorizer_nobody_calls(handler: Any, event: Any) -> None:
    body = json.dumps({"content": "x"})
    headers = {"Content-Type": "application/json", "X-User-Id": "ana"}
    answer = handler(event(SAVE, body, None, headers=headers, multiValueHeaders=None), None)
    refused(answer, 401)
    assert answer["headers"]["WWW-Authenticate"] == "Bearer"


@KINDS
def test_a_tool_of_another_operation_is_not_here(handler: Any, event: Any) -> None:
    refused(handler(event("/v1/core/search", '{"query": "x"}', ME), None), 404, "notes.memory_save")
    refused(handler(event("/v1/core/nothing", "{}", ME), None), 404, "there are")


@KINDS
def test_only_json_by_post_is_taken(handler: Any, event: Any) -> None:
    got = event(SAVE, "{}", ME, headers={"content-type": "text/plain"}, multiValueHeaders=None)
    refused(handler(got, None), 415)
    got = event(SAVE, "", ME, httpMethod="GET")
    got["requestContext"].get("http", {})["method"] = "GET"
    answer = handler(got, None)
    refused(answer, 405)
    assert answer["headers"]["Allow"] == "POST"


def test_a_stage_or_a_mapped_base_path_is_no_part_of_the_path(handler: Any) -> None:
    body = '{"content": "A fact."}'
    staged = as_v2(SAVE, body, ME, rawPath=f"/prod{SAVE}", routeKey="$default")
    staged["requestContext"]["stage"] = "prod"
    mapped = as_v2(SAVE, body, ME, rawPath=f"/memory{SAVE}")
    rest = {**as_v1(SAVE, body, ME), "path": f"/memory{SAVE}"}
    assert [handler(event, None)["statusCode"] for event in (staged, mapped, rest)] == [200, 200, 200]


def test_a_header_twice_is_refused(handler: Any) -> None:
    several = {"Content-Type": ["application/json"], "Idempotency-Key": ["a", "b"]}
    refused(handler(as_v1(SAVE, '{"content": "x"}', ME, multiValueHeaders=several), None), 400, "send it once")


def test_a_misspelt_header_is_refused(handler: Any) -> None:
    headers = {"content-type": "application/json", "x-steeltrap-secret": "redact"}
    answer = handler(as_v2(SAVE, '{"content": "x"}', ME, headers=headers), None)
    refused(answer, 400, "did you mean `X-Steeltrap-Secrets`?")


def test_a_repeated_key_saves_once(handler: Any) -> None:
    direct = {"toolset": "core", "tool": "save", "arguments": {"content": "Once."}, "caller": {"user_id": "ana"}}
    headers = {"content-type": "application/json", "idempotency-key": "k-1"}
    ids = [handler({**direct, "idempotency_key": "k-1"}, None)["body"]["id"]]
    ids.append(json.loads(handler(as_v2(SAVE, '{"content": "Once."}', ME, headers=headers), None)["body"])["id"])
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"caller": None}, "identity_missing"),
        ({"caller": {}}, "identity_missing"),
        ({"caller": {"user_id": ""}}, "identity_missing"),
        ({"caller": {"user_id": 5}}, "invalid_input"),
        ({"caller": {"user_id": "ana", "role": "admin"}}, "invalid_input"),
        ({"caller": "ana"}, "invalid_input"),
        ({"arguments": [1]}, "invalid_input"),
        ({"idempotency_key": 5}, "invalid_input"),
        ({"tool": "nothing"}, "not_found"),
        ({"tool": "get"}, "not_found"),
        ({"tool": ["save"]}, "not_found"),
        ({"toolset": None}, "not_found"),
    ],
)
def test_a_direct_invocation_that_does_not_fit_is_told_why(handler: Any, changes: dict[str, Any], code: str) -> None:
    event = {"toolset": "core", "tool": "save", "arguments": {"content": "x"}, "caller": {"user_id": "ana"}}
    assert handler({**event, **changes}, None)["error"]["code"] == code


@pytest.mark.parametrize(
    "event",
    [
        {},
        [],
        None,
        "x",
        {"Records": [{"eventSource": "aws:s3"}]},
        {"Records": []},
        {"requestContext": {"http": "x"}, "version": "2.0"},
        {"requestContext": {"elb": {}}},
        {"content": "x"},
        {"tool": "save", "surprise": 1},
    ],
)
def test_another_kind_of_event_is_told_what_is_taken(handler: Any, event: Any) -> None:
    error = handler(event, None)["error"]
    assert error["code"] == "invalid_input"
    assert "This function takes events of HTTP" in error["message"]


def test_the_door_opens_at_the_first_call_and_a_fault_in_it_is_not_told() -> None:
    opened = []

    def broken() -> Door:
        opened.append(1)
        raise RuntimeError(FailingStore.secret)

    handler = tool_handler("save", open=broken)
    assert opened == []
    answer = handler(as_v2(SAVE, "{}", ME), None)
    refused(answer, 500)
    assert FailingStore.secret not in json.dumps(answer)
    assert opened == [1]


def test_a_store_that_is_away_at_the_start_may_be_tried_again() -> None:
    def away() -> Door:
        raise Unavailable("The store does not answer.", part="store")

    answer = tool_handler("save", open=away)(as_v2(SAVE, "{}", ME), None)
    refused(answer, 503)
    assert json.loads(answer["body"])["retryable"] is True


def test_a_tools_function_imports_no_framework() -> None:
    program = (
        "import sys; sys.path[:0] = ['shared', 'functions/search']; import handler\n"
        "heavy = {'fastapi', 'starlette', 'mcp', 'mangum', 'uvicorn', 'typer', 'numpy', 'apsw', 're2'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_a_function_imports_only_the_module_of_the_tool_that_it_is_asked_for() -> None:
    program = (
        "import sys; from steeltrap.toolsets import CATALOGUE; CATALOGUE.tool('core.search')\n"
        "print(*sorted({name.rpartition('.')[2] for name in sys.modules if name.startswith('steeltrap.toolsets.')}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == ["core", "fields", "filtering", "searching", "views"]


@KINDS
@pytest.mark.usefixtures("event_loop_closed")
def test_all_of_http_runs_in_one_function_again_and_again(door: Door, event: Any) -> None:
    handler = app_handler(open=lambda: door)
    for _ in range(2):
        answer = handler(event(SAVE, '{"content": "A fact."}', ME), None)
        assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, False)
        problem = handler(event("/v1/core/nothing", "{}", ME), None)
        assert (problem["statusCode"], json.loads(problem["body"])["code"]) == (404, "not_found")
        assert handler(event(SAVE, '{"content": "x"}', None), None)["statusCode"] == 401


@pytest.mark.usefixtures("event_loop_closed")
def test_a_call_ends_before_the_gateway_gives_up_whatever_its_tool_may_take(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []
    call_for = Door.call_for

    def noting(self: Door, caller: Caller | None, *, seconds: float, **options: Any) -> Any:
        given.append(seconds)
        return call_for(self, caller, seconds=seconds, **options)

    monkeypatch.setattr(Door, "call_for", noting)
    assert door.catalogue.tool("core.export").timeout > 30
    assert app_handler(open=lambda: door)(as_v2("/v1/core/export", "{}", ME), None)["statusCode"] == 200
    assert tool_handler("export", open=lambda: door)(
        {"toolset": "core", "tool": "export", "arguments": {}, "caller": {"user_id": "ana"}}, None
    )["body"]
    over_http, direct = given
    assert over_http < 30 < direct


@KINDS
@pytest.mark.parametrize("path", ["/mcp", "/mcp/notes"])
@pytest.mark.usefixtures("event_loop_closed")
def test_mcp_runs_in_a_function_again_and_again(door: Door, event: Any, path: str) -> None:
    handler = mcp_handler(open=lambda: door)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    for _ in range(2):
        answer = handler(event(path, body, ME, headers=headers, multiValueHeaders=None), None)
        assert answer["statusCode"] == 200
        assert json.loads(answer["body"])["result"]["tools"]
        assert handler(event(path, body, None, headers=headers, multiValueHeaders=None), None)["statusCode"] == 401


# What was read


def _direct(handler: Any) -> Any:
    arguments = {"query": "A fact."}
    event = {"toolset": "core", "tool": "search", "arguments": arguments, "caller": {"user_id": "ana"}}
    return handler(event, None)["body"]["results"]


def _by_http(handler: Any) -> Any:
    return json.loads(handler(as_v2("/v1/core/search", '{"query": "A fact."}', ME), None)["body"])["results"]


def _by_mcp(handler: Any) -> Any:
    call = {"name": "search", "arguments": {"query": "A fact."}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = handler(as_v2("/mcp/core", body, ME, headers=headers), None)
    return json.loads(json.loads(answer["body"])["result"]["content"][0]["text"])["results"]


FUNCTIONS = pytest.mark.parametrize(
    ("made", "called"),
    [
        (lambda open: tool_handler("search", open=open), _direct),
        (lambda open: tool_handler("search", open=open), _by_http),
        (lambda open: app_handler(open=open), _by_http),
        (lambda open: mcp_handler(open=open), _by_mcp),
    ],
    ids=["direct", "gateway", "http", "mcp"],
)


@FUNCTIONS
@pytest.mark.usefixtures("event_loop_closed")
def test_what_was_read_is_written_down_before_a_function_sleeps(
    door: Door, tmp_path: Path, made: Callable[..., Any], called: Callable[..., Any]
) -> None:
    with patch("steeltrap.stores.sqlite.store.FLUSH_SECONDS", 3600):  # nothing in the background
        id = door.invoke("core.save", {"content": "A fact."}, ME).body["id"]
        assert [hit["id"] for hit in called(made(lambda: door))] == [id]
        with opened(tmp_path) as other:
            assert space_of(other.store, "ana").usage([id])[id].access_count == 1


@FUNCTIONS
@pytest.mark.usefixtures("event_loop_closed")
def test_an_answer_survives_that_what_was_read_cannot_be_written_down(
    door: Door, made: Callable[..., Any], called: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    class Worn(FailingStore):
        def space(self, user: UserRef, deadline: Deadline) -> Any:
            return door.store.space(user, deadline)

    id = door.invoke("core.save", {"content": "A fact."}, ME).body["id"]
    worn = replace(door, store=Worn())  # type: ignore[arg-type]
    assert [hit["id"] for hit in called(made(lambda: worn))] == [id]
    assert "flushing usage failed" in caplog.text
