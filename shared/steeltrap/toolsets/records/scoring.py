"""records: memory_get_score, memory_set_score."""

from pydantic import Field

from ...engine import scoring
from ...engine.call import Call
from ...text.limits import MAX_CONTEXT_CHARACTERS
from ...tools import Answer, Input
from ..fields import Moment, Unit
from .fields import Id
from .toolset import RECORDS


class GetScoreInput(Input):
    id: Id


class ScoreView(Answer):
    success: bool
    memory_id: str
    importance_score: float
    access_count: int
    last_accessed_at: Moment | None


@RECORDS.tool("get", "read", examples=({"id": "550e8400-e29b-41d4-a716-446655440000"},))
def memory_get_score(call: Call, input: GetScoreInput) -> ScoreView:
    """Get the importance score of a memory. It is computed from how often and how recently the memory was accessed,
    unless it was set manually."""
    scored = scoring.score(call, input.id)
    return ScoreView(
        success=True,
        memory_id=scored.memory.id,
        importance_score=scored.importance,
        access_count=scored.usage.access_count,
        last_accessed_at=scored.usage.last_accessed_at,
    )


class SetScoreInput(Input):
    id: Id
    score: Unit = Field(description="New score (0.0 to 1.0)")
    reason: str = Field(
        "Manual override",
        max_length=MAX_CONTEXT_CHARACTERS,
        description="Reason (for audits)",
    )


class RescoredView(Answer):
    success: bool
    memory_id: str
    previous_score: float
    new_score: float


@RECORDS.tool(
    "update",
    "write",
    needs="embedder",
    idempotent=True,
    examples=({"id": "550e8400-e29b-41d4-a716-446655440000", "score": 0.9, "reason": "Critical user preference"},),
)
def memory_set_score(call: Call, input: SetScoreInput) -> RescoredView:
    """Set the importance score of a memory manually. It stays until it is set again."""
    done = scoring.set_score(call, input.id, input.score, input.reason)
    return RescoredView(success=True, memory_id=done.memory.id, previous_score=done.previous, new_score=input.score)
