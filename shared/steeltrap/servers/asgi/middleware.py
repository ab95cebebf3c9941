"""Middleware: blocks cross-origin browser requests and DNS rebinding, and tells a client where it gets a token.

A web page can make a browser send requests to this server. By pointing its own name at the server's address (DNS
rebinding), it can even pass for the server's own page. So a request with an `Origin` header is answered only if the
origin is the public address, or a loopback name or IP address that the request was sent to: those can't be rebound. A
server without authentication answers to loopback names only. Tools also require JSON, which a page of another site
can't send without a preflight request; that fails.

Browsers send no `Origin` with a plain GET, as for an image, but they say in `Sec-Fetch-Site` which site asks: only a
link that somebody followed may come from another one. Programs send none of these headers.

As MCP's authorization asks for, a 401 names the document of the address that was called, and so does a 403 for a token
without a scope; the document names the issuer (OAuth 2.0 protected resource metadata, RFC 9728).
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...errors import AccessDenied, InvalidInput
from ..auth.identity import WELL_KNOWN, metadata, one_header
from ..http import Reply, error_reply, for_reader

_LOOPBACK: Final = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::\d{1,5})?", re.IGNORECASE)


class SameOriginOnly:
    """ASGI middleware that answers 403 to cross-origin browser requests.

    `public_url` is the address that clients use, "" if unknown. With `loopback`, requests that were not sent to a
    loopback name are refused.
    """

    def __init__(self, app: ASGIApp, public_url: str = "", *, loopback: bool = False) -> None:
        self.app = app
        self._public = _origin(public_url)
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(scope)):
            await send_reply(for_reader(refusal, _accepted(scope)), send)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Reply | None:
        try:
            host, origin = one_header(scope, "Host") or "", one_header(scope, "Origin")
        except InvalidInput as error:
            return error_reply(error)
        if self._loopback and not is_loopback(host):
            return error_reply(AccessDenied("This server answers to localhost only; call it as http://127.0.0.1."))
        if origin is None:
            return _foreign_reply(scope)
        if origin.lower() == self._public:
            return None
        if origin.lower() in (f"http://{host}".lower(), f"https://{host}".lower()) and not _can_be_rebound(host):
            return None
        hint = "" if self._loopback else " If this is the server's own page, set STEELTRAP_PUBLIC_URL to its address."
        return error_reply(AccessDenied("Cross-origin browser requests are blocked." + hint))


def _accepted(scope: Scope) -> str | None:
    try:
        return one_header(scope, "Accept")
    except InvalidInput:
        return None


def _foreign_reply(scope: Scope) -> Reply | None:
    """A refusal where a browser says that another site's page had it ask, and nobody followed a link there."""
    try:
        site, mode, dest, user = (one_header(scope, f"Sec-Fetch-{name}") for name in ("Site", "Mode", "Dest", "User"))
    except InvalidInput as error:
        return error_reply(error)
    if site is None or site in ("same-origin", "none"):
        return None
    if scope["method"] in ("GET", "HEAD") and (mode, dest, user) == ("navigate", "document", "?1"):
        return None
    return error_reply(AccessDenied("Cross-origin browser requests are blocked."))


async def send_reply(reply: Reply, send: Send) -> None:
    """Send a whole answer over ASGI."""
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in reply.headers.items()]
    headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


def is_loopback(host: str) -> bool:
    """Whether a Host header names this computer."""
    return _LOOPBACK.fullmatch(host) is not None


def _can_be_rebound(host: str) -> bool:
    """Whether the Host header is a name that somebody else's DNS may answer for."""
    if is_loopback(host):
        return False
    address = _ADDRESS.fullmatch(host)
    try:
        ip_address(address[1] or address[2] if address else "")
        return False
    except ValueError:
        return True


def _origin(url: str) -> str | None:
    """The origin of a URL as a browser sends it, without the scheme's default port."""
    parts = urlsplit(url.lower())
    usual = {"http": ":80", "https": ":443"}.get(parts.scheme)
    return f"{parts.scheme}://{parts.netloc.removesuffix(usual)}" if usual else None


@dataclass(frozen=True, slots=True)
class ProtectedResource:
    """A server whose tokens an issuer gives, with one of the scopes if there are any. `public_url` is how clients reach
    it; if empty, a loopback name that they use, else the address that it listens on."""

    issuer: str
    public_url: str = ""
    scopes: tuple[str, ...] = ()

    def routes(self, paths: Collection[str]) -> list[BaseRoute]:
        """The document of the server, and of each of its MCP paths."""
        return [Route(WELL_KNOWN + path, self._document, methods=["GET"]) for path in ("", *paths)]

    def challenge(self, scope: Scope, paths: Collection[str]) -> str:
        """The parameter of WWW-Authenticate that names the document."""
        path = scope["path"] if scope["path"] in paths else ""
        return f'resource_metadata="{self._base(scope)}{WELL_KNOWN}{path}"'

    async def _document(self, request: Request) -> Response:
        path = request.url.path.removeprefix(WELL_KNOWN)
        return JSONResponse(metadata(self._base(request.scope), path, self.issuer, self.scopes))

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
    host = f"[{address}]" if ":" in address else address
    return host if port is None else f"{host}:{port}"


class Challenging:
    """ASGI middleware that adds the metadata's address to what a 401 asks for, and a 403 for want of a scope."""

    def __init__(self, app: ASGIApp, resource: ProtectedResource, paths: Collection[str]) -> None:
        self.app = app
        self._resource = resource
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in (401, 403):
                headers = MutableHeaders(raw=message["headers"])
                # Another token can't mend every 403, such as one of a key that may only read.
                header = headers.get("www-authenticate", "Bearer" if message["status"] == 401 else None)
                if header is not None:
                    between = " " if header == "Bearer" else ", "
                    headers["www-authenticate"] = header + between + self._resource.challenge(scope, self._paths)
            await send(message)

        await self.app(scope, receive, sending if scope["type"] == "http" else send)
