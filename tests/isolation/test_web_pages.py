"""A page that somebody's browser shows can't use the memories of who looks at it, however callers are known."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from clock import NOON
from faults.doors import open_door
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.servers.auth.identity import LocalUser, TrustedHeaders
from steeltrap.stores.shared_folders import LocalFolder
from surfaces.asgi import Request

PUBLIC = "https://memory.example"
REBOUND = "evil.example:8765"
"""A name that the attacker's DNS answers with the server's own address."""


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    opened = open_door(tmp_path)
    yield opened
    opened.store.close()


@pytest.fixture(params=["headers", "keys"])
def known(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, dict[str, str]]:
    """An identity, and the headers of somebody whom it knows."""
    if request.param == "headers":
        return TrustedHeaders(), {"X-User-Id": "ana"}
    keys = ApiKeys(LocalFolder(tmp_path / "keys"))
    _, secret = keys.add(Caller(UserRef("ana")), "", NOON)
    return keys, {"Authorization": f"Bearer {secret}"}


def _status(door: Door, known: tuple[Any, dict[str, str]], public_url: str, path: str, **headers: str) -> int:
    identity, shown = known
    request = Request(path, [b"{}"], {**shown, **headers})

    async def run() -> None:
        app = create_app(door, identity, local=False, closes_store=False, public_url=public_url)
        await request.to(app)

    anyio.run(run)
    if request.status == 403:
        assert request.asked == 0
    return request.status


@pytest.mark.parametrize("public_url", ["", PUBLIC])
@pytest.mark.parametrize("path", ["/v1/core/list", "/mcp", "/healthz"])
@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("memory.example", "https://evil.example"),
        ("127.0.0.1:8765", "http://127.0.0.1:3000"),
        ("10.0.0.7:8765", "http://10.0.0.8:8765"),
        ("10.0.0.7:8765", "null"),
        (REBOUND, f"http://{REBOUND}"),
        ("127.0.0.1.evil.example", "http://127.0.0.1.evil.example"),
        ("1.2.3", "http://1.2.3"),
    ],
)
def test_a_page_of_another_site_is_refused(
    door: Door, known: tuple[Any, dict[str, str]], public_url: str, path: str, host: str, origin: str
) -> None:
    assert _status(door, known, public_url, path, Host=host, Origin=origin) == 403


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("steeltrap:8765", PUBLIC),
        ("steeltrap:8765", PUBLIC.upper()),
        ("localhost:8765", "http://localhost:8765"),
        ("10.0.0.7:8765", "http://10.0.0.7:8765"),
        ("[2001:db8::7]:8765", "https://[2001:db8::7]:8765"),
    ],
)
def test_the_servers_own_pages_are_answered(
    door: Door, known: tuple[Any, dict[str, str]], host: str, origin: str
) -> None:
    for public_url in (PUBLIC, f"{PUBLIC}/", f"{PUBLIC}:443/memory"):
        assert _status(door, known, public_url, "/v1/core/list", Host=host, Origin=origin) == 200


@pytest.mark.parametrize("host", ["memory.example", "steeltrap:8765", "10.0.0.7"])
def test_what_no_browser_sends_is_answered_under_any_name(
    door: Door, known: tuple[Any, dict[str, str]], host: str
) -> None:
    assert _status(door, known, "", "/v1/core/list", Host=host) == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    "asked",
    [
        {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe", "Sec-Fetch-User": "?1"},
        {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ],
)
def test_another_site_s_page_gets_nothing_without_an_origin_either(
    door: Door, site: str, asked: dict[str, str]
) -> None:
    assert _got(door, {"Sec-Fetch-Site": site, **asked}) == 403


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        {
            "Sec-Fetch-Site": "cross-site",
            "Sec-Fetch-Mode": "navigate",
            "Sec-Fetch-Dest": "document",
            "Sec-Fetch-User": "?1",
        },
    ],
)
def test_programs_bookmarks_and_links_that_somebody_follows_are_answered(door: Door, asked: dict[str, str]) -> None:
    assert _got(door, asked) == 200


def _got(door: Door, headers: dict[str, str]) -> int:
    request = Request("/openapi.json", headers=headers, method="GET")
    anyio.run(request.to, create_app(door, LocalUser("local", "default"), closes_store=False))
    return request.status
