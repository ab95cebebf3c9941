"""A proxy before PostgreSQL: it passes requests on, or does with them what a test says, by the same rules as `proxy`.

A request is all that a client sends up to where it waits for an answer. A refusal by a status of HTTP is the code of
PostgreSQL that means the same.
"""

import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from urllib.parse import urlsplit

from faults.proxy import Answered, Asked, Rule, passing

_ENCRYPTION: Final = (80877103, 80877104)
_CODES: Final = {500: "58030", 503: "57P03", 429: "53300", 409: "40001", 412: "55P03", 403: "42501"}
_FATAL: Final = (503, 429)
_READY: Final = b"Z\0\0\0\5I"


class PostgresProxy:
    """Listens on the loopback for a server at `url`. `asked` counts what came."""

    def __init__(self, server: str) -> None:
        self.rule: Rule = passing
        self.asked: Counter[str] = Counter()
        self._server = urlsplit(server)
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listening: socket.socket | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return self._server._replace(netloc=f"{self._server.username}@127.0.0.1:{self._port}").geturl()

    def start(self) -> None:
        """Listen, at the same port as before."""
        self._listening = socket.create_server(("127.0.0.1", self._port), backlog=128)
        self._port = self._listening.getsockname()[1]
        self._run(self._accept, self._listening)

    def stop(self) -> None:
        """Listen no longer: who asks is refused, who waits is hung up on."""
        listening, self._listening = self._listening, None
        if listening is None:
            return
        for each in (listening, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        listening.close()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _run(self, work: "object", *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                self._run(self._serve, connection)

    def _serve(self, client: socket.socket) -> None:
        address = (self._server.hostname or "", self._server.port or 5432)
        with client, socket.create_connection(address) as server, suppress(OSError, EOFError):
            self._open |= {client, server}
            try:
                server.sendall(_greeting(client))
                client.sendall(_answer(server))
                while self._pass(client, server):
                    pass
            finally:
                self._open -= {client, server}

    def _pass(self, client: socket.socket, server: socket.socket) -> bool:
        """Deal with one request; whether the connection goes on."""
        request = _request(client)
        is_write = b"INSERT INTO" in request
        self.asked["write" if is_write else "read"] += 1

        def send(asked: Asked) -> Answered:
            server.sendall(asked.body)
            return Answered(200, _answer(server))

        asked = Asked("PUT" if is_write else "GET", "/", {}, request, lambda: _wait_for_end(client))
        answered = self.rule(asked, send)
        if answered is None:
            return False
        if answered.status >= 400:
            client.sendall(_refusal(_CODES[answered.status], answered.status in _FATAL))
            return answered.status not in _FATAL
        client.sendall(answered.body[: len(answered.body) // 2] if answered.cut else answered.body)
        return not answered.cut


@contextmanager
def postgres_proxied(url: str) -> Iterator[PostgresProxy]:
    """A proxy before the server at a URL, as long as the block lasts."""
    proxy = PostgresProxy(url)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.rule = passing
        proxy.stop()


def _greeting(client: socket.socket) -> bytes:
    """The first message of a connection, once encryption is refused."""
    while True:
        head = _read(client, 8)
        size, code = struct.unpack(">II", head)
        if code not in _ENCRYPTION:
            return head + _read(client, size - 8)
        client.sendall(b"N")


def _request(client: socket.socket) -> bytes:
    """The messages up to the one behind which a client waits."""
    messages = b""
    while True:
        kind, message = _message(client)
        messages += message
        if kind in b"SQ":
            return messages
        if kind == b"X":
            raise EOFError


def _answer(server: socket.socket) -> bytes:
    """The messages up to where a server waits for the next request."""
    messages = b""
    while True:
        kind, message = _message(server)
        messages += message
        if kind == b"Z":
            return messages


def _wait_for_end(client: socket.socket) -> None:
    while client.recv(1024):
        pass


def _message(connection: socket.socket) -> tuple[bytes, bytes]:
    head = _read(connection, 5)
    return head[:1], head + _read(connection, struct.unpack(">I", head[1:])[0] - 4)


def _read(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        part = connection.recv(min(size - len(content), 1 << 20))
        if not part:
            raise EOFError
        content += part
    return content


def _refusal(code: str, is_fatal: bool) -> bytes:
    severity = "FATAL" if is_fatal else "ERROR"
    fields = f"S{severity}\0V{severity}\0C{code}\0Mheron\0\0".encode()
    return b"E" + struct.pack(">I", len(fields) + 4) + fields + (b"" if is_fatal else _READY)
