"""Memories shown as their Markdown says, by libraries that let nothing else through."""

import re
from html.parser import HTMLParser

import pytest

from steeltrap.servers.console import markdown
from steeltrap.servers.console.markdown import without_marks
from steeltrap.servers.console.rendering import formatted

NOTE = """# Release

- **Build** the *wheel*
- Run `make dist`

See [the docs](https://example.com/x "title"), or <mailto:ana@example.com>.

| a | b |
|---|---|
| 1 | 2 |

```python
print("<b>")
```
"""


class Tags(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags(html: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(html)
    return parser.found


def test_markdown_is_shown_as_it_says() -> None:
    html = formatted(NOTE)
    for part in ("<strong>Release</strong>", "<li><strong>Build</strong>", "<code>make dist</code>", "<td>2</td>"):
        assert part in html
    assert 'print("&lt;b&gt;")' in html
    assert not {"h1", "h2", "img"} & {tag for tag, _ in tags(html)}


def test_a_link_tells_nobody_where_it_was_followed_from() -> None:
    links = [given for tag, given in tags(formatted(NOTE)) if tag == "a"]
    assert [link["href"] for link in links] == ["https://example.com/x", "mailto:ana@example.com"]
    assert {link["rel"] for link in links} == {"noopener noreferrer nofollow"}
    assert {name for link in links for name in link} == {"href", "rel"}


def test_an_image_is_a_link_and_nothing_is_loaded() -> None:
    html = formatted("Look: ![a *tracker*](https://evil.example/p.gif) and ![](data:image/png;base64,AAAA)")
    assert "img" not in {tag for tag, _ in tags(html)}
    assert ">a tracker</a>" in html
    assert next(given.get("href") for tag, given in tags(html) if tag == "a") == "https://evil.example/p.gif"
    assert "data:image" not in str([given for tag, given in tags(html) if tag == "a"])


@pytest.mark.parametrize(
    "text",
    [
        "**a** <script>alert(1)</script>",
        "*a* <img src=x onerror=alert(1)>",
        "[x](javascript:alert(1)) **b**",
        "[x](JaVaScRiPt:alert(1)) **b**",
        "[x](&#106;avascript:alert(1)) **b**",
        "[x](data:text/html;base64,PHNjcmlwdD4=) **b**",
        "[x](vbscript:x) [y](file:///etc/passwd) **b**",
        '[x](https://a.example "onmouseover=alert(1)") **b**',
        "<javascript:alert(1)> **b**",
        "![x](javascript:alert(1)) **b**",
        "```<img src=x onerror=alert(1)>\ncode\n```",
        "[x]: javascript:alert(1)\n\n[x] **b**",
        "- <svg/onload=alert(1)>\n- <math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    ],
)
def test_nothing_of_a_text_runs_or_loads(text: str) -> None:
    for tag, given in tags(formatted(text)):
        assert tag in {*markdown._TAGS, "div", "span", "bdi"}, tag
        assert given.keys() <= {"href", "rel", "start", "class", "dir", "title"}
        assert str(given.get("href", "https:")).split(":")[0] in ("http", "https", "mailto")


@pytest.mark.parametrize(
    "text",
    ["Ana lives in Faro.", "One line\nand another", "2 < 3 and 5 > 4", "C:\\new_folder\\a_b", "a_b and snake_case"],
)
def test_a_text_without_marks_stays_as_it_is(text: str) -> None:
    assert formatted(text).startswith("<bdi>")
    assert without_marks(text) == text


def test_hidden_characters_are_shown_in_markdown_too() -> None:
    html = formatted("**bold \u202etxt** [x\u200b](https://a.example/\u202e)")
    assert "U+202E" in html
    assert "U+200B" in html
    assert "\u202e" not in html
    assert all("<" not in (given.get("href") or "") for _, given in tags(html))


def test_a_text_that_is_too_long_or_no_text_at_all_is_shown_as_it_is() -> None:
    assert formatted("**a** " * markdown.MOST).startswith("<bdi>**a**")
    assert formatted("**a** \ud800").startswith("<bdi>**a**")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# Release\n\n- **Build** the *wheel*", "Release · Build the wheel"),
        ("See [docs](https://a.example) and `x`.", "See docs and x."),
        ("![a chart](x.png)\n\n> quoted", "a chart · quoted"),
        ("```\ncode\n```", "code"),
        ("1. first\n2. second", "first · second"),
    ],
)
def test_a_list_shows_a_text_without_its_marks(text: str, line: str) -> None:
    assert without_marks(text) == line


def test_words_of_a_search_are_marked_in_the_text_without_marks() -> None:
    from steeltrap.servers.console.rendering import highlight

    marked = highlight(without_marks("The **deploy** key"), ["deploy"])
    assert re.search("The <mark>deploy</mark> key", marked)
