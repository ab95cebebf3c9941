"""Times as files tell them; a date alone is a day without a time."""

import re
from datetime import UTC, date, datetime, tzinfo
from typing import Any, Final

from ...errors import InvalidInput
from ...model import When
from ...text.dates import from_zone

_MILLISECONDS: Final = 1e11
"""Seconds reach this number in the year 5138, milliseconds reached it in 1973."""
_MICROSECONDS: Final = 1e14
_EPOCH: Final = re.compile(r"\d{9,16}(\.\d+)?")
_DAY: Final = re.compile(r"\d{4}-?\d{2}-?\d{2}")


def moment(value: Any, zone: tzinfo | None) -> When | None:
    """The UTC time of an ISO date or time, or of seconds, milliseconds or microseconds since 1970; None for nothing.

    A date alone is that day, without a time. A time without a zone is in `zone`; None is this machine's own. Raises
    InvalidInput.
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            return _of_text(value.strip(), zone)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _of_number(value)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInput(f"{str(value)[:60]!r} is no time; write it like '2026-01-31T09:30:00Z'.")


def _of_text(text: str, zone: tzinfo | None) -> When:
    if _EPOCH.fullmatch(text):
        return _of_number(float(text))
    text = text.removesuffix(" UTC").replace("/", "-") + ("+00:00" if text.endswith(" UTC") else "")
    if _DAY.fullmatch(text):
        return date.fromisoformat(text)
    if text.isdigit():  # a year, or a number of something: nobody can tell
        raise ValueError
    return _in_utc(datetime.fromisoformat(text), zone)


def _of_number(number: float) -> datetime:
    if number <= 0:
        raise ValueError
    if number >= _MICROSECONDS:
        number /= 1e6
    elif number >= _MILLISECONDS:
        number /= 1e3
    return datetime.fromtimestamp(number, UTC)


def _in_utc(at: datetime, zone: tzinfo | None) -> datetime:
    return (from_zone(at, zone) if at.tzinfo is None else at).astimezone(UTC)
