"""Retrieved memories as Markdown for a model to read: summary first, what was said on demand."""

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from ..engine.retrieve_memory import Retrieved
from ..errors import InvalidInput
from .lines import one_line

NOTHING = "No memories found."
_AUTOMATIC_DETAILS = 2

Detail = Literal["auto", "none", "low", "high"]
Wanted = Callable[[int, bool], bool]
"""Whether the memory of a rank, a key moment or not, comes with what was said."""


def details(detail: Detail | None, detail_limit: int | None, limit: int) -> Wanted:
    """Which memories come with details, by the level or by the number that was asked for.

    A number n means ranks up to n if surprising, 0 none, and from `limit` on all. Raises InvalidInput when
    both are given.
    """
    if detail is not None and detail_limit is not None:
        raise InvalidInput("Give `detail` or `detail_limit`, not both.")
    if detail == "high" or (detail_limit is not None and detail_limit >= limit):
        return lambda rank, is_key_moment: True
    ranks = {None: _AUTOMATIC_DETAILS, "auto": _AUTOMATIC_DETAILS, "low": 1, "none": 0}[detail]
    last = ranks if detail_limit is None else detail_limit
    return lambda rank, is_key_moment: is_key_moment and rank <= last


def render(retrieved: list[Retrieved], wanted: Wanted, now: datetime) -> str:
    """One block a memory, best first, without white space at the end."""
    blocks = [_block(rank, item, wanted(rank, item.is_key_moment), now) for rank, item in enumerate(retrieved, 1)]
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


def _block(rank: int, item: Retrieved, with_details: bool, now: datetime) -> str:
    memory = item.hit.memory
    moment = ", key moment" if item.is_key_moment else ""
    when = memory.occurred_until or memory.occurred_at or memory.created_at
    lines = [
        f"## Memory {rank} [rank: {rank}, score: {item.hit.score:.2f}{moment}]",
        f"**When:** {ago(when, now)}",
        f"**Summary:** {one_line(memory.content)}",
    ]
    if with_details and memory.messages:
        said = [f'- {one_line(message.role)}: "{one_line(message.content)}"' for message in memory.messages]
        lines += ["", "**Details:**", *said]
    return "\n".join(line.rstrip() for line in lines)


def _count(number: int, unit: str) -> str:
    return f"{number} {unit} ago" if number == 1 else f"{number} {unit}s ago"
