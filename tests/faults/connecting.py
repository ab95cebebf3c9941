"""The server of `steeltrap serve` on real sockets, its clock in the test's hand, and clients that send bytes."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any, TypeVar

import uvicorn

from steeltrap.servers.process.connections import Limits, Server, create_server
from steeltrap.servers.process.server import listen

HEAD = b"POST /first HTTP/1.1\r\nHost: a\r\n"
SECOND = b"GET /second HTTP/1.1\r\nHost: a\r\nX-User: bob\r\n\r\n"

Answer = TypeVar("Answer")


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class App:
    """Answers every request with its path, after its body unless `early`; remembers what it was asked."""

    def __init__(self, *, early: bool = False, size: int = 0) -> None:
        self.early, self.size = early, size
        self.seen: list[tuple[str, dict[str, str], bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", not self.early
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message["body"], message["more_body"]
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        self.seen.append((scope["path"], headers, body))
        said = scope["path"].encode() + b"x" * self.size
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(said))]})
        await send({"type": "http.response.body", "body": said})

    @property
    def paths(self) -> list[str]:
        return [path for path, _, _ in self.seen]


class Serving:
    """A running server, its clock, and clients that are closed with it."""

    def __init__(self, server: Server, clock: Clock, address: tuple[str, int], stack: ExitStack) -> None:
        self.server, self.clock, self.address, self._stack = server, clock, address, stack

    def connect(self, sent: bytes = b"") -> socket.socket:
        client = self._stack.enter_context(closing(socket.create_connection(self.address, timeout=20)))
        client.sendall(sent)
        return client

    def pass_time(self, seconds: float) -> None:
        """Let the time pass, once what was sent before has arrived, and have the server look for slow clients."""
        self.clock.seconds += seconds
        self.ask(self.server.close_slow)

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """The answer of the server's own thread: another one may see half of what that one is doing."""
        answer: Future[Answer] = Future()
        self.server.servers[0].get_loop().call_soon_threadsafe(lambda: answer.set_result(question()))
        return answer.result(20)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Until the server's own thread finds it so."""
        loop, found = self.server.servers[0].get_loop(), threading.Event()

        def look() -> None:
            if condition():
                found.set()
            else:
                loop.call_later(0.01, look)

        loop.call_soon_threadsafe(look)
        assert found.wait(20)

    def wait_for_parts(self, phase: str, count: int) -> None:
        """Until so many connections have got this part of a request."""
        self.wait_for(lambda: [c._phase.name for c in self.server.server_state.connections].count(phase) == count)


@contextmanager
def serving(app: Any, limits: Limits | None = None, *, loop: str = "auto", ticking: bool = False) -> Iterator[Serving]:
    """Slow clients are looked for when a test passes time, or, `ticking`, as `steeltrap serve` does."""
    clock = Clock()
    with listen("127.0.0.1", 0) as listener, ExitStack() as stack:
        address = listener.getsockname()
        it = create_server(app, limits, clock=clock, lifespan="off", log_level="error", loop=loop)
        started = threading.Event()
        startup = it.startup

        async def announced(*args: Any, **rest: Any) -> None:
            await startup(*args, **rest)
            started.set()

        it.startup = announced  # type: ignore[method-assign]
        if not ticking:
            it.on_tick = partial(uvicorn.Server.on_tick, it)  # type: ignore[method-assign]
        thread = threading.Thread(target=it.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert started.wait(20)
            yield Serving(it, clock, address, stack)
        finally:
            stack.close()
            it.should_exit = True
            thread.join(20)


def everything(client: socket.socket) -> bytes:
    """All that the server sends until it closes."""
    got = b""
    while part := client.recv(65536):
        got += part
    return got


def statuses(got: bytes) -> list[int]:
    return [int(part[:3]) for part in got.split(b"HTTP/1.1 ")[1:]]


def connections(it: Serving) -> list[Any]:
    return list(it.server.server_state.connections)
