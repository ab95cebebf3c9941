"""A real `steeltrap serve --workers 2`, and connections that one worker or the other accepts."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_COMMAND = (sys.executable, "-c", "from steeltrap.cli import main; main()", "serve", "--port", "0")


class Connection:
    """A kept connection."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def close(self) -> None:
        self._http.close()

    def call(self, path: str, headers: dict[str, str] | None = None, **arguments: Any) -> tuple[int, Any]:
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **(headers or {})}
        self._http.request("POST", path, json.dumps(arguments), sent)
        answer = self._http.getresponse()
        return answer.status, json.loads(answer.read())

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
        self._http.request("GET", path, headers=headers or {})
        answer = self._http.getresponse()
        return answer.status, answer.read().decode()

    def save(self, content: str) -> Any:
        status, body = self.call("/v1/core/save", content=content)
        assert status == 200, body
        return body

    def found(self, query: str) -> list[str]:
        status, body = self.call("/v1/core/search", query=query)
        assert status == 200, body
        return [result["content"] for result in body["results"]]


class WorkerServer:
    """The server's process, its port, and its workers."""

    def __init__(self, process: "subprocess.Popen[str]", port: int, said: list[str]) -> None:
        self.process = process
        self.port = port
        self.said = said
        """The lines that it wrote before it served."""
        self._connections: list[Connection] = []

    def workers(self) -> list[int]:
        """The ids of the processes that serve."""
        # Not the process's own list of its children: while one of them ends, it may lack others.
        processes = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
        children = [process for process in processes if _stat(process)[1:2] == [str(self.process.pid)]]
        return [child for child in children if b"spawn_main" in _command_line(child)]

    def kill(self, worker: int) -> None:
        """End a worker at once, and wait for the one that takes its place."""
        before = self.workers()
        os.kill(worker, signal.SIGKILL)
        while len(self.workers()) < len(before) or worker in self.workers():
            os.sched_yield()

    def connected_to(self, worker: int) -> Connection:
        """A connection that this worker accepted: the others were stopped meanwhile."""
        others = [other for other in self.workers() if other != worker]
        for other in others:
            os.kill(other, signal.SIGSTOP)
            while _stat(other)[:1] != ["T"]:
                os.sched_yield()
        try:
            connection = Connection(self.port)
            self._connections.append(connection)
            assert connection.get("/healthz")[0] == 200
            return connection
        finally:
            for other in others:
                os.kill(other, signal.SIGCONT)

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


@contextmanager
def worker_server(data: Path, *options: str, **settings: str) -> Iterator[WorkerServer]:
    """Two workers over a folder, with settings and options of the server."""
    server = None
    environment = {**os.environ, "STEELTRAP_DATA": str(data), **settings}
    command = [*_COMMAND, "--workers", "2", *options]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = []
            last = " listens on " if settings.get("STEELTRAP_LOG_FORMAT") == "json" else "Ctrl-C"
            for line in process.stderr:
                said.append(line)
                if last in line:
                    break
            else:
                raise AssertionError("".join(said))
            [port] = {int(port) for line in said for port in re.findall(r" listens on http://[^ ]*:(\d+) ", line)}
            server = WorkerServer(process, port, said)
            yield server
        finally:
            if server is not None:
                server.close()
            if process.poll() is None:
                process.terminate()
                process.wait(30)


def is_alive(process: int) -> bool:
    return _stat(process)[:1] not in ([], ["Z"])


def _stat(process: int) -> list[str]:
    """The system's figures of a process: its state, its parent, and more."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    return []


def _command_line(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""
