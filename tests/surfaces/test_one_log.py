"""Two servers and a function, each with a folder of its own, over one log of memories."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from embedding import HashedWords
from faults.real_server import RealServer, serving
from function_telemetry import telemetry_of
from steeltrap.invoke import Door
from steeltrap.runtime import local
from steeltrap.servers.aws_lambda import tools
from steeltrap.servers.aws_lambda.telemetry import Telemetry
from steeltrap.servers.aws_lambda.tools import opened_door, tool_handler
from steeltrap.toolsets import CATALOGUE
from surfaces.callers import Call, Reply
from surfaces.scenarios import SCENARIOS

EMBEDDER = """
from embedding import HashedWords
from steeltrap.runtime import local
local.open_embedder = lambda settings: HashedWords()
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Call]]:
    """How each machine is called; what one saves the next one has to know."""
    folder = tmp_path_factory.mktemp("machines")
    store = f"file://{folder}/log"
    with (
        telemetry_of("function") as telemetry,
        opened_function(folder / "function", store, telemetry) as door,
        serving(folder / "one", before=EMBEDDER, store=store) as one,
        serving(folder / "two", before=EMBEDDER, store=store) as two,
    ):
        yield [_over_http(one), _as_function(door), _over_http(two)]


@contextmanager
def opened_function(folder: Path, store: str, telemetry: Telemetry) -> Iterator[Door]:
    """The door of a function whose environment names the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "open_embedder", lambda settings: HashedWords())
        patch.setattr(tools, "function_telemetry", lambda: telemetry)
        patch.setenv("STEELTRAP_DATA", str(folder))
        patch.setenv("STEELTRAP_STORE", store)
        door = opened_door.__wrapped__()
    yield door
    door.store.close()


@pytest.mark.parametrize("toolset", SCENARIOS)
def test_machines_over_one_log_tell_one_story_in_turn(machines: list[Call], toolset: str) -> None:
    turns = cycle(machines)

    def run(tool: str, **arguments: Any) -> Any:
        reply = next(turns)(tool, arguments)
        assert not reply.is_error, reply
        return reply.body

    SCENARIOS[toolset](run)


def _over_http(server: RealServer) -> Call:
    headers = {"X-User": "ana", "X-Agent-Id": "default", "X-Conversation-Id": "chat-1"}

    def call(tool: str, arguments: dict[str, Any]) -> Reply:
        sent = headers | {"Content-Type": "application/json"}
        status, body = server.request("POST", "/v1/" + tool.replace(".", "/"), json.dumps(arguments), sent)
        return Reply(body, is_error=status >= 400)

    return call


def _as_function(door: Door) -> Call:
    fields = {"user_id": "ana", "agent_id": "default", "conversation_id": "chat-1"}

    def call(tool: str, arguments: dict[str, Any]) -> Reply:
        toolset, _, name = tool.partition(".")
        handler = tool_handler(CATALOGUE.tool(tool).operation, open=lambda: door)
        got = handler({"toolset": toolset, "tool": name, "arguments": arguments, "caller": fields}, None)
        return Reply(got["body"], is_error="error" in got)

    return call
