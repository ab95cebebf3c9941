"""Days are the user's: the one place that knows zones, and days without a time. Pure.

A memory's time is a moment in UTC, or a day that was given without a time and has no zone: the 12th of May is the 12th
of May everywhere. Everything that shows a time or searches by one uses these functions with the caller's zone; None is
the machine's own. The days that a question names are read in `date_questions.py`.
"""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final

from ..model import Days, When, from_micros, to_micros
from .patterns import lazy_pattern

_DAY: Final = lazy_pattern(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DAY_IN_NAME: Final = lazy_pattern(r"(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})(?!\d)")
_ZONE_NAME: Final = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_+-]{0,40}(?:/[A-Za-z0-9_+-]{1,40}){0,3}")
_LAST: Final = date.max.toordinal()
_LAST_MOMENT: Final = to_micros(datetime.max.replace(tzinfo=UTC)) + 1
_FIRST_MOMENT: Final = to_micros(datetime.min.replace(tzinfo=UTC))


@lru_cache(maxsize=1024)
def zone_of(name: str) -> tzinfo | None:
    """The zone of an IANA name such as Europe/Lisbon, None if there is none."""
    if not _ZONE_NAME.fullmatch(name):
        return None
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # most callers name no zone

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None


def is_day(at: When) -> bool:
    """Whether it is a day without a time."""
    return not isinstance(at, datetime)


def in_zone(at: datetime, zone: tzinfo | None) -> datetime:
    try:
        return at.astimezone(zone)
    except OverflowError:  # the first and the last day that there are
        return at


def from_zone(at: datetime, zone: tzinfo | None) -> datetime:
    """A time that names no zone, as one of this zone. One that clocks skip is moved on by what they skip: 02:30 is
    03:30 where 02:00 is followed by 03:00."""
    if zone is not None:
        return at.replace(tzinfo=zone)
    try:
        local = at.astimezone()
        # Of a time that is skipped, Python before 3.13 goes back by the hour that a named zone goes on by.
        is_skipped = local.replace(tzinfo=None) != at
        return max(local, at.replace(fold=1 - at.fold).astimezone()) if is_skipped else local
    except (ValueError, OverflowError, OSError):
        # Python looks for a change of clocks a day on, which the last day that there is has not: the day before tells.
        beside = at + timedelta(days=-1 if at.year > 1 else 1)
        return at.replace(tzinfo=beside.astimezone().tzinfo)


_BEGINS_BEFORE: Final = 14 * 3_600_000_000
_ENDS_AFTER: Final = 36 * 3_600_000_000
"""The microseconds by which a day begins somewhere before its midnight in UTC, and ends somewhere after it."""


def ends_before(end: When, begin: When) -> bool:
    """Whether an end lies before a beginning. A day without a time lasts as long as it is that day anywhere."""
    gap = to_micros(begin) - to_micros(end)
    if is_day(end) == is_day(begin):
        return gap > 0
    return gap >= _ENDS_AFTER if is_day(end) else gap > _BEGINS_BEFORE


def start_of(day: date, zone: tzinfo | None) -> datetime:
    """The moment at which a day begins in a zone, in UTC: its first midnight, or the end of the gap where clocks skip
    it. Raises OverflowError outside years 1 to 9999."""
    try:
        return from_zone(datetime.combine(day, time()), zone).astimezone(UTC)
    except (ValueError, OSError) as error:  # what the system's own zone raises
        raise OverflowError(str(error)) from None


def first_day(at: datetime, zone: tzinfo | None) -> date:
    """The first day that begins in a zone at a moment or later."""
    day = day_in(at, zone)
    try:
        return day if day == date.max or start_of(day, zone) >= at else day + timedelta(days=1)
    except OverflowError:  # the first day that there is
        return day


def bound(at: When, zone: tzinfo | None) -> tuple[datetime, date]:
    """A bound for what happened at a moment, and for what happened on a day without a time. A day is its own bound,
    also where the zone leaves it out. Raises OverflowError outside years 1 to 9999."""
    return (at, first_day(at, zone)) if isinstance(at, datetime) else (start_of(at, zone), at)


def day_in(at: When, zone: tzinfo | None) -> date:
    """The day in a zone; a day without a time is the same in all of them."""
    return in_zone(at, zone).date() if isinstance(at, datetime) else at


def read(text: str) -> When:
    """The moment or the day of an ISO 8601 text; a time without a zone is UTC. Raises ValueError."""
    if _DAY.fullmatch(text):
        return date.fromisoformat(text)
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def day_text(at: When, zone: tzinfo | None) -> str:
    """The day in a zone, such as 2026-05-12."""
    return day_in(at, zone).isoformat()


def minute_text(at: When, zone: tzinfo | None) -> str:
    """A time in a zone to the minute, such as 2026-05-12 09:30; a day without a time as it is."""
    return in_zone(at, zone).isoformat(" ")[:16] if isinstance(at, datetime) else at.isoformat()


def age(at: When, now: datetime, zone: tzinfo | None) -> str:
    """When something was, as a person would say it: "just now", "yesterday", "last week", "3 months ago"; "today" for
    this day without a time, and nothing for what is yet to come."""
    local_now = in_zone(now, zone)
    days = (local_now.date() - day_in(at, zone)).days
    if not isinstance(at, datetime):
        return _days_ago(days) if days > 0 else "" if days else "today"
    seconds = (now - at).total_seconds()
    if seconds < -60:
        return ""
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return _count(int(seconds // 60), "minute")
    if days <= 0 or seconds < 6 * 3600:
        return _count(int(seconds // 3600), "hour")
    return _days_ago(days)


def _days_ago(days: int) -> str:
    if days == 1:
        return "yesterday"
    if days < 7:
        return _count(days, "day")
    if days < 14:
        return "last week"
    if days < 30:
        return _count(days // 7, "week")
    if days < 60:
        return "last month"
    if days < 365:
        return _count(days // 30, "month")
    return "last year" if days < 730 else _count(days // 365, "year")


def _count(number: int, unit: str) -> str:
    return f"{number} {unit} ago" if number == 1 else f"{number:,} {unit}s ago"


def day_of_name(name: str) -> date | None:
    """The day that a file's name tells, such as `2024-05-03.md`, `2024_05_03.md` or `20240503 Meeting.md`."""
    for year, _, month, day in _DAY_IN_NAME.findall(name):
        try:
            return date(int(year), int(month), int(day))
        except ValueError:
            continue
    return None


def possible_days(at: When) -> list[date]:
    """The days on which something may have happened, whatever zone asks: of a moment its day in UTC and those beside
    it."""
    if not isinstance(at, datetime):
        return [at]
    day = at.astimezone(UTC).date()
    return [date.fromordinal(n) for n in range(max(1, day.toordinal() - 1), min(_LAST, day.toordinal() + 1) + 1)]


def around(spans: Iterable[Days], zone: tzinfo | None) -> list[tuple[int, int]]:
    """For each span, all the microseconds at which it is one of its days, in the zone or as a day without a time, which
    is kept as its midnight in UTC: the first, and the first after it. Some more may be among them."""
    stretches = []
    for first, last in spans:
        (early, _), (_, late) = _midnights(first, zone), _midnights(_next(last), zone)
        start, end = _floating(first, last)
        stretches.append((min(early, start), max(late, end)))
    return stretches


def bounds(span: Days, zone: tzinfo | None) -> tuple[int, int, tuple[tuple[int, int], ...]]:
    """A span of days in a zone, in microseconds: its first moment, the first one after it, and the stretches within it
    in which clocks changed at midnight. In these `day_in` must be asked for each moment."""
    first, last = span
    begin, end = _midnights(first, zone), _midnights(_next(last), zone)
    return begin[0], end[1], tuple((early, late) for early, late in (begin, end) if early != late)


def floating_bounds(span: Days) -> tuple[int, int]:
    """The same for days without a time, which are kept as their midnight in UTC."""
    return _floating(*span)


def _floating(first: date, last: date) -> tuple[int, int]:
    after = _next(last)
    return to_micros(first), _LAST_MOMENT if after is None else to_micros(after)


def _next(day: date) -> date | None:
    return None if day == date.max else day + timedelta(days=1)


def _midnights(day: date | None, zone: tzinfo | None) -> tuple[int, int]:
    """The earliest and the latest moment that may begin a day: two where clocks are changed at midnight."""
    if day is None:
        return _LAST_MOMENT, _LAST_MOMENT
    moments = []
    for fold in (0, 1):
        midnight = datetime.combine(day, time(fold=fold))
        try:
            moments.append(to_micros(from_zone(midnight, zone).astimezone(UTC)))
        except (OverflowError, ValueError, OSError):
            moments.append(_FIRST_MOMENT if day.year < 5000 else _LAST_MOMENT)
    return min(moments), max(moments)


def day_at(micros: int, zone: tzinfo | None) -> date:
    return day_in(from_micros(micros), zone)
