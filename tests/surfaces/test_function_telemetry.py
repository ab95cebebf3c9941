"""A function reports JSON lines with one correlation id, metrics of CloudWatch, and no memory's text."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from docs import cost
from steeltrap.errors import InvalidInput
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.aws_lambda.asgi import app_handler, mcp_handler
from steeltrap.servers.aws_lambda.stream import stream_handler
from steeltrap.servers.aws_lambda.telemetry import Telemetry, level_of
from steeltrap.servers.aws_lambda.tools import tool_handler
from steeltrap.servers.aws_lambda.upkeep import index_handler, maintenance_handler
from steeltrap.settings import read_settings
from surfaces.callers import ROOT
from surfaces.conftest import FailingStore, Tell
from surfaces.events import as_alb, as_messages, as_url, as_v1, as_v2

ME = Caller(UserRef("ana"), "default")
WORD = "xylophone"
CONTEXT = SimpleNamespace(aws_request_id="lambda-1", function_name="steeltrap-save")


@pytest.fixture
def metrics(capsys: pytest.CaptureFixture[str]) -> Tell:
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def handler(door: Door, telemetry: Telemetry) -> Callable[..., Any]:
    """The handler of an operation over a door that reports."""
    known = read_settings({"STEELTRAP_QUEUE_CALLERS": "true"})
    observed = replace(door, observe=telemetry.observe)
    return lambda operation: tool_handler(operation, open=lambda: observed, settings=known, telemetry=telemetry)


def save(content: str = "A fact.", **more: Any) -> str:
    return json.dumps({"content": content, **more})


def test_a_call_is_a_line_with_its_ids_and_none_of_its_words(
    handler: Callable[..., Any], lines: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-2-3;Parent=4;Sampled=1")
    path = "/v1/core/save"
    saving = handler("save")
    for given in (save(WORD), save(WORD, tags=WORD + "!" * 100, user_id=WORD), WORD):
        event = as_v2(path, given, ME)
        event["requestContext"]["requestId"] = "gateway-1"
        saving(event, CONTEXT)
    first, second, third = lines()
    assert (first["tool"], first["message"], first["level"]) == ("core.save", "core.save ok", "INFO")
    assert first["stages"].keys() == {"embed", "look_around", "write"}
    assert (second["error"], third["error"]) == ("invalid_input", "invalid_input")
    assert [line["cold_start"] for line in (first, second, third)] == [True, False, False]
    for line in (first, second, third):
        assert line["correlation_id"] == "gateway-1"
        assert line["function_request_id"] == "lambda-1"
        assert line["function_name"] == "steeltrap-save"
        assert line["xray_trace_id"] == "1-2-3"
    assert WORD not in json.dumps(lines())


def test_each_call_has_its_metrics(handler: Callable[..., Any], metrics: Tell) -> None:
    handler("save")(as_v2("/v1/core/save", save(WORD), ME), CONTEXT)
    handler("search")(as_v2("/v1/core/search", json.dumps({"query": WORD}), ME), CONTEXT)
    handler("search")(as_v2("/v1/core/search", json.dumps({"query": ""}), ME), CONTEXT)
    saved, searched, refused = written = metrics()
    assert [each["_aws"]["CloudWatchMetrics"][0]["Namespace"] for each in written] == ["steeltrap"] * 3
    assert (saved["calls"], saved["errors"]) == ([1], [0])
    assert (searched["hits"], searched["degraded"]) == ([1], [0])
    assert refused["errors"] == [1]
    assert all(each["time"][0] > 0 for each in written)
    assert "ana" not in json.dumps(written)
    assert WORD not in json.dumps(written)


def test_all_calls_and_sweeps_of_a_stage_write_eight_metrics(door: Door, telemetry: Telemetry, metrics: Tell) -> None:
    """CloudWatch charges for each name by each set of dimensions."""
    observed = replace(door, observe=telemetry.observe)
    for tool in door.catalogue.tools():
        for arguments in (*tool.examples, {"": 1}):
            observed.invoke(tool.full_name, arguments, ME)
    maintenance_handler(open=lambda: door, telemetry=telemetry)({}, CONTEXT)
    charged = {
        (metric["Name"], *((name, each[name]) for name in dimensions))
        for each in metrics()
        for kind in each["_aws"]["CloudWatchMetrics"]
        for dimensions in kind["Dimensions"]
        for metric in kind["Metrics"]
    }
    by_service = ("service", "steeltrap-test")
    calls = {(name, by_service) for name in ("calls", "errors", "time", "degraded", "hits", "answer_bytes")}
    sweeps = {(name, by_service) for name in ("users_swept", "users_left")}
    assert charged == calls | sweeps
    assert (len(calls), len(sweeps)) == (cost.CALL_METRICS, cost.SWEEP_METRICS)


def test_how_much_a_model_has_to_read_is_told(handler: Callable[..., Any], lines: Tell, metrics: Tell) -> None:
    handler("save")(as_v2("/v1/core/save", save(WORD * 100), ME), CONTEXT)
    answer = handler("search")(as_v2("/v1/core/search", json.dumps({"query": WORD * 100}), ME), CONTEXT)
    read = len(json.dumps(json.loads(answer["body"]), separators=(",", ":")).encode())
    assert read > 900
    assert lines()[1]["bytes"] == read
    _, searched = metrics()
    assert searched["answer_bytes"] == [read]


def test_users_whom_a_sweep_leaves_are_counted(door: Door, telemetry: Telemetry, metrics: Tell) -> None:
    door.invoke("core.save", {"content": "A fact."}, ME)
    ends = SimpleNamespace(get_remaining_time_in_millis=lambda: 1000)
    for context in (CONTEXT, ends):
        maintenance_handler(open=lambda: door, telemetry=telemetry)({}, context)
    assert [(each["users_swept"], each["users_left"]) for each in metrics()] == [([1], [0]), ([0], [1])]


@pytest.mark.parametrize(
    ("event", "id"),
    [
        (as_v1("/v1/core/save", save(), ME), "gateway-1"),
        (as_v2("/v1/core/save", save(), ME), "gateway-1"),
        (as_url("/v1/core/save", save()), "gateway-1"),
        (as_alb("/v1/core/save", save(), headers={"X-Amzn-Trace-Id": "Root=1-67891233"}), "Root=1-67891233"),
        (as_alb("/v1/core/save", save(), headers={"X-Amzn-Trace-Id": "Root=1"}, several=True), "Root=1"),
        (as_alb("/v1/core/save", save()), "lambda-1"),
        ({"toolset": "core", "tool": "save", "arguments": {}, "caller": {"user_id": "ana"}}, "lambda-1"),
        ({"requestContext": {"requestId": 5}}, "lambda-1"),
        (None, "lambda-1"),
    ],
)
def test_every_kind_of_event_brings_its_id(handler: Callable[..., Any], lines: Tell, event: Any, id: str) -> None:
    if isinstance(event, dict) and "elb" not in (context := event.get("requestContext", {})):
        context.setdefault("requestId", "gateway-1")
    handler("save")(event, CONTEXT)
    [line] = lines()
    assert line["correlation_id"] == id


def test_a_message_is_told_of_by_its_own_id(handler: Callable[..., Any], lines: Tell) -> None:
    good = {"toolset": "core", "tool": "save", "arguments": {"content": WORD}, "caller": {"user_id": "ana"}}
    bad = {**good, "arguments": {"content": WORD, WORD: 1}}
    handler("save")(as_messages(good, WORD, bad), CONTEXT)
    told = [(line["correlation_id"], line["message"]) for line in lines()]
    assert "was not done: invalid_input: The body is not valid JSON" in told.pop(1)[1]
    ids = [f"message-{n}" for n in range(3)]
    assert told == [
        (ids[0], "core.save ok"),
        (ids[2], "core.save invalid_input"),
        (ids[2], f"message {ids[2]} was not done: invalid_input"),
    ]
    assert WORD not in json.dumps(lines())


def test_a_fault_is_logged_with_the_way_to_it_and_the_same_id(failing: Door, telemetry: Telemetry, lines: Tell) -> None:
    saving = tool_handler("save", open=lambda: replace(failing, observe=telemetry.observe), telemetry=telemetry)
    saving(as_v2("/v1/core/save", save(), ME), CONTEXT)
    fault, call, unwritten = lines()
    assert (fault["level"], call["error"]) == ("ERROR", "internal")
    assert "conftest.py" in fault["exception"]
    assert FailingStore.secret not in fault["exception"]  # a message may quote a memory
    assert fault["correlation_id"] == call["correlation_id"] == unwritten["correlation_id"] == "lambda-1"


def test_what_fails_a_function_is_logged_once_and_fails_it(telemetry: Telemetry, lines: Tell) -> None:
    for handler in (stream_handler(telemetry=telemetry), index_handler(telemetry=telemetry)):
        with pytest.raises((TypeError, InvalidInput)):
            handler({"Records": None}, CONTEXT)
    assert [(line["level"], line["correlation_id"]) for line in lines()] == [("ERROR", "lambda-1")] * 2


def test_maintenance_is_told_of_too(door: Door, telemetry: Telemetry, lines: Tell) -> None:
    maintenance_handler(open=lambda: door, telemetry=telemetry)({}, CONTEXT)
    logging.getLogger("steeltrap").warning("one word")
    [line] = lines()
    assert line["correlation_id"] == "lambda-1"


def test_an_observer_that_fails_spoils_no_answer(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    def observe(_: object) -> None:
        raise ZeroDivisionError

    caplog.set_level(logging.ERROR, logger="steeltrap")
    assert replace(door, observe=observe).invoke("core.save", {"content": "x"}, ME).error is None


@pytest.mark.parametrize(("given", "level"), [({}, "info"), ({"STEELTRAP_LOG": "error"}, "error")])
def test_a_function_logs_each_call_unless_the_settings_say_otherwise(given: dict[str, str], level: str) -> None:
    assert level_of(read_settings(given)) == level


@pytest.mark.parametrize("make", [app_handler, mcp_handler])
def test_what_the_whole_surfaces_refuse_is_told_of(door: Door, telemetry: Telemetry, lines: Tell, make: Any) -> None:
    handler = make(open=lambda: door, telemetry=telemetry)
    refused = handler(as_v2("/nowhere", "%", ME, isBase64Encoded=True), CONTEXT)
    assert refused["statusCode"] == 400
    assert "events of HTTP" in handler({"Records": []}, CONTEXT)["error"]["message"]
    assert [line["message"] for line in lines()] == ["refused", "refused"]


_START = """
import importlib.util, json, os, random, socket, sys
from pathlib import Path
import steeltrap.servers.aws_lambda.asgi, steeltrap.servers.asgi.app, steeltrap.servers.asgi.mcp_http

def refuse(*_, **__):
    raise AssertionError("a function starts without connections and without chance")

real = os.urandom, socket.socket.connect
os.urandom = socket.socket.connect = refuse
chance = random.getstate()
handlers = {}
for path in Path("functions").glob("*/handler.py"):
    spec = importlib.util.spec_from_file_location(path.parent.name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    handlers[path.parent.name] = module.handler
assert random.getstate() == chance
assert not {"boto3", "botocore.session"} & sys.modules.keys()
os.urandom, socket.socket.connect = real
for name in ("save", "http", "indexer"):
    event = {"toolset": "core", "tool": "save", "arguments": {"content": "A fact."}, "caller": {"user_id": "ana"}}
    try:
        handlers[name](event, None)
    except Exception as error:
        print(type(error).__name__, file=sys.stderr)
assert "aws_xray_sdk" not in sys.modules
"""


def test_a_function_starts_without_connections_or_chance_and_never_imports_the_xray_sdk(tmp_path: Path) -> None:
    environment = {"STEELTRAP_DATA": str(tmp_path), "PYTHONPATH": str(ROOT / "shared"), "AWS_REGION": "us-east-1"}
    environment["STEELTRAP_OIDC_ISSUER"] = "https://issuer.example"
    done = subprocess.run(
        [sys.executable, "-c", _START], capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )
    assert (done.stderr.strip(), done.returncode) == ("InvalidInput", 0)  # an indexer needs another store
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["message"] for line in lines if "message" in line] == [
        "core.save ok",
        "core.save ok",
        "the function failed",
    ]
    assert [line["calls"] for line in lines if "_aws" in line] == [[1], [1]]
