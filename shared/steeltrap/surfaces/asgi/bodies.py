"""Bodies of requests over ASGI: read when it is known who calls, and no further than there is use and room for them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.types import Message, Receive, Scope

from ...errors import InvalidInput, Unavailable
from ...text.schemas import Bounds
from ..auth.identity import one_header

MAX_HELD_BYTES: Final = 256 * 1024 * 1024
"""Bytes of all bodies that are being read or worked on."""
SMALL_BYTES: Final = 64 * 1024
"""There is always room for so much of a body: a few large ones keep no ordinary call away."""
_RETRY_SECONDS: Final = 1.0


class Bodies:
    """Reads bodies within one limit for all of them together. For one event loop."""

    def __init__(self, most: int = MAX_HELD_BYTES) -> None:
        self._most = most
        self.held = 0

    @asynccontextmanager
    async def read(self, scope: Scope, receive: Receive, bounds: Bounds, what: str) -> AsyncIterator[bytearray]:
        """The body, which counts as held until the block ends.

        Raises TooLarge over the bounds of `what` it is for, Unavailable when there is no room for it now, and
        InvalidInput when the client goes before its end.
        """
        declared = one_header(scope, "Content-Length") or ""
        if declared.isascii() and declared.isdigit():
            bounds.check_size(int(declared[:18]), what)  # a longer number is no less too large
        body = bytearray()
        try:
            more = True
            while more:
                message = await receive()
                part, more = _part(message)
                bounds.check_size(len(body) + len(part), what)
                if len(body) + len(part) > SMALL_BYTES and self.held + len(part) > self._most:
                    raise _no_room()
                self.held += len(part)
                body += part
            yield body
        finally:
            self.held -= len(body)


def _part(message: Message) -> tuple[bytes, bool]:
    if message["type"] != "http.request":
        raise InvalidInput("The connection ended before the body did.")
    return message.get("body", b""), message.get("more_body", False)


def _no_room() -> Unavailable:
    return Unavailable(
        "The server is busy with other large bodies; try again.", part="server", retry_after=_RETRY_SECONDS
    )
