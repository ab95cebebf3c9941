"""The view that an MCP client has of one toolset's server, within this process."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.mcp import create_server

ME = Caller(UserRef("ana"), "default")


def ask(door: Door, toolset: str, question: Callable[[Client], Awaitable[Any]], caller: Caller = ME) -> Any:
    """The answer to a question that a client of the toolset's server asks. Raises the MCPError that it meets."""

    async def asked() -> Any:
        async with Client(create_server(door, toolset, lambda _: caller)) as client:
            try:
                return await question(client)
            except MCPError as error:
                return error

    found = anyio.run(asked)
    if isinstance(found, MCPError):
        raise found
    return found
