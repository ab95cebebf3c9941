"""core: get, list, history, stats."""

from datetime import datetime

from pydantic import Field

from ...engine import reading
from ...engine.call import Call
from ...errors import InvalidInput
from ...model import JsonObject
from ...text.limits import MAX_VERSION
from ...tools import Answer, Input
from ..fields import MemoryId
from .filtering import FilterInput
from .toolset import CORE
from .views import MemoryView, memory_view


class GetInput(Input):
    id: MemoryId


@CORE.tool("get", "read", examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},))
def get(call: Call, input: GetInput) -> MemoryView:
    """Read one memory by its id, with all its fields."""
    memory = reading.get(call, input.id)
    ends = call.space.get([link.target_id for link in memory.links])
    return memory_view(memory, [link for link in memory.links if link.target_id in ends])


class ListInput(FilterInput):
    include_superseded: bool = Field(False, description="Include memories that another one superseded.")
    limit: int = Field(50, ge=1, le=1000, description="Maximum number to return.")
    offset: int = Field(0, ge=0, le=10**9, description="Number to skip.")
    deleted: bool = Field(
        False, description="Instead list the deleted memories that undo can restore, latest deletion first."
    )


class ListView(Answer):
    """A page of memories, newest first, and the total number."""

    memories: list[MemoryView]
    total: int


@CORE.tool("list", "read", name="list", examples=({"scope": "work", "limit": 20},))
def list_(call: Call, input: ListInput) -> ListView:
    """List memories, newest first, with the exact total. To find something, use search."""
    if input.deleted:
        if others := sorted(input.model_fields_set - {"deleted", "limit", "offset"}):
            raise InvalidInput(f"`deleted` goes with `limit` and `offset` only; leave out `{others[0]}`.")
        deleted = reading.list_deleted(call, limit=input.limit, offset=input.offset)
        return ListView(memories=[memory_view(memory) for memory in deleted.memories], total=deleted.total)
    page = reading.list_memories(call, input.to_filter(call), limit=input.limit, offset=input.offset)
    return ListView(memories=[memory_view(memory) for memory in page.memories], total=page.total)


def _version_of(image: JsonObject) -> int:
    return int(image["memory"]["version"])


class HistoryInput(Input):
    id: MemoryId
    limit: int = Field(100, ge=1, le=1000, description="Maximum number of versions.")
    after: int = Field(
        0, ge=0, le=MAX_VERSION, description="Continue after this version: `next` from the previous answer."
    )


class RevisionView(Answer):
    """One version of a memory. The current one has no `replaced_at` or `replaced_by`."""

    memory: MemoryView
    replaced_at: datetime | None = None
    replaced_by: str | None = None


class HistoryView(Answer):
    """Versions of a memory. There is no `next` once the current version is included."""

    revisions: list[RevisionView]
    next: int | None = None


@CORE.tool("history", "read", cursor=_version_of, examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},))
def history(call: Call, input: HistoryInput) -> HistoryView:
    """Show all versions of a memory, oldest first. This works for a deleted memory until it is purged.

    An answer ends at `limit` versions or 4 MiB. If it has `next`, call again with that value as `after`.
    """
    page = reading.history(call, input.id, limit=input.limit, after=input.after)
    views = [
        RevisionView(memory=memory_view(r.memory), replaced_at=r.replaced_at, replaced_by=r.replaced_by)
        for r in page.revisions
    ]
    if page.current is not None:
        views.append(RevisionView(memory=memory_view(page.current)))
    return HistoryView(revisions=views, next=page.next)


class StatsInput(Input):
    """No arguments."""


class StatsView(Answer):
    """How much is stored. `bytes` is the size on disk; `record_bytes` is the size that counts towards a quota."""

    memories: int
    superseded: int
    turns: int
    deleted: int
    chunks: int
    bytes: int
    record_bytes: int


@CORE.tool("list", "read", examples=({},))
def stats(call: Call, input: StatsInput) -> StatsView:
    """Count what is stored: memories, those that others superseded, conversation turns, deleted or expired memories
    not purged yet, and bytes."""
    return StatsView(**call.space.statistics())
