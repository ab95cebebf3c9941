"""The log has no memory's text, and a client isn't told which part broke inside."""

import json
import logging
from typing import Any

import anyio
import httpx
import pytest
from mcp.client import Client

from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.aws_lambda.tools import tool_handler
from steeltrap.servers.mcp import create_server
from surfaces.conftest import FailingStore
from surfaces.events import as_v1, as_v2
from surfaces.serving import served

ME = Caller(UserRef("ana"), "default")
WORD = "xylophone"


def by_http(door: Door, tool: str, arguments: Any) -> str:
    with served(create_app(door, LocalUser("local", "default"), closes_store=False)) as url:
        answer = httpx.post(f"{url}/v1/core/{tool}", json=arguments)
    return answer.text + str(answer.headers)


def by_lambda_v1(door: Door, tool: str, arguments: Any) -> str:
    return json.dumps(tool_handler(tool, open=lambda: door)(as_v1(f"/v1/core/{tool}", json.dumps(arguments), ME), None))


def by_lambda_v2(door: Door, tool: str, arguments: Any) -> str:
    return json.dumps(tool_handler(tool, open=lambda: door)(as_v2(f"/v1/core/{tool}", json.dumps(arguments), ME), None))


def by_lambda(door: Door, tool: str, arguments: Any) -> str:
    event = {"toolset": "core", "tool": tool, "arguments": arguments, "caller": {"user_id": "ana"}}
    return json.dumps(tool_handler(tool, open=lambda: door)(event, None))


def by_mcp(door: Door, tool: str, arguments: Any) -> str:
    async def call() -> str:
        async with Client(create_server(door, "core", lambda _: ME)) as client:
            return str(await client.call_tool(tool, arguments))

    return anyio.run(call)


WAYS = pytest.mark.parametrize("way", [by_http, by_lambda_v1, by_lambda_v2, by_lambda, by_mcp])


@WAYS
def test_a_call_is_logged_without_its_words(door: Door, way: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, logger="steeltrap")
    way(door, "save", {"content": f"I play the {WORD}.", "tags": [WORD]})
    way(door, "search", {"query": WORD})
    way(door, "save", {"content": "x", "scope": f"{WORD} !"})
    way(door, "search", {"query": "x", WORD: WORD})
    lines = [record.getMessage() for record in caplog.records if record.name == "steeltrap"]
    assert [line.split(" ")[:2] for line in lines] == [
        ["core.save", "ok"],
        ["core.search", "ok"],
        ["core.save", "invalid_input"],
        ["core.search", "invalid_input"],
    ]
    assert WORD not in caplog.text


@WAYS
def test_a_fault_inside_is_logged_and_not_told(failing: Door, way: Any, caplog: pytest.LogCaptureFixture) -> None:
    answer = way(failing, "save", {"content": "x"})
    assert "internal" in answer
    for inside in (FailingStore.secret, "Traceback", "RuntimeError", ".py"):
        assert inside not in answer
    assert FailingStore.secret in caplog.text
