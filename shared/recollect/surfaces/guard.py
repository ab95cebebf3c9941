"""Keeps web pages away from a local server that asks nobody who they are.

A page that a browser shows can send requests to 127.0.0.1, and by rebinding its own name to that address
it can read the answers too. So the Host must be a loopback name, and a request that a page of another
host made is refused. (Tools ask for JSON besides, which a page can't send without a preflight that fails.)
"""

import re
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import AccessDenied, InvalidInput
from .identity import one_header
from .reply import Reply, error_reply

_LOOPBACK: Final = r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?"
_HOST: Final = re.compile(_LOOPBACK, re.IGNORECASE)
_ORIGIN: Final = re.compile("https?://" + _LOOPBACK, re.IGNORECASE)


class LoopbackOnly:
    """ASGI middleware that refuses with 403 what did not come from this computer's own pages and programs."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := _refusal(scope)):
            await send_reply(refusal, send)
        else:
            await self.app(scope, receive, send)


async def send_reply(reply: Reply, send: Send) -> None:
    """Send a whole answer over ASGI."""
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in reply.headers.items()]
    headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


def _refusal(scope: Scope) -> Reply | None:
    try:
        host, origin = one_header(scope, "Host"), one_header(scope, "Origin")
    except InvalidInput as error:
        return error_reply(error)
    if host is None or not _HOST.fullmatch(host):
        return error_reply(AccessDenied("This server answers to localhost only; call it as http://127.0.0.1."))
    if origin is not None and not _ORIGIN.fullmatch(origin):
        return error_reply(AccessDenied("This server answers no page of another site."))
    return None
