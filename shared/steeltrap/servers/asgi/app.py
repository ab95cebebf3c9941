"""HTTP: a route for every tool of the catalogue, MCP beside them, probes, problems, OpenAPI."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from ... import telemetry
from ...errors import Internal, SteeltrapError, Unavailable
from ...invoke import Door
from ...tools import Tool
from .. import schemas
from ..auth.identity import Identity, one_header
from ..http import (
    FAULT,
    Reply,
    answer,
    call_headers,
    compact,
    error_reply,
    for_reader,
    media_refusal,
    paths,
    refusal_reply,
    unknown_path,
    wants_problems,
    wrong_method_reply,
)
from ..mcp import TOOLSET
from .admission import MAX_CALLS_AT_ONCE, Admission, CallThreads, no_place
from .mcp_http import all_running, mcp_endpoints, mcp_routes
from .middleware import Challenging, ProtectedResource, SameOriginOnly


class ByPath(BaseRoute):
    """Routes whose paths have no parameters, as one route."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = {route.path: route for route in routes}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or (route := self._routes.get(_path(scope))) is None:
            return Match.NONE, {}
        return route.matches(scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._routes[_path(scope)].handle(scope, receive, send)


def by_path(routes: Iterable[BaseRoute]) -> list[BaseRoute]:
    """The same routes, quicker to choose from. No two have the same path."""
    fixed, others = list[Route](), list[BaseRoute]()
    for route in routes:
        if isinstance(route, Route) and "{" not in route.path:
            fixed.append(route)
        else:
            others.append(route)
    return [ByPath(fixed), *others]


def _path(scope: Scope) -> str:
    """The path below where the application is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


_log = logging.getLogger("steeltrap")

PROBE_SECONDS: Final = 5.0


def create_app(
    door: Door,
    identity: Identity,
    *,
    toolset: str | None = None,
    local: bool = True,
    resource: ProtectedResource | None = None,
    closes_store: bool = True,
    calls_of_user: int = MAX_CALLS_AT_ONCE,
    public_url: str | None = None,
    routes: Sequence[BaseRoute] = (),
    on_close: Callable[[], None] = lambda: None,
    pages: Callable[[Admission], Sequence[BaseRoute]] = lambda admission: (),
) -> FastAPI:
    """The application over a door. `toolset` is the one that MCP offers at `/mcp`, `agent` if not said.

    `local` refuses callers from anywhere but this computer, which a server that authenticates nobody must. With a
    `public_url`, which may be "", pages of other sites are refused; without one a gateway in front decides that.
    `resource` tells clients where they get a token. Shutting down closes the store, unless `closes_store` says that
    it is needed again. At most `calls_of_user` calls of each user run at once. `routes` are further ones, and so are
    those of `pages`, which share the limits of calls. `on_close` is called when it shuts down. Raises NotFound.
    """
    admission = Admission(identity, calls_of_user)
    endpoints = mcp_endpoints(door, admission, toolset or TOOLSET)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try:
            async with all_running(endpoints):
                yield
        finally:
            on_close()
            if closes_store:
                door.store.close()

    # FastAPI's pages load scripts from elsewhere, which a server without authentication must not host.
    app = FastAPI(title="steeltrap", lifespan=lifespan, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.openapi = cache(partial(schemas.openapi, door.catalogue))  # type: ignore[method-assign]
    # Starlette's own routes: FastAPI's would look for parameters and dependencies, which no tool has.
    for tool in door.catalogue.tools():
        call = _endpoint(door, admission, tool)
        app.router.routes.extend(Route(path, call, methods=["POST"], name=tool.full_name) for path in paths(tool))
    app.router.routes.extend(_probes(door, admission))
    app.router.routes.extend(mcp_routes(endpoints))
    app.router.routes.extend(routes)
    app.router.routes.extend(pages(admission))
    for kind in (HTTPException, Exception):
        app.add_exception_handler(kind, partial(_not_routed, door))
    if resource is not None:
        app.router.routes.extend(resource.routes(endpoints))
        app.add_middleware(Challenging, resource=resource, paths=endpoints.keys())
    if local or public_url is not None:
        app.add_middleware(SameOriginOnly, public_url or "", loopback=local)
    app.router.routes[:] = by_path(app.router.routes)
    return app


def _endpoint(door: Door, admission: Admission, tool: Tool) -> Any:
    async def call(request: Request) -> Response:
        problems = wants_problems(request.headers.get("Accept"))
        try:
            sent_as = (one_header(request.scope, name) for name in ("Content-Type", "Content-Encoding"))
            if (refusal := media_refusal(*sent_as)) is not None:
                return _response(refusal)
            headers = call_headers(request.scope)
            admitted = admission.admitted(request.scope, request.receive, tool.bounds, f"`{tool.full_name}`")
            async with admitted as (turn, body):
                work = partial(answer, door, tool, body, turn.caller, headers, problems=problems)
                return _response(await turn.run(work))
        except SteeltrapError as error:
            return _response(refusal_reply(door, tool, error, problems=problems))

    return call


def _probes(door: Door, admission: Admission) -> list[BaseRoute]:
    checking = CallThreads(1)
    ready: asyncio.Task[Reply] | None = None

    async def healthz(request: Request) -> Response:
        return _response(_fine())

    async def readyz(request: Request) -> Response:
        nonlocal ready
        if admission.calls.is_full:
            return _response(error_reply(no_place()))
        # Anybody may ask: one check at a time answers all who ask meanwhile.
        if ready is None or ready.done():
            ready = asyncio.ensure_future(checking.run(partial(_readiness, door)))
        return _response(await asyncio.shield(ready))

    return [Route("/healthz", healthz, methods=["GET"]), Route("/readyz", readyz, methods=["GET"])]


def _readiness(door: Door) -> Reply:
    try:
        door.store.check()
        door.embedder.embed(["ready"], purpose="query", timeout=PROBE_SECONDS)
    except SteeltrapError as error:
        # Anybody may ask here, and the sentence may name folders and addresses.
        _log.error("not ready: %s", error.message)
        part = error.details.get("part", "server")
        return error_reply(Unavailable(f"The {part} is not ready; the server's log says why.", part=part))
    except Exception as fault:
        telemetry.log_fault("readyz", fault)
        return error_reply(Unavailable("The store or the embedder does not answer; it was logged."))
    return _fine()


def _fine() -> Reply:
    return Reply(200, compact({"status": "ok"}).encode(), {"Content-Type": "application/json"})


async def _not_routed(door: Door, request: Request, error: Exception) -> Response:
    """Requests that no tool answers: an unknown path, a wrong method, a fault (which the server then logs)."""
    match error:
        case HTTPException(status_code=404):
            reply = error_reply(unknown_path(door.catalogue, request.url.path))
        case HTTPException(status_code=405, headers=headers):
            reply = wrong_method_reply(request.method, (headers or {}).get("Allow", "POST"))
        case _:
            reply = error_reply(Internal(FAULT))
    return _response(for_reader(reply, ", ".join(request.headers.getlist("Accept"))))


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, reply.headers)
