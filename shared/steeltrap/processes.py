"""This process: its name, by which another one can check it later, and the signals that end it.

Needs the standard library alone: it is there before anything of the product is imported.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final


def this_process() -> str:
    """The name of this process: its machine and its number."""
    from socket import gethostname

    return f"{gethostname()}:{os.getpid()}"


def has_died(process: str) -> bool:
    """Whether a process that ran on this machine has ended. False for one of another machine, which nobody here knows.

    A number that another process has by now counts as alive.
    """
    from socket import gethostname

    host, _, number = process.rpartition(":")
    # On Windows, the signal 0 is Ctrl-C.
    if host != gethostname() or not number.isdigit() or sys.platform == "win32" or int(number) == os.getpid():
        return False
    try:
        os.kill(int(number), 0)
    except PermissionError:
        return False
    except (OSError, OverflowError):
        return True
    return False


INTERRUPTED: Final = 130
"""The exit code of a command that Ctrl-C ended, as shells count it."""
STOPPING: Final = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that stop a server besides Ctrl-C: its supervisor, and the end of its terminal."""


@contextmanager
def without_traceback() -> Iterator[None]:
    """Ctrl-C ends the block, and the process, with 130. A second one ends the process at once."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # whoever started the process has it ignore Ctrl-C
        return
    interrupted = False
    hook = sys.unraisablehook

    def interrupt(*_: Any) -> None:
        nonlocal interrupted
        interrupted = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sys.unraisablehook = lambda _: None
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except SystemExit:
        raise
    except BaseException:
        # A library that is being imported may have turned it into an exception of its own.
        if not interrupted:
            raise
        raise SystemExit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if not interrupted:
            sys.unraisablehook = hook


def end_when_stopped() -> None:
    """SIGTERM and the end of the terminal end a server that doesn't serve yet with 0, as they end one that does.

    Nothing was promised to anybody by then. An exception could be swallowed by what is being imported.
    """
    for each in STOPPING:
        if signal.getsignal(each) is signal.SIG_DFL:  # what is ignored stays ignored, as `nohup` wants it
            signal.signal(each, lambda *_: os._exit(0))
