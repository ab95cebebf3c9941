"""The memories that a search compares, as columns: one place per memory in every array."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import repeat
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_TERMS: Final[Mapping[int, float]] = MappingProxyType({})
NO_TIME: Final = -(2**63)
"""The value in `Candidates.occurred` for a memory without such a time."""


class Candidate(NamedTuple):
    """A memory that a leg returned, with its true score in both legs.

    `cosine` is the best chunk's, -1 to 1, None without a semantic leg; `bm25` is 0 or more, None without a keyword leg.
    `terms` is what each query token adds to `bm25`, by the token's number in the query, where the query asks
    `by_term`. `conversation` stands for the conversation in which it was said, None for none, and `position` counts up
    along it. `created` and `occurred` are in microseconds since 1970. `chunks` counts its embeddings, and `traits` is
    as `text/words.py` says. `importance` is the score set manually.
    """

    id: str
    cosine: float | None
    bm25: float | None
    created: int
    pinned: bool = False
    surprise: float | None = None
    terms: Mapping[int, float] = NO_TERMS
    conversation: int | None = None
    position: int = 0
    speaker: str | None = None
    importance: float | None = None
    chunks: int = 1
    traits: int = 0
    occurred: int | None = None


@frozen
class Candidates:
    """`Candidate`s as columns.

    `terms` has, per query token that is scored, in the order of `frequencies`, the places that have it and what it adds
    there. `documents` counts the memories that the user sees, and `frequencies` in how many of them each distinct query
    token is. In `conversation` -1 is none, in `occurred` `NO_TIME`, in `surprise` and `importance` NaN. `speaker` holds
    numbers in `speakers`.
    """

    ids: Sequence[str]
    created: "NDArray[np.int64]"
    cosine: "NDArray[Any] | None"
    bm25: "NDArray[Any] | None"
    chunks: "NDArray[Any]"
    traits: "NDArray[Any]"
    occurred: "NDArray[np.int64]"
    conversation: "NDArray[Any]"
    position: "NDArray[Any]"
    speaker: "NDArray[Any]"
    speakers: Sequence[str | None]
    pinned: "NDArray[Any]"
    surprise: "NDArray[Any]"
    importance: "NDArray[Any]"
    terms: "Sequence[tuple[NDArray[Any], NDArray[Any]]]" = ()
    documents: int = 0
    frequencies: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, rows: Sequence[Candidate], *, documents: int = 0, frequencies: Mapping[str, int] | None = None
    ) -> "Candidates":
        """The columns of some candidates. A leg that one of them has, all have."""
        import numpy as np

        names = list(dict.fromkeys(c.speaker for c in rows))
        number = {name: i for i, name in enumerate(names)}
        token_ids = range(len(frequencies or ())) if any(c.terms for c in rows) else ()
        tokens = sorted({*token_ids, *(token for c in rows for token in c.terms)})
        having = [[(i, c.terms[token]) for i, c in enumerate(rows) if token in c.terms] for token in tokens]
        return cls(
            ids=[c.id for c in rows],
            created=np.array([c.created for c in rows], np.int64),
            cosine=_leg([c.cosine for c in rows]),
            bm25=_leg([c.bm25 for c in rows]),
            chunks=np.array([c.chunks for c in rows], np.int32),
            traits=np.array([c.traits for c in rows], np.uint8),
            occurred=np.array([NO_TIME if c.occurred is None else c.occurred for c in rows], np.int64),
            conversation=np.array([-1 if c.conversation is None else c.conversation for c in rows], np.int64),
            position=np.array([c.position for c in rows], np.int64),
            speaker=np.array([number[c.speaker] for c in rows], np.int32),
            speakers=names,
            pinned=np.array([c.pinned for c in rows], np.bool_),
            surprise=np.array([np.nan if c.surprise is None else c.surprise for c in rows], np.float64),
            importance=np.array([np.nan if c.importance is None else c.importance for c in rows], np.float64),
            terms=[
                (np.array([i for i, _ in some], np.intp), np.array([score for _, score in some], np.float64))
                for some in having
            ],
            documents=documents,
            frequencies=frequencies or {},
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Candidate]:
        terms: list[dict[int, float]] = [{} for _ in range(len(self))]
        for token, (places, scores) in enumerate(self.terms):
            for place, score in zip(places.tolist(), scores.tolist(), strict=True):
                terms[place][token] = score

        def values(column: "NDArray[Any] | None") -> Iterable[Any]:
            return repeat(None) if column is None else column.tolist()

        return map(
            Candidate,
            self.ids,
            values(self.cosine),
            values(self.bm25),
            values(self.created),
            values(self.pinned),
            [None if isnan(surprise) else surprise for surprise in values(self.surprise)],
            [of_place or NO_TERMS for of_place in terms],
            [None if conversation < 0 else conversation for conversation in values(self.conversation)],
            values(self.position),
            [self.speakers[speaker] for speaker in values(self.speaker)],
            [None if isnan(importance) else importance for importance in values(self.importance)],
            values(self.chunks),
            values(self.traits),
            [None if occurred == NO_TIME else occurred for occurred in values(self.occurred)],
        )

    def place(self, id: str) -> int | None:
        """The place of a memory, None where it is no candidate."""
        try:
            return self.ids.index(id)
        except ValueError:
            return None


def _leg(scores: Sequence[float | None]) -> "NDArray[np.float64] | None":
    """A leg's scores; None where none of the candidates has one."""
    import numpy as np

    if all(score is None for score in scores):
        return None
    return np.array([0.0 if score is None else score for score in scores], np.float64)
