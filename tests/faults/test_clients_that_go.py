"""A client that goes in the middle leaves no traceback behind."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.types import Message

from faults.doors import open_door
from steeltrap.invoke import Door
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser
from surfaces.asgi import Request

MESSAGE = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "stats", "arguments": {}}}'
SENT: dict[str, list[Message]] = {
    "before the body": [],
    "within the body": [{"type": "http.request", "body": MESSAGE[:40], "more_body": True}],
    "before the answer": [{"type": "http.request", "body": MESSAGE, "more_body": False}],
}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    opened = open_door(tmp_path)
    yield opened
    opened.store.close()


@pytest.mark.parametrize("path", ["/mcp", "/v1/core/stats"])
@pytest.mark.parametrize("when", SENT)
def test_a_client_that_goes_leaves_no_traceback(
    door: Door, caplog: pytest.LogCaptureFixture, path: str, when: str
) -> None:
    messages = [*SENT[when]]

    async def receive() -> Message:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> None:
        app = create_app(door, LocalUser("local", "default"), closes_store=False)
        async with app.router.lifespan_context(app):
            scope: Any = Request(path, headers={"Mcp-Protocol-Version": "2025-06-18"})._scope()
            with anyio.fail_after(30):
                await app(scope, receive, send)

    sent: list[Message] = []
    anyio.run(run)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info]
