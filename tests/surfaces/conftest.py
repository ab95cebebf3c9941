"""A door of each test's own, one that fails, what a function reports, and the local application served."""

import asyncio
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from function_telemetry import telemetry_of
from steeltrap.invoke import Door
from steeltrap.model import UserRef
from steeltrap.ports import Deadline
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.aws_lambda.telemetry import Telemetry
from surfaces.callers import opened
from surfaces.serving import served

Tell = Callable[[], list[dict[str, Any]]]
"""The log so far, an object per line."""


class FailingStore:
    """A store with a fault that nobody foresaw."""

    secret = "the table users_prod at 10.0.0.7"

    def __init__(self) -> None:
        self.closed = False

    def space(self, user: UserRef, deadline: Deadline) -> None:
        raise RuntimeError(self.secret)

    def check(self) -> None:
        raise RuntimeError(self.secret)

    def flush(self, *, just_read: bool = False) -> None:
        raise RuntimeError(self.secret)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with opened(tmp_path) as it:
        yield it


@pytest.fixture
def failing(door: Door) -> Door:
    return replace(door, store=FailingStore())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of the local single-user server."""
    with opened(tmp_path_factory.mktemp("memories")) as door:
        app = create_app(door, LocalUser("local", "default"), closes_store=False)
        with served(app) as url, httpx.Client(base_url=url) as client:
            yield client


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def telemetry(stream: io.StringIO) -> Iterator[Telemetry]:
    with telemetry_of("steeltrap-test", stream=stream) as telemetry:
        yield telemetry


@pytest.fixture
def lines(stream: io.StringIO) -> Tell:
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def event_loop_closed() -> Iterator[None]:
    """Mangum makes an event loop of its own for the thread and leaves it; close it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()
    asyncio.set_event_loop(None)
