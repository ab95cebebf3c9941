"""A person's actions in the console, by mouse and by keyboard alone, and failures meanwhile."""

import re
from datetime import timedelta
from typing import Any

from playwright.sync_api import expect

from console.sites import Site
from console.test_pages import findings
from steeltrap.model import Caller, UserRef
from steeltrap.servers.auth.api_keys import ApiKeys


def test_results_come_as_one_types_and_are_announced(page: Any, site: Site) -> None:
    page.goto(site.url)
    expect(page.get_by_role("status")).to_have_text("10 memories")
    page.get_by_label("Search memories").press_sequentially("peanuts")
    expect(page.locator("#rows .row")).to_have_count(1)
    expect(page.get_by_role("status")).to_have_text("1 memory found")
    expect(page.locator(".why svg.bar").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?q=peanuts$"))
    page.get_by_label("Search memories").fill("")
    expect(page.get_by_role("status")).to_have_text("10 memories")


def test_everything_is_done_by_keyboard_alone(page: Any, site: Site) -> None:
    page.goto(site.url)
    keys = page.keyboard
    keys.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    keys.press("Escape")
    keys.press("/")
    expect(page.get_by_label("Search memories")).to_be_focused()
    keys.type("quarterly report")
    expect(page.get_by_role("status")).to_contain_text("found")
    expect(page.locator("#rows .row").first).to_contain_text("The quarterly report")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(page).to_have_url(site.of("report"))

    keys.press("p")
    expect(page.locator(".badge-pinned")).to_be_visible()
    keys.press("e")
    expect(page.get_by_label("Text", exact=True)).to_be_visible()
    keys.press("Tab")  # past the link that skips to the content
    page.get_by_label("Text", exact=True).focus()
    keys.press("Control+a")
    keys.type("The report goes to Greta.")
    page.get_by_role("button", name="Save").focus()
    keys.press("Enter")
    expect(page.locator(".memory-text")).to_have_text("The report goes to Greta.")
    expect(page.locator("ins", has_text="Greta")).to_be_visible()

    keys.press("Delete")
    expect(page.get_by_text("Moved to the trash.")).to_be_visible()
    page.get_by_role("button", name="Undo").focus()
    keys.press("Enter")
    expect(page.get_by_text("Restored.")).to_be_visible()
    keys.press("u")
    expect(page).to_have_url(f"{site.url}/")
    keys.press("j")
    keys.press("x")
    keys.press("j")
    keys.press("x")
    expect(page.locator("[data-count]")).to_have_text("2 chosen")
    page.get_by_role("button", name="Merge…").focus()
    keys.press("Enter")
    expect(page.get_by_role("heading", name="It will say")).to_be_visible()
    page.get_by_role("button", name="Merge", exact=True).focus()
    keys.press("Enter")
    expect(page.get_by_text("Merged into this memory.")).to_be_visible()
    keys.press("n")
    expect(page.get_by_role("heading", name="New memory")).to_be_visible()


def test_all_that_are_shown_are_deleted_and_brought_back_by_keyboard(page: Any, site: Site) -> None:
    page.goto(site.url)
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_label("All shown").focus()
    page.keyboard.press("Space")
    expect(page.locator("[data-count]")).to_have_text("10 chosen")
    page.get_by_role("button", name="Delete", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="10 memories moved to the trash")).to_be_visible()
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="10 memories back as before")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_role("status").first).to_have_text("10 memories")


def test_what_is_less_likely_is_folded_and_opened_by_keyboard(page: Any, site: Site) -> None:
    page.goto(site.url)
    page.get_by_label("Search memories").press_sequentially("who is allergic to peanuts")
    expect(page).to_have_url(re.compile(r"\?q=who.+peanuts$"))  # else a search of fewer letters is still shown
    expect(page.locator("#status")).to_contain_text("less likely")
    expect(page.locator("#rows .row")).to_have_count(1)
    fold = page.locator(".less-sure")
    expect(fold.locator(".row").first).to_be_hidden()
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(fold.locator(".row").first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("#rows .open")).not_to_be_focused()


def test_chosen_memories_are_tagged_moved_and_as_before_by_one_key_each(page: Any, site: Site) -> None:
    keys = page.keyboard

    def choose_all(scope: str) -> None:
        page.goto(f"{site.url}/?scope={scope}")
        keys.press("j")
        keys.press("x")
        page.get_by_label("All shown").focus()
        keys.press("Space")
        expect(page.locator("[data-count]")).to_have_text("3 chosen")

    before = site.memory.core.list(scope="work/infra")["memories"]
    for button, label, typed, done in (
        ("Tag…", "Add tags", "reviewed", "3 memories tagged"),
        ("Move…", "To the scope", "archive", "3 memories moved to archive"),
    ):
        choose_all("work/infra")
        page.get_by_role("button", name=button).focus()
        keys.press("Enter")
        page.get_by_label(label).focus()
        keys.type(typed)
        keys.press("Enter")
        expect(page.get_by_role("heading", name=done)).to_be_visible()
        page.get_by_role("button", name="Undo").focus()
        keys.press("Enter")
        expect(page.get_by_role("heading", name="3 memories back as before")).to_be_visible()
        after = site.memory.core.list(scope="work/infra")["memories"]
        assert [(each["id"], each.get("tags")) for each in after] == [(e["id"], e.get("tags")) for e in before]


def test_a_merge_shows_its_text_and_makes_nothing_before_it_is_confirmed(page: Any, site: Site) -> None:
    keys = page.keyboard
    before = site.memory.core.list()["memories"]

    def preview() -> str:
        page.goto(site.url)
        for name in ("deploys", "pipeline"):
            page.locator(f'.choose input[value^="{site.ids[name]}:"]').focus()
            keys.press("Space")
        page.get_by_role("button", name="Merge…").focus()
        keys.press("Enter")
        expect(page.get_by_role("heading", name="It will say")).to_be_visible()
        text: str = page.locator(".merged .memory-text").inner_text()
        return text

    text = preview()
    assert "never on a Friday" in text
    assert "two approvals" in text
    page.get_by_role("link", name="Cancel").focus()
    keys.press("Enter")
    expect(page.locator("#rows .row")).to_have_count(10)
    assert site.memory.core.list()["memories"] == before
    assert preview() == text
    page.get_by_label("stay beside the new memory").focus()
    keys.press("Space")
    page.get_by_role("button", name="Merge", exact=True).focus()
    keys.press("Enter")
    expect(page.get_by_text("Merged into this memory.")).to_be_visible()
    assert page.locator(".memory-text").inner_text() == text
    assert site.memory.core.list()["total"] == 11


def test_each_score_is_explained_at_a_hover_and_where_keys_and_readers_get(page: Any, site: Site) -> None:
    page.goto(f"{site.url}/?q=deploy%20key%20rotation")
    legend = page.locator(".legend")
    legend.locator("summary").focus()
    page.keyboard.press("Enter")
    meanings = dict(
        zip(legend.locator("dt").all_text_contents(), legend.locator("dd").all_text_contents(), strict=True)
    )
    names = page.locator(".why dt")
    assert {"Score", "Meaning", "Words"} <= {*names.all_text_contents()}
    for name in names.all():
        expect(name).to_have_attribute("title", meanings[name.text_content()])
        expect(name).to_have_accessible_description(meanings[name.text_content()])
    for meaning in legend.locator("dd").all():
        expect(meaning).to_be_visible()
    assert findings(page) == []


def test_chosen_memories_are_tagged_and_moved(page: Any, site: Site) -> None:
    page.goto(f"{site.url}/?scope=work/infra")
    for box in page.locator(".choose input").all():
        box.check()
    page.get_by_role("button", name="Tag…").click()
    page.get_by_label("Add tags").fill("reviewed")
    page.get_by_role("button", name="Tag 3 memories").click()
    expect(page.get_by_role("heading", name="3 memories tagged")).to_be_visible()
    assert site.memory.core.list(tags=["reviewed"])["total"] == 3
    page.goto(f"{site.url}/?tag=reviewed")
    page.locator(".choose input").first.check()
    page.get_by_role("button", name="Move…").click()
    page.get_by_label("To the scope").fill("archive")
    page.get_by_role("button", name="Move 1 memory").click()
    page.get_by_role("button", name="Undo").click()
    assert site.memory.core.list(scope="archive")["total"] == 0


def test_j_and_k_go_through_the_list(page: Any, site: Site) -> None:
    page.goto(site.url)
    rows = page.locator("#rows .open")
    page.keyboard.press("j")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(rows.nth(0)).to_be_focused()


def test_a_memory_is_written_and_found(page: Any, empty_site: Site) -> None:
    page.goto(empty_site.url)
    expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()
    page.get_by_role("link", name="Write the first memory").click()
    page.get_by_label("Text", exact=True).fill("明日は雨です。")
    page.get_by_label("Tags").fill("天気, weather")
    page.get_by_label("Happened on").fill("2026-01-02")
    page.get_by_label("Pinned").check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".memory-text")).to_have_text("明日は雨です。")
    expect(page.locator(".badge-pinned")).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("2026-01-02")
    page.get_by_role("link", name="weather").click()
    expect(page.locator("#rows .row")).to_have_count(1)


def test_a_memory_with_days_and_a_pin_is_written_by_keyboard_and_expires(page: Any, empty_site: Site) -> None:
    keys = page.keyboard
    page.goto(empty_site.url)
    keys.press("n")
    page.get_by_label("Text", exact=True).focus()
    keys.type("The parking permit is on the fridge.")
    today = empty_site.clock.now()
    page.get_by_label("Happened on").focus()
    keys.type(f"{today:%m%d%Y}")
    page.get_by_label("Expires after").focus()
    keys.type(f"{today + timedelta(days=2):%m%d%Y}")
    page.get_by_label("Pinned").focus()
    keys.press("Space")
    page.get_by_role("button", name="Save").focus()
    keys.press("Enter")
    expect(page.locator(".memory-text")).to_have_text("The parking permit is on the fridge.")
    [saved] = empty_site.memory.core.list()["memories"]
    assert saved["pinned"]
    assert saved["occurred_at"].startswith(f"{today:%Y-%m-%d}")
    keys.press("e")
    expect(page.get_by_label("Expires after")).to_have_value(f"{today + timedelta(days=2):%Y-%m-%d}")
    expect(page.get_by_label("Pinned")).to_be_checked()
    assert findings(page) == []
    empty_site.clock.advance(days=2)
    assert empty_site.memory.core.list()["total"] == 1  # to the end of its last day
    empty_site.clock.advance(days=2)
    page.goto(empty_site.url)
    expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()


def test_a_memory_is_forgotten_with_a_receipt(page: Any, site: Site) -> None:
    page.goto(site.of("food"))
    page.get_by_role("link", name="Forget…").click()
    page.get_by_role("button", name="Forget for good").click()
    expect(page.get_by_role("heading", name="Forgotten")).to_be_visible()
    expect(page.get_by_text(site.ids["food"])).to_be_visible()
    page.goto(site.of("food"))
    expect(page.get_by_role("alert")).to_contain_text("no memory with this id")


def test_a_double_click_does_it_once(page: Any, site: Site) -> None:
    site.memory.core.update(id=site.ids["food"], content="One.")
    site.memory.core.update(id=site.ids["food"], content="Two.")
    page.goto(site.of("food"))
    page.get_by_role("button", name="Undo last change").dblclick()
    expect(page.locator(".memory-text")).to_have_text("One.")
    assert site.memory.core.get(id=site.ids["food"])["version"] == 4
    page.goto(f"{site.url}/console/new")
    page.get_by_label("Text", exact=True).fill("Written once.")
    page.get_by_role("button", name="Save").dblclick()
    expect(page.locator(".memory-text")).to_have_text("Written once.")
    assert [m["content"] for m in site.memory.core.list()["memories"]].count("Written once.") == 1


def test_two_tabs_that_edit_one_memory_lose_nothing(page: Any, context: Any, site: Site) -> None:
    other = context.new_page()
    for tab in (page, other):
        tab.goto(site.of("food", "edit"))
    other.get_by_label("Text", exact=True).fill("The other tab's text.")
    other.get_by_role("button", name="Save").click()
    expect(other.get_by_role("status")).to_have_text("Saved.")
    page.get_by_label("Text", exact=True).fill("My own text.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
    expect(page.get_by_text("The other tab's text.").first).to_be_visible()
    expect(page.get_by_label("Text", exact=True)).to_have_value("My own text.")
    page.get_by_role("button", name="Save mine over it").click()
    expect(page.locator(".memory-text")).to_have_text("My own text.")


def test_a_session_that_ended_keeps_what_was_typed(page: Any, guarded: tuple[Site, ApiKeys]) -> None:
    site, keys = guarded
    _, secret = keys.add(Caller(UserRef("ana"), "agent-1"), "", site.clock.now())
    page.goto(f"{site.url}/console/new")
    page.get_by_label("API key").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Text", exact=True).fill("Two lines,\nan hour's work.")
    site.clock.advance(hours=13)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("What you typed is kept")
    page.get_by_label("API key").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("Two lines,\nan hour's work.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".memory-text")).to_have_text("Two lines,\nan hour's work.")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()


def test_a_file_is_dropped_and_imported_with_progress(page: Any, empty_site: Site) -> None:
    page.goto(f"{empty_site.url}/console/transfer")
    notes = "".join(f"# Note {number}\n\nThe text of note {number}.\n\n" for number in range(1200))
    page.evaluate(
        """(text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "notes.md", { type: "text/markdown" }));
            window.stages = new Set();
            new MutationObserver(() => window.stages.add(document.getElementById("progress-text").textContent))
                .observe(document.getElementById("progress-text"), { childList: true });
            const event = { bubbles: true, cancelable: true, dataTransfer: data };
            for (const name of ["dragenter", "dragover", "drop"]) {
                document.body.dispatchEvent(new DragEvent(name, event));
            }
        }""",
        notes,
    )
    expect(page.locator("#imported")).to_contain_text("1,200 found: 1,200 written")
    assert any(text.startswith("Reading") for text in page.evaluate("[...window.stages]"))
    page.get_by_role("link", name="See the memories").click()
    expect(page.get_by_role("status")).to_contain_text("memories")
    with page.expect_download() as download:
        page.goto(f"{empty_site.url}/console/transfer")
        page.get_by_role("link", name="Download all memories").click()
    assert download.value.suggested_filename.endswith(".jsonl")


def test_what_is_in_the_trash_is_restored(page: Any, site: Site) -> None:
    page.goto(f"{site.url}/console/trash")
    page.get_by_role("button", name="Restore: The printer").click()
    expect(page.get_by_role("status")).to_have_text("Restored.")
    page.goto(f"{site.url}/console/trash")
    expect(page.get_by_role("heading", name="The trash is empty")).to_be_visible()


def test_a_page_of_another_site_changes_nothing(page: Any, site: Site) -> None:
    form = f"<form method=post action='{site.of('food', 'delete')}'><button>Win a prize</button></form>"
    page.route("http://evil.test/", lambda route: route.fulfill(body=form, content_type="text/html"))
    page.goto("http://evil.test/")
    with page.expect_response(re.compile("/delete$")) as answered:
        page.get_by_role("button", name="Win a prize").click()
    assert answered.value.status == 403
    assert site.memory.core.get(id=site.ids["food"])["version"] == 1


def test_the_theme_is_chosen_and_kept(page: Any, site: Site) -> None:
    page.goto(site.url)
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    dark = page.evaluate(colour)
    assert dark != light
    page.goto(f"{site.url}/console/browse")
    assert page.evaluate(colour) == dark


def test_the_index_is_loaded_once_from_the_first_page_on_and_that_is_said(page: Any, site: Site) -> None:
    asked: list[Any] = []

    def hold(route: Any) -> None:
        asked.append(route)

    page.route("**/console/ready", hold)
    page.goto(site.url)
    expect(page.get_by_text("Search is being loaded")).to_be_visible()
    [first] = asked
    first.continue_()
    expect(page.get_by_text("Search is being loaded")).to_be_hidden()
    page.goto(f"{site.url}/console/timeline")
    page.goto(site.url)
    assert len(asked) == 1


def test_results_don_t_move_while_they_come(page: Any, site: Site) -> None:
    page.goto(site.url)
    page.evaluate(
        "() => { window.shift = 0; const add = (each) => { window.shift += each.hadRecentInput ? 0 : each.value; };"
        "new PerformanceObserver((seen) => seen.getEntries().forEach(add)).observe({type: 'layout-shift'}); }"
    )
    page.get_by_label("Search memories").press_sequentially("deploy")
    expect(page.get_by_role("status")).to_contain_text("found")
    assert page.evaluate("window.shift") < 0.05
