"""Machines over one log that take turns in telling a story: what one saves the next one has to know."""

import json
from collections.abc import Sequence
from itertools import cycle
from typing import Any, Final

from faults.real_server import RealServer
from surfaces.callers import Call, Reply
from surfaces.scenarios import SCENARIOS

EMBEDDER: Final = """
from embedding import HashedWords
from steeltrap.runtime import local
local.open_embedder = lambda settings: HashedWords()
"""
"""Python that a server's process runs first, so that it embeds as tests do."""


def tell_in_turn(machines: Sequence[Call], toolset: str) -> None:
    """Tell a toolset's story, each call of it to the next machine. All of them must succeed."""
    turns = cycle(machines)

    def run(tool: str, **arguments: Any) -> Any:
        reply = next(turns)(tool, arguments)
        assert not reply.is_error, reply
        return reply.body

    SCENARIOS[toolset](run)


def over_http(server: RealServer, key: str) -> Call:
    """Calls a server with an API key."""
    headers = {"Authorization": f"Bearer {key}", "X-Conversation-Id": "chat-1", "Content-Type": "application/json"}

    def call(tool: str, arguments: dict[str, Any]) -> Reply:
        status, body = server.request("POST", "/v1/" + tool.replace(".", "/"), json.dumps(arguments), headers)
        return Reply(body, is_error=status >= 400)

    return call
