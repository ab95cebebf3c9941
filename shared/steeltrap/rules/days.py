"""The days that a query names, such as "8 May 2023", "in March" or "2024-05-17". Pure."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

_MONTHS: Final = (
    ("january", "jan", "enero", "januar"),
    ("february", "feb", "febrero", "februar"),
    ("march", "mar", "marzo", "märz"),
    ("april", "apr", "abril"),
    ("may", "mayo", "mai"),
    ("june", "jun", "junio", "juni"),
    ("july", "jul", "julio", "juli"),
    ("august", "aug", "agosto"),
    ("september", "sept", "sep", "septiembre"),
    ("october", "oct", "octubre", "oktober"),
    ("november", "nov", "noviembre"),
    ("december", "dec", "diciembre", "dezember"),
)
_NUMBER: Final = {name: number for number, names in enumerate(_MONTHS, 1) for name in names}
_VERBS: Final = frozenset({"may", "march", "mar"})
"""Months that are other words too: alone they name none."""
_NAMED: Final = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?)?({'|'.join(_NUMBER)})\b\.?"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?\b)?(?:,?\s+(?:of\s+|de\s+)?(\d{4})\b)?",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")

Span = tuple[datetime, datetime]


def spans(query: str, years: range) -> list[Span]:
    """The first and last moment of each day or month that a query names, in UTC; one per year of `years` where it names
    no year. A date that no calendar has is left out."""
    return [span for year, month, day in _dates(query, years) if (span := _span(year, month, day))]


def _dates(query: str, years: range) -> Iterator[tuple[int, int, int]]:
    for year, month, day in _ISO.findall(query):
        yield int(year), int(month), int(day)
    for before, name, after, year in _NAMED.findall(query):
        day = int(before or after or 0)
        if not (day or year) and name.lower() in _VERBS:
            continue
        for each in (int(year),) if year else years:
            yield each, _NUMBER[name.lower()], day


def _span(year: int, month: int, day: int) -> Span | None:
    try:
        first = date(year, month, day or 1)
        last = first if day else (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        start = datetime(first.year, first.month, first.day, tzinfo=UTC)
        return start, datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError):
        return None
