"""core: score, set_score."""

from datetime import datetime

from pydantic import Field

from ...engine import scoring
from ...engine.call import Call
from ...text.limits import MAX_CONTEXT_CHARACTERS
from ...tools import Answer, Input
from ..fields import MemoryId, Unit
from .toolset import CORE


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
    done = scoring.set_score(call, input.id, input.score, input.reason)
    return RescoredView(id=done.memory.id, version=done.memory.version, previous=done.previous, score=input.score)
