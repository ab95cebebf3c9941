"""An attack, something that one user does beside which all others must be answered, and the server that it meets: calls
of a user, whole forms, and connections that are left."""

import http.client
import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

LINES: Final = "application/x-ndjson"
_BOUNDARY: Final = "the-end-of-a-part"


@dataclass(slots=True)
class Target:
    """A server and one user of it, `me`. `statuses` counts its answers; 0 is none in time."""

    port: int
    me: str
    ends: float
    """By time.monotonic: nothing is waited for any longer."""
    records: list[dict[str, Any]] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def ids(self) -> list[str]:
        """The ids of the memories that `fill` gives."""
        return [record["id"] for record in self.records]

    def left(self) -> float:
        return max(0.01, self.ends - time.monotonic())

    def call(self, tool: str, **arguments: Any) -> Any:
        """The answer of a tool over HTTP."""
        return self.post(f"/v1/{tool.replace('.', '/')}", json.dumps(arguments).encode())

    def mcp(self, tool: str, **arguments: Any) -> Any:
        """The answer of a tool over MCP."""
        toolset, _, name = tool.partition(".")
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return self.post(f"/mcp/{toolset}", json.dumps(message).encode())

    def post(self, path: str, body: bytes, kind: str = "application/json", **headers: str) -> Any:
        accept = {"Accept": "application/json, text/event-stream"}
        return self.ask("POST", path, body, {"Content-Type": kind, **accept, **headers})

    def page(self, path: str, **query: str | int) -> bytes:
        """A page of the console."""
        return bytes(self.ask("GET", path + (f"?{urlencode(query)}" if query else ""), b"", {"Accept": "text/html"}))

    def form(self, path: str, **fields: str) -> bytes:
        """A form of the console, sent as its pages send it."""
        return bytes(self.post(path, urlencode(fields).encode(), "application/x-www-form-urlencoded", **self._own()))

    def import_(self, name: str, content: bytes) -> bytes:
        """A file, dropped into the console."""
        body, kind = form_of(name, content)
        return bytes(self.post("/console/import", body, kind, **{**self._own(), "Accept": LINES}))

    def import_and_leave(self, name: str, content: bytes) -> None:
        """Send a file to the console, and go before it is answered."""
        body, kind = form_of(name, content)
        head = {"Content-Type": kind, "Accept": LINES, **self._own()}
        with self.sent("POST", "/console/import", body, head) as connection:
            connection.settimeout(2)
            with suppress(OSError):
                connection.recv(1)

    def fill(self, count: int | None = None) -> None:
        """Give the user so many of the memories that every attack finds: short, long, of many versions."""
        body = json.dumps({"records": self.records[:count]}).encode()
        answer = self.post("/v1/core/import", body)
        assert answer["errors"] == [], answer
        self.statuses.clear()

    @contextmanager
    def sent(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Iterator[socket.socket]:
        """A connection on which a request was sent whole; it is closed without a word."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in {**self._who(), **headers}.items()]
        with socket.create_connection(("127.0.0.1", self.port), timeout=self.left()) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
            yield connection

    def ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Any:
        """The answer's JSON, or its bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.left())
        status, text = 0, b""
        try:
            connection.request(method, path, body, {**self._who(), **headers})
            answer = connection.getresponse()
            text, status = answer.read(), answer.status
            return json.loads(text) if answer.headers.get_content_subtype() == "json" else text
        except (OSError, http.client.HTTPException):
            return text
        finally:
            self.statuses[status] += 1
            connection.close()

    def _who(self) -> dict[str, str]:
        return {"X-User-Id": self.me, "X-Agent-Id": "attacker"}

    def _own(self) -> dict[str, str]:
        return {"Origin": f"http://127.0.0.1:{self.port}", "Sec-Fetch-Site": "same-origin"}


def form_of(name: str, content: bytes) -> tuple[bytes, str]:
    """A form with one file, and its content type."""
    head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return head.encode() + content + f"\r\n--{_BOUNDARY}--\r\n".encode(), f"multipart/form-data; boundary={_BOUNDARY}"


HEADERS: Final = ("--auth", "headers")
KEYS: Final = ("--auth", "keys")


def _full(target: Target) -> None:
    target.fill()


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack: `prepare`, which isn't measured, then `run`. `options` are the server's.

    `prepare` usually gives the user 1,000 memories, of all kinds. An attack that is `whole` must be answered 200, all
    of it.
    """

    name: str
    run: Callable[[Target], object]
    prepare: Callable[[Target], object] = _full
    options: tuple[str, ...] = HEADERS
    whole: bool = False


def nothing(target: Target) -> None:
    """Prepare nothing."""
