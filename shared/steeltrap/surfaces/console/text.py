"""Stored text on a page: always text. What would hide in it or turn it around is shown by name."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from markupsafe import Markup, escape

# Controls but tab and line ends; what turns the direction of text; what can't be seen; lone surrogates. The joiners
# U+200C and U+200D stay: Persian and emoji need them.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffc\ud800-\udfff\U000e0000-\U000e0fff]"
)
_WORD: Final = re.compile(r"\w+")
_LEAST: Final = 3
"""Characters of a Latin word of the query that is marked in a result: shorter ones begin too many others."""


def shown(value: object) -> Markup:
    """Text as HTML in a direction of its own, with a visible mark for each hidden character."""
    return Markup("<bdi>{}</bdi>").format(_marked(str(value).replace("\r\n", "\n")))


def plain(value: object) -> str:
    """Text for an attribute or a title: without hidden characters."""
    return _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", str(value))


def lit(value: str, words: Sequence[str]) -> Markup:
    """Text as `shown`, with the query's words marked."""
    wanted = sorted({word for word in words if len(word) >= _LEAST or not word.isascii()}, key=len, reverse=True)
    if not wanted:
        return shown(value)
    found = re.compile(r"\b(" + "|".join(map(re.escape, wanted)) + ")", re.IGNORECASE)
    parts = found.split(value)
    pieces = [Markup("<mark>{}</mark>").format(_marked(p)) if i % 2 else _marked(p) for i, p in enumerate(parts)]
    return Markup("<bdi>{}</bdi>").format(Markup("").join(pieces))


def words(query: str) -> list[str]:
    """The words of a query."""
    return _WORD.findall(query)[:32]


def _marked(text: str) -> Markup:
    pieces: list[Markup] = []
    at = 0
    for hidden in _HIDDEN.finditer(text):
        pieces += [escape(text[at : hidden.start()]), _mark(hidden[0])]
        at = hidden.end()
    return Markup("").join([*pieces, escape(text[at:])])


def _mark(character: str) -> Markup:
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "control character").lower()
    return Markup('<span class="hidden-character" title="{} {}">{}</span>').format(code, name, code)
