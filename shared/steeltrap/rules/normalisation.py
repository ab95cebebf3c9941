"""Unicode normal forms in a time that grows with the length of a text. Pure.

Normalising sorts the combining marks behind a letter, and Python does that in a time that grows with the square of
their number, while no other thread can run. UAX #15 names the remedy, the Stream-Safe Text Format: no more than 30
marks follow each other, a joiner is put in behind them. No ordinary text has as many.
"""

import re
from functools import lru_cache
from typing import Final, Literal
from unicodedata import combining, normalize

MOST_MARKS: Final = 30
JOINER: Final = "\u034f"
"""COMBINING GRAPHEME JOINER: nothing is sorted or composed across it."""

# A letter in front may come apart into one with three marks, and one mark comes apart into two.
_MANY: Final = re.compile(rb"[^\0]{14}")
# These are no marks themselves and come apart into nothing else.
_HIDDEN: Final = re.compile("[\u0f73\u0f75\u0f81\uff9e\uff9f]")


def normalised(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """The normal form of a text; where it has more than 30 combining marks in a row, of its stream-safe form."""
    return normalize(form, stream_safe(text))


def stream_safe(text: str) -> str:
    """The text with a joiner wherever more than 30 combining marks would follow each other; nearly always itself."""
    if text.isascii() or not (_HIDDEN.search(text) or _MANY.search(bytes(map(combining, text)))):
        return text
    parts: list[str] = []
    marks = 0
    for char in text:
        leading, trailing = _marks(char)
        if marks + leading > MOST_MARKS:
            parts.append(JOINER)
            marks = 0
        parts.append(char)
        marks = marks + leading if trailing is None else trailing
    return "".join(parts)


@lru_cache(maxsize=4096)
def _marks(char: str) -> tuple[int, int | None]:
    """With how many marks a character begins and ends when it comes apart; it ends with None if that is all."""
    is_mark = [combining(part) > 0 for part in normalize("NFKD", char)]
    if all(is_mark):
        return len(is_mark), None
    return is_mark.index(False), is_mark[::-1].index(False)
