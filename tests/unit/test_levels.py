"""Each field of an answer is shown at the levels that it names, at any depth."""

import pytest

from steeltrap.toolsets.dialects.associative.views import (
    Full,
    Levelled,
    Long,
    Minimal,
    ResponseLevel,
    Short,
    Standard,
    at,
    preview,
)


class Item(Levelled):
    name: str
    count: Minimal[int] = None
    size: Standard[int] = None
    notes: Full[list[str]] = None


class Whole(Levelled):
    first: Short[Item] = None
    items: Long[list[Item]] = None


ITEM = Item(name="a", count=3, size=1, notes=[])
WHOLE = Whole(first=ITEM, items=[ITEM])


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("minimal", {"first": {"name": "a", "count": 3}}),
        ("standard", {"first": {"name": "a", "size": 1}, "items": [{"name": "a", "size": 1}]}),
        ("full", {"items": [{"name": "a", "notes": []}]}),
    ],
)
def test_a_field_is_shown_at_its_levels(level: str, shown: object) -> None:
    assert at(ResponseLevel(level), WHOLE).model_dump(exclude_none=True) == shown


@pytest.mark.parametrize(
    ("text", "length", "shown"), [("", 3, ""), ("abc", 3, "abc"), ("abcd", 3, "abc..."), ("日本語です", 3, "日本語...")]
)
def test_a_preview_is_cut_only_when_the_text_is_longer(text: str, length: int, shown: str) -> None:
    assert preview(text, length) == shown
