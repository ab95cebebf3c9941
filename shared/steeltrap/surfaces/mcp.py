"""MCP: one server for one toolset, and the way to serve it over stdin and stdout."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from ..errors import NotFound
from ..invoke import Door, Result, refusal
from ..model import EVERYTHING, Caller
from ..version import VERSION
from . import schemas
from .http.reply import compact, outcome_object

TOOLSET: Final = "agent"
"""What a client gets that names no toolset."""
OUTCOME: Final = "steeltrap/outcome"
IDEMPOTENCY_KEY: Final = "steeltrap/idempotency_key"

Context = ServerRequestContext[Any, Any]


def create_server(
    door: Door,
    toolset: str,
    caller_of: Callable[[Context], Caller | None],
    limiter: anyio.CapacityLimiter | None = None,
) -> Server[Any]:
    """The MCP server of one toolset. `caller_of` finds who makes a request. Raises NotFound.

    Callers see the tools that they may use; a caller who may use none gets the reason. Calls run in threads, at most
    as many at once as the `limiter` lets through.
    """
    offered = door.catalogue.toolset(toolset)
    listed = [(tool, types.Tool.model_validate(schemas.mcp(tool))) for tool in offered.tools.values()]

    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        caller = caller_of(context)
        permissions = EVERYTHING if caller is None else caller.permissions
        refusals = [refusal(permissions, tool) for tool, _ in listed]
        shown = [entry for (_, entry), why in zip(listed, refusals, strict=True) if why is None]
        if not shown and refusals[0] is not None:
            raise MCPError(types.INVALID_REQUEST, refusals[0].message)
        return types.ListToolsResult(tools=shown)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        key = (params.meta or {}).get(IDEMPOTENCY_KEY)
        if key is not None and not isinstance(key, str):
            raise MCPError(types.INVALID_PARAMS, f"`_meta.{IDEMPOTENCY_KEY}` must be a string.")
        try:
            tool = door.catalogue.tool(f"{toolset}.{params.name}")
        except NotFound as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None
        invoke = partial(door.invoke, tool, params.arguments or {}, caller_of(context), idempotency_key=key)
        return tool_result(await anyio.to_thread.run_sync(invoke, limiter=limiter))

    return Server(
        "steeltrap",
        version=VERSION,
        title="steeltrap",
        instructions=offered.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def tool_result(result: Result) -> types.CallToolResult:
    """A result as MCP shows it: text, and structured content where the tool has an output schema.

    An error has text only: clients check structured content against the output schema even then.
    """
    text = result.body if isinstance(result.body, str) else compact(result.body)
    structured = None
    if result.error is None and result.media == "application/json":
        structured = result.body if schemas.is_object(result.tool) else {schemas.RESULT: result.body}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=structured,
        is_error=result.error is not None,
        _meta={OUTCOME: outcome_object(result.outcome)} if result.outcome else None,
    )


def run_stdio(door: Door, toolset: str, caller: Caller) -> None:
    """Serve one toolset to one caller over stdin and stdout until stdin ends. Raises NotFound.

    While it runs, whatever else is printed goes to stderr. The store stays open.
    """
    server = create_server(door, toolset, lambda _: caller)

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)
