"""/docs: the page about the HTTP API."""

import gzip
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import partial
from html import escape, unescape

import httpx
import pytest

from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.servers.console import Console, Sessions, console_routes, open_secret
from steeltrap.stores.shared_folders import LocalFolder
from steeltrap.text.schemas import describe
from steeltrap.toolsets import CATALOGUE
from surfaces.callers import door_on
from surfaces.serving import served


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client without a key, at a server that asks for keys."""
    folder = tmp_path_factory.mktemp("memories")
    door, keys = door_on(folder), ApiKeys(LocalFolder(folder / "keys"))
    sessions = Sessions(keys, keys, open_secret(LocalFolder(folder)), LocalFolder(folder / "console.ended"))
    pages = partial(console_routes, Console(door=door, sessions=sessions))
    app = create_app(door, keys, local=False, public_url="", pages=pages)
    with served(app) as url, httpx.Client(base_url=url) as client:
        yield client


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets)
def test_it_has_every_tool_with_its_arguments_and_needs_nothing_from_elsewhere(
    stranger: httpx.Client, toolset: str
) -> None:
    answer = stranger.get(f"/docs/{toolset}")
    assert answer.status_code == 200
    page = unescape(answer.text)
    for tool in CATALOGUE.toolset(toolset).tools.values():
        assert f"POST /v1/{toolset}/{tool.name}<" in page
        for name, field in tool.input_schema.get("properties", {}).items():
            assert f"<code>{name}</code></td><td>{describe(field)}" in page
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert re.findall(r'(?:src|href)="([^/#][^"]*)"', answer.text) == []
    assert len(gzip.compress(answer.content)) < 100 * 1024


def test_it_begins_with_core_and_links_each_toolset_and_the_document(stranger: httpx.Client) -> None:
    page = stranger.get("/docs").text
    assert "POST /v1/core/save<" in page
    for toolset in CATALOGUE.toolsets:
        assert f'href="/docs/{toolset}"' in page
    assert 'href="/openapi.json"' in page


def test_its_examples_run_as_they_are_shown(stranger: httpx.Client) -> None:
    """Some have an apostrophe in them; the server asks for a key, so a call that arrives there is refused as such."""
    page = unescape(stranger.get("/docs/notes").text)
    shown = re.findall(r"<pre>(curl .*?)</pre>", page, re.DOTALL)
    assert len(shown) == len(CATALOGUE.toolset("notes").tools)
    for command, tool in zip(shown, CATALOGUE.toolset("notes").tools.values(), strict=True):
        words = shlex.split(command)
        assert words[1] == f"{stranger.base_url}/v1/notes/{tool.name}".replace("//v1", "/v1")
        assert json.loads(words[words.index("-d") + 1]) == tool.examples[0]
        done = subprocess.run([*words, "--silent", "--noproxy", "*"], capture_output=True, text=True, check=True)
        assert "user context is not available" in done.stdout


def test_a_toolset_that_there_is_not_is_refused_by_a_page_that_names_those_there_are(stranger: httpx.Client) -> None:
    unknown = stranger.get("/docs/<nothing>")
    assert unknown.status_code == 404
    assert escape("<nothing>") in unknown.text
    assert "core" in unknown.text
