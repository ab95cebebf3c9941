"""Candidates with their scores: their order, what a rule adds to some of them, and how likely each is to answer.

The rules themselves are in `scoring.py`, and in `engine/lifting.py` those that read more than the candidates. Pure; a
NumPy column per part.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from math import isnan
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..model import Candidates
from ..text.words import Trait, is_cjk
from . import weights as bm25
from .choosing import DOUBTFUL, is_sure
from .fading import weighed

Column = NDArray[Any]
_FIRST_BLOCK: Final = 64
_MOST_SUPERSEDED: Final = 50
_MOST_RIVALS: Final = 10
_ALIKE: Final = 0.8
"""The share of the higher BM25 that the lower has at least, where two are taken to have the same words."""
_AT_ONCE: Final = 10
"""So many rows are made at once, which is a third of the work of one at a time; few searches want more."""
_SAME: Final = 1e-6
_DOUBT, _FIT, _AHEAD, _BEHIND = -2.2, 2.4, 7.0, 8.5
"""The parts of a confidence: of every memory, and for each 1 of score, of lead over the second, behind the best."""
MOST_TELLING: Final = 8
"""The words of a query that count towards its mass, the rarest first."""
_SHARE_OF_CJK: Final = 1 / 3
COMMON: Final = 0.5
"""A word that more than this share of the memories has says nothing about which of them is meant."""


@dataclass(slots=True)
class Fused:
    """A candidate with its score, 0 to 1 and above where rules add to it, and what it is made of.

    `cosine` and `bm25` are None without that leg. `boosts` is what each ranking rule added. `importance` is None where
    it was not asked for, and `confidence`, 0 to 1, where it is not known.
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
    confidence: float | None = None


@dataclass(slots=True)
class Scored:
    """Candidates with their scores, a place each in every column.

    `legs` is the score before any rule added to it. `guessed` is the part of `score` that may be there by chance.
    `names` are those by which one of the best led to others, by their tokens.
    `confidence` is there once `judge` was called.
    """

    candidates: Candidates
    semantic: Column
    keyword: Column
    legs: Column
    score: Column
    boosts: dict[str, Column] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    guessed: Column | None = None
    importance: Column | None = None
    confidence: Column | None = None
    is_doubtful: bool = False
    _traits: int | None = None
    _last_leaders: tuple[Column, Column, list[int]] | None = None

    def any_has(self, trait: Trait) -> bool:
        """Whether any candidate has a trait, or one of several. Most spaces lack most, so much need not be computed."""
        if self._traits is None:
            self._traits = int(np.bitwise_or.reduce(self.candidates.traits, initial=0))
        return self._traits & int(trait) != 0

    def rows(self, places: Sequence[int]) -> list[Fused]:
        """The candidates at some places with their scores."""
        positions = np.asarray(places, np.intp)
        of = self.candidates

        def at(column: Column | None) -> Iterable[Any]:
            return repeat(None) if column is None else column[positions].tolist()

        boosts = {name: column[positions].tolist() for name, column in self.boosts.items()}
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
                [{name: boost[i] for name, boost in boosts.items() if boost[i]} for i in range(len(places))],
                at(self.importance),
                at(self.confidence),
            )
        )

    def judge(self, places: Column) -> None:
        """Note how likely each candidate at some places is to answer the query, 0 to 1.

        A logistic function of the score of both legs, and of the lead over the best of the others: two memories that
        fit equally well can't both be what one question asks for. Candidates with the same score are taken for copies
        of each other. What was guessed makes no candidate more likely than the best is without it. docs/ranking.md has
        what the function was fitted to, and how well it holds elsewhere.
        """
        self.confidence = np.zeros(len(self.candidates))
        if not len(places):
            return
        legs, score = self.legs[places], self.score[places]
        if self.guessed is None:
            self.confidence[places] = _confidence(legs, score)
            return
        guessed = self.guessed[places]
        without = _confidence(legs, score - guessed)
        likely = np.minimum(_confidence(legs, score), without.max())
        self.confidence[places] = np.where(guessed > 0, likely, without)

    def doubt(self) -> None:
        """Make no candidate sure: each is something else than what the query names."""
        self.is_doubtful = True
        if self.confidence is not None:
            self.confidence = np.minimum(self.confidence, DOUBTFUL)

    def is_sure(self, places: Column, query: str) -> bool:
        """Whether the best of some places is sure to be all that a query asks for."""
        return self.confidence is not None and is_sure(float(self.confidence[places].max()), query)

    def above(self, least: float, *, related_only: bool) -> Column:
        """The places of the candidates whose cosine is `least` or more, and if `related_only` above the level of
        unrelated texts; those with a word of the query all the same."""
        candidates = self.candidates
        if least <= -2 and not related_only:
            return np.arange(len(candidates))  # no cosine is lower
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
        if not self.any_has(Trait.SUPERSEDED):
            return np.empty(0, np.intp)
        is_superseded = has_trait(self.candidates, Trait.SUPERSEDED)
        current = self.score[~is_superseded]
        least = np.partition(current, -limit)[-limit] if len(current) > limit else 0.0
        better = np.flatnonzero(is_superseded & (self.score > least))
        best_first: Column = better[np.argsort(-self.score[better], kind="stable")][:_MOST_SUPERSEDED]
        return best_first

    def past(self) -> Column:
        """The places of superseded candidates, best first, at most 50."""
        places = np.flatnonzero(has_trait(self.candidates, Trait.SUPERSEDED))
        best_first: Column = places[np.argsort(-self.score[places], kind="stable")][:_MOST_SUPERSEDED]
        return best_first

    def current(self, places: Column) -> Column:
        """The places of candidates that nothing superseded."""
        if not self.any_has(Trait.SUPERSEDED):
            return places
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

    def precede(self, successors: Mapping[int, int], by: float) -> None:
        """Raise candidates above what superseded them: `successors` has the place of that one by each one's own."""
        legs, score = self.legs.copy(), self.score.copy()
        for place, successor in successors.items():
            legs[place] = max(legs[place], self.legs[successor])
            score[place] = max(score[place], self.score[successor] + by)
        self.boosts["past"] = score - self.score
        self.legs, self.score = legs, score

    def is_contested(self, places: Column, within: float) -> bool:
        """Whether another of some places scores less than `within` below the best."""
        return len(places) > 1 and len(self._near_the_best(places, within)) > 1

    def rivals(self, places: Column, within: float) -> list[int]:
        """The best of some places, and those less than `within` below it whose words count nearly as much; best first,
        at most 10."""
        bm25 = self.candidates.bm25
        if bm25 is None or not len(places):
            return []
        near = self._near_the_best(places, within)
        best, *others = self._in_order(near, (self.score, self.candidates.created))
        least, most = _ALIKE * bm25[best], bm25[best] / _ALIKE
        alike = [place for place in others if least <= bm25[place] <= most and bm25[place] > 0]
        return [best, *alike[: _MOST_RIVALS - 1]]

    def _near_the_best(self, places: Column, within: float) -> Column:
        score = self.score[places]
        near: Column = places[score > score.max() - within]
        return near

    def says_all(self, share: float) -> bool:
        """Whether a candidate itself has this share of the query's words, by how much each tells."""
        bm25 = self.candidates.bm25
        return bm25 is not None and bool(bm25.max(initial=0.0) >= share * mass(self.candidates))

    def wordiest(self, places: Column, least: float) -> list[int]:
        """The places with a BM25 score of `least` of the best or more, the best first; at most 10 are looked at."""
        bm25 = self.candidates.bm25
        having = places if bm25 is None else places[bm25[places] > 0]
        if bm25 is None or not len(having):
            return []
        near = having[bm25[having] >= least * bm25[having].max()]
        return list(islice(self._in_order(near, (bm25, self.score, self.candidates.created)), _MOST_RIVALS))

    def add(self, rule: str, places: Sequence[int], lift: float | Sequence[float]) -> None:
        """Note what a rule adds to the candidates at some places, and add it to their scores."""
        boost = np.zeros(len(self.candidates))
        boost[list(places)] = lift
        self.boosts[rule] = boost
        self.score = self.score + boost

    def note_names(self, names: Mapping[str, str]) -> None:
        """Note the names by which one of the best led to others, by their tokens."""
        self.names = names

    def guess(self, places: Sequence[int], lift: float) -> None:
        """Note what of an added score may be there by chance: it may order the candidates, but makes none likely."""
        self.guessed = np.zeros(len(self.candidates))
        self.guessed[list(places)] = lift

    def raise_legs(self, places: Sequence[int], lift: float) -> None:
        """Count at some places what a rule has added as the score of a word of the query, which passes floors."""
        self.legs = self.legs.copy()
        self.legs[list(places)] += lift

    def leading(self, places: Column, count: int) -> list[int]:
        """The best of some places, at most `count`, which is 64 at most."""
        return self._leaders(places)[:count]

    def best_first(self, places: Column, by: Sequence[Column] | None = None) -> Iterator[Fused]:
        """The candidates at some places, the highest first in each column of `by`, then by id.

        Without it by score, then by the time of saving. Where few score anything, the others come by their cosine.
        """
        if by is not None:
            ordered = self._in_order(places, by)
        elif np.count_nonzero(self.score[places] > 0) < _FIRST_BLOCK:
            ordered = self._in_order(places, (self.score, self._below(), self.candidates.created))
        else:
            leaders = self._leaders(places)
            ordered = chain(leaders, islice(self._by_score(places), len(leaders), None))
        while some := list(islice(ordered, _AT_ONCE)):
            yield from self.rows(some)

    def _leaders(self, places: Column) -> list[int]:
        """The best of some places by score. A rule that reads memories asks for them before the answer does."""
        last = self._last_leaders
        if last is None or last[0] is not places or last[1] is not self.score:
            last = places, self.score, list(islice(self._by_score(places), _FIRST_BLOCK))
            self._last_leaders = last
        return last[2]

    def _by_score(self, places: Column) -> Iterator[int]:
        return self._in_order(places, (self.score, self.candidates.created))

    def _below(self) -> Column:
        """The cosines of those that score nothing, 0 for all others."""
        cosine = self.candidates.cosine
        nothing = np.zeros(len(self.candidates))
        return nothing if cosine is None else np.where(self.score > 0, nothing, cosine)

    def _in_order(self, places: Column, by: Sequence[Column]) -> Iterator[int]:
        for block in _best_blocks(places, by[0]):
            ranked = block[np.lexsort([column[block] for column in reversed(by)])[::-1]]
            is_tied = _are_tied(ranked, by)
            if not is_tied.any():
                yield from ranked.tolist()
                continue
            for tied in np.split(ranked, np.flatnonzero(~is_tied) + 1):
                yield from sorted(tied.tolist(), key=self.candidates.ids.__getitem__)


def _are_tied(ranked: Column, by: Sequence[Column]) -> Column:
    """Which of some ranked places have the values of the next one in every column."""
    is_tied = np.ones(max(0, len(ranked) - 1), np.bool_)
    for column in by:
        values = column[ranked]
        is_tied &= values[1:] == values[:-1]
        if not is_tied.any():
            break  # mostly by the first
    return is_tied


def _confidence(legs: Column, score: Column) -> Column:
    """The confidence of each of some candidates, of which one at least has the best score."""
    best = score.max()
    is_best = score >= best - _SAME
    others = score[~is_best]
    second = others.max() if len(others) else 0.0
    lead = _BEHIND * (score - best)
    lead[is_best] = _AHEAD * (best - second)
    confidence: Column = 1 / (1 + np.exp(-(_DOUBT + _FIT * legs + lead)))
    return confidence


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


def has_trait(candidates: Candidates, trait: Trait) -> Column:
    """Which candidates have a trait, or one of several."""
    # As a number, since numpy takes a flag for an object.
    has: Column = (candidates.traits & int(trait)) != 0
    return has


def mass(candidates: Candidates) -> float:
    """The idf that a memory has to match for a keyword score of 1: the sum over the query's eight rarest words, without
    those that most memories have.

    A message of fifty words is about few of them, and no memory says most. Of Chinese, Japanese and Korean runs every
    character and every pair is a token, so their tokens count by three.
    """
    documents, frequencies = candidates.documents, candidates.frequencies
    telling = {token: count for token, count in frequencies.items() if count <= COMMON * documents} or frequencies
    whole, room = 0.0, float(MOST_TELLING)
    for token, count in sorted(telling.items(), key=lambda item: item[1]):
        if room <= 0:
            break
        whole += bm25.idf(count, documents)
        room -= _SHARE_OF_CJK if is_cjk(token) else 1
    return whole
