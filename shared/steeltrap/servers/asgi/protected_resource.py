"""Where a client gets a token: OAuth 2.0 protected resource metadata (RFC 9728), as MCP's authorization asks for.

A 401 names the document of the address that was called, the document names the issuer.
"""

from collections.abc import Collection
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..auth.identity import WELL_KNOWN, metadata
from .guard import is_loopback


@dataclass(frozen=True, slots=True)
class ProtectedResource:
    """A server whose tokens an issuer gives. `public_url` is how clients reach it; if empty, a
    loopback name that they use, else the address that it listens on."""

    issuer: str
    public_url: str = ""

    def routes(self, paths: Collection[str]) -> list[BaseRoute]:
        """The document of the server, and of each of its MCP paths."""
        return [Route(WELL_KNOWN + path, self._document, methods=["GET"]) for path in ("", *paths)]

    def challenge(self, scope: Scope, paths: Collection[str]) -> str:
        """The parameter of WWW-Authenticate that names the document."""
        path = scope["path"] if scope["path"] in paths else ""
        return f'resource_metadata="{self._base(scope)}{WELL_KNOWN}{path}"'

    async def _document(self, request: Request) -> Response:
        path = request.url.path.removeprefix(WELL_KNOWN)
        return JSONResponse(metadata(self._base(request.scope), path, self.issuer))

    def _base(self, scope: Scope) -> str:
        return self.public_url.rstrip("/") or f"{scope['scheme']}://{_own_host(scope)}"


def _own_host(scope: Scope) -> str:
    """The name that the request called this server by, if that is a loopback name, else the address that it came in at.

    Any other name is the client's word: a page or a proxy could make others believe it.
    """
    names: list[str] = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
    if len(names) == 1 and is_loopback(names[0]):
        return names[0]
    address, port = scope.get("server") or ("localhost", None)
    named = f"[{address}]" if ":" in address else address
    return named if port is None else f"{named}:{port}"


class Challenging:
    """ASGI middleware that adds the metadata's address to what a 401 asks for."""

    def __init__(self, app: ASGIApp, resource: ProtectedResource, paths: Collection[str]) -> None:
        self.app = app
        self._resource = resource
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 401:
                headers = MutableHeaders(raw=message["headers"])
                asked = headers.get("www-authenticate", "Bearer")
                between = " " if asked == "Bearer" else ", "
                headers["www-authenticate"] = asked + between + self._resource.challenge(scope, self._paths)
            await send(message)

        await self.app(scope, receive, sending if scope["type"] == "http" else send)
