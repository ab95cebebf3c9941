"""Fusing the two legs into one score per memory. Pure; a column per part.

Min-max with theoretical minima: a BM25 score of 0 and the embedder's own cosine for unrelated text are
worth nothing; the best BM25 score and a cosine of 1 are worth 1. Not reciprocal ranks: they throw away
by how much a memory is better, and measured worse on every set.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
from math import isnan
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..model import Candidates
from .importance import weighed
from .traits import Trait

Column = NDArray[Any]
_FIRST_BLOCK: Final = 64
_MOST_SUPERSEDED: Final = 50
_MOST_RIVALS: Final = 10
_ALIKE: Final = 0.8
"""Of the higher BM25, what the lower of two has at least that are taken to have the same words."""
_AT_ONCE: Final = 10
"""So many rows are made at once, which is a third of the work of one at a time; few searches want more."""


@dataclass(slots=True)
class Fused:
    """A candidate with its score, 0 to 1 and above where rules add to it, and what it is made of.

    `cosine` and `bm25` are None without that leg. `boosts` is what each ranking rule added. `importance` is None where
    it was not asked for.
    """

    id: str
    created: int
    pinned: bool
    surprise: float | None
    cosine: float | None
    bm25: float | None
    semantic: float
    keyword: float
    score: float
    boosts: dict[str, float]
    importance: float | None = None


@dataclass(slots=True)
class Scored:
    """Candidates with their scores, a place each in every column.

    `legs` is the score before any rule added to it.
    """

    candidates: Candidates
    semantic: Column
    keyword: Column
    legs: Column
    score: Column
    boosts: dict[str, Column] = field(default_factory=dict)
    importance: Column | None = None

    def rows(self, places: Sequence[int]) -> list[Fused]:
        """The candidates at some places with their scores."""
        wanted = np.asarray(places, np.intp)
        of = self.candidates

        def at(column: Column | None) -> Iterable[Any]:
            return repeat(None) if column is None else column[wanted].tolist()

        boosts = {name: column[wanted].tolist() for name, column in self.boosts.items()}
        return list(
            map(
                Fused,
                [of.ids[place] for place in places],
                at(of.created),
                at(of.pinned),
                [None if isnan(surprise) else surprise for surprise in at(of.surprise)],
                at(of.cosine),
                at(of.bm25),
                at(self.semantic),
                at(self.keyword),
                at(self.score),
                [{name: added[i] for name, added in boosts.items() if added[i]} for i in range(len(places))],
                at(self.importance),
            )
        )

    def above(self, least: float, *, related_only: bool) -> Column:
        """The places of the candidates whose cosine is `least` or more, and if `related_only` above the level of
        unrelated texts; those with a word of the query all the same."""
        candidates = self.candidates
        passes = self.semantic > 0 if related_only else np.ones(len(candidates), np.bool_)
        if candidates.cosine is not None:
            passes = passes & (candidates.cosine >= least)
        if candidates.bm25 is not None:
            passes = passes | (candidates.bm25 > 0)
        places: Column = passes.nonzero()[0]
        return places

    def similar(self, least: float) -> Column:
        """The places of the candidates whose cosine is `least` or more; none without cosines."""
        cosine = self.candidates.cosine
        places: Column = np.empty(0, np.intp) if cosine is None else (cosine >= least).nonzero()[0]
        return places

    def weigh(self, importance: Mapping[int, float], weight: float) -> None:
        """Note the importance of the candidates at some places, and give it a share of `weight` in their scores."""
        self.importance = np.zeros(len(self.candidates))
        self.importance[list(importance)] = list(importance.values())
        if weight > 0:
            self.score = weighed(self.score, self.importance, weight)

    def superseded(self, limit: int) -> Column:
        """The places of superseded candidates, best first, that would be among the best `limit`; at most 50."""
        is_superseded = has_trait(self.candidates, Trait.SUPERSEDED)
        if not is_superseded.any():
            return np.empty(0, np.intp)
        current = self.score[~is_superseded]
        least = np.partition(current, -limit)[-limit] if len(current) > limit else 0.0
        better = np.flatnonzero(is_superseded & (self.score > least))
        best_first: Column = better[np.argsort(-self.score[better], kind="stable")][:_MOST_SUPERSEDED]
        return best_first

    def current(self, places: Column) -> Column:
        """Of some places, those of candidates that nothing superseded."""
        current: Column = places[~has_trait(self.candidates, Trait.SUPERSEDED)[places]]
        return current

    def inherit(self, heirs: Mapping[int, int], share: float, of: "Scored") -> None:
        """Raise candidates to a share of others' scores in `of`, where that is more than their own: `heirs` has the
        place of the one that is raised by the place of the other there."""
        legs, score = self.legs.copy(), self.score.copy()
        for other, place in heirs.items():
            legs[place] = max(legs[place], share * of.legs[other])
            score[place] = max(score[place], share * of.score[other])
        self.boosts["superseded"] = score - self.score
        self.legs, self.score = legs, score

    def rivals(self, places: Column, within: float) -> list[int]:
        """The best of some places, and those less than `within` below it whose words count nearly as much; best first,
        at most 10."""
        bm25 = self.candidates.bm25
        if bm25 is None or not len(places):
            return []
        near = places[self.score[places] > self.score[places].max() - within]
        best, *others = self._in_order(near, (self.score, self.candidates.created))
        least, most = _ALIKE * bm25[best], bm25[best] / _ALIKE
        alike = [place for place in others if least <= bm25[place] <= most and bm25[place] > 0]
        return [best, *alike[: _MOST_RIVALS - 1]]

    def add(self, rule: str, places: Sequence[int], lift: float) -> None:
        """Note what a rule adds to the candidates at some places, and add it to their scores."""
        added = np.zeros(len(self.candidates))
        added[list(places)] = lift
        self.boosts[rule] = added
        self.score = self.score + added

    def best_first(self, places: Column, by: Sequence[Column] | None = None) -> Iterator[Fused]:
        """The candidates at some places, the highest first in each column of `by` (the score and the time of saving
        without it), then by id."""
        ordered = self._in_order(places, by or (self.score, self.candidates.created))
        while some := list(islice(ordered, _AT_ONCE)):
            yield from self.rows(some)

    def _in_order(self, places: Column, by: Sequence[Column]) -> Iterator[int]:
        for block in _best_blocks(places, by[0]):
            order = np.lexsort([-column[block] for column in reversed(by)])
            ranked = block[order]
            is_tied = np.logical_and.reduce([column[ranked[1:]] == column[ranked[:-1]] for column in by])
            if not is_tied.any():
                yield from ranked.tolist()
                continue
            for tied in np.split(ranked, np.flatnonzero(~is_tied) + 1):
                yield from sorted(tied.tolist(), key=self.candidates.ids.__getitem__)


def _best_blocks(places: Column, by: Column) -> Iterator[Column]:
    """The places in blocks, those with the highest values first: mostly only the first are read, and need an order.

    Each block is at least twice as long as the one before, and equal values are in one block.
    """
    values = by[places]
    size = _FIRST_BLOCK
    while len(places) > size:
        least = np.partition(values, len(values) - size)[len(values) - size]
        is_best = values >= least
        yield places[is_best]
        places, values = places[~is_best], values[~is_best]
        size *= 2
    yield places


def fuse(candidates: Candidates, *, vector_weight: float, unrelated: float) -> Scored:
    """Each candidate with `vector_weight` x semantic + (1 - `vector_weight`) x keyword.

    A missing leg is worth nothing; with one leg only, pass its weight as 1 or 0.
    """
    nothing = np.zeros(len(candidates))
    semantic = nothing if candidates.cosine is None else calibrated_all(candidates.cosine, unrelated)
    bm25 = candidates.bm25
    best = 0.0 if bm25 is None else float(bm25.max(initial=0.0))
    keyword = nothing if bm25 is None or best <= 0 else bm25 / best
    fused = vector_weight * semantic + (1 - vector_weight) * keyword
    return Scored(candidates, semantic, keyword, fused, fused)


def has_trait(candidates: Candidates, trait: Trait) -> Column:
    """Which candidates have a trait, or one of several."""
    # As a number, since numpy takes a flag for an object.
    has: Column = (candidates.traits & int(trait)) != 0
    return has


def calibrated_all(cosines: Column, unrelated: float) -> Column:
    """`vectors.calibrated` of each cosine."""
    return np.maximum(0.0, (cosines - unrelated) / (1 - unrelated))
