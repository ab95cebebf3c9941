"""`steeltrap hook EVENT`: the process that a coding agent starts at each event. Standard library alone.

It fails open: whatever happens, it ends with 0 and prints nothing or the client's own form of an answer; what went
wrong is a line in the log. It asks the running server of the data folder, and opens the store itself without one.
"""

import json
import os
import sys
from typing import Any

from . import server_file
from .log import FOLDER, append_line, log

EVENTS = ("session-start", "prompt", "stop", "session-end", "pre-compact")
SERVER_SECONDS = 4.0
"""For the server's answer. Clients wait for a hook, and so does whoever sent the prompt."""
ALL_SECONDS = 10.0
"""For everything. Then the process ends, whatever it is doing: nothing that was stored before is lost by that."""
_MAX_BYTES = 8 * 1024 * 1024

Answer = dict[str, Any]
"""`print`: what the client is to read. `file` and `offered`: the session's file, and the line to add to it then."""


class NoServer(Exception):
    """No server answers for the data folder: none runs, or another one is there."""


class GaveUp(Exception):
    """The hook can't do its work. The message says why."""


def run_as_hook(arguments: list[str]) -> None:
    """Run the hook of a command line, and end the process with 0; return where a person asks for help or mistyped.

    Of what a client configured, no mistake may stop it: to Claude Code, the exit code of wrong usage is "block this".
    """
    options = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    is_known = arguments[:1] and arguments[0] in EVENTS and len(arguments) % 2 and {*options} <= {"--client", "--data"}
    if not {"--help", "-h"}.isdisjoint(arguments) or (not is_known and sys.stdin.isatty()):
        return
    run(
        arguments[0] if is_known else "",
        client=options.get("--client"),
        data=os.path.expanduser(options.get("--data", "")),
    )


def run(event: str, *, client: str | None = None, data: str | None = None) -> None:
    """Run a hook on what stdin says, then end the process with 0."""
    folder = data or os.environ.get("STEELTRAP_DATA") or os.path.join(os.path.expanduser("~"), ".steeltrap")
    out = _own_stdout()
    if os.environ.get("STEELTRAP_HOOKS", "").lower() != "off":
        _end_in_time(folder, event)
        try:
            _run(event, client, folder, out)
        except BaseException as error:
            log(folder, event, str(error) if isinstance(error, GaveUp) else f"{type(error).__name__}: {error}")
    os._exit(0)  # without the interpreter's clean-up, which takes time and could print


def _run(event: str, client: str | None, folder: str, out: int) -> None:
    if not event:
        raise GaveUp("unknown event or option; see `steeltrap hook --help`.")
    given = _read_input()
    asked = {"client": client, "folder": os.getcwd(), "input": given}
    try:
        answer = _ask_server(folder, event, asked)
    except NoServer:
        import gc

        gc.disable()  # the process ends in a moment
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting threads takes longer than they would save
        from .without_server import answered

        answer = answered(folder, event, asked)
    text = answer.get("print")
    if isinstance(text, str) and text:
        _write_all(out, text.encode() + b"\n")
    if answer.get("offered"):
        # Behind the printing: what a client did not get may be offered again.
        append_line(
            os.path.join(folder, FOLDER, os.path.basename(answer["file"])), json.dumps({"offered": answer["offered"]})
        )


def _read_input() -> Any:
    given = sys.stdin.buffer.read(_MAX_BYTES + 1)
    if len(given) > _MAX_BYTES:
        raise GaveUp(f"stdin has more than {_MAX_BYTES:,} bytes.")
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        raise GaveUp("stdin is not valid JSON.") from None
    if not isinstance(value, dict):
        raise GaveUp("stdin is not a JSON object.")
    return value


def _ask_server(folder: str, event: str, asked: Answer) -> Answer:
    """The answer of the folder's server. Raises NoServer, and GaveUp where it doesn't answer in time or refuses."""
    server = server_file.read(folder)
    if server is None or not server_file.is_running(server):
        raise NoServer
    if os.environ.get("STEELTRAP_USER", server.user) not in ("", server.user):
        raise NoServer  # it keeps the memories of another user
    status, head, body = _post(server, f"/hooks/{event}", json.dumps(asked).encode())
    if f"\r\nx-steeltrap-instance: {server.instance}\r\n" not in head.lower():
        raise NoServer
    if status != 200:
        raise GaveUp(f"the server answered {status}.")
    answer = json.loads(body)
    return answer if isinstance(answer, dict) else {}


def _post(server: server_file.RunningServer, path: str, body: bytes) -> tuple[int, str, bytes]:
    # http.client takes three times as long to import as all of this to run, and every prompt would wait for it.
    import socket
    import time

    host = f"[{server.host}]" if ":" in server.host else server.host
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{server.port}\r\nConnection: close\r\n"
        f"Authorization: Bearer {server.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    end = time.monotonic() + SERVER_SECONDS
    try:
        connection = socket.create_connection((server.host, server.port), timeout=1)
    except OSError:
        raise NoServer from None
    with connection:
        try:
            connection.settimeout(SERVER_SECONDS)
            connection.sendall(head.encode() + body)
            received = b""
            while piece := _received(connection, end - time.monotonic()):
                received += piece
        except TimeoutError:
            raise GaveUp(f"the server did not answer within {SERVER_SECONDS:g} s.") from None
        except OSError:
            raise NoServer from None
    first, _, content = received.partition(b"\r\n\r\n")
    words = first.split(b" ", 2)
    if not first.startswith(b"HTTP/1.") or len(words) < 2 or not words[1].isdigit():
        raise NoServer
    return int(words[1]), first.decode("latin-1") + "\r\n", content


def _received(connection: Any, seconds: float) -> bytes:
    if seconds <= 0:
        raise TimeoutError
    connection.settimeout(seconds)
    piece: bytes = connection.recv(64 * 1024)
    return piece


def _end_in_time(folder: str, event: str) -> None:
    """End the process after its time, also while it waits for a lock or for a client that never closes stdin."""
    import threading

    def end() -> None:
        log(folder, event, f"it was not done within {ALL_SECONDS:g} s.")
        os._exit(0)

    timer = threading.Timer(ALL_SECONDS, end)
    timer.daemon = True
    timer.start()


def _own_stdout() -> int:
    """The real stdout, for the answer alone: what anything else prints, on stderr too, goes nowhere."""
    out = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return out


def _write_all(out: int, content: bytes) -> None:
    while content:
        content = content[os.write(out, content) :]
