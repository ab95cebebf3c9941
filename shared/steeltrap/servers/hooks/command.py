"""`steeltrap hook EVENT`: the process that a coding agent starts at each event. Standard library alone.

It fails open: whatever happens, it ends in time with 0 and prints nothing or the client's own form of an answer. What
went wrong is a line in the log. The work is done by a child process, because only a process can be ended from outside:
a thread that holds the interpreter's lock, in a regular expression for example, stops for no other thread.

The child asks the running server of the data folder, and opens the store itself without one. It hands its answer over
as a line of JSON as soon as it has one, and goes on to keep what was said.
"""

import json
import os
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn

from ...local_files import append_line
from .server_file import Answer, GaveUp, NoServer, ask

FOLDER = "hooks"
NAME = "hooks.log"
SETTINGS_FILE = "steeltrap.toml"
_MAX_LOG_BYTES = 256 * 1024
"""Bytes of the log, and of the one before it."""
_MAX_LINE = 500


def log(folder: str, event: str, sentence: str) -> None:
    """Add a line to the log in a data folder; never fails. What was said in a conversation never gets into it."""
    with suppress(OSError, ValueError):
        path = os.path.join(folder, FOLDER, NAME)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):
            if os.stat(path).st_size > _MAX_LOG_BYTES:
                os.replace(path, path + ".1")
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        text = " ".join(f"{at} {event}: {sentence}".split())[:_MAX_LINE]
        append_line(path, text)


EVENTS = ("session-start", "prompt", "stop", "session-end", "pre-compact")
ALL_SECONDS = 10.0
"""For everything. Then the child is ended, whatever it is doing: nothing that was stored before is lost by that."""
_MAX_BYTES = 8 * 1024 * 1024
_MAX_ANSWER = 2 * 1024 * 1024


def run_as_hook(arguments: list[str]) -> None:
    """Run the hook of a command line, and end the process with 0; return where a person asks for help or mistyped.

    Of what a client configured, no mistake may stop it: to Claude Code, the exit code of wrong usage is "block this".
    """
    options = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    is_known = arguments[:1] and arguments[0] in EVENTS and len(arguments) % 2 and {*options} <= {"--client", "--data"}
    if not {"--help", "-h"}.isdisjoint(arguments) or (not is_known and _is_terminal()):
        return
    run(
        arguments[0] if is_known else "",
        client=options.get("--client"),
        data=os.path.expanduser(options.get("--data", "")),
    )


def run(event: str, *, client: str | None = None, data: str | None = None) -> NoReturn:
    """Run a hook on what stdin says, then end the process with 0."""
    folder = data or os.environ.get("STEELTRAP_DATA") or os.path.join(os.path.expanduser("~"), ".steeltrap")
    if os.environ.get("STEELTRAP_HOOKS", "").lower() != "off":
        try:
            if not _is_off(folder):
                _run_child(event, client, folder)
        except BaseException as error:
            log(folder, event, f"{type(error).__name__}: {error}")
    os._exit(0)  # without the interpreter's clean-up, which takes time and could print


def _is_off(folder: str) -> bool:
    """Whether the data folder's settings switch hooks off; the environment goes first."""
    if os.environ.get("STEELTRAP_HOOKS") or not os.path.exists(os.path.join(folder, SETTINGS_FILE)):
        return False  # most folders have no such file, and every prompt waits for this
    from ... import settings_file

    return settings_file.read(folder).get("hooks", "").lower() == "off"


def _run_child(event: str, client: str | None, folder: str) -> None:
    """Have a child do the work, and print what it answers."""
    reading, writing = os.pipe()
    child = (
        _Forked(event, client, folder, reading, writing)
        if hasattr(os, "fork")
        else _Spawned(event, client, folder, writing)
    )
    os.close(writing)
    _end_in_time(folder, event, child)
    answer = _printed(reading)
    if isinstance(answer.get("offered"), list) and answer["offered"]:
        # After the printing: what a client did not get may be offered again.
        path = os.path.join(folder, FOLDER, os.path.basename(str(answer.get("file"))))
        append_line(path, json.dumps({"offered": answer["offered"]}))
    while os.read(reading, 4096):
        pass  # until the child has ended
    if code := child.wait():
        log(folder, event, f"its process ended with {code}.")


class _Forked:
    """A child that is a copy of this process: it starts at once."""

    def __init__(self, event: str, client: str | None, folder: str, reading: int, writing: int) -> None:
        self._id = os.fork()
        if not self._id:
            os.close(reading)
            work(event, client, folder, writing)

    def kill(self) -> None:
        import signal

        os.kill(self._id, signal.SIGKILL)

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self._id, 0)[1])


class _Spawned:
    """A child where the system has no fork."""

    def __init__(self, event: str, client: str | None, folder: str, writing: int) -> None:
        import subprocess

        code = f"from steeltrap.servers.hooks import command; command.work({event!r}, {client!r}, {folder!r}, 1)"
        self._process = subprocess.Popen([sys.executable, "-c", code], stdout=writing, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        return self._process.wait()


def _printed(reading: int) -> Answer:
    """The child's answer, once the client has it; empty without one."""
    received = b""
    while not received.endswith(b"\n"):
        piece = os.read(reading, 64 * 1024)
        if not piece or len(received) > _MAX_ANSWER:
            return {}
        received += piece
    answer = json.loads(received)
    if not isinstance(answer, dict):
        return {}
    if isinstance(text := answer.get("print"), str) and text:
        _write_all(1, text.encode() + b"\n")
    return answer


def _write_all(out: int, content: bytes) -> None:
    while content:
        content = content[os.write(out, content) :]


def _end_in_time(folder: str, event: str, child: "_Forked | _Spawned") -> None:
    """End both processes after their time, also while the client doesn't read or a lock is waited for."""
    import threading

    def end() -> None:
        with suppress(OSError):
            child.kill()
        os._exit(0)

    def end_and_say() -> None:
        threading.Timer(1, end).start()  # the log may be on a disk that doesn't answer
        log(folder, event, f"it was not done within {ALL_SECONDS:g} s.")
        end()

    timer = threading.Timer(ALL_SECONDS, end_and_say)
    timer.daemon = True
    timer.start()


def work(event: str, client: str | None, folder: str, out: int) -> NoReturn:
    """Do a hook's work in the child, and write the answer to `out`."""
    try:
        out = _own(out)
        _end_alone()
        _answer(event, client, folder, out)
    except BaseException as error:
        log(folder, event, str(error) if isinstance(error, GaveUp) else f"{type(error).__name__}: {error}")
    os._exit(0)


def _answer(event: str, client: str | None, folder: str, out: int) -> None:
    if not event:
        raise GaveUp("unknown event or option; see `steeltrap hook --help`.")
    question = {"client": client, "folder": _working_folder(), "input": _read_input(), "timezone": _timezone()}

    def tell(answer: Answer) -> None:
        _write_all(out, json.dumps(answer).encode() + b"\n")

    try:
        tell(ask(folder, event, question))
    except NoServer:
        import gc

        gc.disable()  # the process ends in a moment
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting threads takes longer than they would save
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would look for them in every package
        from .answering import answer_alone

        answer_alone(folder, event, question, tell)


def _timezone() -> str | None:
    """The IANA name of the zone here, None where it isn't plain: the server's own is the same, as a rule."""
    zone = os.environ.get("STEELTRAP_TIMEZONE") or os.environ.get("TZ", "").removeprefix(":")
    if zone:
        return zone
    try:
        place = os.path.realpath("/etc/localtime")
    except OSError:
        return None
    return place.partition("/zoneinfo/")[2] or None


def _read_input() -> Any:
    body = sys.stdin.buffer.read(_MAX_BYTES + 1)
    if len(body) > _MAX_BYTES:
        raise GaveUp(f"stdin has more than {_MAX_BYTES:,} bytes.")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise GaveUp("stdin is not valid JSON.") from None
    if not isinstance(value, dict):
        raise GaveUp("stdin is not a JSON object.")
    return value


def _own(out: int) -> int:
    """The answer's descriptor, for it alone: what anything else prints, on stderr too, goes nowhere."""
    own = os.dup(out)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return own


def _end_alone() -> None:
    """End this process after its time, even if the one that started it was killed: the system does it."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, ALL_SECONDS + 1)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "."  # it was removed


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
