"""Every surface while nothing answers for the store: reads say since when they may be old, changes are refused."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from contracts import log_places
from faults.proxy import Proxy
from faults.real_server import serving
from steeltrap import settings_file
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.console import Console, console_routes
from steeltrap.servers.hooks import answering
from steeltrap.servers.hooks.sessions import Session
from surfaces.callers import SURFACES, door_on
from surfaces.serving import served

SINCE = re.compile(r"Offline: this is as of \d{4}-\d\d-\d\d \d\d:\d\d")
REFUSED = (
    "Nothing was changed: the place of these memories can't be reached, and offline they can only be read. "
    "Try again once the network is back."
)
ME = Caller(UserRef("local"), "agent-1")
TEXT = "The heron waits by the pond."
BODY_ALONE = ("python", "agentcore", "bedrock-openapi", "bedrock-functions", "command-line")
"""Surfaces whose answers have nothing beside their body."""


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The way to the bucket that the data folder's settings name; once it is stopped, nothing answers."""
    with log_places.proxied_url("gcs", monkeypatch) as (url, proxy):
        assert isinstance(proxy, Proxy)
        (tmp_path / settings_file.NAME).write_text(f'store = "{url}"\n')
        yield proxy


@pytest.mark.parametrize("name", SURFACES)
def test_reads_answer_and_say_since_when_and_changes_are_refused(name: str, network: Proxy, tmp_path: Path) -> None:
    with SURFACES[name](tmp_path) as connect:
        call = connect(ME)
        id = call("core.save", {"content": TEXT}).body["id"]
        call("agent.recall", {"query": "heron"})
        network.stop()
        search = call("core.search", {"query": "heron"})
        assert [hit["id"] for hit in search.body["results"]] == [id]
        assert search.body["outcome"]["kind"] == "offline"
        assert SINCE.match(search.body["outcome"]["message"])
        assert SINCE.search(call("agent.recall", {"query": "heron"}).body)
        listed = call("core.list", {})
        assert [memory["content"] for memory in listed.body["memories"]] == [TEXT]
        assert listed.outcome == (None if name in BODY_ALONE else "offline")
        refused = call("core.save", {"content": "The reed grows."})
        assert refused.is_error
        assert refused.message == REFUSED


@pytest.fixture
def door(network: Proxy, tmp_path: Path) -> Iterator[Door]:
    """A door whose user has a memory, and no network any more."""
    opened = door_on(tmp_path)
    assert opened.invoke("core.save", {"content": TEXT}, ME).error is None
    network.stop()
    yield opened
    opened.store.close()


@pytest.mark.parametrize("path", ["/", "/?q=heron", "/console/timeline", "/console/browse", "/console/trash", "memory"])
def test_the_consoles_pages_say_it_once(door: Door, path: str) -> None:
    if path == "memory":
        [memory] = _listed(door)
        path = f"/console/memories/{memory['id']}"
    pages = partial(console_routes, Console(door=door))
    app = create_app(door, LocalUser("local", "default"), closes_store=False, pages=pages)
    with served(app) as url, httpx.Client(base_url=url) as client:
        page = client.get(path)
        form = {"content": "The reed grows."}
        refused = client.post("/console/new", data=form, headers={"Origin": url})
    assert page.status_code == 200
    assert len(SINCE.findall(page.text)) == 1
    assert refused.status_code == 503
    assert "Nothing was changed" in refused.text


def test_what_a_hook_adds_to_a_session_says_it(door: Door, tmp_path: Path) -> None:
    session = Session(tmp_path / "session", id="s1", scope="user/default")
    offer = answering.for_prompt(door, ME, session, "What does the heron do by the pond?")
    assert TEXT in offer.text
    assert SINCE.match(offer.text.splitlines()[-1])


@pytest.mark.slow
def test_a_server_that_starts_without_a_network_serves_what_the_cache_has(
    network: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as server:
        status, _ = server.call("core.save", "ana", content=TEXT)
        assert status == 200, server.log
    network.stop()
    with serving(tmp_path) as server:
        status, body = server.call("core.search", "ana", query="heron")
        assert (status, body["outcome"]["kind"]) == (200, "offline")
        assert "Until then, users whose memories are in the cache can read them." in server.log
        status, body = server.call("core.save", "ana", content="The reed grows.")
        assert (status, body["detail"]) == (503, REFUSED)
        command = server.command("recall", "heron", "--user", "ana")
        assert "heron" in command.stdout
        assert SINCE.search(command.stderr)


def _listed(door: Door) -> list[Any]:
    memories: list[Any] = door.invoke("core.list", {}, ME).body["memories"]
    return memories
