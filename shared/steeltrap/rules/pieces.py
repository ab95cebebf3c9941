"""Cutting a text that is too long for one memory into pieces that follow each other. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from .sentences import sentences

_PARAGRAPH: Final = re.compile(r"\n[^\S\n]*\n\s*")
_LINE: Final = re.compile(r"\n")
_SPACE: Final = re.compile(r"\s+")


def pieces(text: str, most: int) -> list[str]:
    """The text in pieces of at most `most` bytes (UTF-8), in order; joined, they are the text again.

    A piece ends behind the last paragraph that is in its second half, else behind the last line, sentence or word
    there, else where it is full. Pieces of nothing but white space are left out. A text that fits is one piece.
    """
    if len(text.encode()) <= most:
        return [text]
    return [piece for piece in _cut(text, most) if piece.strip()]


def _cut(text: str, most: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        # What begins within a character that is cut in two belongs to the next piece.
        window = text[start : start + most].encode()[:most].decode(errors="ignore")
        if start + len(window) < len(text):
            window = window[: _end(window)]
        yield window
        start += len(window)


def _end(window: str) -> int:
    half = len(window) // 2
    for bound in (_PARAGRAPH, _LINE):
        if (end := _last(bound, window)) > half:
            return end
    # The last sentence may go on behind the window.
    if (last := sentences(window)[-1:]) and (end := window.rindex(last[0])) > half:
        return end
    return end if (end := _last(_SPACE, window)) > half else len(window)


def _last(bound: re.Pattern[str], window: str) -> int:
    end = 0
    for found in bound.finditer(window):
        end = found.end()
    return end
