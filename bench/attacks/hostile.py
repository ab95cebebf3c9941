"""Attacks: what nobody does by mistake. One more is one more entry in ATTACKS."""

import json
import socket
import time
from contextlib import ExitStack
from typing import Final

from .imports import MIB, zip_of
from .target import KEYS, Attack, Target, nothing
from .texts import HARD, hard


def _left_imports(target: Target) -> None:
    file = zip_of(20_000)
    for _ in range(16):
        target.import_and_leave("notes.zip", file)


def _versions(target: Target) -> None:
    id = target.call("core.save", content="one")["id"]
    for number in range(1100):
        target.call("core.update", id=id, content=hard(2)[: 10_000 - number % 7] + str(number))
        if target.left() < 5:
            return


def _many_versions(target: Target) -> None:
    target.fill()
    id = target.call("core.save", content="one")["id"]
    for number in range(400):
        target.call("core.update", id=id, content=hard(number * 17)[:-8] + str(number))


def _downloaded(target: Target) -> None:
    target.page("/console/export")
    target.call("core.export", limit=1000)


def _strangers(target: Target) -> None:
    """Eight connections send forms that nobody has signed in for."""
    body = b"content=" + b"%41" * 170_000
    kind = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://127.0.0.1:{target.port}"}
    for _ in range(5):
        with ExitStack() as stack:
            connections = [stack.enter_context(target.sent("POST", "/console/new", body, kind)) for _ in range(8)]
            for connection in connections:
                connection.recv(MIB)


def _bodies(path: str, body: bytes, times: int = 1, kind: str = "application/json") -> Attack:
    def run(target: Target) -> None:
        for _ in range(times):
            target.post(path, body, kind)

    return Attack(f"{path}: {len(body) / MIB:.1f} MiB of {body[10:22].decode(errors='replace')!r}", run, nothing)


def _at_once(target: Target) -> None:
    """64 searches for 1,000 memories at once, of which nobody waits for the answer."""
    body = json.dumps({"query": HARD["words"][:8000], "limit": 1000}).encode()
    with ExitStack() as stack:
        for _ in range(64):
            stack.enter_context(target.sent("POST", "/v1/core/search", body, {"Content-Type": "application/json"}))
        time.sleep(2)


def _slow_readers(target: Target) -> None:
    """30 connections ask for 4 MiB each and read nothing."""
    body = json.dumps({"limit": 1000}).encode()
    with ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(target.sent("POST", "/v1/core/list", body, {"Content-Type": "application/json"}))
        time.sleep(5)


def _connections(target: Target) -> None:
    with ExitStack() as stack:
        for _ in range(900):
            stack.enter_context(socket.create_connection(("127.0.0.1", target.port), timeout=5)).sendall(b"GET / HT")
        time.sleep(1)


def _chain(target: Target) -> None:
    """A status that is superseded 300 times, then looked for."""
    before: list[str] = []
    for number in range(300):
        memory = target.call("core.save", content=f"The status of the ship is {number}.", supersedes=before)
        before = [memory["id"]]
    for _ in range(5):
        target.call("core.search", query="status of the ship")


_MANY_HEADERS: Final = {f"X-H-{i}": "v" * 100 for i in range(400)}

ATTACKS: Final = [
    Attack("16 imports whose sender leaves", _left_imports, nothing),
    Attack("1,100 versions of one memory", _versions, nothing),
    Attack("download after 400 versions of 32 KiB", _downloaded, _many_versions, whole=True),
    Attack("forms of strangers", _strangers, nothing, KEYS),
    Attack("64 searches at once", _at_once),
    Attack("30 answers that nobody reads", _slow_readers),
    Attack("900 connections", _connections, nothing),
    Attack("300 revisions of a status", _chain, nothing),
    Attack("/healthz with 400 headers", lambda t: t.ask("GET", "/healthz", b"", _MANY_HEADERS), nothing),
    _bodies("/v1/core/batch_save", b'{"items": [' + b"1," * (4 * MIB - 20) + b"1]}"),
    _bodies("/v1/core/batch_save", b'{"items": [' + b'{"a":1},' * (MIB - 20) + b"1]}"),
    _bodies("/v1/core/batch_save", b'{"items": ["' + b"\\u0041" * MIB + b'"]}'),
    _bodies("/v1/core/import", b'{"records": [' + b'{"a":1},' * (8 * MIB - 20) + b"1]}"),
    _bodies("/v1/core/import", b'{"records": [' + b'"a",' * 1000 + b'"' + b"a" * (60 * MIB) + b'"]}'),
    _bodies(
        "/v1/core/import",
        b'{"records": [{"id":"1","content":"a","metadata":{' + b'"\\u0041":1,' * 2_000_000 + b'"b":1}}]}',
    ),
    _bodies("/v1/core/save", b'{"content": "' + b"[" * 3_000_000 + b'"}'),
    _bodies("/v1/core/save", b'{"content": ' + b"[" * 3_000_000 + b"}"),
    _bodies("/v1/core/append_messages", b'{"messages": [' + b'{"role":"user","content":"a"},' * 2000 + b"1]}"),
    _bodies(
        "/mcp/core",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"batch_save","arguments":{"items":['
        + b'{"content":"a"},' * 500_000
        + b"1]}}}",
    ),
    _bodies(
        "/mcp/core",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"batch_save","arguments":"'
        + b"[" * 7 * MIB
        + b'"}}',
    ),
    _bodies("/mcp/core", b"[" * 7 * MIB),
    _bodies("/mcp", b'{"jsonrpc":"2.0","id":1,"method":"' + b"a" * 300_000 + b'"}'),
]
