"""Every surface as the same thing: given a folder of memories, call a tool as somebody and see the reply.

A new surface joins by one function here and one line in SURFACES.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import anyio.from_thread
import httpx
import httpx2
import pytest
from jsonschema import Draft202012Validator
from mcp.client import Client as McpClient
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from typer.testing import CliRunner

from embedding import HashedWords
from steeltrap import settings_file
from steeltrap.cli.app import app as commands
from steeltrap.client import Client, connect
from steeltrap.client.in_process import Memory, open_memory
from steeltrap.errors import SteeltrapError
from steeltrap.invoke import Door
from steeltrap.model import Caller
from steeltrap.ports import Clock
from steeltrap.runtime import local as runtime
from steeltrap.runtime.local import open_door
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import TrustedHeaders
from steeltrap.servers.aws_lambda.agents import agent_handler
from steeltrap.servers.aws_lambda.tools import tool_handler
from steeltrap.settings import read_settings
from steeltrap.toolsets import CATALOGUE
from surfaces.events import AGENT, GATEWAY, as_function, as_gateway, as_operation, as_v1, as_v2
from surfaces.serving import served

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Reply:
    """The answer of a call. `code` and `message` are an error's; a surface that tells no code leaves it empty."""

    body: Any
    is_error: bool = False
    code: str = ""
    message: str = ""
    outcome: str | None = None


Call = Callable[[str, dict[str, Any]], Reply]


class Connected(Protocol):
    """A surface that is up: how to call as somebody."""

    def __call__(self, caller: Caller) -> Call: ...


def door_on(folder: Path, clock: Clock | None = None) -> Door:
    return open_door(read_settings({}, data=folder, **settings_file.read(folder)), embedder=HashedWords(), clock=clock)


@contextmanager
def direct(folder: Path) -> Iterator[Connected]:
    with opened(folder) as door:

        def connect(caller: Caller) -> Call:
            def call(tool: str, arguments: dict[str, Any]) -> Reply:
                result = door.invoke(tool, arguments, caller)
                outcome = result.outcome.kind if result.outcome else None
                return _reply(result.body, result.error is not None, outcome=outcome)

            return call

        yield connect


@contextmanager
def python(folder: Path) -> Iterator[Connected]:
    with open_memory(folder, embedder=HashedWords()) as memory:

        def connect(caller: Caller) -> Call:
            return _python_call(
                memory.as_user(caller.user.user_id, agent=caller.agent_id, conversation=caller.conversation_id)
            )

        yield connect


@contextmanager
def http(folder: Path) -> Iterator[Connected]:
    with served(create_app(door_on(folder), TrustedHeaders())) as url, httpx.Client(base_url=url) as client:

        def connect(caller: Caller) -> Call:
            def call(tool: str, arguments: dict[str, Any]) -> Reply:
                # httpx refuses what is not JSON; a hostile client does not.
                headers = {**_headers(caller), "Content-Type": "application/json"}
                got = client.post("/v1/" + tool.replace(".", "/"), content=json.dumps(arguments), headers=headers)
                is_json = "json" in got.headers["Content-Type"]
                body = got.json() if is_json else got.text
                is_error = got.is_error or "X-Steeltrap-Error" in got.headers
                return _reply(body, is_error, outcome=got.headers.get("X-Steeltrap-Outcome"))

            return call

        yield connect


@contextmanager
def client_http(folder: Path) -> Iterator[Connected]:
    """The client of a server, which asks for problem details in every dialect."""
    with served(create_app(door_on(folder), TrustedHeaders())) as url, ExitStack() as stack:

        @cache
        def client(caller: Caller) -> Client:
            headers = {name: value for name, value in _headers(caller).items() if value}
            return stack.enter_context(connect(url, headers=headers))

        yield lambda caller: _client_call(client(caller))


@contextmanager
def client_lambda(folder: Path) -> Iterator[Connected]:
    """The client of deployed functions, one for each operation."""
    with opened(folder) as door:
        functions = Functions(door)

        def connect_as(caller: Caller) -> Call:
            named = {"user": caller.user.user_id, "agent": caller.agent_id, "conversation": caller.conversation_id}
            return _client_call(connect("lambda:steeltrap-{operation}", functions=functions, **named))

        yield connect_as


@contextmanager
def lambda_direct(folder: Path) -> Iterator[Connected]:
    with opened(folder) as door:

        def connect(caller: Caller) -> Call:
            def call(tool: str, arguments: dict[str, Any]) -> Reply:
                toolset, _, name = tool.partition(".")
                event = {"toolset": toolset, "tool": name, "arguments": arguments, "caller": _fields(caller)}
                got = _handler(door, tool)(event, None)
                return _reply(got["body"], "error" in got, outcome=got.get("outcome", {}).get("kind"))

            return call

        yield connect


@contextmanager
def lambda_v1(folder: Path) -> Iterator[Connected]:
    with opened(folder) as door:
        yield lambda caller: _api_gateway(door, as_v1, caller)


@contextmanager
def lambda_v2(folder: Path) -> Iterator[Connected]:
    with opened(folder) as door:
        yield lambda caller: _api_gateway(door, as_v2, caller)


@contextmanager
def agentcore(folder: Path) -> Iterator[Connected]:
    with opened(folder) as door:

        def connect(caller: Caller) -> Call:
            def call(tool: str, arguments: dict[str, Any]) -> Reply:
                name = tool.partition(".")[2]
                body = _agent_handler(door, tool)(arguments, as_gateway(name, caller))
                return _reply(body, _is_error(tool, body))

            return call

        yield connect


@contextmanager
def bedrock_openapi(folder: Path) -> Iterator[Connected]:
    with opened(folder) as door:

        def connect(caller: Caller) -> Call:
            def call(tool: str, arguments: dict[str, Any]) -> Reply:
                event = as_operation(tool.partition(".")[2], arguments, caller)
                response = _agent_handler(door, tool)(event, None)["response"]
                body = json.loads(response["responseBody"]["application/json"]["body"])
                return _reply(body, response["httpStatusCode"] >= 400)

            return call

        yield connect


@contextmanager
def bedrock_functions(folder: Path) -> Iterator[Connected]:
    with opened(folder) as door:

        def connect(caller: Caller) -> Call:
            def call(tool: str, arguments: dict[str, Any]) -> Reply:
                event = as_function(tool.partition(".")[2], arguments, caller)
                response = _agent_handler(door, tool)(event, None)["response"]["functionResponse"]
                assert response.get("responseState") in (None, "REPROMPT", "FAILURE"), response
                return _reply(_json_or_text(response["responseBody"]["TEXT"]["body"]), "responseState" in response)

            return call

        yield connect


@contextmanager
def mcp_http(folder: Path) -> Iterator[Connected]:
    with (
        served(create_app(door_on(folder), TrustedHeaders())) as url,
        anyio.from_thread.start_blocking_portal() as portal,
        ExitStack() as stack,
    ):

        @cache
        def client(caller: Caller, toolset: str) -> McpClient:
            wire = httpx2.AsyncClient(headers=_headers(caller))
            stack.enter_context(portal.wrap_async_context_manager(wire))
            connection = McpClient(streamable_http_client(f"{url}/mcp/{toolset}", http_client=wire))
            return stack.enter_context(portal.wrap_async_context_manager(connection))

        yield lambda caller: _mcp_call(portal, client, caller)


@contextmanager
def mcp_stdio(folder: Path) -> Iterator[Connected]:
    folders = (ROOT / "shared", ROOT / "tests", ROOT / "tests" / "support")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    with anyio.from_thread.start_blocking_portal() as portal, ExitStack() as stack:

        @cache
        def client(caller: Caller, toolset: str) -> McpClient:
            arguments = ["-m", "surfaces.stdio_server", str(folder), toolset, json.dumps(_fields(caller))]
            command = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
            return stack.enter_context(portal.wrap_async_context_manager(McpClient(stdio_client(command))))

        yield lambda caller: _mcp_call(portal, client, caller)


@contextmanager
def command_line(folder: Path) -> Iterator[Connected]:
    """`steeltrap call TOOLSET.TOOL JSON`, in this process: a new one for each call would cost a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "open_embedder", lambda settings: HashedWords())

        def connect(caller: Caller) -> Call:
            who = ["--user", caller.user.user_id, "--agent", caller.agent_id or "", "--data", str(folder)]
            who += ["--conversation", caller.conversation_id] if caller.conversation_id else []

            def call(tool: str, arguments: dict[str, Any]) -> Reply:
                done = CliRunner().invoke(commands, ["call", tool, json.dumps(arguments), *who])
                assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
                # A text is ended as a line for the terminal.
                return _reply(_json_or_text(done.stdout.removesuffix("\n")), done.exit_code != 0)

            return call

        yield connect


SURFACES = {
    "direct": direct,
    "python": python,
    "http": http,
    "client-http": client_http,
    "client-lambda": client_lambda,
    "lambda-direct": lambda_direct,
    "lambda-v1": lambda_v1,
    "lambda-v2": lambda_v2,
    "agentcore": agentcore,
    "bedrock-openapi": bedrock_openapi,
    "bedrock-functions": bedrock_functions,
    "mcp-http": mcp_http,
    "mcp-stdio": mcp_stdio,
    "command-line": command_line,
}


@contextmanager
def opened(folder: Path) -> Iterator[Door]:
    door = door_on(folder)
    try:
        yield door
    finally:
        door.store.close()


@dataclass(frozen=True)
class Functions:
    """boto3's client for Lambda, in place of one: the functions of a door, each of one operation."""

    door: Door

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # boto3's own
        handler = tool_handler(FunctionName.partition("-")[2], open=lambda: self.door)
        return {"StatusCode": 200, "Payload": BytesIO(json.dumps(handler(json.loads(Payload), None)).encode())}


def _client_call(client: Client) -> Call:
    def call(tool: str, arguments: dict[str, Any]) -> Reply:
        got = client.invoke(tool, arguments)
        if got.error is not None:
            return Reply(None, True, got.error.code, got.error.message)
        return Reply(got.body, outcome=(got.outcome or {}).get("kind"))

    return call


def _python_call(memory: Memory) -> Call:
    def call(tool: str, arguments: dict[str, Any]) -> Reply:
        toolset, _, name = tool.partition(".")
        try:
            return _reply(getattr(getattr(memory, toolset), name)(**arguments), is_error=False)
        except SteeltrapError as error:
            return Reply(None, True, error.code, error.message)

    return call


def _api_gateway(door: Door, event: Callable[..., dict[str, Any]], caller: Caller) -> Call:
    def call(tool: str, arguments: dict[str, Any]) -> Reply:
        path = "/v1/" + tool.replace(".", "/")
        got = _handler(door, tool)(event(path, json.dumps(arguments), caller), None)
        is_json = "json" in got["headers"]["Content-Type"]
        body = json.loads(got["body"]) if is_json else got["body"]
        is_error = got["statusCode"] >= 400 or "X-Steeltrap-Error" in got["headers"]
        return _reply(body, is_error, outcome=got["headers"].get("X-Steeltrap-Outcome"))

    return call


def _mcp_call(portal: Any, client: Callable[[Caller, str], McpClient], caller: Caller) -> Call:
    def call(tool: str, arguments: dict[str, Any]) -> Reply:
        toolset, _, name = tool.partition(".")
        got = portal.call(client(caller, toolset).call_tool, name, arguments)
        assert got.structured_content is None
        body = _json_or_text(got.content[0].text)
        outcome = (got.meta or {}).get("steeltrap/outcome", {}).get("kind")
        return _reply(body, got.is_error, outcome=outcome)

    return call


def _reply(body: Any, is_error: bool, *, outcome: str | None = None) -> Reply:
    if not is_error:
        return Reply(body, outcome=outcome)
    if isinstance(body, str):
        return Reply(body, True, "", body)
    if "detail" in body:
        return Reply(body, True, body["code"], body["detail"])
    told = body["error"]
    if told is True:
        return Reply(body, True, "", body["message"])
    code, message = ("", told) if isinstance(told, str) else (told["code"], told["message"])
    return Reply(body, True, code, message)


def _handler(door: Door, tool: str) -> Any:
    return tool_handler(CATALOGUE.tool(tool).operation, open=lambda: door)


def _agent_handler(door: Door, tool: str) -> Any:
    given = {"agent_toolset": tool.partition(".")[0], "agentcore_gateways": GATEWAY, "bedrock_agents": AGENT}
    return agent_handler(open=lambda: door, settings=read_settings({}, **given))


def _is_error(tool: str, body: Any) -> bool:
    """Whether an answer that carries no sign of its own is the dialect's error."""
    return not Draft202012Validator(CATALOGUE.tool(tool).answer_schema).is_valid(body)


def _json_or_text(text: str) -> Any:
    return json.loads(text) if text.startswith(("{", "[")) else text


def _headers(caller: Caller) -> dict[str, str]:
    return {
        "X-User-Id": caller.user.user_id,
        "X-Agent-Id": caller.agent_id or "",
        "X-Conversation-Id": caller.conversation_id or "",
    }


def _fields(caller: Caller) -> dict[str, str | None]:
    return {
        "user_id": caller.user.user_id,
        "agent_id": caller.agent_id,
        "conversation_id": caller.conversation_id,
    }
