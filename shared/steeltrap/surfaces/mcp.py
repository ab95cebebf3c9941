"""MCP: one server for one toolset, and the way to serve it over stdin and stdout."""

import asyncio
import errno
import os
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol, TypeVar, cast

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from ..arguments import decode_for
from ..errors import NotFound, SteeltrapError
from ..invoke import Door, Result, refusal
from ..model import EVERYTHING, Caller, JsonObject
from ..tools import Tool
from ..version import VERSION
from . import mcp_prompts, mcp_resources, schemas
from .bounded import ROOM, bounded
from .http.reply import TIMEZONE as TIMEZONE_HEADER
from .http.reply import compact, outcome_object

TOOLSET: Final = "agent"
"""The toolset of a client that names none."""
OUTCOME: Final = "steeltrap/outcome"
IDEMPOTENCY_KEY: Final = "steeltrap/idempotency_key"
TIMEZONE: Final = "steeltrap/timezone"
_PROGRESS_SECONDS: Final = 1.0
_LAST_SECONDS: Final = 120
"""How long calls may go on after stdin has ended. Each has a shorter deadline of its own."""

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")


class InThread(Protocol):
    """Runs the work of a request in a thread."""

    async def __call__(self, context: Context, work: Callable[[], T]) -> T: ...


def create_server(
    door: Door,
    toolset: str,
    caller_of: Callable[[Context], Caller | None],
    in_thread: "InThread | None" = None,
) -> Server[Any]:
    """The MCP server of one toolset. `caller_of` finds who makes a request. Raises NotFound.

    Callers see the tools that they may use; a caller who may use none gets the reason. `in_thread` runs the work of a
    request in a thread. A cancelled call is answered no more, and ends by its own deadline.
    """
    offered = door.catalogue.toolset(toolset)

    def entries(*, project: bool) -> list[tuple[Tool, types.Tool]]:
        shown = ((tool, schemas.mcp(tool, project=project)) for tool in offered.tools.values())
        return [(tool, types.Tool.model_validate(schema)) for tool, schema in shown]

    listed, listed_in_project = entries(project=False), entries(project=True)

    running = in_thread or _abandoned_when_cancelled

    async def with_progress(context: Context, work: Callable[[], T]) -> T:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_report_progress, context)
            result = await running(context, work)
            tasks.cancel_scope.cancel()
        return result

    async def run(context: Context, tool: str, arguments: JsonObject) -> Result:
        call = partial(door.invoke, tool, arguments, caller_of(context), timezone=_timezone(context, None))
        return await with_progress(context, call)

    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        _check_first_page(params)
        caller = caller_of(context)
        permissions = EVERYTHING if caller is None else caller.permissions
        there = listed if caller is None or caller.project is None else listed_in_project
        refusals = [refusal(permissions, tool) for tool, _ in there]
        shown = [entry for (_, entry), why in zip(there, refusals, strict=True) if why is None]
        if not shown and refusals[0] is not None:
            raise MCPError(types.INVALID_REQUEST, refusals[0].message)
        return types.ListToolsResult(tools=shown)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        key = (params.meta or {}).get(IDEMPOTENCY_KEY)
        if key is not None and not isinstance(key, str):
            raise MCPError(types.INVALID_PARAMS, f"`_meta.{IDEMPOTENCY_KEY}` must be a string.")
        timezone = _timezone(context, (params.meta or {}).get(TIMEZONE))
        try:
            tool = door.catalogue.tool(f"{toolset}.{params.name}")
        except NotFound as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None
        arguments, caller = params.arguments or {}, caller_of(context)

        def call() -> types.CallToolResult:
            return tool_result(door.invoke(tool, arguments, caller, idempotency_key=key, timezone=timezone), arguments)

        return await with_progress(context, call)

    async def read_arguments(ctx: Context, call_next: CallNext) -> HandlerResult:
        params = ctx.params or {}
        if ctx.method == "tools/call" and isinstance(text := params.get("arguments"), str):
            tool = offered.tools.get(str(params.get("name")))
            ctx = replace(ctx, params={**params, "arguments": _decoded(tool, text) if tool else {}})
        return await call_next(ctx)

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return await mcp_resources.list_resources(partial(run, context), params.cursor if params else None)

    async def list_templates(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        _check_first_page(params)
        return types.ListResourceTemplatesResult(resource_templates=list(mcp_resources.TEMPLATES))

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await mcp_resources.read_resource(partial(run, context), params.uri)

    async def list_prompts(context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        _check_first_page(params)
        return types.ListPromptsResult(prompts=list(mcp_prompts.PROMPTS))

    async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return mcp_prompts.get_prompt(offered.instructions, params.name, params.arguments or {})

    server: Server[Any] = Server(
        "steeltrap",
        version=VERSION,
        title="steeltrap",
        instructions=offered.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
    server.middleware.append(read_arguments)
    return server


def _timezone(context: Context, given: object) -> str | None:
    """The zone that a call names in its `_meta`, else its HTTP request in a header. Raises MCPError."""
    if given is not None and not isinstance(given, str):
        raise MCPError(types.INVALID_PARAMS, f"`_meta.{TIMEZONE}` must be a string, such as Europe/Lisbon.")
    headers = getattr(context.request, "headers", None)
    return given or (headers.get(TIMEZONE_HEADER) if headers is not None else None) or None


def _decoded(tool: Tool, arguments: str) -> JsonObject:
    """The arguments that a model wrote as a text of JSON instead of an object. Raises MCPError."""
    try:
        return decode_for(tool, arguments.encode(errors="replace"))
    except SteeltrapError as error:
        raise MCPError(types.INVALID_PARAMS, error.message) from None


async def _abandoned_when_cancelled(context: Context, work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


async def _report_progress(context: Context) -> None:
    """Tell a client that asked for it every second how many seconds a call has taken, so that it goes on waiting."""
    started = anyio.current_time()
    while True:
        await anyio.sleep(_PROGRESS_SECONDS)
        await context.session.report_progress(round(anyio.current_time() - started, 1), message="seconds")


def _check_first_page(params: types.PaginatedRequestParams | None) -> None:
    """Raises MCPError for a cursor, since none was given."""
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "`cursor` is none that an earlier answer gave: leave it out.")


def tool_result(result: Result, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """A result as MCP shows it: text of at most 25,000 tokens; where it had to be cut, a second text says so.

    There is no structured content beside it: a model would pay for both, many clients show it only the text, and some
    only the structured content.
    """
    body, note = bounded(result.body, ROOM, result.tool, arguments)
    texts = [body if isinstance(body, str) else compact(body), *([note] if note else [])]
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text) for text in texts],
        is_error=result.error is not None,
        _meta={OUTCOME: outcome_object(result.outcome)} if result.outcome else None,
    )


def run_stdio(door: Door, toolset: str, caller: Caller) -> None:
    """Serve one toolset to one caller over stdin and stdout until stdin ends and every request is answered. Raises
    NotFound, and BrokenPipeError where nobody reads stdout any more.

    While it runs, whatever else is printed goes to stderr. The store stays open.
    """
    server = create_server(door, toolset, lambda _: caller)

    async def serve() -> None:
        lines = cast("anyio.AsyncFile[str]", _lines_of_stdin())
        async with stdio_server(stdin=lines) as (incoming, outgoing):
            await _serve_until_answered(server, incoming, outgoing)

    try:
        anyio.run(serve)
    except* (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None


async def _serve_until_answered(server: Server[Any], incoming: Any, outgoing: Any) -> None:
    """Serve messages, and tell the server that there are no more only once it has answered all: it would cancel those
    that it works on."""
    to_server, received = anyio.create_memory_object_stream[SessionMessage | Exception]()
    sent, from_server = anyio.create_memory_object_stream[SessionMessage]()
    waiting: Counter[types.RequestId] = Counter()
    answered = anyio.Condition()

    async def pass_requests() -> None:
        async with to_server:
            async for item in incoming:
                message = item.message if isinstance(item, SessionMessage) else None
                if isinstance(message, types.JSONRPCRequest):
                    waiting[message.id] += 1
                elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
                    waiting.pop((message.params or {}).get("requestId", ""), None)
                await to_server.send(item)
            with anyio.move_on_after(_LAST_SECONDS):
                async with answered:
                    while waiting:
                        await answered.wait()

    async def pass_answers() -> None:
        async with from_server, outgoing:
            async for item in from_server:
                await outgoing.send(item)
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError) and item.message.id is not None:
                    async with answered:
                        waiting[item.message.id] -= 1
                        if waiting[item.message.id] <= 0:
                            del waiting[item.message.id]
                        answered.notify_all()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pass_requests)
        tasks.start_soon(pass_answers)
        async with sent:
            await server.run(received, sent, server.create_initialization_options())


async def _lines_of_stdin() -> AsyncIterator[str]:
    """The lines of stdin. A thread that nobody waits for reads them, so that Ctrl-C ends a process whose stdin is open:
    nothing can end a read that has begun."""
    lines, read = anyio.create_memory_object_stream[str]()
    loop = asyncio.get_running_loop()

    def read_all() -> None:
        # Not by sys.stdin: the interpreter can't end while another thread holds it.
        pending = bytearray()
        with suppress(RuntimeError, CancelledError):  # the loop has ended
            while chunk := _read_stdin():
                *whole, rest = chunk.split(b"\n")
                for piece in whole:
                    pending += piece
                    asyncio.run_coroutine_threadsafe(lines.send(pending.decode(errors="replace")), loop).result()
                    pending.clear()
                pending += rest
            if pending.strip():
                asyncio.run_coroutine_threadsafe(lines.send(pending.decode(errors="replace")), loop).result()
            loop.call_soon_threadsafe(lines.close)

    threading.Thread(target=read_all, name="steeltrap-stdin", daemon=True).start()
    async with read:
        async for line in read:
            if line.strip():
                yield line


def _read_stdin() -> bytes:
    try:
        return os.read(0, 64 * 1024)
    except OSError:
        return b""  # it was closed
