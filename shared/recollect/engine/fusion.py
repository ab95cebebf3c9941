"""Fusing the two legs into one score. Pure.

Min-max with theoretical minima: a BM25 score of 0 and the embedder's own cosine for unrelated text are
worth nothing, the best of each leg is worth 1. Not reciprocal ranks: they throw away by how much a
memory is better, and measured worse on every set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
    boosts: dict[str, float] | None = None


def fuse(candidates: Sequence[Candidate], *, vector_weight: float, unrelated: float) -> list[Fused]:
    """Every candidate with `vector_weight` x semantic + (1 - `vector_weight`) x keyword, in input order.

    A missing leg (None) is worth nothing; with one leg only, pass its weight as 1 or 0.
    """
    best_cosine = max((c.cosine for c in candidates if c.cosine is not None), default=0.0)
    best_bm25 = max((c.bm25 for c in candidates if c.bm25 is not None), default=0.0)
    per_cosine = 1 / (best_cosine - unrelated) if best_cosine > unrelated else 0.0
    per_bm25 = 1 / best_bm25 if best_bm25 > 0 else 0.0
    fused = []
    for c in candidates:
        semantic = max(0.0, (c.cosine - unrelated) * per_cosine) if c.cosine is not None else 0.0
        keyword = c.bm25 * per_bm25 if c.bm25 is not None else 0.0
        fused.append(Fused(c, semantic, keyword, vector_weight * semantic + (1 - vector_weight) * keyword))
    return fused
