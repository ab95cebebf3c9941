"""Retrieve memory: search weighed by how well each memory would be remembered, for a model to read."""

from dataclasses import dataclass
from typing import Final

from ..model import Hit, Usage
from .call import Call
from .fusion import Fused
from .retrievability import retrievability, reviewed
from .search import Found, Search, search

KEY_MOMENT: Final = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """A hit whose score is the fused score times retrievability; both factors are kept."""

    hit: Hit
    relevance: float
    retrievability: float

    @property
    def is_key_moment(self) -> bool:
        return (self.hit.memory.surprise or 0.0) >= KEY_MOMENT


def retrieve_memory(call: Call, request: Search) -> tuple[list[Retrieved], Found]:
    """The best memories by fused score x retrievability. A retrieval counts as a review once a day."""
    usage: dict[str, Usage] = {}
    factors: dict[str, float] = {}

    def weigh(fused: list[Fused]) -> list[Fused]:
        ids = [f.candidate.id for f in fused]
        usage.update(call.space.usage(ids))
        memories = call.space.get(ids)
        for f in fused:
            if memory := memories.get(f.candidate.id):
                factor = retrievability(memory, usage.get(memory.id, Usage()), call.now())
                factors[memory.id] = factor
                f.score *= factor
        return fused

    found = search(call, request, weigh)
    retrieved = []
    for hit in found.hits:
        known = usage.get(hit.memory.id, Usage())
        if card := reviewed(hit.memory, known, call.now()):
            call.space.note_review(hit.memory.id, previous=known.card, card=card)
        factor = factors[hit.memory.id]
        relevance = hit.score / factor if factor else 0.0
        retrieved.append(Retrieved(hit=hit, relevance=round(relevance, 4), retrievability=round(factor, 4)))
    return retrieved, found
