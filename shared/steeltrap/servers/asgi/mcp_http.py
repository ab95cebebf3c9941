"""MCP over streamable HTTP: stateless, answers as JSON, one endpoint a toolset."""

import json
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final, TypeVar

from anyio import to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from ...errors import SteeltrapError
from ...invoke import Door, refusal
from ...model import Caller, Permissions
from ...text.schemas import Bounds
from ...tools import MAX_BODY_BYTES, Toolset
from ..auth.identity import Identity, one_header
from ..http import encoding_refusal, error_reply, wrong_method_reply
from ..mcp import TOOLSET, Context, create_server
from .admission import Admission, Place
from .middleware import send_reply

CALLER: Final = "steeltrap.caller"
PLACE: Final = "steeltrap.place"
"""Where the caller and the place among the threads stand in the ASGI scope."""
_ENVELOPE: Final = Bounds(size=64 * 1024, values=4096)
"""The bytes that JSON-RPC and `_meta` put around a tool's arguments."""

T = TypeVar("T")


class McpEndpoint:
    """An ASGI application that serves one toolset to whom the identity finds.

    It must be `running` to be called, and may run again after it ended, since the SDK's session manager
    can't. Nothing is pushed, so only POST is served.
    """

    def __init__(self, door: Door, toolset: str, admission: Admission) -> None:
        self._server = create_server(door, toolset, _caller_of, _in_its_place)
        self._admission = admission
        self._what = f"MCP's `{toolset}`"
        self._toolset = door.catalogue.toolset(toolset)
        self._manager: StreamableHTTPSessionManager | None = None
        self._bounds: Bounds | None = None

    def prepare(self) -> Bounds:
        """Make what the first message needs. The schemas of all tools are the slowest part of a start."""
        if self._bounds is None:
            self._bounds = message_bounds(self._toolset)
        return self._bounds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        # Admission holds messages to the toolset's own bounds, before the SDK sees them.
        self._manager = StreamableHTTPSessionManager(
            self._server, stateless=True, json_response=True, max_request_body_size=MAX_BODY_BYTES + _ENVELOPE.size
        )
        async with self._manager.run():
            yield
        self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await send_reply(wrong_method_reply(scope["method"]), send)
            return
        try:
            if (compressed := encoding_refusal(one_header(scope, "Content-Encoding"))) is not None:
                await send_reply(compressed, send)
                return
            if (bounds := self._bounds) is None:
                bounds = await to_thread.run_sync(self.prepare)  # while others' calls go on
            admitted = self._admission.admitted(scope, receive, bounds, self._what)
            # Without a free thread the answer is HTTP's, with its Retry-After, before the SDK has read the message.
            async with admitted as (turn, body), turn.place() as place:
                if len(body) > bounds.values:
                    # The SDK makes objects of all of it before a tool can look at how many there are.
                    await place.run(partial(bounds.check_values, body, self._what))
                if turn.caller.permissions.missing_scope:
                    await place.run(partial(_check_scope, body, self._toolset, turn.caller.permissions))
                if self._manager is None:
                    raise RuntimeError("the server's lifespan has not started")
                extended = {**scope, CALLER: turn.caller, PLACE: place}
                await self._manager.handle_request(extended, _replayed(body, receive), send)
        except SteeltrapError as error:
            await send_reply(error_reply(error), send)


def mcp_endpoints(door: Door, admission: Admission, toolset: str) -> dict[str, McpEndpoint]:
    """The endpoint of each path: `/mcp` is `toolset`, `/mcp/{toolset}` each of them. Raises NotFound."""
    door.catalogue.toolset(toolset)
    endpoints = {f"/mcp/{name}": McpEndpoint(door, name, admission) for name in door.catalogue.toolsets}
    return {"/mcp": endpoints[f"/mcp/{toolset}"], **endpoints}


@asynccontextmanager
async def all_running(endpoints: dict[str, McpEndpoint]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for endpoint in dict.fromkeys(endpoints.values()):
            await stack.enter_async_context(endpoint.running())
        yield


def mcp_routes(endpoints: dict[str, McpEndpoint]) -> list[BaseRoute]:
    """Each path, also with a slash after it, as people type it."""
    return [
        Route(path + slash, endpoint, include_in_schema=False)
        for path, endpoint in endpoints.items()
        for slash in ("", "/")
    ]


def create_mcp_app(door: Door, identity: Identity, *, toolset: str = TOOLSET) -> Starlette:
    """MCP alone, without the HTTP tools. The store stays open when it shuts down."""
    endpoints = mcp_endpoints(door, Admission(identity), toolset)
    endpoints["/mcp"].prepare()  # a function's snapshot has it then
    return Starlette(routes=mcp_routes(endpoints), lifespan=lambda _: all_running(endpoints))


def message_bounds(toolset: Toolset) -> Bounds:
    """How large a message to a toolset may be: what its largest tool takes. Large imports go by plain HTTP."""
    bounds = [tool.bounds for tool in toolset.tools.values() if tool.max_bytes <= MAX_BODY_BYTES]
    return Bounds(
        size=max(each.size for each in bounds) + _ENVELOPE.size,
        values=max(each.values for each in bounds) + _ENVELOPE.values,
    )


def _check_scope(body: bytearray, toolset: Toolset, permissions: Permissions) -> None:
    """Raises InsufficientScope for a call of a tool that takes another scope: as HTTP's own answer, by which a client
    asks the issuer for it. Within JSON-RPC, where the tool would refuse as well, no client looks."""
    try:
        message = json.loads(body)
        called = message["params"]["name"] if message["method"] == "tools/call" else None
    except (ValueError, RecursionError, KeyError, TypeError):
        return  # the SDK says what is wrong with it
    tool = toolset.tools.get(called) if isinstance(called, str) else None
    if tool is not None and (why := refusal(permissions, tool)) is not None:
        raise why


def _replayed(body: bytearray, receive: Receive) -> Receive:
    """Receives a body that was read already, without a byte order mark, then what comes after it."""
    content = bytes(body.removeprefix(BOM_UTF8))
    messages: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def _caller_of(context: Context) -> Caller:
    caller: Caller = _scope(context)[CALLER]
    return caller


async def _in_its_place(context: Context, work: Callable[[], T]) -> T:
    place: Place = _scope(context)[PLACE]
    return await place.run(work)


def _scope(context: Context) -> Scope:
    request: Request = context.request  # type: ignore[assignment] # over HTTP there always is one
    return request.scope
