"""How long ago something was, in words. Pure."""

from datetime import datetime


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
