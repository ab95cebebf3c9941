"""Tokens that are broken over lines, escaped, or put together from strings: the text without what is between their
pieces, and where these were."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .rule import Span, compiled, entropy

# A line break with what may stand around it: a backslash, a string's end and the next one's start, the mark of a quote.
_BREAK: Final = r"""([ \t]{0,8}(?:\\|["'][ \t]{0,8}\+?)?[ \t]{0,8}\r?\n[ \t>|#*]{0,40}["']?)"""
_ANY: Final = r"[\w+/=.~-]"
# Between two words of which one has a digit: prose has few of these.
_TORN: Final = rf"(?:\d{_ANY}*{_BREAK}{_ANY}{{4}}|{_ANY}{{4}}{_BREAK}{_ANY}*\d)"
# Markdown's backslash before an underscore or hyphen, two strings that are added, and letters without a width.
_ADDED: Final = r"""(["'][ \t]{0,3}[+.]?[ \t]{0,3}["'])\w"""
_THIN: Final = r"([\x{200b}-\x{200d}\x{2060}\x{feff}\x{ad}]+)\w"
_SPLIT: Final = rf"{_ANY}(?:(\\+)[_-]|{_ADDED}|{_THIN})"
_ALL: Final = f"{_TORN}|{_SPLIT}"
_DIGIT: Final = re.compile(rb"\d")


@dataclass(frozen=True, slots=True)
class Joined:
    """A text without the line breaks inside what may be tokens; `starts` are the pieces' offsets in it, `origins` in
    the text."""

    data: bytes
    starts: Sequence[int]
    origins: Sequence[int]

    def origin(self, offset: int) -> int:
        piece = bisect_right(self.starts, offset) - 1
        return self.origins[piece] + offset - self.starts[piece]

    def breaks_in(self, start: int, end: int) -> list[int]:
        return list(self.starts[bisect_right(self.starts, start) : bisect_left(self.starts, end)])


def joined(data: bytes) -> Joined | None:
    """The text in which split words, and words with digits that a line break tears apart, are whole; None where there
    are none."""
    pieces: list[bytes] = []
    starts: list[int] = []
    origins: list[int] = []
    at = size = 0
    while (match := compiled(_ALL).search(data, at)) is not None:
        start, end = next(span for span in map(match.span, range(1, 6)) if span[0] >= 0)
        pieces.append(data[at:start])
        starts.append(size)
        origins.append(at)
        size += start - at
        at = end
    if not pieces:
        return None
    return Joined(b"".join([*pieces, data[at:]]), [*starts, size], [*origins, at])


def torn(text: Joined, found: Iterable[Span], whole: Sequence[Span]) -> Iterator[Span]:
    """Of what was found in the joined text, where it was in the text: what only the join could show.

    `whole` is what was found in the text as it is. Such a secret goes on behind the line break only where what
    follows looks random; what begins with another secret is that one.
    """
    starts = {span.start for span in whole}
    for start, end, kind in found:
        breaks = text.breaks_in(start, end)
        if not breaks:
            continue
        first, last = text.origin(start), text.origin(end - 1) + 1
        if any(text.origin(at) in starts for at in breaks):
            continue
        if (seen := _end_of_last(whole, first, last)) is not None:
            tail = b"".join(text.data[at:end] for at in breaks[:1] if text.origin(at) >= seen)
            if not _is_random(tail):
                continue
        elif len(_DIGIT.findall(text.data[start:end])) < 2:
            continue
        yield Span(first, last, kind)


def _end_of_last(spans: Sequence[Span], start: int, end: int) -> int | None:
    """Where the last of the spans that overlap a place ends; None where none does. The spans are in order."""
    last = bisect_left(spans, end, key=lambda span: span.start) - 1
    return spans[last].end if last >= 0 and spans[last].end > start else None


def _is_random(tail: bytes) -> bool:
    return len(tail) >= 8 and entropy(tail) > 3 and bool(_DIGIT.search(tail)) and bool(re.search(rb"[A-Za-z]", tail))
