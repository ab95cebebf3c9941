"""Bodies that cost more than they are worth: of strangers, without an end, or of millions of values."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import anyio
import pydantic_core
import pytest

from clock import SettableClock
from faults.doors import open_door
from steeltrap import arguments, invoke
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.admission import Bodies
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import Identity, TrustedHeaders
from steeltrap.servers.aws_lambda.tools import tool_handler
from steeltrap.servers.http import CallHeaders, answer
from steeltrap.text import schemas
from steeltrap.toolsets import CATALOGUE
from surfaces.asgi import Request
from surfaces.events import as_v2

MIB = 1024 * 1024
ANA = Caller(UserRef("ana"))
KNOWN = {"X-User-Id": "ana"}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    opened = open_door(tmp_path)
    yield opened
    opened.store.close()


def _ask(door: Door, *requests: Request, identity: Identity | None = None) -> None:
    """Send the requests side by side to one application."""

    async def run() -> None:
        app = create_app(door, identity or TrustedHeaders(), local=False, closes_store=False)
        async with app.router.lifespan_context(app), anyio.create_task_group() as group:
            for request in requests:
                group.start_soon(request.to, app)

    anyio.run(run)


def _many_lists(size: int) -> bytes:
    return b"[" + b"[]," * (size // 3) + b"[]]"


def _over_mcp(tool: str, given: bytes) -> bytes:
    head = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "%s", "arguments": ' % tool.encode()
    return head + given + b"}}"


@pytest.mark.parametrize("path", ["/v1/core/save", "/v1/core/import", "/v1/notes/memory_save", "/mcp", "/mcp/notes"])
def test_nothing_of_a_strangers_body_is_read(door: Door, path: str) -> None:
    request = Request(path, repeat(b" " * MIB))
    _ask(door, request)
    assert (request.status, request.asked, request.read) == (401, 0, 0)


def test_nothing_of_a_strangers_body_is_decoded_in_a_function(door: Door) -> None:
    event = {**as_v2("/v1/core/save", "no base64%", None), "isBase64Encoded": True}
    handler = tool_handler("save", open=lambda: door, identity=TrustedHeaders())
    assert handler(event, None)["statusCode"] == 401


@pytest.mark.parametrize(
    ("path", "most"),
    [("/v1/core/stats", MIB // 16), ("/v1/core/save", 4 * MIB), ("/v1/core/import", 64 * MIB), ("/mcp/core", 9 * MIB)],
)
def test_a_body_without_an_end_is_given_up_at_what_its_tool_takes(door: Door, path: str, most: int) -> None:
    part = b" " * (MIB // 16)
    request = Request(path, repeat(part), KNOWN)
    _ask(door, request)
    assert request.status == 413
    assert request.read <= most + len(part)


def test_a_body_that_says_it_is_too_large_is_not_read(door: Door) -> None:
    request = Request("/v1/core/stats", repeat(b" " * MIB), {**KNOWN, "Content-Length": str(10**30)})
    _ask(door, request)
    assert (request.status, request.asked) == (413, 0)


def test_bodies_that_come_side_by_side_share_one_limit() -> None:
    bodies, held, refused = Bodies(most=4 * MIB), [], []
    bounds = CATALOGUE.tool("core.import").bounds

    async def read(request: Request) -> None:
        receive = request._receiving(iter(request.parts))

        async def yielding() -> Any:
            await anyio.lowlevel.checkpoint()
            held.append(bodies.held_bytes)
            return await receive()

        try:
            async with bodies.read({"headers": []}, yielding, bounds, "it"):
                raise AssertionError("a body without an end has ended")
        except invoke.SteeltrapError as error:
            refused.append((error.code, error.details["part"], error.can_retry))

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(read, Request("", repeat(b" " * (MIB // 4))))

    anyio.run(run)
    assert max(held) <= 4 * MIB
    assert set(refused) == {("unavailable", "server", True)}
    assert len(refused) == 12
    assert bodies.held_bytes == 0


def test_an_ordinary_call_is_read_while_large_bodies_take_all_the_room() -> None:
    bodies, bounds = Bodies(most=4 * MIB), CATALOGUE.tool("core.import").bounds

    async def run() -> bytearray:
        large, small = Request("", [b" " * (4 * MIB)]), Request("", [b'{"content": "x"}'])
        async with (
            bodies.read({"headers": []}, large._receiving(iter(large.parts)), bounds, "it"),
            bodies.read({"headers": []}, small._receiving(iter(small.parts)), bounds, "it") as body,
        ):
            return body

    assert anyio.run(run) == b'{"content": "x"}'
    assert bodies.held_bytes == 0


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("core.batch_save", b'{"items": [{"content": "x", "metadata": {"a": %s}}]}'),
        ("core.save", b'{"content": "x", "metadata": {"a": %s}}'),
        ("core.import", b'{"records": %s}'),
        ("records.memory_batch_store", b'{"items": %s}'),
        ("core.stats", b'{"a": %s}'),
    ],
)
def test_too_many_values_are_refused_before_any_is_made(
    door: Door, monkeypatch: pytest.MonkeyPatch, tool: str, given: bytes
) -> None:
    found = CATALOGUE.tool(tool)
    body = given % _many_lists(min(found.bounds.size, 16 * MIB) - 100)
    made: list[object] = []
    monkeypatch.setattr(arguments.json, "loads", lambda *_, **__: made.append(1))
    tracemalloc.start()
    try:
        reply = answer(door, found, body, ANA, CallHeaders())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (reply.status, made) == (413, [])
    assert peak < 4 * MIB


def test_values_inside_of_texts_are_no_values(door: Door) -> None:
    text = "[]," * 10_000
    reply = answer(door, CATALOGUE.tool("core.save"), json.dumps({"content": text}).encode(), ANA, CallHeaders())
    assert reply.status == 200


def test_a_list_that_is_sent_as_text_is_held_to_the_same_count(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"content": "x", "metadata": "[" + "[]," * 400_000 + "[]]"}).encode()
    read: list[str] = []
    parsed = arguments.parsed

    def counted(text: str, **rest: Any) -> Any:
        read.append(text)
        return parsed(text, **rest)

    monkeypatch.setattr(arguments, "parsed", counted)
    reply = answer(door, CATALOGUE.tool("core.save"), body, ANA, CallHeaders())
    assert reply.status == 413
    assert len(read) == 1, "the text in the body was read too"


def test_mcp_makes_no_objects_of_too_many_values(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    read = pydantic_core.from_json
    monkeypatch.setattr(pydantic_core, "from_json", lambda body, **rest: made.append(1) or read(body, **rest))
    costly = b'{"content": "x", "metadata": {"a": %s}}' % _many_lists(8 * MIB - 300)
    request = Request("/mcp/core", [_over_mcp("save", costly)], KNOWN)
    headers = {**KNOWN, "Mcp-Protocol-Version": "2025-06-18"}
    fair = Request("/mcp/core", [_over_mcp("save", b'{"content": "x"}')], headers)
    _ask(door, request)
    assert (request.status, made) == (413, [])
    _ask(door, fair)
    assert (fair.status, made) == (200, [1])


def test_an_import_of_too_many_records_looks_at_none_of_them(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    check = arguments.check_json
    monkeypatch.setattr(arguments, "check_json", lambda *given, **rest: looked.append(1) or check(*given, **rest))
    body = b'{"records": [' + b"{}," * 500_000 + b"{}]}"
    reply = answer(door, CATALOGUE.tool("core.import"), body, ANA, CallHeaders())
    assert reply.status == 400
    assert "1 to 1000" in reply.body.decode()
    assert len(looked) < 10


def test_the_time_to_read_the_arguments_is_the_calls_own(
    door: Door, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.stand()

    def slowly(body: bytes, decode: Callable[..., Any] = arguments.decode) -> Any:
        clock.sleep(11)
        return decode(body)

    monkeypatch.setattr(arguments, "decode", slowly)
    reply = answer(replace(door, clock=clock), CATALOGUE.tool("core.save"), b'{"content": "x"}', ANA, CallHeaders())
    assert reply.status == 503
    assert "10 s" in reply.body.decode()
    assert door.invoke("core.stats", {}, ANA).body["memories"] == 0


@pytest.mark.parametrize(
    "given",
    [
        {"k" * 60_000: 1},
        {"content": "x", "metadata": {"a": 1}, "confidence": ["x" * 1000] * 50},
        {"content": "x", "k" * 60_000: "\ud800"},
        {"content": "x", "tags": {"t" * 60_000: 1}},
    ],
)
def test_a_refusal_quotes_no_more_than_a_line(door: Door, given: dict[str, Any]) -> None:
    reply = answer(door, CATALOGUE.tool("core.save"), json.dumps(given).encode(), ANA, CallHeaders())
    assert 400 <= reply.status < 500
    assert len(reply.body) < 1500


def test_an_unknown_tool_is_quoted_in_a_line(door: Door) -> None:
    request = Request("/mcp/core", [_over_mcp("k" * MIB, b"{}")], KNOWN)
    _ask(door, request)
    assert len(request.body) < 2000


def test_quoting_a_large_value_looks_at_its_start_only() -> None:
    looked: list[int] = []

    class Item(int):
        def __repr__(self) -> str:
            looked.append(1)
            return "1"

    assert schemas.show([[Item()] * 1000] * 1000) == "[[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1..."
    assert len(looked) <= 1000


def test_the_largest_memory_that_fits_may_be_saved_and_imported(door: Door) -> None:
    largest = {
        "content": "é" * (16 * 1024),
        "messages": [{"role": "user", "content": "𝄞" * 20, "speaker": "ana", "time": "2026-01-01"}] * 1000,
        "tags": [f"{n:03}" + "語" * 125 for n in range(64)],
        "metadata": {"a": [0] * 5000},
        "context": "語" * 4096,
    }
    for text in (json.dumps(largest), json.dumps(largest, ensure_ascii=False), json.dumps(largest, indent=4)):
        assert answer(door, CATALOGUE.tool("core.save"), text.encode(), ANA, CallHeaders()).status == 200
        assert len(text.encode()) <= CATALOGUE.tool("core.save").bounds.size
    exported = door.invoke("core.export", {"limit": 1}, ANA).body["records"]
    records = json.dumps({"records": exported * 100}).encode()
    reply = answer(door, CATALOGUE.tool("core.import"), records, Caller(UserRef("bob")), CallHeaders())
    assert json.loads(reply.body) == {"written": 1, "skipped": 99, "errors": []}
