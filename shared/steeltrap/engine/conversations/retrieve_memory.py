"""Retrieve memory: search weighed by how well each memory would be remembered, for a model to read."""

from collections.abc import Iterable
from datetime import datetime
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from ...model import Hit, Search, Usage, from_micros
from ...model.frozen import frozen
from ...rules.novelty import KEY_MOMENT
from ...rules.retrievability import retrievability, reviewed
from ..call import Call
from ..search import Found, search
from .close_conversations import close_idle_conversations

if TYPE_CHECKING:
    from ...rules.fusion import Fused

_FIRST_PER_RESULT: Final = 4
"""How many candidates a result have their usage read first; where they don't decide it, all others have."""


@frozen
class Retrieved:
    """A hit whose score is relevance (the fused score, 0 to 1) times retrievability, 0 to 1."""

    hit: Hit
    relevance: float
    retrievability: float

    @property
    def is_key_moment(self) -> bool:
        return (self.hit.memory.surprise or 0.0) >= KEY_MOMENT


class _CandidateDecay(NamedTuple):
    """The facts that decay depends on, taken from a candidate, so that only the returned memories are read."""

    created_at: datetime
    surprise: float | None
    pinned: bool


def retrieve_memory(call: Call, request: Search) -> tuple[list[Retrieved], Found]:
    """The best memories by relevance x retrievability. Conversations that are over become memories first.

    A retrieval counts as a review once a day. Raises InvalidInput for a blank query, Unavailable when no
    leg answers.
    """
    is_settled = call.background is None or call.background.settle(call.caller.user, call.deadline)
    close_idle_conversations(call, open_too=not is_settled)
    weighing = _Weighing(call, request.limit)
    found = search(call, request, weighing.weigh)
    retrieved = []
    for hit in found.hits:
        known = weighing.usage.get(hit.memory.id, Usage())
        if card := reviewed(hit.memory, known, weighing.now):
            call.space.note_review(hit.memory.id, previous=known.card, card=card)
        relevance, factor = weighing.factors[hit.memory.id]
        retrieved.append(
            Retrieved(
                hit=hit,
                relevance=round(relevance, 4),
                retrievability=round(factor, 4),
            )
        )
    return retrieved, found


class _Weighing:
    """Multiplies scores by retrievability, for as many candidates as can be among the best."""

    def __init__(self, call: Call, limit: int) -> None:
        self.now = call.now()
        self.usage: dict[str, Usage] = {}
        self.factors: dict[str, tuple[float, float]] = {}
        self._space = call.space
        self._limit = limit
        self._few = _FIRST_PER_RESULT * limit

    def weigh(self, ranked: "Iterable[Fused]") -> "list[Fused]":
        rest = iter(ranked)
        weighed: list[Fused] = []
        best: list[float] = []
        block = list(islice(rest, self._few))
        while block:
            self._read(block)
            for f in block:
                # A product is never above the score it began as: the rest can't come near the best any more.
                if len(best) == self._limit and min(1.0, f.score) < best[0]:
                    return weighed
                self._weigh(f)
                weighed.append(f)
                heappush(best, f.score)
                if len(best) > self._limit:
                    heappop(best)
            block = list(rest)
        return weighed

    def _read(self, some: "list[Fused]") -> None:
        self.usage |= self._space.usage([f.id for f in some])

    def _weigh(self, f: "Fused") -> None:
        decaying = _CandidateDecay(from_micros(f.created), f.surprise, f.pinned)
        factor = retrievability(decaying, self.usage.get(f.id, Usage()), self.now)
        relevance = min(1.0, max(0.0, f.score))
        self.factors[f.id] = relevance, factor
        f.score = relevance * factor
