"""agent: recall, recent_memories."""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from ...engine import reading, searching
from ...engine.call import Call
from ...errors import counted
from ...model import Hit, Memory, Outcome, OutcomeKind, Search, Sized
from ...ranking.budget import pack
from ...text.dates import in_zone
from ...text.frames import excerpt
from ...tools import Input
from ..fields import AnyText
from ..lines import (
    CLOSE,
    FRAME_TOKENS,
    ID_TOKENS,
    OPEN,
    in_degrees,
    memory_lines,
    recalled_by,
    shown_text,
    shown_to,
    split_untrusted,
)
from . import AGENT

MAX_RESULTS: Final = 20
TOKENS: Final = 2000
MAX_TOKENS: Final = 20_000
MOST_LESS_SURE: Final = 6
"""Twice as many as elsewhere: a line costs some 20 tokens, and a model that asks again costs a call."""


class RecallInput(Input):
    query: AnyText = Field(description="What to look for, in plain language")
    max_tokens: int = Field(TOKENS, ge=200, le=MAX_TOKENS, description="Size limit of the answer")


@AGENT.tool("search", "read", needs="index", media="text/plain", examples=({"query": "What does the user eat?"},))
def recall(call: Call, input: RecallInput) -> str:
    """Search what was remembered in earlier conversations. Call it before you answer anything that may depend on the
    user's past, plans, preferences or projects. Memories after "Less sure" may be about something else. If nothing is
    close, ask again in other words before you say that you don't know."""
    result = searching.search(
        call,
        Search(
            query=input.query,
            limit=MAX_RESULTS,
            filter=recalled_by(call),
            precision="likely",
            most_less_sure=MOST_LESS_SURE,
            max_tokens=input.max_tokens - FRAME_TOKENS,
            sized=lambda hit: Sized(text=shown_text(call, hit.memory), beside=ID_TOKENS),
            nothing_stored=lambda: _empty(call),
        ),
    )
    call.outcome = result.outcome
    result.check_answered()
    if not result.hits:
        return f"{_today(call)}\n{_nothing(call, result.outcome)}"
    parts = [
        _today(call),
        *in_degrees(call, result.hits, [hit.preview or shown_text(call, hit.memory) for hit in result.hits]),
    ]
    if result.outcome.corrected:
        parts.insert(1, result.outcome.corrected)
    if cut := _cut(result.hits, result.outcome.more):
        parts.append(f"{cut}, to fit {input.max_tokens:,} tokens; ask more precisely, or raise max_tokens.")
    if result.outcome.kind in (OutcomeKind.DEGRADED, OutcomeKind.OFFLINE):
        parts.append(result.outcome.message)
    return "\n".join(parts)


def _today(call: Call) -> str:
    """The weekday and date, where the user is."""
    now = in_zone(call.now(), call.zone)
    return f"Today is {now:%A} {now:%Y-%m-%d} ({now.tzname()})."


def _nothing(call: Call, outcome: Outcome) -> str:
    if outcome.kind is OutcomeKind.FILTERED_OUT:
        return _empty(call)
    if outcome.nearest is None or outcome.nearest.memory.untrusted:
        return outcome.message
    return f"{outcome.message} Nearest: {OPEN}{excerpt(shown_text(call, outcome.nearest.memory))}{CLOSE}"


def _empty(call: Call) -> str:
    here = "Nothing" if call.caller.project is None else "Nothing about the user or this project"
    return reading.nothing_stored(call, shown_to(call), here)


def _cut(hits: Sequence[Hit], more: int) -> str:
    """The sentence on what a budget left out: results, and parts of the long ones."""
    parts = sum(hit.left_out > 0 for hit in hits)
    cut = [
        counted(more, "more memory", "more memories") if more else "",
        f"parts of {parts} of these (…)" if parts else "",
    ]
    return "Left out: " + " and ".join(filter(None, cut)) if any(cut) else ""


class RecentInput(Input):
    limit: int = Field(10, ge=1, le=100, description="How many")
    offset: int = Field(0, ge=0, le=10**9, description="How many newer ones to skip")


@AGENT.tool("list", "read", media="text/plain", examples=({}, {"limit": 20, "offset": 20}))
def recent_memories(call: Call, input: RecentInput) -> str:
    """List the memories that were saved last, newest first."""
    page = reading.list_memories(call, shown_to(call), limit=input.limit, offset=input.offset)
    notice = call.offline_notice()
    if not page.memories:
        nothing = f"No memories here; {counted(page.total, 'is', 'are')} stored." if page.total else _empty(call)
        return nothing if notice is None else f"{notice} {nothing}"
    lines, in_part = _fitting(call, page.memories, TOKENS)
    parts = [_today(call), *split_untrusted(page.memories, lines)]
    if in_part:
        parts.append(f"Left out: parts of {in_part} of these (…), to fit {TOKENS:,} tokens; recall shows more.")
    next_offset = input.offset + len(lines)
    if next_offset < page.total:
        parts.append(f"{next_offset:,} of {page.total:,} shown; continue with offset {next_offset}.")
    if notice is not None:
        parts.append(notice)
    return "\n".join(parts)


def _fitting(call: Call, memories: Sequence[Memory], max_tokens: int) -> tuple[list[str], int]:
    """The lines of the first memories, as many as fit an answer of so many tokens; how many are shown in part."""
    sized = (Sized(text=shown_text(call, memory), beside=ID_TOKENS) for memory in memories)
    packed = pack(sized, "", max_tokens - FRAME_TOKENS)
    lines = memory_lines(call, memories[: len(packed)], [passage.text for passage in packed])
    return lines, sum(passage.left_out > 0 for passage in packed)
