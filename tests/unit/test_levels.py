"""Levels of detail nest by construction, at any depth."""

import pytest

from steeltrap.toolsets.associative.levels import Full, Levelled, ResponseLevel, Standard, at, preview


class Item(Levelled):
    name: str
    size: Standard[int] = None
    notes: Full[list[str]] = None


class Whole(Levelled):
    first: Item
    items: Standard[list[Item]] = None


WHOLE = Whole(first=Item(name="a", size=1, notes=[]), items=[Item(name="b", size=2, notes=["x"])])


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("minimal", {"first": {"name": "a"}}),
        ("standard", {"first": {"name": "a", "size": 1}, "items": [{"name": "b", "size": 2}]}),
        (
            "full",
            {
                "first": {"name": "a", "size": 1, "notes": []},
                "items": [{"name": "b", "size": 2, "notes": ["x"]}],
            },
        ),
    ],
)
def test_a_field_is_shown_from_its_level_on(level: str, shown: object) -> None:
    assert at(ResponseLevel(level), WHOLE).model_dump(exclude_none=True) == shown


@pytest.mark.parametrize(
    ("text", "length", "shown"), [("", 3, ""), ("abc", 3, "abc"), ("abcd", 3, "abc..."), ("日本語です", 3, "日本語...")]
)
def test_a_preview_is_cut_only_when_the_text_is_longer(text: str, length: int, shown: str) -> None:
    assert preview(text, length) == shown
