"""A memory as a row of a list."""

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any, Final

from ...model.frozen import frozen
from ...text.dates import day_text, minute_text, read
from .bars import why

EXCERPT: Final = 360
_SHOWN_TAGS: Final = 6


@frozen
class Row:
    """A memory as a list shows it. `happened` is given if that was on another day than the save. `score` and `why`
    are of a search."""

    id: str
    version: int
    text: str
    is_cut: bool
    at: str
    time: str
    day: str
    happened: str
    scope: str
    tags: list[str]
    badges: list[tuple[str, str]]
    pinned: bool
    score: float | None = None
    why: list[dict[str, Any]] | None = None
    deleted: str = ""


def row(memory: Mapping[str, Any], zone: tzinfo | None) -> Row:
    content = memory["content"]
    deleted = memory.get("deleted_at")
    day = day_of(memory["created_at"], zone)
    happened = memory.get("occurred_at")
    return Row(
        id=memory["id"],
        version=memory["version"],
        text=content[:EXCERPT],
        is_cut=len(content) > EXCERPT,
        at=memory["created_at"],
        time=when(memory["created_at"], zone),
        day=day,
        happened=then if happened and (then := when(happened, zone)[:10]) != day else "",
        scope=memory["scope"],
        tags=memory.get("tags", [])[:_SHOWN_TAGS],
        badges=badges(memory, zone),
        pinned=bool(memory.get("pinned")),
        score=memory.get("score"),
        why=why(memory) if "why" in memory else None,
        deleted=when(deleted, zone) if deleted else "",
    )


def badges(memory: Mapping[str, Any], zone: tzinfo | None) -> list[tuple[str, str]]:
    """Short labels, each with what it means."""
    found = []
    if memory.get("pinned"):
        found.append(("pinned", "It never fades, and deleting by criteria skips it."))
    if memory.get("messages"):
        found.append(("episode", "Made from a conversation."))
    if memory.get("superseded_by"):
        found.append(("superseded", "A newer memory replaced it; searches leave it out."))
    if memory.get("untrusted"):
        found.append(("untrusted", "An untrusted agent wrote it."))
    if memory.get("expires_at"):
        found.append(("expires", f"It expires at {when(memory['expires_at'], zone)}."))
    return found


def when(moment: str, zone: tzinfo | None) -> str:
    """A time in the zone that is shown, to the minute; a date without a time as it is."""
    return minute_text(read(moment), zone)


def day_of(moment: str, zone: tzinfo | None) -> str:
    return day_text(read(moment), zone)
