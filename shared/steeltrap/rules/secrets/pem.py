"""Private keys in PEM: whole blocks, and blocks that are cut off at their beginning or end."""

from collections.abc import Iterator
from typing import Final

from .rule import Span, compiled

KIND: Final = "private-key"
KEYWORD: Final = "private key"

_NAME: Final = r"[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----"
# Between two lines of a key: white space, in a JSON text its escapes, and what quotes or joins lines.
_GAP: Final = r"""(?:\s|\\+[nrt]|[>|#*"'`,;+.\\])"""
_LINE: Final = r"[A-Za-z0-9+/=]{16,}"
_HEADER: Final = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID):[^\n\\]{0,200}"
_MARKS: Final = rf"-----(BEGIN|END){_NAME}"
_CUT_AFTER: Final = rf"(?:{_GAP}{{0,20}}(?:{_HEADER}|{_LINE}))*(?:{_GAP}{{0,20}}[A-Za-z0-9+/]{{1,64}}={{1,2}})?"
_CUT_BEFORE: Final = rf"(?:{_LINE}{_GAP}{{1,20}})*(?:[A-Za-z0-9+/=]{{1,64}}{_GAP}{{0,20}})?-----END{_NAME}"
_MOST: Final = 32 * 1024


def find(data: bytes) -> Iterator[Span]:
    """From BEGIN to its END where a key is between them; else what looks like the part of a key beside the mark."""
    marks = [(match.group(1) == b"BEGIN", match.start(), match.end()) for match in compiled(_MARKS).finditer(data)]
    begun: tuple[int, int] | None = None
    for is_begin, start, end in marks:
        if is_begin:
            if begun is not None:
                yield from _cut_after(data, *begun, until=start)
            begun = start, end
        elif begun is not None and start - begun[1] <= _MOST:
            if compiled(_LINE).search(data, begun[1], start):
                yield Span(begun[0], end, KIND)
            begun = None
        else:
            yield from _cut_before(data, start, end)
    if begun is not None:
        yield from _cut_after(data, *begun, until=len(data))


def _cut_after(data: bytes, start: int, end: int, until: int) -> Iterator[Span]:
    match = compiled(_CUT_AFTER).match(data, end, until)
    if match is not None and compiled(_LINE).search(data, end, match.end()):
        yield Span(start, match.end(), KIND)


def _cut_before(data: bytes, start: int, end: int) -> Iterator[Span]:
    first = max(0, start - _MOST)
    match = compiled(_CUT_BEFORE).search(data, first, end)
    if match is not None and compiled(_LINE).search(data, match.start(), start):
        yield Span(match.start(), end, KIND)
