"""MCP: one server for one toolset, its prompts and resources, and the way to serve it over stdin and stdout."""

import asyncio
import errno
import json
import os
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from math import nan
from typing import Any, Final, Protocol, TypeVar, cast
from urllib.parse import quote, unquote

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from ..arguments import decode_for
from ..errors import InvalidInput, NotFound, SteeltrapError
from ..invoke import Door, Result, refusal
from ..model import EVERYTHING, Caller, JsonObject
from ..tools import Tool
from ..version import VERSION
from . import schemas
from .bounded import MAX_TOKENS, ROOM, bounded
from .http import SECRETS, check_names, compact, outcome_object
from .http import TIMEZONE as TIMEZONE_HEADER

_USE: Final = "use_memory"
_KNOW: Final = "what_do_you_know"

PROMPTS: Final = (
    types.Prompt(
        name=_USE,
        title="Use memory well",
        description="Have the model look things up before it answers, and save what will matter later.",
    ),
    types.Prompt(
        name=_KNOW,
        title="What do you know about ...?",
        description="Have the model tell what it remembers about a subject.",
        arguments=[
            types.PromptArgument(name="topic", description="A person, project or subject.", required=True),
        ],
    ),
)


def get_memory_prompt(instructions: str, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """A prompt in full. `instructions` are those of the toolset that is served. Raises MCPError for an unknown prompt,
    or one without an argument that it needs."""
    prompts = {prompt.name: prompt for prompt in PROMPTS}
    if name not in prompts:
        raise MCPError(types.INVALID_PARAMS, f"There is no prompt `{name}`; there are: {', '.join(prompts)}.")
    if name == _USE:
        text = f"In this conversation, use your memory tools as follows.\n\n{instructions}"
    else:
        topic = arguments.get("topic", "").strip()
        if not topic:
            raise MCPError(types.INVALID_PARAMS, f"The prompt `{name}` needs the argument `topic`.")
        text = (
            f"Search your memory for everything about this subject: {topic}\n\n"
            "Try a few different queries. Then tell me what you found, with dates, and what was corrected later. If "
            "you found nothing, say so, and add nothing that you did not find there."
        )
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=prompts[name].description, messages=[message])


Run = Callable[[str, JsonObject], Awaitable[Result]]
"""Calls a tool by its full name for whoever makes the request."""

RECENT: Final = "memory://recent"
_MEMORY: Final = "memory://memories/"
_SCOPE: Final = "memory://scopes/"
_PAGE: Final = 50
_SHOWN: Final = 20
"""Memories in a resource that holds several."""
_TITLE: Final = 80
_CUT: Final = f"This is cut to {MAX_TOKENS:,} tokens: read single memories, or call the tools."

TEMPLATES: Final = (
    types.ResourceTemplate(
        name="memory",
        uri_template=f"{_MEMORY}{{id}}",
        description="One memory with all its fields.",
        mime_type="application/json",
    ),
    types.ResourceTemplate(
        name="scope",
        uri_template=f"{_SCOPE}{{+scope}}",
        description=f"The {_SHOWN} newest memories of a scope and of the scopes below it.",
        mime_type="application/json",
    ),
)


async def list_memory_resources(run: Run, cursor: str | None) -> types.ListResourcesResult:
    """The newest memories together, then each memory, newest first, in pages. A cursor is the number to skip.

    Raises MCPError for a cursor that no page has given.
    """
    offset = _offset(cursor)
    result = await run("core.list", {"limit": _PAGE, "offset": offset})
    if result.error is not None:
        raise MCPError(types.INVALID_REQUEST, result.error.message)
    listed = [_resource(memory) for memory in result.body["memories"]]
    if not offset:
        together = types.Resource(
            name="recent",
            uri=RECENT,
            description=f"The {_SHOWN} memories that were saved last.",
            mime_type="application/json",
        )
        listed.insert(0, together)
    more = offset + _PAGE < result.body["total"]
    return types.ListResourcesResult(resources=listed, next_cursor=str(offset + _PAGE) if more else None)


async def read_memory_resource(run: Run, uri: str) -> types.ReadResourceResult:
    """The content of a resource as JSON. Raises MCPError for an unknown one."""
    if uri == RECENT:
        result = await run("core.list", {"limit": _SHOWN})
    elif uri.startswith(_MEMORY):
        result = await run("core.get", {"id": unquote(uri.removeprefix(_MEMORY))})
    elif uri.startswith(_SCOPE):
        result = await run("core.list", {"limit": _SHOWN, "scope": unquote(uri.removeprefix(_SCOPE))})
    else:
        resources = ", ".join([RECENT, *(template.uri_template for template in TEMPLATES)])
        raise MCPError(types.INVALID_PARAMS, f"There is no resource `{uri}`; there are: {resources}.", {"uri": uri})
    if result.error is not None:
        # The specification has no code of its own for what is not there.
        code = types.INVALID_PARAMS if isinstance(result.error, NotFound) else types.INVALID_REQUEST
        raise MCPError(code, result.error.message, {"uri": uri})
    body, note = bounded(result.body, ROOM, result.tool, {})
    contents = [types.TextResourceContents(uri=uri, text=compact(body), mime_type="application/json")]
    if note:
        contents.append(types.TextResourceContents(uri=uri, text=_CUT, mime_type="text/plain"))
    return types.ReadResourceResult(contents=list(contents))


def _resource(memory: dict[str, Any]) -> types.Resource:
    content = " ".join(memory["content"].split())
    return types.Resource(
        name=memory["id"],
        title=content if len(content) <= _TITLE else f"{content[: _TITLE - 1]}\u2026",
        uri=f"{_MEMORY}{quote(memory['id'])}",
        mime_type="application/json",
        annotations=types.Annotations(last_modified=memory["updated_at"]),
    )


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 9 or int(cursor) % _PAGE:
        raise MCPError(types.INVALID_PARAMS, "`cursor` is none that an earlier answer gave: leave it out.")
    return int(cursor)


TOOLSET: Final = "agent"
"""The toolset of a client that names none."""
OUTCOME: Final = "steeltrap/outcome"
IDEMPOTENCY_KEY: Final = "steeltrap/idempotency_key"
TIMEZONE: Final = "steeltrap/timezone"
_PROGRESS_SECONDS: Final = 1.0
_MAX_DIGITS: Final = 20
"""Digits of the longest number that is read as one in a message that is no valid JSON. No id has more."""
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

    @cache
    def entries(*, project: bool) -> list[tuple[Tool, types.Tool]]:
        offered_schemas = ((tool, schemas.mcp(tool, project=project)) for tool in offered.tools.values())
        return [(tool, types.Tool.model_validate(schema)) for tool, schema in offered_schemas]

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
        offered_tools = entries(project=caller is not None and caller.project is not None)
        refusals = [refusal(permissions, tool) for tool, _ in offered_tools]
        visible_tools = [entry for (_, entry), why in zip(offered_tools, refusals, strict=True) if why is None]
        if not visible_tools and refusals[0] is not None:
            raise MCPError(types.INVALID_REQUEST, refusals[0].message)
        return types.ListToolsResult(tools=visible_tools)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        key = (params.meta or {}).get(IDEMPOTENCY_KEY)
        if key is not None and not isinstance(key, str):
            raise MCPError(types.INVALID_PARAMS, f"`_meta.{IDEMPOTENCY_KEY}` must be a string.")
        timezone = _timezone(context, (params.meta or {}).get(TIMEZONE))
        try:
            check_names(_headers(context))
            tool = door.catalogue.tool(f"{toolset}.{params.name}")
        except (InvalidInput, NotFound) as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None
        arguments, caller, secrets = params.arguments or {}, caller_of(context), _headers(context).get(SECRETS) or None

        def call() -> types.CallToolResult:
            result = door.invoke(tool, arguments, caller, idempotency_key=key, secrets=secrets, timezone=timezone)
            return tool_result(result, arguments)

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
        return await list_memory_resources(partial(run, context), params.cursor if params else None)

    async def list_templates(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        _check_first_page(params)
        return types.ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await read_memory_resource(partial(run, context), params.uri)

    async def list_prompts(context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        _check_first_page(params)
        return types.ListPromptsResult(prompts=list(PROMPTS))

    async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return get_memory_prompt(offered.instructions, params.name, params.arguments or {})

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


def _timezone(context: Context, value: object) -> str | None:
    """The zone that a call names in its `_meta`, else its HTTP request in a header. Raises MCPError."""
    if value is not None and not isinstance(value, str):
        raise MCPError(types.INVALID_PARAMS, f"`_meta.{TIMEZONE}` must be a string, such as Europe/Lisbon.")
    return value or _headers(context).get(TIMEZONE_HEADER) or None


def _headers(context: Context) -> Mapping[str, str]:
    """The headers of the HTTP request that a message came in; none over stdin."""
    return getattr(context.request, "headers", None) or {}


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
    """Serve messages. The server is told of their end only after it has answered all of them: otherwise it would cancel
    the running ones."""
    to_server, received = anyio.create_memory_object_stream[SessionMessage | Exception]()
    sending, from_server = anyio.create_memory_object_stream[SessionMessage]()
    waiting: Counter[types.RequestId] = Counter()
    answered = anyio.Condition()

    async def pass_requests() -> None:
        async with to_server:
            async for item in incoming:
                if isinstance(item, Exception):
                    if (refused := _refused(item)) is not None:
                        await outgoing.send(SessionMessage(refused))
                    continue
                message = item.message
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
        async with sending:
            await server.run(received, sending, server.create_initialization_options())


def _refused(error: Exception) -> types.JSONRPCError | None:
    """The answer to a request that the SDK can't read: without one, its client would wait for good. None for a line
    that asks for no answer, or in which no request can be seen."""
    details = error.errors() if isinstance(error, ValidationError) else []
    if not details:
        return None
    first = details[0]
    if first["type"] == "json_invalid":
        # Such as half of a surrogate pair, of a text that was cut within an emoji.
        message = _read_leniently(first["input"])
        said = f"This is no valid JSON: {first['ctx']['error']}. Send whole Unicode characters, and no huge numbers."
        error_data = types.ErrorData(code=types.PARSE_ERROR, message=said)
    else:
        # The SDK has also tried to read an answer: the result that it misses there comes with the whole message.
        message = next((each["input"] for each in details if each["type"] == "missing"), None)
        field = ".".join(map(str, first["loc"][1:]))
        said = f"This is no request of JSON-RPC 2.0: `{field}`: {first['msg']}."
        error_data = types.ErrorData(code=types.INVALID_REQUEST, message=said)
    if not isinstance(message, dict) or "method" not in message or message.get("id") is None:
        return None
    return types.JSONRPCError(jsonrpc="2.0", id=_readable_id(message["id"]), error=error_data)


def _read_leniently(line: str) -> object:
    """A message that is no valid JSON as Python reads it, which takes half of a surrogate pair; None where it can't."""
    try:
        # Of a number with thousands of digits Python makes no integer either.
        return json.loads(line, parse_int=lambda text: int(text) if len(text) <= _MAX_DIGITS else nan)
    except (ValueError, RecursionError):
        return None


def _readable_id(given: object) -> types.RequestId | None:
    """The id of a request as its answer has it; None, which is null, for what can't be sent back as it was given."""
    if isinstance(given, bool) or not isinstance(given, int | str):
        return None
    try:
        str(given).encode()
    except UnicodeEncodeError:
        return None
    return given


async def _lines_of_stdin() -> AsyncIterator[str]:
    """The lines of stdin. A thread that nobody waits for reads them, so that Ctrl-C ends a process whose stdin is open:
    nothing can end a read that has begun."""
    lines, receiver = anyio.create_memory_object_stream[str]()
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
    async with receiver:
        async for line in receiver:
            if line.strip():
                yield line.removeprefix("\ufeff")  # a byte order mark, as PowerShell writes it


def _read_stdin() -> bytes:
    try:
        return os.read(0, 64 * 1024)
    except OSError:
        return b""  # it was closed
