"""A hook's question to the running server of its data folder. Standard library alone.

The server proves itself first, and the question follows on the same connection: another connection could reach another
program.
"""

import json
import os
import socket
import time
from contextlib import suppress
from typing import Any

from . import server_file

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


def ask(folder: str, event: str, asked: Answer) -> Answer:
    """The answer of the folder's server. Raises NoServer, and GaveUp where it doesn't answer in time or refuses."""
    server = server_file.read(folder)
    if server is None or not server_file.is_running(server):
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
                connection, server, f"POST /hooks/{event}", SERVER_SECONDS, head, json.dumps(asked).encode()
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


def _is_proved(connection: socket.socket, server: server_file.RunningServer) -> bool:
    challenge = os.urandom(server_file.CHALLENGE_CHARACTERS // 2).hex()
    path = f"GET /hooks/{server_file.CHALLENGE}/{challenge}"
    try:
        status, body = _exchange(connection, server, path, min(_PROOF_SECONDS, SERVER_SECONDS))
    except OSError:
        return False
    expected = server_file.proof(server.token, challenge, server.host, server.port)
    return status == 200 and body == expected.encode()


def _exchange(
    connection: socket.socket,
    server: server_file.RunningServer,
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
