"""Events that don't fit, of every kind and to every function: the right status, one sentence, one line in the log."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from steeltrap.errors import InvalidInput
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.aws_lambda.asgi import app_handler, mcp_handler
from steeltrap.servers.aws_lambda.stream import stream_handler
from steeltrap.servers.aws_lambda.telemetry import Telemetry
from steeltrap.servers.aws_lambda.tools import tool_handler
from steeltrap.servers.aws_lambda.upkeep import index_handler, maintenance_handler
from surfaces.conftest import Tell
from surfaces.events import as_alb, as_url, as_v1, as_v2

ME = Caller(UserRef("ana"), "default")
CONTEXT = SimpleNamespace(aws_request_id="lambda-1", function_name="steeltrap")
SAVE = "/v1/core/save"
GOOD = json.dumps({"content": "A fact."})
MIB = 1024 * 1024

Make = Callable[[str, Any], dict[str, Any]]

KINDS: dict[str, Make] = {
    "v2": lambda path, body: as_v2(path, body, ME),
    "v1": lambda path, body: as_v1(path, body, ME),
    "url": as_url,
    "alb": lambda path, body: as_alb(path, body, headers={"X-Amzn-Trace-Id": "Root=1"}),
    "alb, repeated headers apart": lambda path, body: as_alb(path, body, several=True),
}
FUNCTIONS: dict[str, Any] = {
    "save": lambda **given: tool_handler("save", **given),
    "http": app_handler,
}


def _compressed(event: dict[str, Any]) -> dict[str, Any]:
    several = event.get("multiValueHeaders")
    more = {"multiValueHeaders": {**several, "content-encoding": ["gzip"]}} if several else {}
    return {**event, "headers": {**(event.get("headers") or {}), "content-encoding": "gzip"}, **more}


def _typed(event: dict[str, Any], media: str) -> dict[str, Any]:
    several = {"multiValueHeaders": {"content-type": [media]}} if event.get("multiValueHeaders") else {}
    return {**event, "headers": {"content-type": media}, **several}


def _method(event: dict[str, Any], method: str) -> dict[str, Any]:
    event["requestContext"].get("http", {})["method"] = method
    return {**event, "httpMethod": method} if "httpMethod" in event else event


TROUBLES: dict[str, tuple[int, Callable[[Make], dict[str, Any]]]] = {
    "no body": (400, lambda make: make(SAVE, None)),
    "null": (400, lambda make: make(SAVE, "null")),
    "a list": (400, lambda make: make(SAVE, "[]")),
    "a text": (400, lambda make: make(SAVE, '"x"')),
    "half of JSON": (400, lambda make: make(SAVE, '{"content": "heron')),
    "nested deeply": (400, lambda make: make(SAVE, '{"metadata": ' + "[" * 10_000 + "]" * 10_000 + "}")),
    "no base64": (400, lambda make: {**make(SAVE, "heron%"), "isBase64Encoded": True}),
    "no UTF-8": (400, lambda make: {**make(SAVE, "/w=="), "isBase64Encoded": True}),
    "many values": (413, lambda make: make(SAVE, '{"metadata": {"a": [' + "[]," * 100_000 + "[]]}}")),
    "of 7 MB": (413, lambda make: make(SAVE, json.dumps({"content": "x" * 7_000_000}))),
    "too large": (413, lambda make: make(SAVE, json.dumps({"content": "x" * 9 * MIB}))),
    "a form": (415, lambda make: _typed(make(SAVE, "content=heron"), "application/x-www-form-urlencoded")),
    "gzip": (415, lambda make: _compressed(make(SAVE, GOOD))),
    "no tool": (404, lambda make: make("/v1/core/heron", GOOD)),
    "no toolset": (404, lambda make: make("/v1/heron/save", GOOD)),
    "no path": (404, lambda make: make("/heron", GOOD)),
    "GET": (405, lambda make: _method(make(SAVE, ""), "GET")),
    "DELETE": (405, lambda make: _method(make(SAVE, ""), "DELETE")),
}


def check_sentence(told: str) -> None:
    assert re.fullmatch(r"[^\n]{10,1000}", told)
    assert not re.search(r"Traceback|\.py\b|Error\b|/site-packages", told)


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.usefixtures("event_loop_closed")
def test_what_does_not_fit_is_refused_in_one_sentence(
    door: Door, telemetry: Telemetry, lines: Tell, function: str, kind: str, trouble: str
) -> None:
    status, make = TROUBLES[trouble]
    observed = replace(door, observe=telemetry.observe)
    handler = FUNCTIONS[function](open=lambda: observed, identity=LocalUser("ana", "default"), telemetry=telemetry)
    answer = handler(make(KINDS[kind]), CONTEXT)
    assert answer["statusCode"] == status
    check_sentence(json.loads(answer["body"])["detail"])
    [line] = lines()
    assert line["correlation_id"] in ("Root=1", "lambda-1")
    assert line["error"] == json.loads(answer["body"])["code"]
    assert "heron" not in json.dumps(line)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "trouble", ["no body", "null", "a list", "half of JSON", "nested deeply", "no base64", "too large", "a form", "GET"]
)
@pytest.mark.usefixtures("event_loop_closed")
def test_mcp_refuses_it_too(door: Door, telemetry: Telemetry, lines: Tell, kind: str, trouble: str) -> None:
    make = KINDS[kind]
    event = TROUBLES[trouble][1](lambda path, body: make("/mcp", body))
    answer = mcp_handler(open=lambda: door, identity=LocalUser("ana", "default"), telemetry=telemetry)(event, CONTEXT)
    assert 400 <= answer["statusCode"] < 500
    assert "Traceback" not in json.dumps(answer)
    [line] = lines()
    assert (line["message"], line["status"]) == ("refused", answer["statusCode"])
    assert "heron" not in json.dumps(line)


@pytest.mark.parametrize("kind", ["v2", "v1", "alb"])
@pytest.mark.parametrize("make", [*FUNCTIONS.values(), mcp_handler])
@pytest.mark.usefixtures("event_loop_closed")
def test_who_is_nobody_is_refused(door: Door, telemetry: Telemetry, lines: Tell, make: Any, kind: str) -> None:
    event = KINDS[kind]("/mcp" if make is mcp_handler else SAVE, GOOD)
    event["requestContext"].pop("authorizer", None)
    observed = replace(door, observe=telemetry.observe)
    answer = make(open=lambda: observed, telemetry=telemetry)(event, CONTEXT)
    assert answer["statusCode"] == 401
    [line] = lines()
    assert line["error"] == json.loads(answer["body"])["code"] == "identity_missing"


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        "heron",
        5,
        {},
        {"Records": []},
        {"Records": [{"eventSource": "aws:s3"}]},
        {"source": "aws.events", "detail": {}},
        {"requestContext": None},
        {"requestContext": {}, "httpMethod": "POST"},
        {"tool": "save", "toolset": {"heron": 1}},
        {"tool": "save", "toolset": "core", "arguments": "heron", "caller": {"user_id": "ana"}},
        {"tool": "save", "toolset": "core", "arguments": None, "caller": {"user_id": "ana"}},
        {"tool": "save", "toolset": "core", "caller": ["heron"]},
    ],
)
@pytest.mark.parametrize("make", [*FUNCTIONS.values(), mcp_handler])
def test_an_event_of_no_known_kind_is_an_error(
    door: Door, telemetry: Telemetry, lines: Tell, make: Any, event: Any
) -> None:
    observed = replace(door, observe=telemetry.observe)
    answer = make(open=lambda: observed, telemetry=telemetry)(event, CONTEXT)
    check_sentence(answer["error"]["message"])
    [line] = lines()
    assert (line["error"], line["correlation_id"]) == (answer["error"]["code"], "lambda-1")
    assert "heron" not in json.dumps(line)


@pytest.mark.parametrize(
    "changes",
    [
        {"headers": None, "multiValueHeaders": None},
        {"headers": "heron", "multiValueHeaders": None},
        {"headers": {"content-type": None}},
        {"headers": {"content-type": ["application/json"]}},
        {"multiValueHeaders": {"content-type": "application/json"}},
        {"body": {"content": "heron"}},
        {"body": 5},
        {"rawPath": None, "routeKey": None, "path": None, "resource": None},
        {"requestContext": {"http": {}, "elb": {}}},
        {"requestContext": {"http": {"method": 5}, "authorizer": "heron"}},
    ],
)
@pytest.mark.parametrize("kind", ["v2", "v1", "alb"])
@pytest.mark.parametrize("make", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.usefixtures("event_loop_closed")
def test_an_event_with_a_part_that_no_gateway_sends_is_an_error(
    door: Door, telemetry: Telemetry, lines: Tell, make: Any, kind: str, changes: dict[str, Any]
) -> None:
    observed = replace(door, observe=telemetry.observe)
    answer = make(open=lambda: observed, telemetry=telemetry)({**KINDS[kind](SAVE, GOOD), **changes}, CONTEXT)
    error = json.loads(answer["body"]) if "body" in answer else answer["error"]
    check_sentence(error.get("detail") or error["message"])
    assert lines()[-1]["error"] == error["code"]


@pytest.mark.parametrize(
    "start",
    [lambda: tool_handler("save"), app_handler, mcp_handler, stream_handler, maintenance_handler, index_handler],
)
@pytest.mark.parametrize("setting", ["STEELTRAP_STORE", "STEELTRAP_LOG", "STEELTRAP_CACHE_MB"])
def test_a_function_whose_settings_are_wrong_fails_at_its_start_by_the_settings_name(
    start: Callable[[], Any], setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(setting, "paper")
    with pytest.raises(InvalidInput, match=f"{setting} must be"):
        start()


STRANGE = {
    "a header with half a character": {"headers": {"content-type": "application/json", "x-id": "\ud800"}},
    "a path with half a character": {"rawPath": "/v1/core/\ud800"},
    "a query that is no text": {"rawQueryString": 5},
    "an authorizer that is a text": {"requestContext": {"http": {"method": "POST"}, "authorizer": "ana"}},
    "a token that is a text": {"requestContext": {"http": {"method": "POST"}, "authorizer": {"jwt": "ana"}}},
    "claims that are a list": {
        "requestContext": {"http": {"method": "POST"}, "authorizer": {"jwt": {"claims": ["a"]}}}
    },
    "a method that is a number": {"requestContext": {"http": {"method": 5}}},
}


@pytest.mark.parametrize("trouble", STRANGE)
def test_what_no_gateway_sends_is_refused_as_an_unknown_event(
    door: Door, telemetry: Telemetry, lines: Tell, trouble: str
) -> None:
    event = {**as_v2(SAVE, GOOD, Caller(UserRef("ana"))), **STRANGE[trouble]}
    answer = tool_handler("save", open=lambda: door, telemetry=telemetry)(event, CONTEXT)
    assert answer["error"]["code"] == "invalid_input"
    check_sentence(answer["error"]["message"])
    [line] = lines()
    assert line["error"] == "invalid_input"
