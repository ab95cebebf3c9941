"""The process that does something long, by a name that another process can check later."""

import os
import socket
import sys


def this_process() -> str:
    """The name of this process: its machine and its number."""
    return f"{socket.gethostname()}:{os.getpid()}"


def has_died(process: str) -> bool:
    """Whether a process that ran on this machine has ended. False for one of another machine, which nobody here knows.

    A number that another process has by now counts as alive.
    """
    host, _, number = process.rpartition(":")
    # On Windows, the signal 0 is Ctrl-C.
    if host != socket.gethostname() or not number.isdigit() or sys.platform == "win32" or int(number) == os.getpid():
        return False
    try:
        os.kill(int(number), 0)
    except PermissionError:
        return False
    except (OSError, OverflowError):
        return True
    return False
