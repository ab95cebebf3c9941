"""A new tool is one function: every surface, schema, page and cloud function finds it, and nothing else names it."""

import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from infra.plan import http_function, mcp_function, tool_functions
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from docs import generate, stub
from steeltrap.cli.app import app as commands
from steeltrap.client import calling
from steeltrap.client.in_process import open_memory
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.auth.identity import TrustedHeaders
from steeltrap.servers.aws_lambda.asgi import app_handler, mcp_handler
from steeltrap.servers.aws_lambda.tools import tool_handler
from steeltrap.servers.schemas import FORMATS, GROUP_FORMATS
from steeltrap.settings import read_settings
from steeltrap.tools import Tool
from steeltrap.toolsets import CATALOGUE
from surfaces import throwaway
from surfaces.callers import SURFACES, direct
from surfaces.events import ARN, as_alb, as_messages, as_url, as_v1, as_v2

ANA = Caller(UserRef("ana"), "default")
PATH = "/v1/core/jot"
LINE = {"text": "Buy milk.", "times": 2}


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tool]:
    monkeypatch.setenv("TOOLS_OF_A_TEST", throwaway.__name__)  # the stdio server is another process
    with throwaway.registered() as tool:
        monkeypatch.setattr(calling, "TOOLS", _generated_table())
        yield tool


def _generated_table() -> Any:
    """The client's table as `make docs` would write it now."""
    module = ModuleType(f"{calling.__package__}.generated")
    module.__package__ = calling.__package__
    exec(stub.table(CATALOGUE), module.__dict__)
    return module.TOOLS


@pytest.mark.parametrize("surface", SURFACES)
def test_a_new_tool_is_called_on_every_surface(tool: Tool, tmp_path: Path, surface: str) -> None:
    with SURFACES[surface](tmp_path) as call_as, direct(tmp_path) as beside:
        reply = call_as(ANA)("core.jot", LINE)
        assert not reply.is_error, reply
        assert reply.body["content"] == "Buy milk. Buy milk."
        Draft202012Validator(tool.answer_schema).validate(reply.body)
        assert beside(ANA)("core.get", {"id": reply.body["id"]}).body["content"] == "Buy milk. Buy milk."
        assert beside(Caller(UserRef("bob"), "default"))("core.list", {}).body["memories"] == []
        refused = call_as(ANA)("core.jot", {"text": "Buy milk.", "times": 10})
        assert refused.is_error
        assert "`times`" in refused.message


def _to_an_operation(door: Door, event: Any) -> Any:
    settings = read_settings({"STEELTRAP_QUEUE_CALLERS": "true"})
    return tool_handler("jot", open=lambda: door, settings=settings)(event, None)


def _through_a_load_balancer(door: Door, event: Any) -> Any:
    return tool_handler("jot", open=lambda: door, identity=TrustedHeaders())(event, None)


def _to_the_http_function(door: Door, event: Any) -> Any:
    return app_handler(open=lambda: door)(event, None)


def _to_the_mcp_function(door: Door, event: Any) -> Any:
    return mcp_handler(open=lambda: door)(event, None)


BODY = json.dumps(LINE)
MESSAGE = {"toolset": "core", "tool": "jot", "arguments": LINE, "caller": {"user_id": "ana"}}
OVER_MCP = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "jot", "arguments": LINE}})
MCP_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.mark.usefixtures("tool", "event_loop_closed")
@pytest.mark.parametrize(
    ("function", "event", "user"),
    [
        (_to_an_operation, MESSAGE, "ana"),
        (_to_an_operation, as_v1(PATH, BODY, ANA), "ana"),
        (_to_an_operation, as_v2(PATH, BODY, ANA), "ana"),
        (_to_an_operation, as_url(PATH, BODY), ARN),
        (_to_an_operation, as_messages(MESSAGE), "ana"),
        (_through_a_load_balancer, as_alb(PATH, BODY, headers={"X-User-Id": "ana"}), "ana"),
        (_to_the_http_function, as_v2(PATH, BODY, ANA), "ana"),
        (_to_the_mcp_function, as_v2("/mcp/core", OVER_MCP, ANA, headers=MCP_HEADERS), "ana"),
        (_to_the_http_function, as_v2("/mcp/core", OVER_MCP, ANA, headers=MCP_HEADERS), "ana"),
    ],
    ids=[
        "direct",
        "rest-api",
        "http-api",
        "url",
        "queue",
        "load-balancer",
        "http-function",
        "mcp-function",
        "mcp-in-the-http-function",
    ],
)
def test_a_new_tool_is_called_by_every_kind_of_event(
    door: Door, function: Callable[[Door, Any], Any], event: Any, user: str
) -> None:
    answer = function(door, event)
    listed = door.invoke("core.list", {}, Caller(UserRef(user), "default")).body["memories"]
    assert [memory["content"] for memory in listed] == ["Buy milk. Buy milk."], answer


def test_a_new_tool_has_a_function_in_the_cloud_with_its_route_and_time(tool: Tool) -> None:
    [plan] = [plan for plan in tool_functions(CATALOGUE) if plan.name == "jot"]
    assert (plan.tools, plan.paths, plan.access, plan.timeout) == ((tool,), (PATH,), "write", 45)
    assert tool in mcp_function(CATALOGUE).tools
    assert PATH in http_function(CATALOGUE).paths


@pytest.mark.usefixtures("tool")
@pytest.mark.parametrize("format", [*FORMATS, *GROUP_FORMATS])
def test_a_new_tool_is_among_the_schemas_of_every_format(format: str) -> None:
    shown = json.loads(_printed("tools", "--toolset", "core", "--format", format))
    [text] = [text for text in map(json.dumps, shown) if re.search(r'"(name|operationId)\\*": \\*"jot', text)]
    assert "Jot down one line" in text
    assert "How often to write it." in text


def test_a_new_tool_is_described_to_whoever_looks(tool: Tool, tmp_path: Path) -> None:
    assert "core.jot\twrite\tJot down one line" in _printed("tools")
    for document in (json.loads(_printed("tools", "--format", "openapi")), json.loads(generate.openapi_page())):
        body = document["paths"][PATH]["post"]["requestBody"]["content"]["application/json"]
        assert body["schema"] == tool.input_schema
    assert "## `jot`" in generate.toolset_page(CATALOGUE.toolset("core"))
    assert "def jot(self, *, text: str, times: int = 1) -> CoreJotView:" in stub.stub(CATALOGUE)
    with open_memory(tmp_path) as memory:
        assert "jot" in dir(memory.core)
        assert str(inspect.signature(memory.core.jot)) == "(*, text: str, times: int = 1)"


def test_a_throwaway_tool_leaves_nothing_behind() -> None:
    before = [tool.full_name for tool in CATALOGUE.tools()]
    with throwaway.registered():
        assert len(CATALOGUE.tools()) == len(before) + 1
    assert [tool.full_name for tool in CATALOGUE.tools()] == before


def _printed(*command: str) -> str:
    done = CliRunner().invoke(commands, list(command))
    assert done.exit_code == 0, done.output
    return done.stdout
