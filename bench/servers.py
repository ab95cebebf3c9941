"""`steeltrap serve` and `steeltrap mcp` in processes of their own, and the cheapest real client of each."""

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from steeltrap.errors import Unavailable
from steeltrap.model import Caller
from steeltrap.settings import PREFIX

COMMAND: Final = (sys.executable, "-c", "from steeltrap.cli import main; main()")
_HELLO: Final = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
_STOP_SECONDS: Final = 10


class HttpServer(NamedTuple):
    """Where a server answers, its process, and what it logged since it started."""

    port: int
    pid: int
    logged: list[str]


@contextmanager
def http_server(
    folder: Path, caller: Caller, workers: int = 1, options: Sequence[str] = ("--auth", "local")
) -> Iterator[HttpServer]:
    """`steeltrap serve`, which answers the caller from a folder. Raises Unavailable."""
    command = [*COMMAND, "serve", "--port", "0", "--workers", str(workers), *options]
    with _running(command, folder, caller, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        else:
            raise Unavailable("`steeltrap serve` did not start: " + "".join(lines), part="server")
        # A server whose log nobody reads stops once the pipe is full.
        logged: list[str] = []
        threading.Thread(target=logged.extend, args=(process.stderr,), daemon=True).start()
        listens = next(line for line in lines if line.startswith("steeltrap listens on "))
        yield HttpServer(int(listens.split(" on ")[1].split(" ")[0].rpartition(":")[2]), process.pid, logged)


class HttpClient:
    """One kept connection of http.client, which costs a third of what httpx does."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def get(self, path: str) -> None:
        self._connection.request("GET", path)
        self._answer()

    def post(self, path: str, body: str) -> None:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self._connection.request("POST", path, body.encode(), headers)
        self._answer()

    def close(self) -> None:
        self._connection.close()

    def _answer(self) -> None:
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise Unavailable(f"the server answered {answer.status}: {body[:500]!r}", part="server")


class StdioClient:
    """`steeltrap mcp`, spoken to line by line."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self.ask(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _HELLO}))
        self._send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def ask(self, message: str) -> None:
        self._send(message)
        if b'"result"' not in (answer := self._outgoing.readline()):
            raise Unavailable(f"`steeltrap mcp` answered {answer[:500]!r}", part="server")

    def _send(self, message: str) -> None:
        self._incoming.write(message.encode() + b"\n")
        self._incoming.flush()


@contextmanager
def stdio_server(folder: Path, caller: Caller) -> Iterator[StdioClient]:
    command = [*COMMAND, "mcp", "--toolset", "core"]
    with _running(command, folder, caller, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield StdioClient(process.stdin, process.stdout)


@contextmanager
def http_client(port: int) -> Iterator[HttpClient]:
    with closing(HttpClient(port)) as client:
        yield client


@contextmanager
def _running(command: list[str], folder: Path, caller: Caller, **pipes: Any) -> Iterator["subprocess.Popen[Any]"]:
    user = caller.user.user_id
    settings = {"DATA": folder, "STORE": "sqlite", "USER": user, "AGENT": caller.agent_id, "LOG": "error"}
    environment = {**os.environ, **{PREFIX + name: str(value) for name, value in settings.items()}}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
