"""Clients that load an HTTP server, in a process of their own: the server's process must not pay for them.

Run as `python -m bench.load`: it reads a `Load` as JSON from stdin and writes a `Result`.
"""

import json
import selectors
import socket
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import cycle
from typing import Final

_LENGTH: Final = b"content-length: "


@dataclass(frozen=True, slots=True)
class Load:
    """Each client's part: POST the bodies in turn, the next as soon as the last is answered.

    It lasts for `seconds` and one answer.
    """

    port: int
    path: str
    bodies: list[str]
    clients: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Result:
    """`processor_seconds` is the processor time of the clients themselves."""

    answers: int
    seconds: float
    processor_seconds: float


def request(path: str, body: str) -> bytes:
    """A POST of JSON, as REST and MCP over HTTP both take it."""
    text = body.encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Accept: application/json, text/event-stream\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text


def run(load: Load) -> Result:
    """Raises RuntimeError when an answer is not 200."""
    requests = cycle([request(load.path, body) for body in load.bodies])
    answers = 0
    with selectors.DefaultSelector() as selector, ExitStack() as stack:
        for _ in range(load.clients):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", load.port), timeout=30))
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(client, selectors.EVENT_READ, bytearray())
        began, worked = time.perf_counter(), time.process_time()
        for key in selector.get_map().values():
            _socket(key).sendall(next(requests))
        while (now := time.perf_counter()) < began + load.seconds or not answers:
            for key, _ in selector.select(1):
                got: bytearray = key.data
                got += _socket(key).recv(1 << 20)
                if _is_whole(got):
                    answers += 1
                    got.clear()
                    _socket(key).sendall(next(requests))
        return Result(answers, now - began, time.process_time() - worked)


def _socket(key: selectors.SelectorKey) -> socket.socket:
    assert isinstance(key.fileobj, socket.socket)
    return key.fileobj


def _is_whole(answer: bytearray) -> bool:
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(bytes(answer[:2000]).decode(errors="replace"))
    start = answer.index(_LENGTH) + len(_LENGTH)
    return len(answer) >= end + 4 + int(answer[start : answer.index(b"\r", start)])


if __name__ == "__main__":
    print(json.dumps(asdict(run(Load(**json.load(sys.stdin))))))
