"""MCP over streamable HTTP: stateless, answers as JSON, one endpoint a toolset."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import anyio
import anyio.to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ..errors import RecollectError
from ..invoke import Door, identified
from ..model import Caller
from .guard import send_reply
from .identity import Identity
from .mcp import Context, create_server
from .reply import error_reply, wrong_method_reply
from .routes import MAX_BODY_BYTES

CALLER: Final = "recollect.caller"
"""Where the caller stands in the ASGI scope."""


class McpEndpoint:
    """An ASGI application that serves one toolset to whom the identity finds.

    It must be `running` to be called, and may run again after it ended, since the SDK's session manager
    can't. Nothing is pushed, so only POST is served.
    """

    def __init__(
        self,
        door: Door,
        toolset: str,
        identity: Identity,
        limiter: anyio.CapacityLimiter,
        identifying: anyio.CapacityLimiter,
    ) -> None:
        self._server = create_server(door, toolset, _caller_of, limiter)
        self._identity = identity
        self._identifying = identifying
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._manager = StreamableHTTPSessionManager(
            self._server, stateless=True, json_response=True, max_request_body_size=MAX_BODY_BYTES
        )
        async with self._manager.run():
            yield
        self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await send_reply(wrong_method_reply(scope["method"]), send)
            return
        try:
            found = await anyio.to_thread.run_sync(self._identity.caller, scope, limiter=self._identifying)
            caller = identified(found)
        except RecollectError as error:
            await send_reply(error_reply(error), send)
            return
        if self._manager is None:
            raise RuntimeError("the server's lifespan has not started")
        await self._manager.handle_request({**scope, CALLER: caller}, receive, send)


def mcp_endpoints(
    door: Door,
    identity: Identity,
    toolset: str,
    limiter: anyio.CapacityLimiter,
    identifying: anyio.CapacityLimiter,
) -> dict[str, McpEndpoint]:
    """The endpoint of each path: `/mcp` is `toolset`, `/mcp/{toolset}` each of them. Raises NotFound."""
    door.catalogue.toolset(toolset)
    endpoints = {
        f"/mcp/{name}": McpEndpoint(door, name, identity, limiter, identifying) for name in door.catalogue.toolsets
    }
    return {"/mcp": endpoints[f"/mcp/{toolset}"], **endpoints}


@asynccontextmanager
async def all_running(endpoints: dict[str, McpEndpoint]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for endpoint in dict.fromkeys(endpoints.values()):
            await stack.enter_async_context(endpoint.running())
        yield


def mcp_routes(endpoints: dict[str, McpEndpoint]) -> list[BaseRoute]:
    return [Route(path, endpoint, include_in_schema=False) for path, endpoint in endpoints.items()]


def create_mcp_app(door: Door, identity: Identity, *, toolset: str = "core") -> Starlette:
    """MCP alone, without the HTTP tools. The store stays open when it shuts down."""
    endpoints = mcp_endpoints(door, identity, toolset, anyio.CapacityLimiter(1), anyio.CapacityLimiter(1))
    return Starlette(routes=mcp_routes(endpoints), lifespan=lambda _: all_running(endpoints))


def _caller_of(context: Context) -> Caller:
    request: Request = context.request  # type: ignore[assignment] # over HTTP there always is one
    caller: Caller = request.scope[CALLER]
    return caller
