"""core: review, simulate_decay."""

from datetime import datetime

from pydantic import Field

from ...engine import scoring
from ...engine.call import Call
from ...engine.scoring import Decay
from ...ranking.fading import Grade
from ...tools import Answer, Input
from ..fields import MemoryId, Time
from .toolset import CORE


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
