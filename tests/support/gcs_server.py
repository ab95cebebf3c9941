"""A fake of Google Cloud Storage's XML interface, as far as a log asks of it: one bucket in memory.

A put with `x-goog-if-generation-match: 0` checks and writes in one step, as Google's does. No emulator has it: one
refuses such a put, another ignores the condition.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "memories"
_PAGE = 3


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = Lock()
        self.objects: dict[str, tuple[int, bytes, datetime]] = {}
        self.generation = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if (name := self._name()) is None:
            return
        with self.server.lock:
            is_there = name in self.server.objects
            if not (is_there and self.headers.get("x-goog-if-generation-match") == "0"):
                self.server.generation += 1
                self.server.objects[name] = self.server.generation, content, datetime.now(UTC)
                is_there = False
        if is_there:
            self._refuse(412, "PreconditionFailed")
        else:
            self._answer(200, headers=self._facts(name))

    def do_GET(self) -> None:
        if (name := self._name()) is None:
            return
        if not name:
            self._list({key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()})
        elif name in self.server.objects:
            self._answer(200, self.server.objects[name][1], self._facts(name))
        else:
            self._refuse(404, "NoSuchKey")

    def do_DELETE(self) -> None:
        if (name := self._name()) is None:
            return
        if self.server.objects.pop(name, None) is None:
            self._refuse(404, "NoSuchKey")
        else:
            self._answer(204)

    def _list(self, query: dict[str, str]) -> None:
        after = query.get("continuation-token") or query.get("start-after", "")
        found = sorted(name for name in self.server.objects if name.startswith(query.get("prefix", "")))
        found = [name for name in found if name > after]
        page = found[:_PAGE]
        items = "".join(
            f"<Contents><Key>{escape(name)}</Key><LastModified>{self.server.objects[name][2].isoformat()}</LastModified><ETag>&quot;e&quot;</ETag>"
            f"<Size>{len(self.server.objects[name][1])}</Size></Contents>"
            for name in page
        )
        if len(found) > len(page):
            items += f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>"
        self._answer(200, f"<ListBucketResult>{items}</ListBucketResult>".encode())

    def _name(self) -> str | None:
        """The object that is asked for, "" for the bucket; None for another bucket, which is refused."""
        bucket, _, name = urlsplit(self.path).path.removeprefix("/").partition("/")
        if bucket == BUCKET:
            return unquote(name)
        self._refuse(404, "NoSuchBucket")
        return None

    def _facts(self, name: str) -> dict[str, str]:
        generation, _, written = self.server.objects[name]
        return {
            "ETag": f'"{generation}"',
            "x-goog-generation": str(generation),
            "Last-Modified": format_datetime(written, usegmt=True),
        }

    def _refuse(self, status: int, code: str) -> None:
        self._answer(status, f"<Error><Code>{code}</Code><Message>-</Message></Error>".encode())

    def _answer(self, status: int, content: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """A test's output is its own."""


@contextmanager
def serving_gcs() -> Iterator[str]:
    """The address of the fake, while the block lasts."""
    server = _Server()
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def service_account(url: str) -> str:
    """A value of GOOGLE_SERVICE_ACCOUNT_KEY for a server at an address that asks for no sign-in."""
    return json.dumps(
        {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    )
