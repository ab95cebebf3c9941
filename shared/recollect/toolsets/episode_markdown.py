"""Retrieved memories as Markdown for a model to read: summary first, what was said on demand."""

from datetime import datetime

from ..engine.retrieve_memory import Retrieved
from .lines import one_line

NOTHING = "No memories found."
_AUTOMATIC_DETAILS = 2


def render(retrieved: list[Retrieved], *, detail_limit: int | None, limit: int, now: datetime) -> str:
    """One block a memory, best first. `detail_limit`: None for ranks 1 and 2 if surprising, 0 for none,
    n for ranks up to n if surprising, and from `limit` on for all."""
    blocks = [
        _block(rank, item, _with_details(rank, item, detail_limit, limit), now)
        for rank, item in enumerate(retrieved, 1)
    ]
    return "\n\n".join(blocks) if blocks else NOTHING


def ago(then: datetime, now: datetime) -> str:
    """When something was, as a person would say it: "just now", "yesterday", "last week", "3 months ago"."""
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


def _block(rank: int, item: Retrieved, details: bool, now: datetime) -> str:
    memory = item.hit.memory
    moment = ", key moment" if item.is_key_moment else ""
    when = memory.occurred_until or memory.occurred_at or memory.created_at
    lines = [
        f"## Memory {rank} [rank: {rank}, score: {item.hit.score:.2f}{moment}]",
        f"**When:** {ago(when, now)}",
        f"**Summary:** {one_line(memory.content)}",
    ]
    if details and memory.messages:
        said = [f'- {one_line(message.role)}: "{one_line(message.content)}"' for message in memory.messages]
        lines += ["", "**Details:**", *said]
    return "\n".join(line.rstrip() for line in lines)


def _with_details(rank: int, item: Retrieved, detail_limit: int | None, limit: int) -> bool:
    if detail_limit is None:
        return rank <= _AUTOMATIC_DETAILS and item.is_key_moment
    if detail_limit >= limit:
        return True
    return rank <= detail_limit and item.is_key_moment


def _count(number: int, unit: str) -> str:
    return f"{number} {unit} ago" if number == 1 else f"{number} {unit}s ago"
