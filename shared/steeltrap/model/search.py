"""What is asked of a store, and what it finds."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from .candidates import Candidates
from .filter import Filter
from .frozen import frozen
from .memory import Embedding, Memory


@frozen
class Query:
    """What a store searches for: analysed tokens, an embedding, or both.

    `per_leg` is how many distinct memories each leg returns at most; None means every match. Of more than 64 distinct
    tokens the 64 rarest are looked for. With `by_term` candidates say what each token adds to their score, at
    least where one of them was said in a conversation.

    `with_superseded` adds candidates that another memory superseded, which their traits say. They are in no count and
    no statistics: those are of what the filter lets through.

    `during` are stretches of time, each from a first microsecond to the first behind it: what happened then, or was
    saved then and has no other time, is a candidate too where a store can tell, `per_leg` of them at most.
    """

    tokens: tuple[str, ...] = ()
    embedding: Embedding | None = None
    filter: Filter = field(default_factory=Filter)
    per_leg: int | None = 100
    by_term: bool = False
    with_superseded: bool = False
    during: tuple[tuple[int, int], ...] = ()

    @property
    def candidates_filter(self) -> Filter:
        """Which memories may be candidates."""
        return replace(self.filter, include_superseded=True) if self.with_superseded else self.filter


@frozen
class Matches:
    """What a store found: candidates in no order, and why there may be few.

    `stored` counts what the caller could see without any filter, `admitted` what the filter lets through.
    `degraded` names a leg that failed and why.
    """

    candidates: Candidates
    stored: int
    admitted: int
    degraded: str | None = None


@frozen
class Hit:
    """A found memory. `score` ranks, 0 to 1; what follows says why it is there.

    Where a token budget has no room for the whole memory, `preview` is what to show of its content, and `left_out` the
    tokens that are not shown.
    """

    memory: Memory
    score: float
    cosine: float | None = None
    bm25: float | None = None
    keyword_score: float = 0.0
    semantic_score: float = 0.0
    importance: float | None = None
    boosts: dict[str, float] = field(default_factory=dict)
    preview: str | None = None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A stored memory near a text: its id and the cosine of their nearest chunks."""

    id: str
    cosine: float


@frozen
class Surroundings:
    """What a look-around found: the nearest memory anywhere, and those near enough in the same scope."""

    nearest: Neighbour | None
    near: tuple[Neighbour, ...] = ()


class OutcomeKind(StrEnum):
    """What happened, told apart so that broken never looks like empty: in a search, or in a write that was degraded or
    replaced secrets."""

    FOUND = "found"
    NOTHING_STORED = "nothing_stored"
    NOTHING_MATCHED = "nothing_matched"
    NOTHING_RELEVANT = "nothing_relevant"
    BELOW_FLOOR = "below_floor"
    FILTERED_OUT = "filtered_out"
    DEGRADED = "degraded"
    REDACTED = "redacted"


@frozen
class Outcome:
    """What happened, in a word and a sentence; `best_score` where everything lay below a floor, and `more` results
    that a token budget had no room for."""

    kind: OutcomeKind
    message: str
    best_score: float | None = None
    more: int = 0


@frozen
class Page:
    """One page of a list, newest first then id, and the exact total."""

    memories: tuple[Memory, ...]
    total: int
