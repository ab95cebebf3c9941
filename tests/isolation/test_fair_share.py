"""One user's many calls leave the server to the others."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from clock import SettableClock
from embedding import HashedWords
from steeltrap.errors import InvalidInput, Throttled, Unavailable
from steeltrap.invoke import Door, Result
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.admission import Admission, CallThreads, FairShare
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import TrustedHeaders
from steeltrap.servers.console import Console, console_routes, transfer
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.tools import Tool
from steeltrap.toolsets import CATALOGUE
from surfaces.asgi import Request
from surfaces.serving import served

ANA, BOB = Caller(UserRef("ana")), Caller(UserRef("bob"))


class Held(Door):
    """A door whose calls of ana wait until they are let go, and are counted."""

    def invoke(self, tool: Tool | str, arguments: object, caller: Caller | None, **rest: Any) -> Result:
        if caller == ANA:
            began.release()
            running.append(1)
            most.append(len(running))
            assert let_go.wait(30)
            running.pop()
        return super().invoke(tool, arguments, caller, **rest)


began, let_go = threading.Semaphore(0), threading.Event()
running: list[int] = []
most: list[int] = []


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    embedder, clock = HashedWords(), SettableClock()
    store = SqliteStore(tmp_path, embedder, clock)
    door = Held(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock)
    pages = partial(console_routes, Console(door=door))
    with served(create_app(door, TrustedHeaders(), local=False, calls_of_user=3, pages=pages)) as url:
        yield url


def _call(url: str, path: str, user: str) -> int:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "stats", "arguments": {}}}
    headers = {"X-User-Id": user, "Accept": "application/json, text/event-stream"}
    headers["Mcp-Protocol-Version"] = "2025-06-18"
    body = message if path == "/mcp" else {}
    return httpx.post(url + path, json=body, headers=headers, timeout=30).status_code


def test_a_users_many_calls_keep_no_thread_from_the_others(url: str) -> None:
    paths = ["/v1/core/stats", "/mcp"] * 10
    with ThreadPoolExecutor(20) as pool:
        try:
            calls = [pool.submit(_call, url, path, "ana") for path in paths]
            assert all(began.acquire(timeout=20) for _ in range(3))
            assert [_call(url, path, "bob") for path in paths] == [200] * 20
            assert httpx.get(f"{url}/readyz", timeout=20).status_code == 200
        finally:
            let_go.set()
        assert {call.result() for call in calls} == {200}
    assert max(most) == 3


def test_who_waits_too_long_is_told_when_to_come_back() -> None:
    async def run() -> None:
        share = FairShare(1, seconds=0)
        async with share.turn(ANA):
            with pytest.raises(Throttled) as refused:
                async with share.turn(ANA):
                    pass
            async with share.turn(BOB), share.turn(Caller(UserRef("ana", "acme"))):
                pass
        assert refused.value.details["retry_after"] > 0
        async with share.turn(ANA):
            pass

    anyio.run(run)


def test_no_more_wait_than_there_is_patience_for() -> None:
    refused: list[Throttled] = []

    async def one(share: FairShare, done: anyio.Event) -> None:
        try:
            async with share.turn(ANA):
                await done.wait()
        except Throttled as error:
            refused.append(error)

    async def run() -> None:
        share, done = FairShare(2, waiting=5), anyio.Event()
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(one, share, done)
            await anyio.wait_all_tasks_blocked()
            assert len(refused) == 20 - 2 - 5
            done.set()
        assert len(refused) == 20 - 2 - 5
        assert not share._lines, "what nobody waits for is forgotten"

    anyio.run(run)


def test_who_waits_too_long_for_a_thread_is_told_when_to_come_back() -> None:
    async def run() -> None:
        threads = CallThreads(1, seconds=0)
        async with threads.place() as place:
            with pytest.raises(Unavailable) as refused:
                await threads.run(int)
            assert await place.run(lambda: 7) == 7
        assert refused.value.details["retry_after"] > 0
        assert await threads.run(int) == 0

    anyio.run(run)


def test_a_turn_lasts_until_its_thread_ends_though_its_client_has_gone() -> None:
    async def run() -> None:
        share, threads, goes_on = FairShare(1, seconds=0), CallThreads(1, seconds=0), threading.Event()
        async with share.turn(ANA) as turn, threads.place(turn) as place:
            working = place.start(lambda: goes_on.wait(20))
        with pytest.raises(Throttled):
            async with share.turn(ANA):
                pass
        with pytest.raises(Unavailable):
            await threads.run(int)
        goes_on.set()
        assert await working
        async with share.turn(ANA) as turn:
            assert await threads.run(int, turn) == 0

    anyio.run(run)


def test_readiness_says_when_no_thread_has_been_free_for_a_while(tmp_path: Path) -> None:
    embedder, clock, now = HashedWords(), SettableClock(), [0.0]
    door = Door(catalogue=CATALOGUE, store=SqliteStore(tmp_path, embedder, clock), embedder=embedder, clock=clock)
    admissions: list[Admission] = []

    def pages(admission: Admission) -> list[Any]:
        admission.calls = CallThreads(1, seconds=0, clock=lambda: now[0])
        admissions.append(admission)
        return []

    app = create_app(door, TrustedHeaders(), local=False, pages=pages)

    async def status(path: str, method: str = "GET") -> tuple[int, str | None]:
        answered = await Request(path, [b"{}"], {"X-User-Id": "bob"}, method=method).to(app)
        return answered.status, answered.answered.get("retry-after")

    async def run() -> None:
        async with app.router.lifespan_context(app):
            async with admissions[0].calls.place():
                assert await status("/v1/core/stats", "POST") == (503, "1")
                assert await status("/mcp", "POST") == (503, "1")
                assert await status("/readyz") == (200, None), "every thread may be busy for a moment"
                now[0] += 2
                assert await status("/readyz") == (503, "1")
                assert await status("/healthz") == (200, None)
            assert await status("/readyz") == (200, None)

    anyio.run(run)


def test_imports_whose_sender_left_take_no_thread_of_calls_and_two_of_their_users_turns(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, goes_on = threading.Semaphore(0), threading.Event()

    def endless(*_: Any, **__: Any) -> Any:
        reading.release()
        goes_on.wait(20)
        raise InvalidInput("no file")

    monkeypatch.setattr(transfer, "survey", endless)
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\na\r\n--x--\r\n'
    own = {"Origin": url, "Content-Type": "multipart/form-data; boundary=x", "Accept": transfer.LINES}

    def leave(user: str) -> int:
        with httpx.stream("POST", f"{url}/console/import", content=form, headers={**own, "X-User-Id": user}) as answer:
            return answer.status_code

    try:
        assert [leave("ana"), leave("ana")] == [200, 200]
        assert all(reading.acquire(timeout=20) for _ in range(2))
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{url}/console/import", content=form, headers={**own, "X-User-Id": "ana"}, timeout=0.2)
        assert _call(url, "/v1/core/stats", "bob") == 200
        assert leave("bob") == 200
    finally:
        goes_on.set()
