"""A line in the log per request, and the id by which its other lines are found."""

import logging
import re
import time
from collections.abc import Callable
from secrets import token_hex
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ... import telemetry
from ...errors import InvalidInput
from ..auth.identity import one_header

_log = logging.getLogger("steeltrap")

HEADER: Final = "X-Request-Id"
_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_MOST_OF_A_PATH: Final = 200


class RequestLog:
    """ASGI middleware. A request keeps the id that a gateway gave it, or gets one; the answer names it.

    `answered` is told each answer's status, 0 if there was none.
    """

    def __init__(self, app: ASGIApp, answered: Callable[[int], None] = lambda status: None) -> None:
        self.app = app
        self._answered = answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        id, began, status, ended = _id(scope), time.perf_counter(), 0, False
        telemetry.REQUEST.set(id)

        def end() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._answered(status)
                _log_request(scope, status, (time.perf_counter() - began) * 1000)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (HEADER.lower().encode(), id.encode())]
            elif not message.get("more_body", False):
                end()  # before a slow client has read it
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            end()


def _log_request(scope: Scope, status: int, milliseconds: float) -> None:
    method, path = scope["method"], _path(scope)
    fields = {"method": method, "path": path, "status": status, "ms": round(milliseconds, 1)}
    _log.info("%s %s %d %.1f ms", method, path, status, milliseconds, extra={"fields": fields})


def _id(scope: Scope) -> str:
    try:
        given = one_header(scope, HEADER) or ""
    except InvalidInput:  # two of them
        given = ""
    return given if _ID.fullmatch(given) else token_hex(8)


def _path(scope: Scope) -> str:
    """As it was sent, without the query, which may have a text in it."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return path.partition(b"?")[0].decode("ascii", "backslashreplace")[:_MOST_OF_A_PATH]
