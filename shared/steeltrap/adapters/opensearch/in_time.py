"""An answer over HTTP that is whole in time, or fails, however slowly it drips.

A socket's timeout starts again with every byte. Here each read has only what is left of the timeout that the socket had
when the answer began, and that counts for the headers too.
"""

import time
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from socket import socket
from typing import Any


class InTime(HTTPResponse):
    """The `response_class` of a connection."""

    def __init__(self, sock: socket, *options: Any, **named: Any) -> None:
        super().__init__(sock, *options, **named)
        within = sock.gettimeout()
        if within is not None:
            self.fp = BufferedReader(_Reads(sock, self.fp.detach(), time.monotonic() + within))


class _Reads(RawIOBase):
    """What a socket receives, until a moment. Raises TimeoutError then."""

    def __init__(self, sock: socket, received: RawIOBase, ends: float) -> None:
        self._sock = sock
        self._received = received
        self._ends = ends

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        return self._received.readinto(buffer)

    def close(self) -> None:
        self._received.close()
        super().close()
