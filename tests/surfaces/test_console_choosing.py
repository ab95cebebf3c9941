"""The console's changes to several memories at once, each with one undo; and the forms' days, pin and expiry."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.console import Console, console_routes
from surfaces.serving import served
from surfaces.test_console import Browser, clock, guarded, keys, sessions, sign_in

__all__ = ["clock", "guarded", "keys", "sessions"]


@pytest.fixture
def browser(door: Door) -> Iterator[Browser]:
    pages = partial(console_routes, Console(door=door))
    app = create_app(door, LocalUser("local", "default"), closes_store=False, pages=pages)
    with served(app) as url, httpx.Client(base_url=url) as client:
        yield Browser(client)


def chosen(browser: Browser, *ids: str) -> list[str]:
    """The memories as the list offers them to be chosen."""
    offered = re.findall(r'name="chosen" value="([^"]+)"', browser.get("/").text)
    return [value for value in offered if value.rpartition(":")[0] in ids]


def do(browser: Browser, what: str, values: list[str], **fields: str) -> str:
    answer = browser.post("/console/chosen", {"do": what, "chosen": values, **fields})
    assert answer.status_code == 200, answer.text
    return answer.text


def undo(browser: Browser, page: str) -> str:
    return do(browser, "undo", re.findall(r'name="chosen" value="([^"]+)"', page))


def test_several_are_deleted_and_brought_back_at_once(browser: Browser) -> None:
    ids = [browser.save(f"Note {number}.") for number in range(5)]
    page = do(browser, "delete", chosen(browser, *ids[:3]))
    assert "3 memories moved to the trash" in page
    assert browser.core("list")["total"] == 2
    assert "3 memories back as before" in undo(browser, page)
    assert browser.core("list")["total"] == 5


def test_several_are_tagged_and_tags_taken_away_with_one_undo(browser: Browser) -> None:
    one = browser.save("One.", tags=["old", "Kept"])
    two = browser.save("Two.", tags=["new"])
    values = chosen(browser, one, two)
    asked = do(browser, "tag", values)
    assert "Tag 2 memories" in asked
    assert '<option value="old">' in asked
    page = do(browser, "tag-now", values, add="new, kept", remove="OLD")
    assert "2 memories tagged" in page
    assert browser.core("get", id=one)["tags"] == ["Kept", "new"]
    assert browser.core("get", id=two)["tags"] == ["new", "kept"]
    undo(browser, page)
    assert browser.core("get", id=one)["tags"] == ["old", "Kept"]
    assert browser.core("get", id=two)["tags"] == ["new"]


def test_several_are_moved_and_what_is_there_already_is_counted_apart(browser: Browser) -> None:
    one, two = browser.save("One.", scope="work"), browser.save("Two.", scope="home")
    page = do(browser, "move-now", chosen(browser, one, two), scope="home")
    assert "1 memory moved to <bdi>home</bdi>" in page
    assert "1 was so already" in page
    assert browser.core("get", id=one)["scope"] == "home"
    undo(browser, page)
    assert browser.core("get", id=one)["scope"] == "work"
    assert browser.core("get", id=two)["version"] == 1


def test_what_changed_meanwhile_is_left_by_the_change_and_by_its_undo(browser: Browser) -> None:
    one, two, gone = (browser.save(text) for text in ("One.", "Two.", "Gone."))
    values = chosen(browser, one, two, gone)
    browser.core("update", id=one, content="One, changed.")
    browser.core("forget", id=gone)
    page = do(browser, "delete", values)
    assert "1 memory moved to the trash" in page
    assert "2 were left as they are: <bdi>changed since" in page
    assert browser.core("get", id=one)["content"] == "One, changed."
    browser.core("undo", id=two)
    browser.core("update", id=two, content="Two, changed.")
    assert "0 memories back as before" in undo(browser, page)
    assert browser.core("get", id=two)["content"] == "Two, changed."


@pytest.mark.parametrize(
    "form",
    [
        {"do": "delete"},
        {"do": "explode", "chosen": ["a:1"]},
        {"do": "delete", "chosen": ["a"]},
        {"do": "merge", "chosen": ["a:1"]},
        {"do": "tag-now", "chosen": ["a:1"], "add": " , "},
        {"do": "move-now", "chosen": ["a:1"], "scope": ""},
        {"do": "delete", "chosen": [f"{number}:1" for number in range(501)]},
    ],
)
def test_a_choice_that_can_not_be_done_is_refused_with_a_sentence(browser: Browser, form: dict[str, Any]) -> None:
    answer = browser.post("/console/chosen", form)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


def test_a_merge_shows_its_text_before_it_is_made(browser: Browser) -> None:
    ids = [
        browser.save("Ana likes tea. She lives in Faro."),
        browser.save("Ana likes tea. She has a cat.", tags=["pets"]),
    ]
    to = browser.post("/console/chosen", {"do": "merge", "chosen": chosen(browser, *ids)}).headers["Location"]
    page = browser.get(to).text
    [text] = re.findall(r'<div class="memory-text is-long"><bdi>(.*?)</bdi>', page, re.DOTALL)
    assert text.count("Ana likes tea.") == 1
    assert "She has a cat." in text
    assert browser.core("list")["total"] == 2
    form = {"id": ids, "once": "m1", "originals": "delete"}
    made = browser.post("/console/merge", form).headers["Location"].split("/")[-1].split("?")[0]
    assert set(browser.core("get", id=made)["content"].split()) == set(text.split())


def test_a_key_that_may_only_read_chooses_nothing(guarded: Browser, keys: ApiKeys, door: Door) -> None:
    id = door.invoke("core.save", {"content": "One."}, Caller(UserRef("ana"), "agent-1")).body["id"]
    sign_in(guarded, keys, read_only=True)
    assert 'name="chosen"' not in guarded.get("/").text
    page = do(guarded, "delete", [f"{id}:1"])
    assert "0 memories moved to the trash" in page
    assert guarded.get(f"/console/memories/{id}").status_code == 200


def test_who_is_signed_in_is_on_every_page(guarded: Browser, keys: ApiKeys) -> None:
    sign_in(guarded, keys, "ana@example.com")
    for path in ("/", "/console/timeline", "/console/new"):
        assert "Signed in as </span><bdi>ana@example.com</bdi>" in guarded.get(path).text
    assert 'title="Signed in: agent agent-1"' in guarded.get("/").text


def test_nobody_is_named_where_everybody_is_this_computers_user(browser: Browser) -> None:
    assert 'class="who"' not in browser.get("/").text


def test_the_index_is_loaded_ahead_for_those_who_are_signed_in(guarded: Browser, keys: ApiKeys) -> None:
    assert guarded.get("/console/ready").status_code == 401
    sign_in(guarded, keys)
    answer = guarded.get("/console/ready")
    assert (answer.status_code, answer.content) == (200, b"")


def form_of(browser: Browser, id: str) -> dict[str, str]:
    """The fields of a memory's form, as a browser that changes nothing sends them."""
    page = browser.get(f"/console/memories/{id}/edit").text
    fields = dict(
        re.findall(r'name="(version|once|scope|category|tags|context|happened|expires)" value="([^"]*)"', page)
    )
    fields["content"] = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)[0]
    return {**fields, **({"pinned": "true"} if re.search(r'name="pinned" value="true" checked', page) else {})}


def test_the_form_has_the_day_it_happened_the_pin_and_the_expiry(browser: Browser) -> None:
    given = {"content": "We met.", "happened": "2024-05-01", "pinned": "true", "expires": "2199-12-31", "once": "f1"}
    id = browser.post("/console/new", given).headers["Location"].split("/")[-1].split("?")[0]
    saved = browser.core("get", id=id)
    assert (saved["occurred_at"], saved["pinned"], saved["expires_at"][:4]) == ("2024-05-01", True, "2199")
    same = form_of(browser, id)
    assert same["happened"] == "2024-05-01"
    assert "pinned" in same
    browser.post(f"/console/memories/{id}/edit", same)
    assert browser.core("get", id=id)["version"] == 1
    del same["pinned"]
    browser.post(f"/console/memories/{id}/edit", {**same, "happened": "2024-05-02", "expires": ""})
    changed = browser.core("get", id=id)
    assert changed["occurred_at"] == "2024-05-02"
    assert not changed.get("pinned")
    assert "expires_at" not in changed
    assert browser.post(f"/console/memories/{id}/edit", {**form_of(browser, id), "happened": ""}).status_code == 303
    assert "occurred_at" not in browser.core("get", id=id)


def test_an_event_that_moves_past_its_end_loses_the_end_and_is_told_so(browser: Browser) -> None:
    id = browser.save("The fair.", occurred_at="2024-05-10", occurred_until="2024-05-12")
    browser.post(f"/console/memories/{id}/edit", {**form_of(browser, id), "happened": "2024-05-11"})
    assert browser.core("get", id=id)["occurred_until"] == "2024-05-12"
    moved = browser.post(f"/console/memories/{id}/edit", {**form_of(browser, id), "happened": "2024-06-01"})
    assert moved.status_code == 303
    page = browser.get(moved.headers["Location"]).text
    assert "The end of the event was before its new day, and was removed." in page
    event = browser.core("get", id=id)
    assert (event["occurred_at"], "occurred_until" in event) == ("2024-06-01", False)


def test_a_time_that_is_not_changed_in_the_form_stays_to_the_second(browser: Browser) -> None:
    id = browser.save("We met.", occurred_at="2024-05-01T18:30:11Z")
    browser.post(f"/console/memories/{id}/edit", {**form_of(browser, id), "content": "We met again."})
    assert browser.core("get", id=id)["occurred_at"] == "2024-05-01T18:30:11Z"


@pytest.mark.parametrize("days", [{"expires": "2020-01-01"}, {"expires": "soon"}, {"happened": "last summer"}])
def test_a_day_that_can_not_be_is_refused_and_what_was_typed_stays(browser: Browser, days: dict[str, str]) -> None:
    answer = browser.post("/console/new", {"content": "Typed for an hour.", "once": "f2", **days})
    assert answer.status_code == 400
    assert "Typed for an hour." in answer.text
    assert 'name="pinned"' in answer.text


def test_every_result_of_a_search_is_met_by_following_it(browser: Browser) -> None:
    for number in range(50):
        browser.save(f"The lighthouse keeper of island {number:02} paints the door green.")
    browser.save("Ana likes tea.")
    page = browser.get("/?q=lighthouse+keeper+paints+the+door+green").text
    seen = re.findall(r"island (\d\d)", page)
    while found := re.search(r'<li class="more"[^>]*><a href="([^"]+)"', page):
        page = browser.get(found[1].replace("&amp;", "&")).text
        seen += re.findall(r"island (\d\d)", page)
    assert len(set(seen)) == 50
