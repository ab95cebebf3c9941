"""The console in a real browser: Debian's Chromium, which `make browser` drives."""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from clock import SettableClock
from console import seeding
from console.sites import Site
from steeltrap.client.in_process import Memory
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.console import Console, Sessions, console_routes, open_secret
from steeltrap.stores.shared_folders import LocalFolder
from surfaces.callers import door_on
from surfaces.serving import served

collect_ignore_glob = [] if os.environ.get("STEELTRAP_TEST_BROWSER") == "1" else ["test_*.py"]


def chromium() -> str | None:
    """Where Chromium is on this machine."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    path = chromium()
    if path is None:
        reason = "Chromium is not on the path: `apt-get install chromium` installs it"
        (pytest.fail if os.environ.get("STEELTRAP_REQUIRE_ALL") == "1" else pytest.skip)(reason)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        # A container's own limits stand in for the sandbox, which root can't use.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def context(engine: Any) -> Iterator[Any]:
    context = engine.new_context(viewport={"width": 1200, "height": 800}, color_scheme="light", reduced_motion="reduce")
    context.set_default_timeout(10_000)
    yield context
    context.close()


_HARMLESS: Final = ("the server responded with a status of", "htmx:sendAbort", "htmx:afterRequest")
"""A status that a page shows in words; a search that is given up because another one takes its place."""


@pytest.fixture
def page(context: Any) -> Iterator[Any]:
    """A page. What it complains of fails the test: a script that fails, something that the policy blocks."""
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    yield page
    assert [text for text in complaints if not any(harmless in text for harmless in _HARMLESS)] == []


def _site(folder: Path, seeded: bool = False, number: int = 0) -> Iterator[Site]:
    clock = SettableClock(datetime.now(UTC) - timedelta(days=26))
    door = door_on(folder, clock)
    memory = Memory(door, Caller(UserRef("local"), "default"))
    ids = seeding.a_few(memory, clock) if seeded else {}
    seeding.many(memory, number)
    pages = partial(console_routes, Console(door=door))
    app = create_app(door, LocalUser("local", "default"), pages=pages)
    with served(app) as url:
        yield Site(url, memory, clock, ids)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A person's memories over a few weeks."""
    yield from _site(tmp_path, seeded=True)


@pytest.fixture(scope="session")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The same memories, for tests that only look at pages."""
    yield from _site(tmp_path_factory.mktemp("looked-at"), seeded=True)


@pytest.fixture
def empty_site(tmp_path: Path) -> Iterator[Site]:
    yield from _site(tmp_path)


@pytest.fixture(scope="session")
def large_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A few thousand memories."""
    yield from _site(tmp_path_factory.mktemp("many"), number=seeding.MANY)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[Site, ApiKeys]]:
    """A console that wants API keys."""
    clock = SettableClock(datetime.now(UTC))
    door = door_on(tmp_path, clock)
    keys = ApiKeys(LocalFolder(tmp_path / "keys"), clock.now)
    sessions = Sessions(
        keys, keys, open_secret(LocalFolder(tmp_path)), LocalFolder(tmp_path / "console.ended"), clock.now
    )
    pages = partial(console_routes, Console(door=door, sessions=sessions))
    app = create_app(door, keys, local=False, public_url="", pages=pages)
    with served(app) as url:
        yield Site(url, Memory(door, Caller(UserRef("ana"), "agent-1")), clock, {}), keys
