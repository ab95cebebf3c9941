"""Where hooks find a running server: a file in the data folder that only its owner can read.

Needs the standard library alone: hooks read it before anything of the product is imported.
"""

import json
import os
import sys
from contextlib import suppress
from typing import NamedTuple

NAME = "server.json"


class RunningServer(NamedTuple):
    """A server over a data folder: where it listens, its process, and the user whom hooks act for there.

    With the `token`, hooks may call its route for hooks and nothing else. The server answers with its `instance`, so
    that another one at the same address isn't taken for it.
    """

    host: str
    port: int
    process: int
    user: str
    token: str
    instance: str


def of_this_process(host: str, port: int, user: str) -> RunningServer:
    """This process as a server, with a new token. An address of all interfaces is told as the loopback one."""
    import secrets  # hooks only read the file, and this takes longer to import than to read it

    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return RunningServer(reachable, port, os.getpid(), user, secrets.token_urlsafe(32), secrets.token_hex(8))


def write(folder: str, server: RunningServer) -> None:
    """Write the file, whole or not at all. Raises OSError."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, NAME)
    beside = f"{path}.{server.instance}"
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(server._asdict(), file)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def remove(folder: str, server: RunningServer) -> None:
    """Remove the file if it is still the server's own, and this is the server's first process."""
    if server.process == os.getpid() and read(folder) == server:
        with suppress(OSError):
            os.unlink(os.path.join(folder, NAME))


def read(folder: str) -> RunningServer | None:
    """The server of a data folder, None without a file and for one that isn't whole. It may have ended since."""
    try:
        with open(os.path.join(folder, NAME), encoding="utf-8") as file:
            found = RunningServer(**json.load(file))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    kinds = RunningServer.__annotations__
    return found if all(type(getattr(found, name)) is kind for name, kind in kinds.items()) else None


def is_running(server: RunningServer) -> bool:
    """Whether there is such a process. Another one may have its number by now."""
    if sys.platform == "win32":
        return True  # there, the signal 0 is Ctrl-C
    try:
        os.kill(server.process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
