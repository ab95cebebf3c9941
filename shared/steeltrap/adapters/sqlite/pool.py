"""What a search compares, read off the slots of an index."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ...model import Candidates
from ...text.limits import from_key, to_key
from .postings import TermScores
from .slots import Slots


class KeywordLeg(NamedTuple):
    """The keyword leg's scores of every slot, what each term adds where, and the statistics behind them."""

    scores: NDArray[np.float64]
    terms: TermScores
    frequencies: Mapping[str, int]
    documents: int


class Ids(Sequence[str]):
    """The ids of some keys, each made when it is read: a search reads a few of many."""

    def __init__(self, keys: NDArray[Any]) -> None:
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> "Ids": ...
    def __getitem__(self, at: int | slice) -> "str | Ids":
        return Ids(self._keys[at]) if isinstance(at, slice) else from_key(self._keys[at].tobytes())

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """As a list's, without making the ids."""
        try:
            [at, *_] = start + np.flatnonzero(self._keys[start:stop] == np.void(to_key(value)))
        except ValueError:
            raise ValueError(f"{value!r} is not there") from None
        return int(at)


def columns(
    slots: Slots,
    chosen: NDArray[np.intp],
    cosine: NDArray[np.float32] | None,
    keyword: KeywordLeg | None,
    *,
    by_term: bool,
    dated: bool = False,
) -> Candidates:
    """The chosen slots with both scores. What each term adds is there if `dated`, or if `by_term` and one of them was
    said in a conversation: only there do memories count for each other."""
    # All of a small space, dead slots aside: what is read of it needs no copy.
    at = slice(None) if len(chosen) == slots.size else chosen
    conversation = slots.column("conversation")[at]
    needs_terms = dated or (by_term and bool((conversation >= 0).any()))
    return Candidates(
        ids=Ids(slots.column("key")[at]),
        created=slots.column("created")[at],
        cosine=None if cosine is None else cosine[at],
        bm25=None if keyword is None else keyword.scores[at],
        chunks=slots.column("chunks")[at],
        traits=slots.column("traits")[at],
        occurred=slots.column("occurred")[at],
        conversation=conversation,
        position=slots.positions()[chosen],
        speaker=slots.column("speaker")[at],
        speakers=slots.speakers,
        pinned=slots.column("pinned")[at],
        surprise=slots.column("surprise")[at],
        importance=slots.column("importance")[at],
        terms=_terms_at(chosen, keyword.terms, slots.size) if keyword is not None and needs_terms else (),
        documents=0 if keyword is None else keyword.documents,
        frequencies={} if keyword is None else keyword.frequencies,
    )


def _terms_at(chosen: NDArray[np.intp], terms: TermScores, size: int) -> TermScores:
    """What each term adds at which of the chosen slots."""
    if len(chosen) == size:
        return terms
    place = np.full(size, -1, np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    at = [(place[found], scores) for found, scores in terms]
    return [(places[places >= 0], scores[places >= 0]) for places, scores in at]
