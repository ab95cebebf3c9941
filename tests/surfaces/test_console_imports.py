"""The console after an import: a page for each, conversations and projects by name, days by when it happened."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from cli import exports
from steeltrap.invoke import Door
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.console.answering import Console
from steeltrap.servers.console.routes import console_routes
from surfaces.serving import served
from surfaces.test_console import Browser, code_in

TALK = ("I moved to Lisbon in March.", "How do you like it?", "The light is wonderful.")
PROJECT = "git/shop-e0c0b1057918bbce"


@pytest.fixture
def browser(door: Door) -> Iterator[Browser]:
    pages = partial(console_routes, Console(door=door))
    app = create_app(door, LocalUser("local", "default"), closes_store=False, pages=pages)
    with served(app) as url, httpx.Client(base_url=url) as client:
        yield Browser(client)


def dropped(browser: Browser, name: str, content: bytes) -> str:
    """The page of an import that a file was dropped on."""
    answer = browser.client.post("/console/import", files={"file": (name, content)}, headers={"Origin": browser.origin})
    assert answer.status_code == 200, answer.text
    return answer.text


def last_import(browser: Browser) -> str:
    return str(browser.core("list_imports")["imports"][0]["id"])


def archive(folder: Path, *, title: str = "Moving to Lisbon") -> bytes:
    members = {"conversations.json": [exports.chatgpt("c1", *TALK, title=title)], "photo.png": {}}
    return exports.as_zip(folder / "all.zip", **members).read_bytes()


def test_an_import_has_a_page_with_its_files_and_what_it_brought(browser: Browser, tmp_path: Path) -> None:
    done = dropped(browser, "all.zip", archive(tmp_path))
    id = last_import(browser)
    assert f'href="/console/imports/{id}"' in done
    assert "photo.png" in done
    assert f'href="/console/imports/{id}"' in browser.get("/console/imports").text
    page = browser.get(f"/console/imports/{id}").text
    for said in (
        "all.zip",
        "conversations.json",
        "photo.png",
        "a format that import doesn",
        "1 memory of it is stored",
    ):
        assert said in page
    assert "I moved to Lisbon" in page
    assert f'href="/console/imports/{id}/undo"' in page
    [brought] = browser.core("list")["memories"]
    assert f'href="/console/imports/{id}"' in browser.get(f"/console/memories/{brought['id']}").text
    browser.post(f"/console/imports/{id}/undo")
    gone = browser.get(f"/console/imports/{id}").text
    assert "No memory of it is stored any more" in gone
    assert f'href="/console/imports/{id}/undo"' not in gone


def test_an_import_that_there_is_not_is_said_to_be_missing(browser: Browser) -> None:
    for id in ("00000000-0000-4000-8000-000000000000", "0000000000"):
        assert browser.get(f"/console/imports/{id}").status_code == 404


def test_hostile_names_of_files_and_conversations_are_text(browser: Browser, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    dropped(
        browser,
        f"{evil}.json",
        exports.as_json(tmp_path / "c.json", [exports.chatgpt("c1", *TALK, title=evil)]).read_bytes(),
    )
    for path in (
        "/",
        "/console/browse",
        "/console/imports",
        f"/console/imports/{last_import(browser)}",
        "/?conversation=c1",
    ):
        page = browser.get(path).text
        assert code_in(page) == [], path
        assert evil not in page


def test_conversations_and_projects_are_shown_by_name(browser: Browser, tmp_path: Path) -> None:
    dropped(browser, "all.zip", archive(tmp_path))
    browser.save("We deploy with make ship.", scope=PROJECT)
    said = [{"role": "user", "content": "Which port does the staging database listen on, please?"}]
    browser.core("append_messages", conversation_id="0b1c2d", messages=said, ended=True)
    browse = browser.get("/console/browse").text
    for name in ("Moving to Lisbon", "Which port does the staging database listen on, please?", "<bdi>shop</bdi>"):
        assert name in browse
    assert "<bdi>c1</bdi>" not in browse
    assert "<bdi>0b1c2d</bdi>" not in browse
    home = browser.get("/").text
    assert f'title="{PROJECT}"><bdi>shop</bdi>' in home
    assert ">Moving to Lisbon<" in home.replace("<bdi>", "").replace("</bdi>", "")
    assert "conversation: <strong><bdi>Moving to Lisbon" in browser.get("/?conversation=c1").text
    assert "scope: <strong><bdi>shop" in browser.get(f"/?scope={PROJECT}").text


def test_the_timeline_and_days_are_by_when_it_happened(browser: Browser) -> None:
    browser.save("The owl sleeps.", occurred_at="2024-05-01")
    browser.save("The newt hides.", occurred_at="2026-01-02")
    browser.save("The heron fishes.")
    timeline = browser.get("/console/timeline").text
    places = [timeline.index(text) for text in ("The heron fishes", "The newt hides", "The owl sleeps")]
    assert places == sorted(places)
    assert '<time datetime="2024-05-01">2024-05-01</time>' in timeline
    until = browser.get("/console/timeline?until=2025-01-01").text
    assert ("The owl sleeps" in until, "The newt hides" in until) == (True, False)
    day = browser.get("/?day=2026-01-02").text
    assert ("The newt hides" in day, "The owl sleeps" in day, "The heron fishes" in day) == (True, False, False)
    searched = browser.get("/?q=newt+owl&day=2024-05-01").text
    assert ("The newt hides" in searched, "The owl sleeps" in searched) == (False, True)
    assert "day=2024-05-01" in browser.get("/console/browse").text


def test_the_timeline_goes_on_without_repeating_what_was_saved_meanwhile(browser: Browser) -> None:
    for number in range(120):
        browser.save(f"Note {number:03}.", occurred_at=f"2025-01-{number % 28 + 1:02}")
    first = browser.get("/console/timeline").text
    more = first.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    browser.save("In between.", occurred_at="2025-01-31")
    second = browser.get(more).text
    seen = [each for page in (first, second) for each in page.split("Note ")[1:]]
    assert len({each[:3] for each in seen}) == 120


def test_core_list_refuses_bounds_without_their_order(browser: Browser) -> None:
    answer = browser.client.post("/v1/core/list", json={"happened_after": "2026-01-01"})
    assert answer.status_code == 400
    assert "order" in json.loads(answer.text)["detail"]
