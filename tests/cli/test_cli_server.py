"""The server of `recollect serve` on a real socket: how it treats connections."""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from recollect.surfaces.cli import server


async def fine(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def serving(listener: socket.socket) -> Iterator[uvicorn.Server]:
    it = uvicorn.Server(uvicorn.Config(fine, lifespan="off", log_level="error"))
    thread = threading.Thread(target=it.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield it
    finally:
        it.should_exit = True
        thread.join(20)


def test_answers_on_a_kept_connection_wait_for_no_acknowledgement():
    with server.listen("127.0.0.1", 0) as listener, serving(listener) as it:
        client = http.client.HTTPConnection(*listener.getsockname(), timeout=20)
        client.request("GET", "/")
        assert client.getresponse().read() == b"ok"
        [accepted] = it.server_state.connections
        assert accepted.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        client.close()
