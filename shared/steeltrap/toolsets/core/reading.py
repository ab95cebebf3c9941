"""core: get, list, history, stats, score, set_score, review, simulate_decay."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from ...engine import reading, scoring
from ...engine.call import Call
from ...engine.scoring import Decay
from ...errors import InvalidInput
from ...model import Happened, JsonObject
from ...ranking.fading import Grade
from ...text.dates import bound
from ...text.limits import MAX_CONTEXT_CHARACTERS, MAX_VERSION
from ...tools import Answer, Input
from ..fields import Bound, MemoryId, Time, Unit
from . import CORE
from .filtering import ListFilterInput
from .views import MemoryView, listed_view, memory_view


class GetInput(Input):
    id: MemoryId


@CORE.tool("get", "read", examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},))
def get(call: Call, input: GetInput) -> MemoryView:
    """Read one memory by its id, with all its fields."""
    memory = reading.get(call, input.id)
    ends = reading.find_known(call, [link.target_id for link in memory.links])
    return memory_view(memory, [link for link in memory.links if link.target_id in ends])


class ListInput(ListFilterInput):
    order: Literal["saved", "happened"] = Field(
        "saved", description="`saved`: newest first. `happened`: latest event first; without a time, when it was saved."
    )
    happened_after: Bound | None = Field(None, description="With `happened`: only what happened at or after this time.")
    happened_before: Bound | None = Field(None, description="With `happened`: only what happened before this time.")
    limit: int = Field(50, ge=1, le=1000, description="Maximum number to return.")
    offset: int = Field(0, ge=0, le=10**9, description="Number to skip.")
    deleted: bool = Field(
        False, description="Instead list the deleted memories that undo can restore, latest deletion first."
    )

    def happened(self, call: Call) -> Happened | None:
        """The bounds by when it happened, None for another order. Raises InvalidInput."""
        after, before = self.happened_after, self.happened_before
        if self.order == "happened":
            (first, first_day), (end, end_day) = (
                (None, None) if at is None else bound(at, call.zone) for at in (after, before)
            )
            return Happened(after=first, before=end, first_day=first_day, end_day=end_day)
        if after is not None or before is not None:
            raise InvalidInput('`happened_after` and `happened_before` go with `order` "happened".')
        return None


class ListView(Answer):
    """A page of memories, in the order that was asked for, and the total number."""

    memories: list[MemoryView]
    total: int


@CORE.tool("list", "read", name="list", examples=({"scope": "work", "limit": 20},))
def list_(call: Call, input: ListInput) -> ListView:
    """List memories, newest first or by when they happened, with the exact total. To find something, use search."""
    if input.deleted:
        if others := sorted(input.model_fields_set - {"deleted", "limit", "offset"}):
            raise InvalidInput(f"`deleted` goes with `limit` and `offset` only; leave out `{others[0]}`.")
        deleted = reading.list_deleted(call, limit=input.limit, offset=input.offset)
        return ListView(memories=[listed_view(memory) for memory in deleted.memories], total=deleted.total)
    page = reading.list_memories(
        call, input.to_filter(call), limit=input.limit, offset=input.offset, happened=input.happened(call)
    )
    return ListView(memories=[listed_view(memory) for memory in page.memories], total=page.total)


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
    return StatsView(**reading.statistics(call))


class ScoreInput(Input):
    id: MemoryId


class ScoreView(Answer):
    """How important a memory is, 0 to 1. `reason` and `set_at` are present if it was set manually."""

    id: str
    score: float
    access_count: int
    last_accessed_at: datetime | None = None
    reason: str | None = None
    set_at: datetime | None = None


@CORE.tool("get", "read", examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},))
def score(call: Call, input: ScoreInput) -> ScoreView:
    """Get the importance of a memory, 0 to 1: set manually, otherwise from how often and how recently it was read.

    This call does not count as a read.
    """
    scored = scoring.score(call, input.id)
    by_hand = scored.memory.importance
    return ScoreView(
        id=scored.memory.id,
        score=scored.importance,
        access_count=scored.usage.access_count,
        last_accessed_at=scored.usage.last_accessed_at,
        reason=by_hand.reason if by_hand else None,
        set_at=by_hand.set_at if by_hand else None,
    )


class SetScoreInput(Input):
    id: MemoryId
    score: Unit = Field(description="How important it is, 0 to 1.")
    reason: str = Field(
        "Manual override", max_length=MAX_CONTEXT_CHARACTERS, description="The reason; it is stored with the score."
    )


class RescoredView(Answer):
    """The previous score and the new one."""

    id: str
    version: int
    previous: float
    score: float


@CORE.tool(
    "update",
    "write",
    needs="embedder",
    idempotent=True,
    examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "score": 0.9, "reason": "The user insists on it"},),
)
def set_score(call: Call, input: SetScoreInput) -> RescoredView:
    """Set the importance of a memory. Reads don't change it; it stays until it is set again or undone."""
    rescored = scoring.set_score(call, input.id, input.score, input.reason)
    return RescoredView(
        id=rescored.memory.id, version=rescored.memory.version, previous=rescored.previous, score=input.score
    )


class DecayView(Answer):
    """How well a memory is remembered at a time, 0 to 1, and when that falls below 0.9 and 0.5 if nobody recalls it.
    Pinned memories never fade."""

    id: str
    at: datetime
    retrievability: float
    below_90_percent_at: datetime | None = None
    below_50_percent_at: datetime | None = None


class ReviewInput(Input):
    id: MemoryId
    grade: Grade = Field(description="How well it was remembered: again (forgotten or not useful), hard, good or easy.")


@CORE.tool("review", "write", examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "grade": "easy"},))
def review(call: Call, input: ReviewInput) -> DecayView:
    """Grade how well a memory was remembered or how much it helped.

    The better the grade, the slower it fades from retrieve_memory. Every review counts, even several per day. A
    retrieval counts as a review with grade good, at most once per day.
    """
    return _view(scoring.review(call, input.id, input.grade))


class SimulateInput(Input):
    id: MemoryId
    at: Time = Field(description="The date or time to predict for.")


@CORE.tool("get", "read", examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "at": "2027-01-31"},))
def simulate_decay(call: Call, input: SimulateInput) -> DecayView:
    """Predict how well a memory will be remembered at a time if nobody recalls it before. Changes nothing."""
    return _view(scoring.simulate_decay(call, input.id, input.at))


def _view(decay: Decay) -> DecayView:
    return DecayView(
        id=decay.id,
        at=decay.at,
        retrievability=decay.retrievability,
        below_90_percent_at=decay.below_90_percent_at,
        below_50_percent_at=decay.below_50_percent_at,
    )
