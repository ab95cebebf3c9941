"""Retrieved memories as Markdown for a model: a summary of each, and its messages on demand."""

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Final, Literal

from ..engine.conversations import Retrieved
from ..errors import InvalidInput
from ..model import Memory, When
from ..ranking.budget import estimate_tokens
from ..text.dates import age
from ..text.frames import one_line
from ..text.sentences import gist

NOTHING: Final = "No memories found."
DETAIL_TOKENS: Final = 2_000
"""Token limit for the details of one memory."""
ANSWER_DETAIL_TOKENS: Final = 8_000
"""Token limit for all details of an answer; the best memories come first."""
_AUTOMATIC_DETAILS: Final = 2

Detail = Literal["auto", "none", "low", "high"]
Wanted = Callable[[int, Retrieved], bool]
"""Whether the memory at a rank is shown with its messages."""


def details(detail: Detail | None, detail_limit: int | None, limit: int) -> Wanted:
    """Which memories are shown with details, by `detail` or by `detail_limit`.

    A number n means ranks up to n if surprising; 0 means none; `limit` or more means all. Without either, ranks 1 and 2
    are, if surprising. Raises InvalidInput if both are given.
    """
    if detail is not None and detail_limit is not None:
        raise InvalidInput("Give `detail` or `detail_limit`, not both.")
    if detail == "high" or (detail_limit is not None and detail_limit >= limit):
        return lambda rank, item: True
    if detail_limit is None and detail in (None, "auto"):
        last = _AUTOMATIC_DETAILS
    else:
        last = detail_limit if detail_limit is not None else {"low": 1}.get(detail or "", 0)
    return lambda rank, item: item.is_key_moment and rank <= last


def render(retrieved: list[Retrieved], details_of: Wanted, now: datetime, zone: tzinfo | None = UTC) -> str:
    """One block per memory, best first, without trailing white space."""
    blocks = []
    room = ANSWER_DETAIL_TOKENS
    for rank, item in enumerate(retrieved, 1):
        detail_lines = _details(item.hit.memory, min(room, DETAIL_TOKENS)) if details_of(rank, item) else []
        room -= sum(map(estimate_tokens, detail_lines))
        blocks.append(_block(rank, item, detail_lines, age(_when(item.hit.memory), now, zone) or "in the future"))
    return "\n\n".join(blocks) if blocks else NOTHING


def _details(memory: Memory, room: int) -> list[str]:
    """The messages, as many as fit, and how many more there are."""
    lines = [f'- {one_line(message.role)}: "{one_line(message.content)}"' for message in memory.messages]
    visible = []
    for line in lines:
        if (cost := estimate_tokens(line)) <= room:
            room -= cost
            visible.append(line)
    if hidden_count := len(lines) - len(visible):
        visible.append(f"(+{_number(hidden_count, 'message')})")
    return visible


def _block(rank: int, item: Retrieved, detail_lines: list[str], when: str) -> str:
    memory = item.hit.memory
    moment = ", key moment" if item.is_key_moment else ""
    lines = [
        f"## Memory {rank} [rank: {rank}, score: {item.hit.score:.2f}{moment}]",
        f"**When:** {when}",
        f"**Summary:** {one_line(gist(memory.content, memory.messages))}",
    ]
    if detail_lines:
        lines += ["", "**Details:**", *detail_lines]
    return "\n".join(line.rstrip() for line in lines)


def _when(memory: Memory) -> When:
    return memory.occurred_until or memory.occurred_at or memory.created_at


def _number(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number:,} {unit}s"
