"""The console over plain HTTP: what its pages say, who may see them, and what a browser may do with them."""

import json
import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import httpx
import pytest

from clock import SettableClock
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Permissions, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.servers.auth.identity import LocalUser, TrustedHeaders
from steeltrap.servers.console import Console, Sessions, console_routes, open_secret, rendering
from steeltrap.servers.console.rendering import when
from steeltrap.servers.console.sessions import SignInNeeded
from steeltrap.stores.shared_folders import LocalFolder
from steeltrap.version import VERSION
from surfaces.asgi import Request
from surfaces.callers import door_on
from surfaces.serving import served

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


class Code(HTMLParser):
    """Notes what a browser would run or load that is no file of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        loaded = [given.get(name, "") for name in ("src", "href", "action", "formaction", "data", "xlink:href")]
        if (
            tag in ("iframe", "object", "embed", "base", "style", "img")
            or (tag == "script" and not given.get("src", "").startswith("/console/static/"))
            or any(name.startswith("on") or name in ("style", "srcdoc") for name in given)
            or any(url and not url.startswith(("/", "#")) for url in loaded)
        ):
            self.found.append(self.get_starttag_text() or tag)


def code_in(page: str) -> list[str]:
    parser = Code()
    parser.feed(page)
    return parser.found


class Browser:
    """A client that behaves as a browser at the console's own pages: it says where a change comes from."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.origin = str(client.base_url).rstrip("/")

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(path, headers=headers)

    def post(self, path: str, form: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
        return self.client.post(path, data=form or {}, headers={"Origin": self.origin, **headers})

    def save(self, content: str, **fields: Any) -> str:
        answer = self.client.post("/v1/core/save", json={"content": content, **fields})
        return str(answer.json()["id"])

    def core(self, tool: str, **arguments: Any) -> Any:
        return self.client.post(f"/v1/core/{tool}", json=arguments).json()


@pytest.fixture(scope="module")
def shared_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    door = door_on(tmp_path_factory.mktemp("memories"))
    yield door
    door.store.close()


@pytest.fixture(scope="module")
def browser(shared_door: Door) -> Iterator[Browser]:
    """A browser at the local server, which asks nobody who they are."""
    pages = partial(console_routes, Console(door=shared_door))
    app = create_app(shared_door, LocalUser("local", "default"), closes_store=False, pages=pages)
    with served(app) as url, httpx.Client(base_url=url) as client:
        yield Browser(client)


@pytest.fixture
def keys(tmp_path: Path) -> ApiKeys:
    return ApiKeys(LocalFolder(tmp_path / "keys"))


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOW)


@pytest.fixture
def sessions(keys: ApiKeys, tmp_path: Path, clock: SettableClock) -> Sessions:
    return Sessions(keys, keys, open_secret(LocalFolder(tmp_path)), LocalFolder(tmp_path / "console.ended"), clock.now)


@pytest.fixture
def guarded(door: Door, keys: ApiKeys, sessions: Sessions) -> Iterator[Browser]:
    """A browser at a server that wants API keys."""
    pages = partial(console_routes, Console(door=door, sessions=sessions))
    app = create_app(door, keys, local=False, public_url="", closes_store=False, pages=pages)
    with served(app) as url, httpx.Client(base_url=url) as client:
        yield Browser(client)


def sign_in(browser: Browser, keys: ApiKeys, user: str = "ana", **permissions: Any) -> str:
    """Sign in as a user with a new key; its id."""
    caller = Caller(UserRef(user), "agent-1", permissions=Permissions(**permissions))
    key, secret = keys.add(caller, "", NOW)
    assert browser.post("/console/sign-in", {"key": secret}).status_code == 303
    return key.id


# What pages say.


def test_every_template_can_be_compiled() -> None:
    environment = rendering.Rendering().environment
    templates = environment.list_templates()
    assert len(templates) > 20
    for template in templates:
        environment.get_template(template)


def test_an_empty_store_shows_commands_as_this_computers_shell_finds_them(
    guarded: Browser, keys: ApiKeys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path(sys.executable).with_name("steeltrap")
    door = door_on(tmp_path / "empty")
    pages = partial(console_routes, Console(door=door))
    app = create_app(door, LocalUser("local", "default"), pages=pages)
    with served(app) as url, httpx.Client(base_url=url) as client:
        monkeypatch.setenv("PATH", str(own.parent))
        assert ">steeltrap install claude-code<" in client.get("/").text
        monkeypatch.setenv("PATH", "/nowhere")
        assert f">{own} install claude-code<" in client.get("/").text
    sign_in(guarded, keys, "ana")  # from a computer of their own, which is told no path of the server's
    assert ">steeltrap install claude-code<" in guarded.get("/").text


def test_the_first_page_lists_memories_and_a_search_says_why_each_is_there(browser: Browser) -> None:
    browser.save("The lighthouse keeper wants green paint.")
    assert "lighthouse keeper" in browser.get("/").text
    found = browser.get("/?q=green+paint").text
    assert "<mark>green</mark> <mark>paint</mark>" in found
    assert "bar-meaning" in found
    assert "bar-words" in found


def test_a_search_says_which_name_led_to_a_memory() -> None:
    scores = {"semantic": 0.1, "keyword": 0.0, "boosts": {"name": 0.12, "days": 0.1}, "led_by": ["Sarah", "Tom"]}
    shown = {part["name"]: part["value"] for part in rendering.why({"why": scores})}
    assert shown["Name"] == "+0.12 Sarah, Tom"
    assert shown["Days"] == "+0.10"


def test_a_row_says_when_it_happened_if_that_was_on_another_day_than_the_save(browser: Browser) -> None:
    browser.save("The harbour froze.", scope="days", occurred_at="1987-01-12")
    browser.save("The harbour thawed.", scope="days")
    rows = browser.get("/?scope=days").text
    assert rows.count("happened") == 1
    assert 'happened <time datetime="1987-01-12">1987-01-12</time>' in rows


def test_scrolling_gets_the_next_rows_alone(browser: Browser) -> None:
    for number in range(30):
        browser.save(f"Scrolled item {number}.", scope="scrolled")
    more = re.search(r'<li class="more" hx-get="([^"]+)"', browser.get("/?scope=scrolled").text)
    assert more is not None
    rows = browser.get(unescape(more[1]), **{"HX-Request": "true"}).text
    assert rows.lstrip().startswith('<li class="row')
    assert rows.count('<li class="row') == 5
    assert browser.get(unescape(more[1])).text.startswith("<!doctype")


def test_typing_a_search_makes_no_memory_more_important(browser: Browser) -> None:
    id = browser.save("The kettle is on the stove.")
    for query in ("k", "ke", "kettle", "kettle stove"):
        assert browser.get(f"/?q={query}").status_code == 200
    assert browser.core("score", id=id)["access_count"] == 0


def test_htmx_gets_the_results_alone_and_a_restored_page_whole(browser: Browser) -> None:
    part = browser.get("/?q=paint", **{"HX-Request": "true"})
    assert not part.text.startswith("<!doctype")
    assert "HX-Request" in part.headers["Vary"]
    whole = browser.get("/?q=paint", **{"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert whole.text.startswith("<!doctype")


def test_memories_are_browsed_by_scope_tag_conversation_and_day(browser: Browser) -> None:
    browser.save("Filed in one place.", scope="places/one", tags=["filed"], conversation_id="talk-7")
    browser.save("Filed in another place.", scope="places/two")
    page = browser.get("/console/browse").text
    day = re.search(r"/\?day=(\d{4}-\d\d-\d\d)", page)
    assert day is not None
    for link in ("/?scope=places%2Fone", "/?tag=filed", "/?conversation=talk-7"):
        assert link in page
        listed = browser.get(link).text
        assert "Filed in one place." in listed
        assert "Filed in another place." not in listed
    assert "Filed in another place." in browser.get(f"/?day={day[1]}").text
    assert "Filed in" not in browser.get("/?day=2001-01-31").text
    assert browser.get("/?day=yesterday").status_code == 400


def test_every_memory_is_met_once_by_following_the_list_while_others_are_saved(browser: Browser) -> None:
    for number in range(60):
        browser.save(f"Counted item {number}.", scope="counted")
    seen: list[str] = []
    link: str | None = "/?scope=counted"
    while link:
        page = browser.get(link).text
        seen += re.findall(r"Counted item (\d+)\.</bdi>", page)
        browser.save("A late arrival.", scope="counted")
        more = re.search(r'<li class="more"[^>]*><a href="([^"]+)"', page)
        link = unescape(more[1]) if more else None
    assert sorted(seen, key=int) == [str(number) for number in range(60)]


def test_a_memory_s_page_shows_its_history_as_a_difference_and_what_replaced_it(browser: Browser) -> None:
    old = browser.save("The office is in Porto.", tags=["place"])
    browser.core("update", id=old, content="The office is in Lisbon.", tags=["place", "city"])
    page = browser.get(f"/console/memories/{old}").text
    assert "<del><bdi>Porto</bdi></del><ins><bdi>Lisbon</bdi></ins>" in page
    assert "<del><bdi>place</bdi></del>" in page
    new = browser.save("The office moved to Faro.", supersedes=[old])
    page = browser.get(f"/console/memories/{old}").text
    assert "A newer memory replaced this one" in page
    assert f"/console/memories/{new}" in page
    assert f"/console/memories/{old}" in browser.get(f"/console/memories/{new}").text


@pytest.mark.parametrize(
    ("moment", "zone", "shown"),
    [
        ("2026-01-31T09:30:00Z", "America/Lima", "2026-01-31 04:30"),
        ("2026-01-31T00:00:00Z", "America/Lima", "2026-01-30 19:00"),
        ("2026-01-31", "America/Lima", "2026-01-31"),
        ("0001-01-01T01:00:00Z", "America/Lima", "0001-01-01 01:00"),
        ("9999-12-31T23:00:00Z", "Asia/Tokyo", "9999-12-31 23:00"),
    ],
)
def test_times_are_local_a_date_alone_stays_itself_and_so_do_the_ends_of_the_calendar(
    moment: str, zone: str, shown: str
) -> None:
    assert when(moment, ZoneInfo(zone)) == shown


def test_an_episode_stands_beside_what_was_said(browser: Browser) -> None:
    said = [
        {"role": "user", "content": "Shall we paint it?", "speaker": "Ana"},
        {"role": "assistant", "content": "Yes."},
    ]
    id = browser.save("The fence will be painted.", messages=said)
    page = browser.get(f"/console/memories/{id}").text
    assert "Shall we paint it?" in page
    assert ">Ana<" in page


# Changes.


def test_a_memory_is_written_edited_pinned_deleted_restored_undone_and_forgotten(browser: Browser) -> None:
    form = {"content": "Tea at four.\r\nWith milk.", "scope": "home/kitchen", "tags": "tea, milk", "once": "a1"}
    made = browser.post("/console/new", form)
    id = made.headers["Location"].split("/")[3].partition("?")[0]
    stored = browser.core("get", id=id)
    assert (stored["content"], stored["tags"]) == ("Tea at four.\nWith milk.", ["tea", "milk"])

    edit = {**form, "content": "Tea at five.", "version": "1"}
    assert browser.post(f"/console/memories/{id}/edit", edit).status_code == 303
    assert browser.post(f"/console/memories/{id}/pin", {"pinned": "true"}).status_code == 303
    stored = browser.core("get", id=id)
    assert (stored["content"], stored["pinned"], stored["version"]) == ("Tea at five.", True, 3)

    gone = browser.post(f"/console/memories/{id}/delete", {"version": "3"})
    assert gone.headers["Location"].startswith("/?said=deleted")
    assert "is in the trash" in browser.get(f"/console/memories/{id}").text
    assert browser.post(f"/console/memories/{id}/restore", {"version": "4"}).status_code == 303
    assert browser.core("get", id=id)["version"] == 5

    assert browser.post(f"/console/memories/{id}/undo", {"version": "5"}).status_code == 303
    assert "pinned" not in browser.core("get", id=id)

    receipt = browser.post(f"/console/memories/{id}/forget")
    assert "no memory holds the text" in receipt.text
    assert browser.get(f"/console/memories/{id}").status_code == 404


def test_the_trash_lists_what_can_be_restored(browser: Browser) -> None:
    id = browser.save("Thrown away by mistake.")
    browser.core("delete", id=id)
    page = browser.get("/console/trash").text
    assert "Thrown away by mistake." in page
    version = re.search(rf'/console/memories/{id}/restore"><input type="hidden" name="version" value="(\d+)"', page)
    assert version is not None
    browser.post(f"/console/memories/{id}/restore", {"version": version[1]})
    assert "Thrown away by mistake." not in browser.get("/console/trash").text
    assert browser.core("get", id=id)["content"] == "Thrown away by mistake."


def test_an_edit_that_changes_nothing_makes_no_version(browser: Browser) -> None:
    id = browser.save("Windows ends its lines\r\nlike this.", tags=["a"])
    form = {"content": "Windows ends its lines\r\nlike this.", "tags": "a", "scope": "user/default", "version": "1"}
    assert browser.post(f"/console/memories/{id}/edit", form).status_code == 303
    assert browser.core("get", id=id)["version"] == 1


def test_memories_are_merged_once_however_often_the_form_is_sent(browser: Browser) -> None:
    ids = [browser.save("The bridge opens at noon."), browser.save("The bridge closes at dusk.")]
    page = browser.get(f"/console/merge?id={ids[0]}&id={ids[1]}").text
    once = re.search(r'name="once" value="([^"]+)"', page)
    assert once is not None
    form = {"id": ids, "originals": "delete", "once": once[1]}
    first, second = browser.post("/console/merge", form), browser.post("/console/merge", form)
    assert first.status_code == 303
    assert first.headers["Location"] == second.headers["Location"]
    assert browser.core("list", limit=1000)["total"] == browser.core("stats")["memories"]
    assert "error" not in browser.core("history", id=ids[0])
    assert browser.client.post("/v1/core/get", json={"id": ids[0]}).status_code == 404


def test_a_second_click_changes_nothing_more(browser: Browser) -> None:
    form = {"content": "Clicked twice.", "once": "twice-1"}
    first, second = browser.post("/console/new", form), browser.post("/console/new", form)
    assert first.headers["Location"] == second.headers["Location"]
    id = first.headers["Location"].split("/")[3].partition("?")[0]

    edit = {"content": "Edited twice.", "scope": "user/default", "version": "1"}
    assert [browser.post(f"/console/memories/{id}/edit", edit).status_code for _ in range(2)] == [303, 303]
    assert browser.core("get", id=id)["version"] == 2

    browser.core("update", id=id, content="Edited thrice.")
    for _ in range(2):
        browser.post(f"/console/memories/{id}/undo", {"version": "3"})
    assert browser.core("get", id=id)["content"] == "Edited twice."

    answers = [browser.post(f"/console/memories/{id}/delete", {"version": "4"}) for _ in range(2)]
    assert [answer.headers["Location"].startswith("/?said=deleted") for answer in answers] == [True, True]
    for _ in range(2):
        assert browser.post(f"/console/memories/{id}/restore", {"version": "5"}).status_code == 303
    assert browser.core("get", id=id)["content"] == "Edited twice."


def test_a_stale_form_shows_both_texts_and_overwrites_only_when_told(browser: Browser) -> None:
    id = browser.save("The shop opens at nine.")
    browser.core("update", id=id, content="The shop opens at ten.")
    mine = {"content": "The shop opens at eight.", "scope": "user/default", "version": "1"}
    conflict = browser.post(f"/console/memories/{id}/edit", mine)
    assert conflict.status_code == 409
    assert "The shop opens at ten." in conflict.text
    assert "The shop opens at eight.</textarea>" in conflict.text
    assert browser.core("get", id=id)["content"] == "The shop opens at ten."
    assert 'name="version" value="2"' in conflict.text
    assert f"steeltrap {VERSION}<" in conflict.text
    assert browser.post(f"/console/memories/{id}/edit", {**mine, "version": "2"}).status_code == 303
    assert browser.core("get", id=id)["content"] == "The shop opens at eight."


def test_a_memory_that_changed_meanwhile_is_neither_deleted_nor_undone(browser: Browser) -> None:
    id = browser.save("The tide turns at one.")
    browser.core("update", id=id, content="The tide turns at two.")
    for action in ("delete", "undo"):
        answer = browser.post(f"/console/memories/{id}/{action}", {"version": "1"})
        assert "said=changed-meanwhile" in answer.headers["Location"]
    assert browser.core("get", id=id)["content"] == "The tide turns at two."


def test_what_was_typed_for_a_memory_that_is_gone_is_shown_back(browser: Browser) -> None:
    id = browser.save("Soon gone.")
    browser.core("forget", id=id)
    lost = browser.post(f"/console/memories/{id}/edit", {"content": "An hour's work.", "version": "1"})
    assert lost.status_code == 404
    assert "An hour&#39;s work.</textarea>" in lost.text


@pytest.mark.parametrize("content", ["", "x" * 40_000])
def test_a_text_that_is_refused_stays_in_the_form(browser: Browser, content: str) -> None:
    id = browser.save("Will be edited wrongly.")
    for path in (f"/console/memories/{id}/edit", "/console/new"):
        answer = browser.post(path, {"content": content, "tags": "kept-tag", "version": "1"})
        assert answer.status_code in (400, 413)
        assert "kept-tag" in answer.text
        assert 'role="alert"' in answer.text


# Text is text.


def test_stored_text_is_never_markup(browser: Browser) -> None:
    id = browser.save(
        EVIL,
        scope="evil",
        tags=[EVIL[:60]],
        category=EVIL[:60],
        context=EVIL,
        metadata={EVIL[:20]: EVIL},
        conversation_id=EVIL,
        messages=[{"role": "user", "content": EVIL, "speaker": EVIL}],
    )
    browser.core("update", id=id, content=EVIL + EVIL)
    pages = ["/", "/?scope=evil&q=alert", "/console/browse", "/console/timeline", f"/console/merge?id={id}&id={id}x"]
    pages += [f"/console/memories/{id}{action}" for action in ("", "/edit", "/forget")]
    pages += [f"/?{name}={EVIL.replace('&', '%26')}" for name in ("q", "scope", "tag", "conversation", "day", "said")]
    for path in pages:
        assert code_in(browser.get(path).text) == [], path


def test_hidden_characters_are_shown_by_name_and_turn_nothing_around(browser: Browser) -> None:
    id = browser.save("invoice\u202egnp.exe \u200bpaid\u0007 👩\u200d🚀")
    page = browser.get(f"/console/memories/{id}").text
    assert "\u202e" not in page
    assert 'title="U+202E right-to-left override">U+202E</span>gnp.exe' in page
    assert ">U+200B<" in page
    assert ">U+0007<" in page
    assert "👩\u200d🚀" in page
    assert "\u202e" in browser.get(f"/console/memories/{id}/edit").text  # a form must not change what it doesn't show


# What a browser may do.


@pytest.mark.parametrize("path", ["/", "/console/new", "/console/nothing", "/console/memories/x", "/?day=x"])
def test_every_page_forbids_what_is_not_its_own(browser: Browser, path: str) -> None:
    headers = browser.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "same-origin"


CHANGES = [
    *("/console/new", "/console/merge", "/console/theme"),
    *(f"/console/memories/{{id}}/{action}" for action in ("edit", "pin", "delete", "restore", "undo", "forget")),
]


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "own", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "own", "Sec-Fetch-Site": "same-site"},
    ],
)
def test_no_page_of_another_site_changes_anything(browser: Browser, path: str, headers: dict[str, str]) -> None:
    id = browser.save("Stays as it is.")
    sent = {name: browser.origin if value == "own" else value for name, value in headers.items()}
    form = {"content": "changed", "version": "1", "pinned": "true", "id": [id], "theme": "dark"}
    answer = browser.client.post(path.replace("{id}", id), data=form, headers=sent)
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers
    stored = browser.core("get", id=id)
    assert (stored["content"], stored["version"]) == ("Stays as it is.", 1)


def test_static_files_are_kept_for_good_by_their_digest(browser: Browser) -> None:
    paths = re.findall(r'(?:src|href)="(/console/static/[^"]+)"', browser.get("/").text)
    assert {path.rpartition("/")[2] for path in paths} == {"console.css", "console.js", "htmx.min.js", "icon.svg"}
    for path in paths:
        answer = browser.get(path)
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["Content-Encoding"] == "gzip"
        stale = browser.get(re.sub(r"/[0-9a-f]{12}/", "/000000000000/", path))
        assert (stale.text, stale.headers["Cache-Control"]) == (answer.text, "no-cache")
    for path in ("/console/static/0/../routes.py", "/console/static/0/routes.py", "/console/static/0/..%2froutes.py"):
        assert browser.get(path).status_code == 404


def test_the_first_page_is_small(browser: Browser) -> None:
    for number in range(25):
        browser.save(f"{number}: " + "A long memory, of which a list shows the beginning. " * 20, tags=["a", "b", "c"])
    page = browser.get("/")
    parts = [browser.get(part) for part in re.findall(r'(?:src|href)="(/console/static/[^"]+)"', page.text)]
    assert len(parts) == 4
    assert sum(each.num_bytes_downloaded for each in (page, *parts)) < 100_000


def test_head_has_no_body_and_a_wrong_method_says_the_right_ones(browser: Browser) -> None:
    head = browser.client.head("/")
    assert (head.status_code, head.content) == (200, b"")
    wrong = browser.client.put("/console/new", headers={"Origin": browser.origin})
    assert wrong.status_code == 405
    assert "POST" in wrong.headers["Allow"]


@pytest.mark.parametrize(
    "path", ["/console/", "/console/nothing", "/console/memories/", "/console/memories/unknown-id"]
)
def test_what_is_not_there_is_a_page_that_says_so(browser: Browser, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 404
    assert "Back to the memories" in answer.text


@pytest.mark.parametrize("query", ["q=%ff", "q=" + "x" * 9000, "before=soon", "scope=" + "s" * 600])
def test_an_address_that_means_nothing_is_refused_with_a_sentence(browser: Browser, query: str) -> None:
    answer = browser.get(f"/?{query}")
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


def test_a_form_that_is_too_large_is_refused(browser: Browser) -> None:
    assert browser.post("/console/new", {"content": "x" * 600_000}).status_code == 413


def test_going_back_never_leaves_the_console(browser: Browser) -> None:
    id = browser.save("Pinned from a list.")
    for back in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"):
        answer = browser.post(f"/console/memories/{id}/pin", {"pinned": "true", "back": back})
        assert answer.headers["Location"] == "/"
        answer = browser.post("/console/theme", {"theme": "dark", "back": back})
        assert answer.headers["Location"] == "/"


def test_the_theme_is_kept_in_the_browser(browser: Browser) -> None:
    browser.post("/console/theme", {"theme": "dark", "back": "/"})
    assert 'data-theme="dark"' in browser.get("/").text
    browser.post("/console/theme", {"theme": "", "back": "/"})
    assert "data-theme" not in browser.get("/").text


# Who may see it.


def test_whoever_has_not_signed_in_sees_nothing(guarded: Browser, door: Door) -> None:
    door.invoke("core.save", {"content": "A secret of Ana's."}, Caller(UserRef("ana"), "agent-1"))
    for path in ("/", "/console/browse", "/console/timeline", "/console/new"):
        answer = guarded.get(path)
        assert answer.status_code == 401
        assert "secret" not in answer.text
        assert "API key" in answer.text


def test_a_key_opens_the_memories_of_its_user_alone(guarded: Browser, keys: ApiKeys, door: Door) -> None:
    theirs = door.invoke("core.save", {"content": "A secret of Bob's."}, Caller(UserRef("bob"), "b")).body["id"]
    door.invoke("core.save", {"content": "A secret of Ana's."}, Caller(UserRef("ana"), "agent-1"))
    sign_in(guarded, keys, "ana")
    page = guarded.get("/").text
    assert "A secret of Ana" in page
    assert "Bob" not in page
    assert guarded.get(f"/console/memories/{theirs}").status_code == 404
    for action in ("edit", "pin", "delete", "restore", "undo", "forget"):
        form = {"content": "mine now", "version": "1", "pinned": "true"}
        assert guarded.post(f"/console/memories/{theirs}/{action}", form).status_code == 404
    stored = door.invoke("core.get", {"id": theirs}, Caller(UserRef("bob"), "b")).body
    assert (stored["content"], stored["version"]) == ("A secret of Bob's.", 1)


def test_the_cookie_is_for_this_site_alone_and_no_script_reads_it(guarded: Browser, keys: ApiKeys) -> None:
    _, secret = keys.add(Caller(UserRef("ana")), "", NOW)
    set_cookie = guarded.post("/console/sign-in", {"key": secret}).headers["Set-Cookie"]
    for flag in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"):
        assert flag in set_cookie
    assert secret not in set_cookie
    secure = guarded.client.post(
        "/console/sign-in", data={"key": secret}, headers={"Origin": guarded.origin, "X-Forwarded-Proto": "https"}
    )
    assert "Set-Cookie" in secure.headers


def test_over_tls_the_cookie_is_secure_and_of_this_very_host(door: Door, keys: ApiKeys, sessions: Sessions) -> None:
    console = Console(door=door, sessions=sessions, public_url="https://memory.example")
    app = create_app(
        door,
        keys,
        local=False,
        public_url="https://memory.example",
        closes_store=False,
        pages=partial(console_routes, console),
    )
    _, secret = keys.add(Caller(UserRef("ana")), "", NOW)
    with served(app) as url, httpx.Client(base_url=url) as client:
        headers = {"Origin": "https://memory.example"}
        answer = client.post("/console/sign-in", data={"key": secret}, headers=headers)
        assert answer.status_code == 303
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith("__Host-steeltrap=")
        assert "Secure" in cookie
        assert client.get("/", headers={"Cookie": cookie.partition(";")[0]}).status_code == 200


@pytest.mark.parametrize("key", ["", "stk_000000000000_" + "A" * 43, "é", "x" * 5000])
def test_a_key_that_is_not_one_signs_nobody_in(guarded: Browser, key: str) -> None:
    answer = guarded.post("/console/sign-in", {"key": key})
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers
    assert "unknown, expired or revoked" in answer.text


def test_nobody_is_signed_in_from_another_site(guarded: Browser, keys: ApiKeys) -> None:
    _, secret = keys.add(Caller(UserRef("eve")), "", NOW)
    for headers in ({}, {"Origin": "https://evil.example"}):
        answer = guarded.client.post("/console/sign-in", data={"key": secret}, headers=headers)
        assert answer.status_code == 403
        assert "Set-Cookie" not in answer.headers


def test_a_forged_cookie_opens_nothing(guarded: Browser, keys: ApiKeys, tmp_path: Path) -> None:
    key, secret = keys.add(Caller(UserRef("ana")), "", NOW)
    other, _ = keys.add(Caller(UserRef("bob")), "", NOW)
    value = Sessions(
        keys, keys, open_secret(LocalFolder(tmp_path)), LocalFolder(tmp_path / "console.ended"), lambda: NOW
    ).begin(secret)
    foreign = Sessions(keys, keys, b"x" * 32, LocalFolder(tmp_path / "console.ended"), lambda: NOW).begin(secret)
    assert value is not None
    id, ends, session, signature = value.split(".")
    rest = f"{ends}.{session}"
    assert guarded.get("/", Cookie=f"steeltrap={value}").status_code == 200
    forged = [
        f"{other.id}.{rest}.{signature}",
        f"{id}.{int(ends) + 1}.{session}.{signature}",
        f"{id}.{ends}.{session[::-1]}.{signature}",
        f"{id}.{rest}.{signature[:-1]}0" if signature[-1] != "0" else f"{id}.{rest}.{signature[:-1]}1",
        f"{id}.{rest}.",
        f"{id}.{rest}",
        f"{id}..{signature}",
        f"../{id}.{rest}.{signature}",
        "..",
        "",
        foreign,
    ]
    for cookie in forged:
        answer = guarded.get("/", Cookie=f"steeltrap={cookie}")
        assert answer.status_code == 401, cookie
    assert key.id == id


def test_cookies_of_other_programs_don_t_hide_ours(guarded: Browser, keys: ApiKeys, sessions: Sessions) -> None:
    _, secret = keys.add(Caller(UserRef("ana")), "", NOW)
    cookie = f'odd cookie; {{"json": 1}}; =; steeltrap={sessions.begin(secret)}; late="unclosed'
    assert guarded.get("/", Cookie=cookie).status_code == 200


def test_a_cookie_of_the_same_name_that_another_program_set_doesn_t_hide_ours(
    guarded: Browser, keys: ApiKeys, sessions: Sessions
) -> None:
    _, secret = keys.add(Caller(UserRef("ana")), "", NOW)
    good = sessions.begin(secret)
    for cookie in (
        f"steeltrap=junk; steeltrap={good}",
        f"steeltrap={good}; steeltrap=junk; __Host-steeltrap=junk",
        f"caf\xe9=1; steeltrap=; steeltrap={good}",
    ):
        assert guarded.client.get("/", headers=[(b"Cookie", cookie.encode("latin-1"))]).status_code == 200


def test_a_session_that_was_signed_out_is_over_for_every_process_and_after_a_restart(
    guarded: Browser, keys: ApiKeys, tmp_path: Path, clock: SettableClock
) -> None:
    sign_in(guarded, keys)
    signed_in = guarded.client.cookies["steeltrap"]
    sign_in(guarded, keys)
    other = guarded.client.cookies["steeltrap"]
    guarded.client.cookies.clear()
    assert guarded.post("/console/sign-out", Cookie=f"steeltrap={signed_in}").status_code == 303
    assert guarded.get("/", Cookie=f"steeltrap={signed_in}").status_code == 401
    assert guarded.get("/", Cookie=f"steeltrap={other}").status_code == 200
    elsewhere = Sessions(
        keys, keys, open_secret(LocalFolder(tmp_path)), LocalFolder(tmp_path / "console.ended"), clock.now
    )
    with pytest.raises(SignInNeeded, match="has ended"):
        elsewhere.caller({"headers": [(b"cookie", f"steeltrap={signed_in}".encode())]})


def test_notes_of_sessions_go_when_their_time_is_over_by_the_folder_s_clock(
    keys: ApiKeys, sessions: Sessions, tmp_path: Path, clock: SettableClock
) -> None:
    ended = tmp_path / "console.ended"
    clock.jump(seconds=datetime.now(UTC).timestamp() - clock.now().timestamp())  # as the folder's
    _, secret = keys.add(Caller(UserRef("ana")), "", NOW)
    old, other = (cookie(sessions.begin(secret)) for _ in range(2))
    sessions.end(old)
    [note] = ended.iterdir()
    clock.jump(days=365)
    ahead = cookie(sessions.begin(secret))
    sessions.end(ahead)
    assert len(list(ended.iterdir())) == 2, "a clock that is a year ahead ends no note"
    clock.jump(days=-365)
    with pytest.raises(SignInNeeded):
        sessions.caller(old)
    begun = int(clock.now().timestamp()) - 25 * 3600
    note.write_text(str(begun + 12 * 3600))
    (ended / "not one of ours").touch()
    for each in ended.iterdir():
        os.utime(each, (begun, begun))
    sessions.end(other)
    assert not note.exists()
    assert (ended / "not one of ours").exists()
    assert len(list(ended.iterdir())) == 3, "the note of a session that would end in a year stays until then"


def test_a_session_that_a_machine_made_whose_clock_is_a_year_ahead_opens_nothing_elsewhere(
    keys: ApiKeys, sessions: Sessions, clock: SettableClock
) -> None:
    _, secret = keys.add(Caller(UserRef("ana")), "", NOW)
    clock.jump(minutes=5)
    sooner = cookie(sessions.begin(secret))
    clock.jump(days=365)
    ahead = cookie(sessions.begin(secret))
    assert sessions.caller(ahead) is not None
    clock.jump(days=-365, minutes=-5)
    assert sessions.caller(sooner) is not None, "clocks may disagree by some minutes"
    with pytest.raises(SignInNeeded):
        sessions.caller(ahead)


def cookie(session: str | None) -> dict[str, Any]:
    """A request with the cookie of a session."""
    return {"headers": [(b"cookie", f"steeltrap={session}".encode())]}


def test_a_session_is_ended_though_old_notes_stay(
    keys: ApiKeys, sessions: Sessions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _, secret = keys.add(Caller(UserRef("ana")), "", NOW)
    session = cookie(sessions.begin(secret))

    def refused(folder: LocalFolder) -> Any:
        raise Unavailable("No right to list.", part="store")

    monkeypatch.setattr(LocalFolder, "write_times", refused)
    sessions.end(session)
    assert "No right to list." in caplog.text
    with pytest.raises(SignInNeeded):
        sessions.caller(session)


def test_who_can_t_be_signed_out_is_told_so(
    guarded: Browser, keys: ApiKeys, tmp_path: Path, clock: SettableClock
) -> None:
    sign_in(guarded, keys)
    (tmp_path / "console.ended").write_bytes(b"")
    answer = guarded.post("/console/sign-out")
    assert (answer.status_code, "you are still signed in" in answer.text) == (503, True)
    (tmp_path / "console.ended").unlink()
    assert guarded.get("/").status_code == 200


@pytest.mark.parametrize("path", ["/console/new", "/console/memories/x/edit", "/console/sign-in", "/console/import"])
def test_no_form_of_a_stranger_is_read(door: Door, keys: ApiKeys, sessions: Sessions, path: str) -> None:
    pages = partial(console_routes, Console(door=door, sessions=sessions))
    app = create_app(door, keys, local=False, public_url="", closes_store=False, pages=pages)
    own = {"Origin": "http://127.0.0.1:8765", "Host": "127.0.0.1:8765", "Content-Length": "522000"}
    request = Request(path, [b"content=" + b"%41" * 174_000], {**own, "Cookie": "steeltrap=junk"})
    anyio.run(request.to, app)
    assert (request.status, request.asked) == (413 if path.endswith("sign-in") else 401, 0)


def test_a_session_ends_after_its_time_with_its_key_and_by_signing_out(
    guarded: Browser, keys: ApiKeys, clock: SettableClock
) -> None:
    sign_in(guarded, keys)
    clock.advance(hours=11, minutes=59)
    assert guarded.get("/").status_code == 200
    clock.advance(minutes=2)
    assert guarded.get("/").status_code == 401

    id = sign_in(guarded, keys)
    assert guarded.get("/").status_code == 200
    keys.revoke(id)
    assert guarded.get("/").status_code == 401

    sign_in(guarded, keys)
    assert guarded.post("/console/sign-out").status_code == 303
    assert guarded.get("/").status_code == 401


def test_what_was_typed_when_the_session_ended_is_there_after_signing_in(
    guarded: Browser, keys: ApiKeys, clock: SettableClock, door: Door
) -> None:
    ana = Caller(UserRef("ana"), "agent-1")
    id = door.invoke("core.save", {"content": "Before."}, ana).body["id"]
    sign_in(guarded, keys)
    clock.advance(hours=13)
    guarded.client.cookies.delete("steeltrap")  # as a browser does at that time
    typed = {"content": "An hour's work.\r\nTwo lines.", "scope": "user/default", "tags": "a, b", "version": "1"}
    answer = guarded.post(f"/console/memories/{id}/edit", typed)
    assert answer.status_code == 401
    found = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', answer.text)
    hidden = {name: unescape(value) for name, value in found}
    assert door.invoke("core.get", {"id": id}, ana).body["content"] == "Before."

    _, secret = keys.add(ana, "", NOW)
    resumed = guarded.post("/console/sign-in", {**hidden, "key": secret})
    assert resumed.status_code == 200
    assert "An hour&#39;s work." in resumed.text
    assert 'name="version" value="1"' in resumed.text
    assert guarded.post(f"/console/memories/{id}/edit", typed).status_code == 303
    assert door.invoke("core.get", {"id": id}, ana).body["content"] == "An hour's work.\nTwo lines."


def test_htmx_is_sent_to_sign_in_when_the_session_has_ended(guarded: Browser) -> None:
    answer = guarded.get("/?q=x", **{"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (401, "/console/sign-in")


def test_the_cookie_opens_no_tool(guarded: Browser, keys: ApiKeys) -> None:
    sign_in(guarded, keys)
    assert guarded.get("/").status_code == 200
    for path in ("/v1/core/list", "/mcp"):
        assert guarded.client.post(path, json={}).status_code == 401


def test_a_key_that_may_only_read_reads(guarded: Browser, keys: ApiKeys, door: Door) -> None:
    id = door.invoke("core.save", {"content": "Look, don't touch."}, Caller(UserRef("ana"))).body["id"]
    sign_in(guarded, keys, read_only=True)
    page = guarded.get(f"/console/memories/{id}").text
    assert "Look, don" in page
    assert '<button class="button" aria-keyshortcuts="p"' not in page
    assert guarded.post(f"/console/memories/{id}/pin", {"pinned": "true"}).status_code == 403


def test_a_key_for_another_toolset_is_told_so_at_once(guarded: Browser, keys: ApiKeys) -> None:
    _, secret = keys.add(Caller(UserRef("ana"), permissions=Permissions(toolsets=("agent",))), "", NOW)
    answer = guarded.post("/console/sign-in", {"key": secret})
    assert answer.status_code == 403
    assert "your key is for the toolset" in answer.text


def test_what_an_untrusted_key_writes_is_marked(guarded: Browser, keys: ApiKeys, door: Door) -> None:
    sign_in(guarded, keys, untrusted=True)
    made = guarded.post("/console/new", {"content": "Trust me.", "once": "u1"})
    assert ">untrusted</span>" in guarded.get(made.headers["Location"]).text


def test_behind_a_gateway_the_gateway_says_who_looks(door: Door) -> None:
    door.invoke("core.save", {"content": "A secret of Ana's."}, Caller(UserRef("ana")))
    pages = partial(console_routes, Console(door=door))
    app = create_app(door, TrustedHeaders(), local=False, public_url="", closes_store=False, pages=pages)
    with served(app) as url, httpx.Client(base_url=url) as client:
        assert "A secret of Ana" in client.get("/", headers={"X-User-Id": "ana"}).text
        assert "A secret" not in client.get("/", headers={"X-User-Id": "bob"}).text
        nobody = client.get("/")
        assert nobody.status_code == 401
        assert "proxy" in nobody.text


def test_the_secret_is_the_owner_s_alone_and_the_same_for_every_process(tmp_path: Path) -> None:
    first = open_secret(LocalFolder(tmp_path))
    assert open_secret(LocalFolder(tmp_path)) == first
    assert len(first) == 32
    assert (tmp_path / "console.secret").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["console.secret"]


def test_without_pages_there_is_no_console(door: Door) -> None:
    with served(create_app(door, LocalUser("local", "default"), closes_store=False)) as url:
        assert httpx.get(url).status_code == 404


def test_a_failure_of_ours_is_a_page_that_tells_no_secret(failing: Door) -> None:
    pages = partial(console_routes, Console(door=failing))
    app = create_app(failing, LocalUser("local", "default"), closes_store=False, pages=pages)
    with served(app) as url:
        answer = httpx.get(url)
    assert answer.status_code == 500
    assert "users_prod" not in answer.text
    assert "Back to the memories" in answer.text


# Import and export.


def dropped(browser: Browser, name: str, content: bytes, **headers: str) -> httpx.Response:
    files = {"file": (name, content)}
    sent = {"Origin": browser.origin, **headers}
    return browser.client.post("/console/import", files=files, data={"scope": "brought"}, headers=sent)


def test_an_export_is_imported_again_whole(guarded: Browser, keys: ApiKeys, door: Door) -> None:
    ana, bob = Caller(UserRef("ana"), "agent-1"), Caller(UserRef("bob"), "agent-1")
    for number in range(205):
        door.invoke("core.save", {"content": f"Record {number} of the export."}, ana)
    sign_in(guarded, keys, "ana")
    exported = guarded.get("/console/export")
    assert exported.headers["Content-Disposition"].startswith('attachment; filename="steeltrap-')
    assert len(exported.text.splitlines()) == 205
    sign_in(guarded, keys, "bob")
    assert "205 found: 205 written, 0 already there, 0 failed" in dropped(guarded, "all.jsonl", exported.content).text
    assert "0 written, 205 already there" in dropped(guarded, "all.jsonl", exported.content).text
    assert door.invoke("core.stats", {}, bob).body["memories"] == 205


def test_progress_comes_in_lines_and_ends_with_what_to_show(browser: Browser) -> None:
    note = b"# Tides\n\nThe tide turns at six.\n"
    answer = dropped(browser, "tides.md", note, Accept="application/x-ndjson")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines[-1]["stage"] == "Done"
    assert "1 written" in lines[-1]["html"]
    assert browser.core("list", scope="brought")["total"] == 1


def test_a_file_that_is_damaged_or_unknown_is_told_in_words(browser: Browser) -> None:
    assert "no known format" in dropped(browser, "photo.jpg", b"\xff\xd8\xff\x00binary").text
    damaged = dropped(browser, "<b>half</b>.jsonl", b'{"role": "user", "content": "hello"}\n{"role": "us').text
    assert "What could not be imported" in damaged
    assert code_in(damaged) == []
    assert dropped(browser, "empty.md", b"").status_code == 200


@pytest.mark.parametrize(
    "name", ["../../../tmp/escape.md", "..", "/etc/passwd.md", "C:\\notes.md", "a\x00b.md", "é" * 300]
)
def test_no_name_of_a_file_leads_anywhere(browser: Browser, name: str) -> None:
    assert dropped(browser, name, b"# A note\n\nHarmless.\n").status_code in (200, 400)
    assert not Path("/tmp/escape.md").exists()


def test_a_form_without_a_file_is_refused(browser: Browser) -> None:
    assert browser.post("/console/import", {"scope": "x"}).status_code == 400
    assert dropped(browser, "", b"").status_code == 400
    broken = {"Origin": browser.origin, "Content-Type": "multipart/form-data"}
    assert browser.client.post("/console/import", content=b"x", headers=broken).status_code == 400


def test_who_may_only_read_imports_nothing_and_no_other_site_does(
    guarded: Browser, browser: Browser, keys: ApiKeys
) -> None:
    sign_in(guarded, keys, read_only=True)
    assert dropped(guarded, "note.md", b"# Note\n\nText.\n").status_code == 403
    assert dropped(browser, "note.md", b"# Note\n\nText.\n", Origin="https://evil.example").status_code == 403
    assert dropped(browser, "note.md", b"# Note\n\nText.\n", **{"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_an_import_of_records_claims_no_other_author(guarded: Browser, keys: ApiKeys, door: Door) -> None:
    record = {
        "id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b",
        "content": "Written by somebody else, it says.",
        "agent_id": "the-boss",
        "created_at": "2026-01-31T09:30:00+00:00",
        "updated_at": "2026-01-31T09:30:00+00:00",
    }
    sign_in(guarded, keys, "ana", untrusted=True)
    assert "1 written" in dropped(guarded, "one.jsonl", json.dumps(record).encode()).text
    stored = door.invoke("core.get", {"id": record["id"]}, Caller(UserRef("ana"), "agent-1")).body
    assert (stored["agent_id"], stored["imported_by"], stored["untrusted"]) == ("agent-1", "agent-1", True)


def test_an_import_is_listed_and_undone_after_a_question(guarded: Browser, keys: ApiKeys, door: Door) -> None:
    ana = Caller(UserRef("ana"), "agent-1")
    sign_in(guarded, keys, "ana")
    assert "Nothing was imported yet" in guarded.get("/console/imports").text
    door.invoke("core.save", {"content": "The otter swims."}, ana)
    dropped(guarded, "notes.txt", b"The heron fishes.\nThe owl sleeps.\n")
    [run] = door.invoke("core.list_imports", {}, ana).body["imports"]
    listed = guarded.get("/console/imports").text
    assert "notes" in listed
    undo = f"/console/imports/{run['id']}/undo"
    assert undo in listed
    assert "Undo this import?" in guarded.get(undo).text
    assert door.invoke("core.stats", {}, ana).body["memories"] == 3
    assert "2 memories and messages were erased" in guarded.post(undo, {}).text
    assert door.invoke("core.stats", {}, ana).body["memories"] == 1
    assert guarded.post(undo, {}).status_code == 409
    after = guarded.get("/console/imports").text
    assert undo not in after
    assert "nothing of it is left" in after
    sign_in(guarded, keys, "ana", read_only=True)
    assert guarded.post(undo, {}).status_code == 403


# Failures before any page is found.


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/nothing", {}, 404),
        ("GET", "/console", {}, 404),
        ("PUT", "/", {}, 405),
        ("POST", "/console/browse", {}, 405),
        ("POST", "/console/new", {"Origin": "http://evil.test"}, 403),
        ("GET", "/", {"Host": "evil.test"}, 403),
        ("GET", "/<script>alert(1)</script>", {}, 404),
    ],
)
def test_a_browser_is_shown_a_page_and_a_program_gets_problem_details(
    browser: Browser, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    sent = {"Origin": browser.origin, **headers}
    page = browser.client.request(method, path, headers={**sent, "Accept": "text/html,*/*;q=0.8"})
    program = browser.client.request(method, path, headers=sent)
    assert (page.status_code, program.status_code) == (status, status)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert 'href="/"' in page.text
    assert "<script" not in page.text
    assert program.json()["status"] == status
    assert page.headers.get("Allow") == program.headers.get("Allow")


def test_each_rule_that_ranking_names_is_explained():
    package = Path(rendering.__file__).parents[2]
    files = ("ranking/scoring.py", "ranking/scored.py", "engine/lifting.py")
    source = "\n".join((package / file).read_text() for file in files)
    rules = set(re.findall(r'(?:boosts\[|added\[|scored\.(?:add|match)\()"(\w+)"', source))
    rules |= set(re.findall(r'^ +"(\w+)": (?:weights\.|reply|question|conversation)', source, re.MULTILINE))
    assert {"superseded", "literal", "days", "neighbours", "reply"} <= rules
    assert {rule.capitalize() for rule in rules} | {"Score", "Meaning", "Words"} == {*rendering.SCORES}
