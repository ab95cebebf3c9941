"""Markdown notes: front matter is a YAML mapping or text, a fence ends as CommonMark says, and no line is lost."""

import json
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, date
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.importers import markdown
from steeltrap.importers.items import Filing, Item
from steeltrap.importers.markdown import front_matter, markdown_parts, pieces, sections

FILING = Filing(scope="user/default", zone=UTC)
LONG = "\n\nA sentence that makes the note longer than a chunk." * 15


def drafts(text: str, name: str = "note.md") -> list[Any]:
    found = []
    for part in markdown_parts(text, name, 0, len(text), FILING):
        assert isinstance(part, Item), part
        found.append(part.draft)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "---\nJust a line.\n---\nMore.",
        "---\n- a list\n- of two\n---\nMore.",
        "---\n# A heading\n---\nMore.",
        "---\ntitle: one: two\n---\nMore.",
        "---\ntags: [a\n---\nMore.",
        "---\na: &x 1\nb: *x\n---\nMore.",
        "---\na: " + "[" * 50_000 + "\n---\nMore.",
        "---\na: " + "9" * 70_000 + "\n---\nMore.",
        "---\na: " + "word " * 1000 + "\n---\nMore.",
        "---\ntags:\n" + "- a\n" * 60_000 + "---\nMore.",
        "---\ntitle: no end",
        "--- \ntitle: no start\n---",
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_mapping_of_yaml_is_text(text: str) -> None:
    assert front_matter(text) == ({}, text, 1)


@pytest.mark.parametrize(
    ("yaml", "front"),
    [
        ("Title: A note", {"title": "A note"}),
        ("title: >\n  folded\n  lines\ntags: [x, 'y z']", {"title": "folded lines\n", "tags": ["x", "y z"]}),
        ("title: |\n  kept\n  lines", {"title": "kept\nlines\n"}),
        ("tags: [[x]]", {"tags": [["x"]]}),
        ("date: 2024-05-03\nn: 12", {"date": "2024-05-03", "n": "12"}),
        ("a: 1\na: 2", {"a": "2"}),
        ("a: !!python/object/apply:os.system [x]", {"a": ["x"]}),
        ("a: " + "9" * 4000, {"a": "9" * 4000}),
        ("", {}),
    ],
)
def test_a_mapping_of_yaml_is_front_matter(yaml: str, front: dict[str, Any]) -> None:
    text = f"\ufeff---\r\n{yaml}\n---\t\nMore.".replace("---\r\n\n", "---\r\n")
    found, body, line = front_matter(text)
    assert (found, body) == (front, "\nMore.")
    assert line == text.count("\n")


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("[[x]]", ("x",)),
        ("[a, [b, [c]], a]", ("a", "b", "c")),
        ("'#a, b  c'", ("a", "b", "c")),
        ("null", ()),
        ("", ()),
        ("{a: b}", ()),
        ("\n- a\n- {b: c}\n- ~", ("a",)),
    ],
)
def test_tags_are_texts_however_they_are_listed(tags: str, expected: tuple[str, ...]) -> None:
    [draft] = drafts(f"---\ntags: {tags}\n---\nAna lives in Faro.")
    assert draft.tags == expected
    assert draft.content == "Ana lives in Faro."


def test_front_matter_gives_title_day_and_properties() -> None:
    text = "---\ntitle: >\n  The\n  trip\ndate: 2024-05-03\nrating: 5\nwith: [Ana]\n---\n# Day 1\nPorto."
    text += f"\n# Day 2\nFaro.{LONG}"
    first, second = drafts(text)
    assert first.content.startswith("The trip › Day 1\n\nPorto.")
    assert first.occurred_at == second.occurred_at == date(2024, 5, 3)
    assert first.metadata["properties"] == {"rating": "5", "with": ["Ana"]}
    assert "properties" not in second.metadata, "a note's properties are kept once"


def test_text_between_rules_is_kept_with_what_follows() -> None:
    [draft] = drafts("---\nRemember the milk.\n---\nAna lives in Faro.")
    assert draft.content == "---\nRemember the milk.\n---\nAna lives in Faro."


@pytest.mark.parametrize(
    "code",
    [
        "```\n# no heading\n```",
        "````\n```\n# no heading\n```\n# nor this\n````",
        "~~~~ python\n~~~\n# no heading\n```\n~~~~~",
        "```\n# no heading\n``` not the end\n# nor this\n   ```  ",
        "```\n# never closed",
    ],
)
def test_a_block_of_code_ends_with_its_own_fence(code: str) -> None:
    found = sections(f"# First\n{code}{LONG}")
    assert {section.headings for section in found} == {("First",)}
    after = sections(f"# First\n{code}\n# Second\nText.{LONG}")[-1]
    assert after.headings == (("First",) if code.endswith("closed") else ("Second",))


@pytest.mark.parametrize("row", ["``` a`b", "`` two", "    ```", "~~ two"])
def test_what_is_no_fence_hides_no_heading(row: str) -> None:
    assert sections(f"# First\n{row}\n# Second\nText.{LONG}")[-1].headings == ("Second",)


@pytest.mark.parametrize(
    ("row", "title"),
    [
        ("# Learn C#", "Learn C#"),
        ("## Title ##  ", "Title"),
        ("# a" + " " * 5000, "a"),
        ("### \t #", ""),
        ("# " + "#" * 5000, ""),
        ("####### seven", None),
        ("#tag", None),
        ("# " + "a" * 2000, None),
    ],
    ids=lambda row: str(row)[:12],
)
def test_a_heading_is_read_as_commonmark_says(row: str, title: str | None) -> None:
    found = sections(f"{row}\nText.{LONG}")
    assert found[0].headings == (() if title is None else (title,))


def test_lines_and_bullets_keep_what_is_in_the_middle() -> None:
    assert [piece.text for piece in pieces("Ana - Faro\n- Bob - Porto", 1, "lines")] == ["Ana - Faro", "Bob - Porto"]
    found = pieces("- one\n  ```\n- code\n\n- more\n  ```\n- two", 1, "bullets")
    assert [piece.text for piece in found] == ["one\n  ```\n- code\n\n- more\n  ```", "two"]


@given(st.lists(st.sampled_from(["---\n", "a: b\n", "- x\n", "...\n", "# h\n", "text\n", "\n", "```\n"]), max_size=12))
def test_no_line_of_a_note_is_lost(rows: list[str]) -> None:
    text = "".join(rows)
    front, body, line = front_matter(text)
    if not front and body == text:
        assert line == 1
    else:
        head = text[: len(text) - len(body)]
        assert head.startswith("---\n")
        assert head.endswith(("---", "..."))
        assert yaml.safe_load(head[4:-3]) in (None, front)
        assert line == head.count("\n") + 1


def test_reading_of_deep_front_matter_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    parse = yaml.parse

    def counted(*arguments: Any, **more: Any) -> Iterator[Any]:
        nonlocal seen
        for event in parse(*arguments, **more):
            seen += 1
            yield event

    monkeypatch.setattr(markdown.yaml, "parse", counted)
    assert front_matter("---\na: " + "[" * 50_000 + "\n---\n")[0] == {}
    assert seen < 30


def test_a_tag_list_is_made_once_per_note(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    tags = markdown._tags
    monkeypatch.setattr(markdown, "_tags", lambda front: calls.append(front) or tags(front))
    found = drafts("---\ntags: [a]\n---\n" + "# h\ntext of a section\n" * 300)
    assert len(found) == 300
    assert len(calls) == 1
    assert json.dumps(found[0].tags) == '["a"]'


@pytest.mark.parametrize(
    "text", ["- a\n" + "\n".join(" " * 4000 + "- a" for _ in range(60)), "# a\n\n" * 50_000, "a\n" * 120_000]
)
def test_a_long_note_is_cut_without_a_list_of_all_its_words_or_lines(text: str) -> None:
    tracemalloc.start()
    try:
        assert sections(text)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(text)
    finally:
        tracemalloc.stop()


BELOW = "intro\n\n# A\n\n\n- x\n- y\n\n## B\n- z\n"


@pytest.mark.parametrize("split", ["bullets", "lines"])
def test_a_piece_below_a_heading_is_at_the_line_where_its_text_is(split: Any) -> None:
    cuts = [(section.line, section.text) for section in pieces(BELOW, 3, split)]
    assert cuts == [(3, "intro"), (8, "x"), (9, "y"), (12, "z")]


def test_a_section_and_what_it_is_cut_into_are_at_the_line_where_their_text_is() -> None:
    paragraphs = [f"Paragraph {number}. " + "word " * 300 for number in range(8)]
    text = "\n\n# A\n\n" + "\n\n\n".join(paragraphs)
    rows = text.split("\n")
    cuts = sections(text, 1)
    assert len(cuts) > 2
    for section in cuts:
        assert rows[section.line - 1].strip() == section.text.split("\n")[0].strip()
    assert sections("\n\nshort", 5) == [markdown.Section((), "short", 7)]
