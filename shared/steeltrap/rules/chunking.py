"""Cutting a text into the overlapping spans that are embedded one by one."""

from collections.abc import Sequence
from typing import Final

CHUNK_CHARACTERS: Final = 640
OVERLAP_CHARACTERS: Final = 96


def chunks(text: str) -> list[str]:
    """Spans of at most 640 characters, each beginning 96 characters before the last one ended.

    A span ends behind white space where its last 96 characters have any, so that words stay whole.
    A text of up to 640 characters is one span. Together the spans cover the whole text.
    """
    spans: list[str] = []
    start = 0
    while len(text) - start > CHUNK_CHARACTERS:
        stop = _word_end(text, start + CHUNK_CHARACTERS)
        spans.append(text[start:stop])
        start = stop - OVERLAP_CHARACTERS
    spans.append(text[start:])
    return spans


def passage(spans: Sequence[str], number: int) -> str:
    """One of a text's spans, trimmed, without the part of a word that it may begin with."""
    span = spans[number]
    if number and not (spans[number - 1][-OVERLAP_CHARACTERS - 1].isspace() or span[0].isspace()):
        begun, space, _ = span[:OVERLAP_CHARACTERS].partition(" ")
        span = span[len(begun) :] if space else span
    return span.strip()


def _word_end(text: str, stop: int) -> int:
    for end in range(stop, stop - OVERLAP_CHARACTERS, -1):
        if text[end - 1].isspace():
            return end
    return stop
