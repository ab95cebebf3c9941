"""AWS Lambda's runtime interface on the loopback: it starts a handler as AWS does, and times its answers.

start ──> python -m awslambdaric handler.handler ──GET next──> the event (of a snapshot: ──GET restore/next──> first)
                                                 <──POST──── the answer
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Final
from uuid import uuid4

from steeltrap.errors import Unavailable
from steeltrap.servers.aws_lambda import ENVIRONMENT

_SECONDS: Final = 60.0
_REGION: Final = "us-east-1"


@dataclass(frozen=True, slots=True)
class Answered:
    """A function's answer, its log, and the seconds until then: by the clock, and of a processor."""

    answer: Any
    written: str
    seconds: float
    processor: float


def first_answer(
    folder: Path, event: Any, environment: Mapping[str, str], *flags: str, from_snapshot: bool = False
) -> Answered:
    """Start `handler.py` of a folder and hand it an event.

    `flags` go to Python. With `from_snapshot` the process goes on where a snapshot of it would be restored, and the
    seconds count from there. Raises Unavailable when it fails, or has no answer within a minute.
    """
    log_path = folder / "written.txt"
    with _serving(event) as api, log_path.open("wb") as output:
        settings = {
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{api.server_port}",
            "AWS_LAMBDA_FUNCTION_NAME": f"bench-{folder.name}",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start" if from_snapshot else "on-demand",
            "AWS_REGION": os.environ.get("AWS_DEFAULT_REGION", _REGION),
            "_HANDLER": "handler.handler",
            "LAMBDA_TASK_ROOT": str(folder),
            **ENVIRONMENT,
            # Bytecode is kept, as in a bundle, and beside the functions, so that each package's is.
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(folder.parent / "bytecode"),
        }
        command = [sys.executable, *flags, "-m", "awslambdaric", "handler.handler"]
        before = _processor()
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **settings, **environment}, stdout=output, stderr=output
        )
        try:
            answered, way, answer = api.answers.get(timeout=_SECONDS)
        except Empty:
            way, answer = "no answer", None
        finally:
            process.kill()
            process.wait()
    if way != "response":
        raise Unavailable(
            f"The handler of `{folder.name}` failed: {answer or log_path.read_text()[-2000:]}",
            retryable=False,
            part="runtime",
        )
    began = api.restored if from_snapshot else began
    return Answered(answer, log_path.read_text(errors="replace"), answered - began, _processor() - before)


def _processor() -> float:
    """Seconds that processes which were started here, and have ended, had of a processor."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _Api(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, event: Any) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.event = json.dumps(event).encode()
        self.was_given = Event()
        self.done = Event()
        self.restored = 0.0
        self.answers: SimpleQueue[tuple[float, str, Any]] = SimpleQueue()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A function that has ended is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Api

    def do_GET(self) -> None:
        if self.path.endswith("/restore/next"):
            self.server.restored = time.perf_counter()
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.server.was_given.is_set():
            self.server.done.wait()  # as AWS freezes a function until there is something to do
            self.close_connection = True
            return
        self.server.was_given.set()
        self.send_response(200)
        self.send_header("Lambda-Runtime-Aws-Request-Id", str(uuid4()))
        self.send_header("Lambda-Runtime-Deadline-Ms", str(int((time.time() + _SECONDS) * 1000)))
        self.send_header("Lambda-Runtime-Invoked-Function-Arn", f"arn:aws:lambda:{_REGION}:123456789012:function:bench")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.server.event)))
        self.end_headers()
        self.wfile.write(self.server.event)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answered = time.perf_counter()
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.answers.put((answered, self.path.rsplit("/", 1)[-1], json.loads(body or b"null")))

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _serving(event: Any) -> Iterator[_Api]:
    api = _Api(event)
    thread = Thread(target=api.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.done.set()
        api.shutdown()
        thread.join()
        api.server_close()
