"""How a moment reads where somebody is: in their zone, as a day, and how long ago. Pure."""

from datetime import UTC, datetime, time, tzinfo


def in_zone(at: datetime, zone: tzinfo | None) -> datetime:
    """The moment in a zone, None for the machine's own."""
    try:
        return at.astimezone(zone)
    except OverflowError:  # the first and the last day that there are
        return at


def from_zone(at: datetime, zone: tzinfo | None) -> datetime:
    """A time that names no zone, as one of this zone; None is the machine's own."""
    return at.astimezone() if zone is None else at.replace(tzinfo=zone)


def is_day(at: datetime) -> bool:
    """Whether it is a date without a time: stored as midnight UTC, it is the same date everywhere."""
    return at.astimezone(UTC).time() == time.min


def ago(then: datetime, now: datetime) -> str:
    """When something was, as a person would say it: "just now", "yesterday", "last week", "3 months ago".

    Days are those of the zone that both times are in.
    """
    seconds = (now - then).total_seconds()
    days = (now.date() - then.date()).days
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return _count(int(seconds // 60), "minute")
    if days == 0 or seconds < 6 * 3600:
        return _count(int(seconds // 3600), "hour")
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
