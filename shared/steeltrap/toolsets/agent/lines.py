"""How `agent` shows memories: one line each, fenced, so that a model can tell stored text from the answer."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, time
from typing import Final

from ...engine.call import Call
from ...model import Memory
from ...rules.budget import estimate_tokens
from ...rules.ids import SHORTEST, shortest_start

OPEN: Final = "<memories>"
CLOSE: Final = "</memories>"

_ALIKE: Final = 20
"""How many ids with the same start are looked at; beyond it, an id is shown whole."""
_FRAME_TOKENS: Final = 80
"""The date, the marks, and what is said of what was left out."""
_ID_TOKENS: Final = 12
"""Ids and dates have more tokens than words of their length."""
_LEAST: Final = 60
_MARK: Final = re.compile(r"[<\uff1c\ufe64](?=[\W_]*memor|\|)", re.IGNORECASE)
"""What could open or close the fence, by look-alikes too, or a part of a chat template, such as `<|im_end|>`."""


def fenced(lines: Sequence[str]) -> str:
    """Lines of memories between marks that none of them can forge."""
    return "\n".join((OPEN, *lines, CLOSE))


def fitting(lines: Sequence[str], max_tokens: int) -> list[str]:
    """The lines from the front that fit an answer of so many tokens; of a first one that is too long, its beginning."""
    room = max_tokens - _FRAME_TOKENS
    shown: list[str] = []
    for line in lines:
        room -= estimate_tokens(line) + _ID_TOKENS
        if room < 0:
            break
        shown.append(line)
    if lines and not shown:
        kept = max(_LEAST, (max_tokens - _FRAME_TOKENS) * 3)
        while estimate_tokens(lines[0][:kept]) > max_tokens - _FRAME_TOKENS and kept > _LEAST:
            kept //= 2
        shown = [f"{lines[0][:kept]} ... ({len(lines[0]) - kept:,} more characters)"]
    return shown


def memory_lines(call: Call, memories: Sequence[Memory]) -> list[str]:
    """One line per memory: its shortest unambiguous id, its day, its text."""
    ids = short_ids(call, [memory.id for memory in memories])
    return [f"[{id}] {day_of(call, memory)}: {inert(memory.content)}" for id, memory in zip(ids, memories, strict=True)]


def short_ids(call: Call, ids: Sequence[str]) -> list[str]:
    """The shortest start of each id, of 8 digits or more, that no other memory of the user has."""
    if not ids:
        return []
    alike = call.space.completions([id[:SHORTEST] for id in ids], limit=_ALIKE)
    return [id if len(others) == _ALIKE else shortest_start(id, others) for id, others in zip(ids, alike, strict=True)]


def inert(text: str) -> str:
    """Text that stays on its line and inside its fence: line breaks are escaped, and so are marks of the fence."""
    return _MARK.sub("&lt;", "\\n".join(text.strip().splitlines()))


def day_of(call: Call, memory: Memory) -> str:
    """The day that a memory is about, else that it was saved on; an episode of several days has the first and last."""
    first = _day(call, memory.occurred_at or memory.created_at)
    last = first if memory.occurred_until is None else _day(call, memory.occurred_until)
    return first if last == first else f"{first} to {last}"


def today(call: Call) -> str:
    """The weekday and date, where the user is."""
    now = _local(call, call.now())
    return f"Today is {now:%A} {now:%Y-%m-%d} ({now.tzname()})."


def _day(call: Call, at: datetime) -> str:
    # A date without a time is stored as midnight UTC: it is the same date everywhere.
    local = at if at.astimezone(UTC).time() == time.min else _local(call, at)
    return f"{local.year:04d}-{local.month:02d}-{local.day:02d}"


def _local(call: Call, at: datetime) -> datetime:
    try:
        return at.astimezone(call.rules.zone)
    except OverflowError:  # the first and the last day that there are
        return at
