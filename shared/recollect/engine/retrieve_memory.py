"""Retrieve memory: search weighed by how well each memory would be remembered, for a model to read."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from ..model import Hit, Usage, from_micros
from .call import Call
from .fusion import Fused
from .novelty import KEY_MOMENT
from .retrievability import retrievability, reviewed
from .search import Found, Search, search


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """A hit whose score is the fused score times retrievability; both factors are kept."""

    hit: Hit
    relevance: float
    retrievability: float

    @property
    def is_key_moment(self) -> bool:
        return (self.hit.memory.surprise or 0.0) >= KEY_MOMENT


class _Unread(NamedTuple):
    """What a candidate tells of a memory's decay, so that only the memories that are answered are read."""

    created_at: datetime
    surprise: float | None
    pinned: bool


def retrieve_memory(call: Call, request: Search) -> tuple[list[Retrieved], Found]:
    """The best memories by fused score x retrievability. A retrieval counts as a review once a day."""
    now = call.now()
    usage: dict[str, Usage] = {}
    factors: dict[str, tuple[float, float]] = {}

    def weigh(fused: list[Fused]) -> list[Fused]:
        usage.update(call.space.usage([f.candidate.id for f in fused]))
        for f in fused:
            c = f.candidate
            unread = _Unread(from_micros(c.created), c.surprise, c.pinned)
            factor = retrievability(unread, usage.get(c.id, Usage()), now)
            factors[c.id] = f.score, factor
            f.score *= factor
        return fused

    found = search(call, request, weigh)
    retrieved = []
    for hit in found.hits:
        known = usage.get(hit.memory.id, Usage())
        if card := reviewed(hit.memory, known, now):
            call.space.note_review(hit.memory.id, previous=known.card, card=card)
        relevance, factor = factors[hit.memory.id]
        retrieved.append(Retrieved(hit=hit, relevance=round(min(1.0, relevance), 4), retrievability=round(factor, 4)))
    return retrieved, found
