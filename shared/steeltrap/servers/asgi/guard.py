"""Blocks cross-origin browser requests and DNS rebinding.

A web page can make a browser send requests to this server. By pointing its own name at the server's address (DNS
rebinding), it can even pass for the server's own page. So a request with an `Origin` header is answered only if the
origin is the public address, or a loopback name or IP address that the request was sent to: those can't be rebound. A
server without authentication answers to loopback names only. Tools also require JSON, which a page of another site
can't send without a preflight request; that fails.

Browsers send no `Origin` with a plain GET, as for an image, but they say in `Sec-Fetch-Site` which site asks: only a
link that somebody followed may come from another one. Programs send none of these headers.
"""

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from ...errors import AccessDenied, InvalidInput
from ..auth.identity import one_header
from ..http import Reply, error_reply

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
            await send_reply(refusal, send)
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
    found = _ADDRESS.fullmatch(host)
    try:
        ip_address(found[1] or found[2] if found else "")
        return False
    except ValueError:
        return True


def _origin(url: str) -> str | None:
    """The origin of a URL as a browser sends it, without the scheme's default port."""
    parts = urlsplit(url.lower())
    usual = {"http": ":80", "https": ":443"}.get(parts.scheme)
    return f"{parts.scheme}://{parts.netloc.removesuffix(usual)}" if usual else None
