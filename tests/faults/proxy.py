"""A proxy before a real part: it passes requests on, or does with them what a test says.

store ──> Proxy ──> DynamoDB Local or OpenSearch
            └─ rule(request, send) -> an answer, or None: it hangs up
"""

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_KEPT = ("content-type", "content-md5", "authorization", "accept", "date", "range")
_KEPT_STARTS = ("x-", "if-")
_KEPT_OF_ANSWERS = ("etag", "last-modified", "content-range")


@dataclass(frozen=True)
class Asked:
    """A request. `left` waits until the client has given up."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    left: Callable[[], None]

    @property
    def operation(self) -> str:
        """The operation that DynamoDB or OpenSearch is asked for, such as `PutItem` or `_bulk`."""
        target = self.headers.get("x-amz-target", "")
        return target.rpartition(".")[2] or self.path.partition("?")[0].rpartition("/")[2]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def but(self, body: Any) -> "Asked":
        """The same request about something else: bytes as they are, anything else as JSON."""
        return replace(self, body=body if isinstance(body, bytes) else json.dumps(body).encode())


@dataclass(frozen=True)
class Answered:
    """An answer. One that is `cut` ends in the middle of its body."""

    status: int
    body: bytes
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


Send = Callable[[Asked], Answered]
Rule = Callable[[Asked, Send], Answered | None]


def passing(asked: Asked, send: Send) -> Answered:
    """Nothing unusual."""
    return send(asked)


def hanging_up(asked: Asked, send: Send) -> None:
    """No answer, and nothing is done."""


def unheard(asked: Asked, send: Send) -> None:
    """It is done and its answer is lost."""
    send(asked)


def late(asked: Asked, send: Send) -> None:
    """It is done when the client waits no longer, however long that is."""
    asked.left()
    send(asked)


def silent(asked: Asked, send: Send) -> None:
    """Nothing is done or said, however long the client waits."""
    asked.left()


def but_saying(status: int, body: bytes = b"") -> Rule:
    """It is done, and the answer is another one."""

    def rule(asked: Asked, send: Send) -> Answered:
        send(asked)
        return Answered(status, body)

    return rule


def cut(asked: Asked, send: Send) -> Answered:
    """Half of the answer, and the end of the connection."""
    return replace(send(asked), cut=True)


def saying(status: int, body: Any) -> Rule:
    """One answer to everything; nothing is done."""
    return lambda asked, send: Answered(status, body if isinstance(body, bytes) else json.dumps(body).encode())


def refusing(code: str, status: int = 400, **facts: Any) -> Rule:
    """DynamoDB's refusal by one of its codes."""
    return saying(status, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "heron", **facts})


def first(times: int, rule: Rule, *operations: str) -> Rule:
    """A rule for the first few requests of each of some operations (none named: of all); the others pass."""
    met: Counter[str] = Counter()
    lock = threading.Lock()

    def chosen(asked: Asked, send: Send) -> Answered | None:
        with lock:
            met[asked.operation] += 1
            is_meant = met[asked.operation] <= times and (not operations or asked.operation in operations)
        return rule(asked, send) if is_meant else send(asked)

    return chosen


@dataclass
class Proxy:
    """Listens on the loopback for a part at `url`. `asked` counts what came, by operation."""

    part: str
    rule: Rule = passing
    asked: Counter[str] = field(default_factory=Counter)
    port: int = 0
    _server: "_Server | None" = None
    _thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen, at the same port as before."""
        self._server = _Server(self)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def stop(self) -> None:
        """Listen no longer: who asks is refused, who waits is hung up on."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()
        self._server = None


@contextmanager
def proxied(url: str) -> Iterator[Proxy]:
    """A proxy before the part at a URL, as long as the block lasts."""
    proxy = Proxy(url)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.rule = passing
        proxy.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for all of them
    request_queue_size = 128

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.open: set[socket.socket] = set()
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", proxy.port), _Handler)

    def hang_up(self) -> None:
        with self.lock:
            for connection in self.open:
                _shut(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.server.lock:
            self.server.open.add(self.connection)
        part = urlsplit(self.server.proxy.part)
        self._behind = HTTPConnection(part.hostname or "", part.port, timeout=60)

    def finish(self) -> None:
        with self.server.lock:
            self.server.open.discard(self.connection)
        self._behind.close()
        super().finish()

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items() if _is_kept(name.lower())}
        asked = Asked(self.command, self.path, headers, body, self._left)
        proxy = self.server.proxy
        proxy.asked[asked.operation] += 1
        answered = proxy.rule(asked, self._send)
        if answered is None:
            self.close_connection = True
            _shut(self.connection)
            return
        self.send_response(answered.status)
        self.send_header("content-type", answered.kind)
        for name, value in answered.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(answered.body)))
        self.end_headers()
        if answered.cut:
            self.wfile.write(answered.body[: len(answered.body) // 2])
            self.close_connection = True
            _shut(self.connection)
        elif self.command != "HEAD":
            self.wfile.write(answered.body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass

    def _send(self, asked: Asked) -> Answered:
        self._behind.request(asked.method, asked.path, asked.body, dict(asked.headers))
        response = self._behind.getresponse()
        kept = {
            name: value
            for name, value in response.getheaders()
            if name.lower() in _KEPT_OF_ANSWERS or name.lower().startswith("x-")
        }
        kind = response.headers.get("content-type", "application/json")
        return Answered(response.status, response.read(), kind, kept)

    def _left(self) -> None:
        self.connection.recv(1)

    def log_message(self, *arguments: object) -> None:
        pass


def _is_kept(header: str) -> bool:
    return header in _KEPT or header.startswith(_KEPT_STARTS)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
