"""A request to an ASGI application, of which a test counts what is read."""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Message


@dataclass
class Request:
    """A request whose body comes in parts, as long as somebody asks for them. `read` counts the bytes that were."""

    path: str
    parts: Iterable[bytes] = ()
    headers: dict[str, str] = field(default_factory=dict)
    method: str = "POST"
    server: tuple[str, int] = ("127.0.0.1", 8765)
    read: int = 0
    asked: int = 0
    status: int = 0
    body: bytes = b""
    answered: dict[str, str] = field(default_factory=dict)

    async def to(self, app: Callable[[Any, Any, Any], Awaitable[None]]) -> "Request":
        await app(self._scope(), self._receiving(iter(self.parts)), self._send)
        return self

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def _scope(self) -> dict[str, Any]:
        sent = {
            "host": "127.0.0.1",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **{name.lower(): value for name, value in self.headers.items()},
        }
        return {
            "type": "http",
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": self.path,
            "raw_path": self.path.encode(),
            "root_path": "",
            "query_string": b"",
            "client": ("127.0.0.1", 1),
            "server": self.server,
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }

    def _receiving(self, parts: Iterator[bytes]) -> Callable[[], Awaitable[Message]]:
        async def receive() -> Message:
            self.asked += 1
            part = next(parts, None)
            if part is None:
                return {"type": "http.request", "body": b"", "more_body": False}
            self.read += len(part)
            return {"type": "http.request", "body": part, "more_body": True}

        return receive

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.answered = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")
