"""List: pages of memories by filter, newest first, or of deleted ones, with the exact total."""

from datetime import datetime, timedelta
from typing import Final

from ..model import Filter, Memory, Page, ScopeUse
from .call import Call

_MOMENT: Final = timedelta(microseconds=1)
_BLOCK: Final = 200


def list_memories(call: Call, filter: Filter, *, limit: int, offset: int = 0, count_access: bool = False) -> Page:
    """A page of what the filter admits.

    Listing does not count as access, but with `count_access`: for a dialect in which an agent reads its
    memories by listing them.
    """
    page = call.space.page(filter, limit=limit, offset=offset)
    if count_access:
        call.space.note_access([memory.id for memory in page.memories], call.now())
    return page


def list_deleted(call: Call, *, limit: int, offset: int = 0) -> Page:
    """A page of what undo can restore, the latest deletion first, then by id; and the exact total."""
    now = call.now()
    gone = call.space.stale(now + _MOMENT)
    kept: list[tuple[datetime, str]] = []
    for start in call.in_time(range(0, len(gone), _BLOCK)):
        there = call.space.get(gone[start : start + _BLOCK], deleted=True).values()
        kept += [(memory.deleted_at, memory.id) for memory in there if memory.deleted_at and _can_return(call, memory)]
    # Two stable sorts: by id, then by time downwards.
    order = sorted(sorted(kept, key=lambda each: each[1]), key=lambda each: each[0], reverse=True)
    ids = [id for _, id in order[offset : offset + limit]]
    shown = call.space.get(ids, deleted=True)
    return Page(memories=tuple(shown[id] for id in ids if id in shown), total=len(order))


def _can_return(call: Call, memory: Memory) -> bool:
    now = call.now()
    expired = memory.expires_at is not None and memory.expires_at <= now
    in_time = memory.deleted_at is not None and now - memory.deleted_at < call.rules.retention
    return in_time and not expired and memory.source != "conversation"


def list_scopes(call: Call, parent: str | None = None) -> dict[str, ScopeUse]:
    """The use of each scope, by name; with `parent`, only it and the scopes below it."""
    used = call.space.scopes()
    if parent is not None:
        used = {s: use for s, use in used.items() if s == parent or s.startswith(parent + "/")}
    return dict(sorted(used.items()))
