"""How hooks find a running server, by a file in the data folder that only its owner can read, and ask it.

A server that was killed leaves its file behind, and any user of the machine may then listen on its port. So the server
first proves that it knows the file's token. The question follows on the same connection, because another connection
could reach another program. Needs the standard library alone: hooks read the file before anything of the product is
imported.
"""

import json
import os
import socket
import sys
import time
from contextlib import suppress
from typing import Any, NamedTuple

from ...local_files import open_regular

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

    question = f"steeltrap hooks 1\n{host}\n{port}\n{challenge}"
    return hmac.digest(token.encode(), question.encode(errors="surrogatepass"), "sha256").hex()


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
        running = RunningServer(**json.loads(content))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    kinds = RunningServer.__annotations__
    if not all(type(getattr(running, name)) is kind for name, kind in kinds.items()):
        return None
    return running if is_loopback(running.host) and 0 < running.port < 65536 and len(running.token) >= 32 else None


def _is_own(running: os.stat_result) -> bool:
    """Whether a file is this user's, and nobody else can read or write it."""
    if sys.platform == "win32":
        return True
    return running.st_uid == os.geteuid() and not running.st_mode & 0o077


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


SERVER_SECONDS = 4.0
"""For the server's answer. Clients wait for a hook, and so does whoever sent the prompt."""
_PROOF_SECONDS = 1.5
"""For a server to prove itself. A busy one loses its hook to the hook's own process by that, and nothing else."""
_MAX_HEAD = 16 * 1024
_MAX_ANSWER = 1024 * 1024

Answer = dict[str, Any]
"""`print`: what the client is to read. `file` and `offered`: the session's file, and the line to add to it then."""


class NoServer(Exception):
    """No server answers for the data folder: none runs, or another program is there."""


class GaveUp(Exception):
    """The hook can't do its work. The message says why."""


def ask(folder: str, event: str, question: Answer) -> Answer:
    """The answer of the folder's server. Raises NoServer, and GaveUp where it doesn't answer in time or refuses."""
    server = read(folder)
    if server is None or not is_running(server):
        raise NoServer
    if os.environ.get("STEELTRAP_USER", server.user) not in ("", server.user):
        raise NoServer  # it keeps the memories of another user
    try:
        connection = socket.create_connection((server.host, server.port), timeout=1)
    except OSError:
        raise NoServer from None
    with connection:
        if not _is_proved(connection, server):
            raise NoServer
        head = f"Authorization: Bearer {server.token}\r\nContent-Type: application/json\r\n"
        try:
            status, body = _exchange(
                connection, server, f"POST /hooks/{event}", SERVER_SECONDS, head, json.dumps(question).encode()
            )
        except TimeoutError:
            raise GaveUp(f"the server did not answer within {SERVER_SECONDS:g} s.") from None
        except OSError:
            raise NoServer from None  # it ended meanwhile
    if status != 200:
        raise GaveUp(f"the server answered {status}.")
    with suppress(ValueError, RecursionError):
        answer = json.loads(body)
        if isinstance(answer, dict):
            return answer
    raise GaveUp("the server's answer is not a JSON object.")


def answers(server: RunningServer) -> bool:
    """Whether the server that wrote the file answers at its address."""
    try:
        with socket.create_connection((server.host, server.port), timeout=1) as connection:
            return _is_proved(connection, server)
    except OSError:
        return False


def _is_proved(connection: socket.socket, server: RunningServer) -> bool:
    challenge = os.urandom(CHALLENGE_CHARACTERS // 2).hex()
    path = f"GET /hooks/{CHALLENGE}/{challenge}"
    try:
        status, body = _exchange(connection, server, path, min(_PROOF_SECONDS, SERVER_SECONDS))
    except OSError:
        return False
    expected = proof(server.token, challenge, server.host, server.port)
    return status == 200 and body == expected.encode()


def _exchange(
    connection: socket.socket,
    server: RunningServer,
    line: str,
    seconds: float,
    head: str = "",
    body: bytes = b"",
) -> tuple[int, bytes]:
    """Status and body of the answer to a request. Raises OSError: TimeoutError, and for what is no answer of HTTP."""
    # http.client takes three times as long to import as all of this to run, and every prompt would wait for it.
    end = time.monotonic() + seconds
    host = f"[{server.host}]" if ":" in server.host else server.host
    first = f"{line} HTTP/1.1\r\nHost: {host}:{server.port}\r\n{head}Content-Length: {len(body)}\r\n\r\n"
    connection.settimeout(seconds)
    connection.sendall(first.encode() + body)
    received = bytearray()
    while (at := received.find(b"\r\n\r\n")) < 0:
        received += _received(connection, end)
        if len(received) > _MAX_HEAD + _MAX_ANSWER:
            raise OSError
    status, length = _read_head(bytes(received[:at]))
    while len(received) < at + 4 + length:
        received += _received(connection, end)
    return status, bytes(received[at + 4 : at + 4 + length])


def _read_head(head: bytes) -> tuple[int, int]:
    """The status and the length of an answer. Raises OSError for one of another kind."""
    first, *lines = head.lower().split(b"\r\n")
    words = first.split(b" ", 2)
    lengths = [line.partition(b":")[2].strip() for line in lines if line.startswith(b"content-length:")]
    is_answer = first.startswith(b"http/1.") and len(words) > 1 and len(words[1]) == 3 and words[1].isdigit()
    if not is_answer or len(lengths) != 1 or not lengths[0].isdigit() or len(lengths[0]) > 7:
        raise OSError
    if int(lengths[0]) > _MAX_ANSWER:
        raise OSError
    return int(words[1]), int(lengths[0])


def _received(connection: socket.socket, end: float) -> bytes:
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    connection.settimeout(seconds)
    piece = connection.recv(64 * 1024)
    if not piece:
        raise OSError  # it closed the connection before its answer was whole
    return piece
