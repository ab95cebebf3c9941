"""`steeltrap serve` in a process of its own, its callers named by a header, and commands over the same folder."""

import http.client
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

MAIN = "from steeltrap.cli import main; main()"


class RealServer:
    """A running server. `log` is what it has printed so far."""

    def __init__(self, folder: Path, process: "subprocess.Popen[str]") -> None:
        self.folder, self.process = folder, process
        self.lines: list[str] = []
        self._up = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def log(self) -> str:
        return "".join(self.lines)

    def call(self, tool: str, user: str, **arguments: Any) -> tuple[int, Any]:
        """Status and body of a tool's answer."""
        path = "/v1/" + tool.replace(".", "/")
        return self.request("POST", path, json.dumps(arguments), {"X-User": user, "Content-Type": "application/json"})

    def request(self, method: str, path: str, body: str = "", headers: Any = None) -> tuple[int, Any]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if content.startswith((b"{", b"[")) else content.decode()

    def forget_user(self, user: str) -> None:
        assert self.command("forget-user", user, "--yes").returncode in (0, 3)

    def command(self, *arguments: object) -> "subprocess.CompletedProcess[str]":
        """A command over the same folder, as an operator runs it."""
        return subprocess.run(
            [sys.executable, "-c", MAIN, *map(str, arguments)],
            env=environment(self.folder),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def wait_until_up(self) -> None:
        assert self._up.wait(60), self.log
        found = re.search(r"steeltrap listens on http://127.0.0.1:(\d+)", self.log)
        assert found, self.log
        self.port = int(found[1])

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        finally:
            self.process.kill()
            self._reader.join(30)
            assert self.process.stderr is not None
            self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if line.startswith("Ctrl-C"):
                self._up.set()
        self._up.set()


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STEELTRAP_")}
    return {**kept, "STEELTRAP_DATA": str(folder), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@contextmanager
def serving(
    folder: Path, *, before: str = "", callers: tuple[str, str] = ("--user-header", "X-User"), **settings: object
) -> Iterator[RealServer]:
    """A server over a folder, stopped at the end. `before` is Python that its process runs first. `callers` says how
    callers are authenticated."""
    command = [sys.executable, "-c", before + "\n" + MAIN, "serve", "--port", "0", *callers]
    named = {f"STEELTRAP_{name.upper()}": str(value) for name, value in settings.items()}
    process = subprocess.Popen(command, env=environment(folder) | named, stderr=subprocess.PIPE, text=True)
    server = RealServer(folder, process)
    try:
        server.wait_until_up()
        yield server
    finally:
        server.end()


def save(server: RealServer, user: str, content: str) -> str:
    """The id of a save that was acknowledged."""
    status, body = server.call("core.save", user, content=content)
    assert status == 200, body
    return str(body["id"])


def contents(server: RealServer, user: str) -> dict[str, str]:
    """Texts by id of all that a user has."""
    status, body = server.call("core.list", user, limit=1000)
    assert status == 200, body
    return {memory["id"]: memory["content"] for memory in body["memories"]}
