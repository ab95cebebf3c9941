"""Connections of `steeltrap serve`: what counts as a request, how slow a client may be, how many may be open.

uvicorn parses HTTP with httptools (llhttp), which refuses most of what two servers could read differently: h11 takes
Content-Length beside Transfer-Encoding, and bare line feeds. Here is what both leave open. Not here: any tool.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from socket import socket
from typing import Any, Final

import httptools
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ...errors import InvalidInput, TooLarge, Unavailable
from ...processes import STOPPING
from ..asgi.middleware import send_reply
from ..http import Reply, error_reply

PROBES: Final = (b"/healthz", b"/readyz")
_CLOSE: Final = {"Connection": "close"}
_SWEEP_TICKS: Final = 10
"""uvicorn ticks ten times a second."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one client."""

    connections: int = 1000
    probe_connections: int = 32
    """How many more may be open, each for one request to a probe: health checks work while the others are taken."""
    head_bytes: int = 64 * 1024
    head_seconds: float = 10
    """From the first byte of a request, or the start of a connection, to the end of the head."""
    piece_bytes: int = 64 * 1024
    piece_seconds: float = 20
    """For each `piece_bytes` of a body that the client sends, and of an answer that it reads."""
    linger_seconds: float = 5
    """How long a body is still read after its request was answered."""
    idle_seconds: float = 75
    """Between requests: longer than the 60 s for which load balancers keep connections."""
    pipelined: int = 16


class _Phase(Enum):
    """How much of a request has arrived."""

    OPENED = "nothing, and no request came before"
    HEAD = "a part of the head"
    BODY = "the head"
    WHOLE = "all of it"


class Server(uvicorn.Server):
    """uvicorn's server, which also says when it serves, and looks for slow clients once a second."""

    def __init__(self, config: uvicorn.Config, serves: Callable[[], None]) -> None:
        super().__init__(config)
        self._serves = serves

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGINT, SIGTERM and SIGHUP, and return: a server that ended because it was told to hasn't failed.

        uvicorn would end the process by the signal.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        more = [each for each in STOPPING if signal.getsignal(each) is not signal.SIG_IGN]
        with super().capture_signals():
            before = {each: signal.signal(each, self.handle_exit) for each in more}
            try:
                yield
            finally:
                for each, handler in before.items():
                    signal.signal(each, handler)
                self._captured_signals.clear()

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        self._serves()

    async def on_tick(self, counter: int) -> bool:
        if counter % _SWEEP_TICKS == 0:
            self.close_slow()
        return await super().on_tick(counter)

    def close_slow(self) -> None:
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection):
                connection.close_if_slow()


def create_server(
    app: ASGIApp,
    limits: Limits | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
    serves: Callable[[], None] = lambda: None,
    **options: Any,
) -> Server:
    """A server of the app with uvicorn's `options`; `clock` tells seconds, `serves` is called once it serves."""
    limits = limits or Limits()
    protocol: Any = partial(Connection, limits=limits, clock=clock)
    idle = int(limits.idle_seconds)
    config = uvicorn.Config(app, http=protocol, ws="none", timeout_keep_alive=idle, server_header=False, **options)
    return Server(config, serves)


class Connection(HttpToolsProtocol):
    """A client's connection. Whatever is refused here is answered once and closes it."""

    def __init__(self, *args: Any, limits: Limits, clock: Callable[[], float], **rest: Any) -> None:
        super().__init__(*args, **rest)
        self._limits = limits
        self._clock = clock
        self._phase = _Phase.OPENED
        self._since = clock()
        self._phase_bytes = 0
        """Bytes of the head, or of the body since `_since`."""
        self._unsent = 0
        self._unsent_since = 0.0
        self._for_probes = False
        self._deaf = False

    @property
    def unanswered(self) -> bool:
        """Whether a request has come whose answer isn't complete."""
        return self.cycle is not None and not self.cycle.response_complete

    # How many

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) <= self._limits.connections:
            return
        others = [
            other
            for other in self.connections
            if isinstance(other, Connection) and other is not self and not other.transport.is_closing()
        ]
        if len(others) < self._limits.connections:
            return
        idle = [other for other in others if other._phase is _Phase.WHOLE and not other.unanswered]
        if idle:
            min(idle, key=_since).transport.close()
            return
        self._for_probes = True
        if len(others) >= self._limits.connections + self._limits.probe_connections:
            waiting = [other for other in others if other._for_probes and not other.unanswered]
            min(waiting, key=_since, default=self).transport.abort()

    # What counts as a request

    def data_received(self, data: bytes) -> None:
        if self._deaf or self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        self._phase_bytes += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self.send_400_response("This is not a valid HTTP request; the connection was closed.")
        else:
            if self._phase is _Phase.HEAD and self._phase_bytes > self._limits.head_bytes:
                self._refuse_head()

    def _feed(self, data: bytes) -> None:
        while True:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                # Java's client offers HTTP/2 with each first request. An offer may be ignored, but httptools ends the
                # request there and takes its body for the next one: so it gets the request again without the offer.
                rest: int = upgrade.args[0]
                data = self._without_offer() + data[rest:]
                self.parser = httptools.HttpRequestParser(self)

    def _without_offer(self) -> bytes:
        lines = [b"%s %s HTTP/1.1" % (self.parser.get_method(), self.url)]
        lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._enter(_Phase.HEAD)

    def on_header(self, name: bytes, value: bytes) -> None:
        # A trailer would reach the application as a header that no gateway has looked at.
        if self._phase is _Phase.HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        _check_head(self.parser.get_method(), self.parser.get_http_version(), self.headers)
        if len(self.pipeline) >= self._limits.pipelined:
            raise ValueError("too many requests before the first answer")
        if self.parser.should_upgrade():
            return
        self._enter(_Phase.BODY)
        if self._for_probes and self.url.partition(b"?")[0] not in PROBES:
            self.app = _full
        super().on_headers_complete()
        if self._for_probes:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade():
            super().on_message_complete()
            self._enter(_Phase.WHOLE)

    def on_response_complete(self) -> None:
        self._since = self._clock()
        super().on_response_complete()

    # How slow

    def close_if_slow(self) -> None:
        now = self._clock()
        if self._reads_too_slowly(now):
            self.transport.abort()
            return
        waited, limits = now - self._since, self._limits
        match self._phase:
            case _Phase.OPENED if waited > limits.head_seconds:
                self.transport.close()
            case _Phase.HEAD if waited > limits.head_seconds:
                self._refuse(_too_slow(f"The head of a request must arrive within {limits.head_seconds:g} seconds."))
            case _Phase.BODY if not self.unanswered:
                if waited > limits.linger_seconds:
                    self.transport.close()
            case _Phase.BODY if self.flow.read_paused or self._phase_bytes >= limits.piece_bytes:
                self._enter(_Phase.BODY)
            case _Phase.BODY if waited > limits.piece_seconds:
                size = limits.piece_bytes // 1024
                self._refuse(_too_slow(f"Each {size} KiB of a body must arrive in {limits.piece_seconds:g} seconds."))
            case _Phase.WHOLE if self.unanswered or self._unsent:
                self._since = now
            case _Phase.WHOLE if waited > limits.idle_seconds:
                self.transport.close()

    def _reads_too_slowly(self, now: float) -> bool:
        unsent = self.transport.get_write_buffer_size()
        if not unsent or not 0 <= self._unsent - unsent < self._limits.piece_bytes:
            self._unsent, self._unsent_since = unsent, now
        return unsent > 0 and now - self._unsent_since > self._limits.piece_seconds

    def _enter(self, phase: _Phase) -> None:
        self._phase, self._since, self._phase_bytes = phase, self._clock(), 0

    # Refusals

    def send_400_response(self, msg: str) -> None:
        self._refuse(error_reply(InvalidInput(msg)))

    def _refuse_head(self) -> None:
        limit = f"The head of a request may have at most {self._limits.head_bytes // 1024} KiB."
        self._refuse(error_reply(TooLarge(limit), status=431))

    def _refuse(self, reply: Reply) -> None:
        """Answer in the request's place and close. The requests before it on this connection are answered first."""
        self._deaf = True
        if self._phase is not _Phase.BODY and self.unanswered:
            self.cycle.keep_alive = False
            return
        if self.unanswered:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if not self.pipeline and not (self.unanswered and self.cycle.response_started):
            self.transport.write(_response_bytes(reply, self.server_state.default_headers))
        self.transport.close()


def _since(connection: Connection) -> float:
    return connection._since


def _check_head(method: bytes, version: str, headers: list[tuple[bytes, bytes]]) -> None:
    """Raises ValueError for a head that httptools takes and another server may read otherwise."""
    hosts = [value for name, value in headers if name == b"host"]
    codings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    if version not in ("1.0", "1.1") or method == b"CONNECT":
        raise ValueError("not a request to an HTTP/1 server")
    if len(hosts) > 1 or (version == "1.1" and not hosts):
        raise ValueError("HTTP/1.1 needs one Host")
    if codings and (codings != [b"chunked"] or version == "1.0"):
        raise ValueError("the end of the body is not certain")


def _too_slow(sentence: str) -> Reply:
    return error_reply(InvalidInput(sentence, retryable=True), status=408)


async def _full(scope: Scope, receive: Receive, send: Send) -> None:
    reply = error_reply(Unavailable("Too many connections are open; try again.", part="connections", retry_after=1))
    await send_reply(reply, send)


def _response_bytes(reply: Reply, default_headers: list[tuple[bytes, bytes]]) -> bytes:
    headers: Mapping[str, str] = {**reply.headers, "Content-Length": str(len(reply.body)), **_CLOSE}
    lines = [b"%s: %s" % header for header in default_headers]
    lines += [f"{name}: {value}".encode("latin-1") for name, value in headers.items()]
    return STATUS_LINE[reply.status] + b"\r\n".join([*lines, b"", reply.body])
