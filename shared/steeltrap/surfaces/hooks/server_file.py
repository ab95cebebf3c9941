"""Where hooks find a running server: a file in the data folder that only its owner can read.

A server that was killed leaves its file behind, and any user of the machine may then listen on its port. So a hook
sends nothing of its session before the server has proved that it knows the file's token. Needs the standard library
alone: hooks read the file before anything of the product is imported.
"""

import json
import os
import sys
from contextlib import suppress
from typing import NamedTuple

from ...regular_files import open_regular

NAME = "server.json"
CHALLENGE = "challenge"
"""The name of the route, below that of hooks, that proves a server."""
CHALLENGE_CHARACTERS = 64
"""The form of a challenge: 32 random bytes in hexadecimal."""
_MAX_BYTES = 4096


class RunningServer(NamedTuple):
    """A server over a data folder: where it listens, its process, and the user whom hooks act for there.

    With the `token`, hooks may call its routes for hooks and nothing else, and the server proves that it is the one
    that wrote the file.
    """

    host: str
    port: int
    process: int
    user: str
    token: str


def of_this_process(host: str, port: int, user: str) -> RunningServer:
    """This process as a server, with a new token. An address of all interfaces is told as the loopback one."""
    import secrets  # hooks only read the file, and this takes longer to import than to read it

    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return RunningServer(reachable, port, os.getpid(), user, secrets.token_urlsafe(32))


def proof(token: str, challenge: str, host: str, port: int) -> str:
    """The answer to a challenge by whoever knows the token and was connected to at this address.

    The address is part of it, so that a program on another one can't pass a challenge on to the server and its answer
    back.
    """
    import hmac  # most hooks find no server, and this takes 5 ms to import

    asked = f"steeltrap hooks 1\n{host}\n{port}\n{challenge}"
    return hmac.digest(token.encode(), asked.encode(errors="surrogatepass"), "sha256").hex()


def is_loopback(host: str) -> bool:
    """Whether a numeric address is one that no other machine can have."""
    import socket

    with suppress(OSError, ValueError):
        return socket.inet_pton(socket.AF_INET, host)[0] == 127
    return host == "::1"


def write(folder: str, server: RunningServer) -> None:
    """Write the file, whole or not at all. Raises OSError."""
    import secrets

    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, NAME)
    beside = f"{path}.{secrets.token_hex(8)}"
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
    """The server of a data folder. None without a file, for one that isn't whole or that others may have written, and
    for a server on no loopback address. The server may have ended since."""
    path = os.path.join(folder, NAME)
    try:
        with open_regular(path) as file:
            content = file.read(_MAX_BYTES) if _is_own(os.fstat(file.fileno())) else b""
        found = RunningServer(**json.loads(content))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    kinds = RunningServer.__annotations__
    if not all(type(getattr(found, name)) is kind for name, kind in kinds.items()):
        return None
    return found if is_loopback(found.host) and 0 < found.port < 65536 and len(found.token) >= 32 else None


def _is_own(found: os.stat_result) -> bool:
    """Whether a file is this user's, and nobody else can read or write it."""
    if sys.platform == "win32":
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


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
