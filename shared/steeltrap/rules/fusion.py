"""Fusing the two legs into one score. Pure.

Min-max with theoretical minima: a BM25 score of 0 and the embedder's own cosine for unrelated text are
worth nothing; the best BM25 score and a cosine of 1 are worth 1. Not reciprocal ranks: they throw away
by how much a memory is better, and measured worse on every set.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Candidate


@dataclass(slots=True)
class Fused:
    """A candidate with its score, 0 to 1, and what it is made of: the two legs and what rules added.

    `importance` is None where it was not asked for.
    """

    candidate: Candidate
    semantic: float
    keyword: float
    score: float
    speaker: float = 0.0
    neighbours: float = 0.0
    conversation: float = 0.0
    importance: float | None = None


def fuse(candidates: Sequence[Candidate], *, vector_weight: float, unrelated: float) -> list[Fused]:
    """Every candidate with `vector_weight` x semantic + (1 - `vector_weight`) x keyword, in input order.

    A missing leg (None) is worth nothing; with one leg only, pass its weight as 1 or 0.
    """
    best_bm25 = max((c.bm25 for c in candidates if c.bm25 is not None), default=0.0)
    per_bm25 = 1 / best_bm25 if best_bm25 > 0 else 0.0
    fused = []
    for c in candidates:
        semantic = calibrated(c.cosine, unrelated)
        keyword = c.bm25 * per_bm25 if c.bm25 is not None else 0.0
        fused.append(Fused(c, semantic, keyword, vector_weight * semantic + (1 - vector_weight) * keyword))
    return fused


def calibrated(cosine: float | None, unrelated: float) -> float:
    """A cosine as 0 (no nearer than unrelated texts are) to 1 (the same); None is 0."""
    return max(0.0, (cosine - unrelated) / (1 - unrelated)) if cosine is not None else 0.0
