"""Fusing the two legs into one score. Pure.

Min-max with theoretical minima: a BM25 score of 0 and the embedder's own cosine for unrelated text are
worth nothing, the best of each leg is worth 1. Not reciprocal ranks: they throw away by how much a
memory is better, and measured worse on every set.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ..model import Candidate

DEFAULT_VECTOR_WEIGHT: Final = 0.5


@dataclass(slots=True)
class Fused:
    """A candidate with its score, 0 to 1, and what it is made of."""

    candidate: Candidate
    semantic: float
    keyword: float
    score: float
    boosts: dict[str, float] = field(default_factory=dict)


def fuse(candidates: Sequence[Candidate], *, vector_weight: float, unrelated: float) -> list[Fused]:
    """Every candidate with `vector_weight` x semantic + (1 - `vector_weight`) x keyword, in input order.

    A missing leg (None) is worth nothing; with one leg only, pass its weight as 1 or 0.
    """
    best_cosine = max((c.cosine for c in candidates if c.cosine is not None), default=0.0)
    best_bm25 = max((c.bm25 for c in candidates if c.bm25 is not None), default=0.0)
    fused = []
    for c in candidates:
        semantic = _share(c.cosine, unrelated, best_cosine)
        keyword = _share(c.bm25, 0.0, best_bm25)
        score = vector_weight * semantic + (1 - vector_weight) * keyword
        fused.append(Fused(c, semantic, keyword, score))
    return fused


def _share(value: float | None, least: float, most: float) -> float:
    if value is None or value <= least or most <= least:
        return 0.0
    return (value - least) / (most - least)
