"""What a change did: words that went, words that came, and the fields that differ."""

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

_WORD: Final = re.compile(r"[^\W\d_]+(?<![\u3040-\u30ff\u4e00-\u9fff])|\d+|\s+|.", re.DOTALL)
_MOST_WORDS: Final = 3000
_FIELDS: Final = (
    *("scope", "tags", "category", "context", "content_type", "tier", "confidence", "pinned", "metadata"),
    *("expires_at", "superseded_by", "importance", "deleted_at"),
)


class Piece(NamedTuple):
    """A stretch of text: `same`, `gone` or `new`."""

    kind: str
    text: str


def difference(old: str, new: str) -> list[Piece]:
    """How one text becomes the other, word by word, or for long texts line by line."""
    if old == new:
        return [Piece("same", new)]
    split = _WORD.findall
    a, b = split(old), split(new)
    if len(a) + len(b) > 2 * _MOST_WORDS:
        a, b = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if len(a) + len(b) > 2 * _MOST_WORDS:
        return [Piece("gone", old), Piece("new", new)]
    return list(_pieces(a, b))


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The fields besides the text that differ: name, before, after."""
    return [
        (name.replace("_", " "), _told(old.get(name)), _told(new.get(name)))
        for name in _FIELDS
        if old.get(name) != new.get(name)
    ]


def _pieces(a: list[str], b: list[str]) -> Iterator[Piece]:
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            yield Piece("same", "".join(a[a1:a2]))
            continue
        if a2 > a1:
            yield Piece("gone", "".join(a[a1:a2]))
        if b2 > b1:
            yield Piece("new", "".join(b[b1:b2]))


def _told(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
