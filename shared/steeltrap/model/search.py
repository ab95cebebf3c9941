"""A search: what a caller asks for, what a store is asked, and what is found."""

from collections.abc import Callable
from dataclasses import field, replace
from datetime import date
from enum import StrEnum
from math import ceil
from typing import Final, Literal

from .candidates import Candidates
from .frozen import frozen
from .memory import Embedding, Filter, Memory, When, to_micros

Mode = Literal["hybrid", "semantic", "keyword"]
SortBy = Literal["relevance", "importance", "created_at"]
Precision = Literal["all", "related", "likely", "relevant", "best"]

_MAX_POOL: Final = 2000
"""How many ranked results are chosen from at most, unless the limit itself is higher."""


@frozen
class Diversity:
    """How different results must be.

    Two memories say the same from a cosine of `threshold` on. The best `expansion` x limit results are
    chosen from; where those don't fill the limit, the best `max_expansion` x limit, up to 2,000.
    """

    threshold: float = 0.8
    expansion: float = 2.5
    max_expansion: float = 5.0

    def pool(self, limit: int) -> int:
        """How many ranked results are looked at in the end."""
        return max(limit, min(_MAX_POOL, ceil(limit * max(self.expansion, self.max_expansion))))


@frozen
class Query:
    """A query to a store: analysed tokens, an embedding, or both.

    `per_leg` is how many distinct memories each leg returns at most; None means every match. Of more than 64 distinct
    tokens the 64 rarest are looked for. With `by_term` candidates say what each token adds to their score, at
    least where one of them was said in a conversation.

    `with_superseded` adds candidates that another memory superseded; their traits say so. Counts and statistics leave
    them out, since they cover only what the filter admits.

    `during` are stretches of time, in microseconds, each without its end. Memories of events in them, and memories
    without such a time that were saved in them, are candidates too if the store can tell, at most `per_leg` of them.
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
    """The answer of a store: candidates in no order, and why there may be few.

    `stored` counts the memories that the caller could see without any filter, `admitted` those that the filter admits.
    `degraded` names a leg that failed and why.
    """

    candidates: Candidates
    stored: int
    admitted: int
    degraded: str | None = None


@frozen
class Hit:
    """A found memory. `score` ranks, 0 to 1; what follows says why it is there.

    `confidence`, 0 to 1, is how likely it answers the query; None where the engine's rules didn't rank. A `less_sure`
    one only may be about it. `led_by` are the names by which one of the best led to it.

    Where a token budget has no room for the whole memory, `preview` is what to show of its content. `left_out` are the
    tokens that are not shown, of a very long memory too, whose `content` is then the part to show.
    """

    memory: Memory
    score: float
    cosine: float | None = None
    bm25: float | None = None
    keyword_score: float = 0.0
    semantic_score: float = 0.0
    importance: float | None = None
    boosts: dict[str, float] = field(default_factory=dict)
    led_by: tuple[str, ...] = ()
    confidence: float | None = None
    less_sure: bool = False
    preview: str | None = None
    left_out: int = 0


@frozen
class Sized:
    """A result to fit: its text, the tokens of what is always shown beside it, and of what only the whole has."""

    text: str
    beside: int = 0
    rest: int = 0


Sizing = Callable[[Hit], Sized]
"""The measure of a memory as a toolset shows it."""


@frozen
class Search:
    """A search: what is looked for, and how.

    `vector_weight` None takes the setting, or the engine's choice. `min_similarity` is a floor on the
    raw cosine; in hybrid mode a keyword match passes it, unless it `floors_every_hit`. `related_only` leaves out
    what has neither a keyword nor a cosine above the unrelated level.

    `precision` leaves out results that don't matter: `related` returns those that have something to do with the query,
    `relevant` those that are nearly as likely to answer it as the best, `best` only that one. If even the best is
    unrelated, each returns nothing. `likely` returns the relevant ones, then up to `most_less_sure` that may be about
    it where the best is not sure. With `mentions`, what has every word of the query's subject is returned too, if
    anything is.

    `max_tokens` cuts the answer: at whole memories, or where `sized` measures a result as the caller will show it,
    so that long ones are shown in part.

    `importance_weight`, 0 to 1, is the share of a memory's importance in its score. With it, and with
    any other `sort_by` than relevance, every match above the floor is looked at before the cut to `limit`.
    `diversity` leaves out what says nearly the same as a better result. `said_once` leaves out an
    episode beside a turn that it holds. Without `count_access` the search does not count as access.

    `nothing_stored` makes the sentence for an empty store, for a caller who sees less than the user's memories or names
    them otherwise.
    """

    query: str
    limit: int = 10
    mode: Mode = "hybrid"
    filter: Filter = field(default_factory=Filter)
    vector_weight: float | None = None
    min_similarity: float = 0.0
    floors_every_hit: bool = False
    related_only: bool = False
    precision: Precision = "all"
    most_less_sure: int = 3
    mentions: bool = False
    max_tokens: int | None = None
    sized: Sizing | None = None
    sort_by: SortBy = "relevance"
    importance_weight: float = 0.0
    diversity: Diversity | None = None
    said_once: bool = False
    count_access: bool = True
    nothing_stored: Callable[[], str] | None = None

    def needs_importance(self) -> bool:
        return self.sort_by == "importance" or self.importance_weight > 0

    def shows_superseded(self) -> bool:
        """Whether what was superseded by now may be answered itself; not where the filter leaves that open."""
        return bool(self.filter.include_superseded) or self.filter.as_of is not None

    def pool(self) -> int:
        """How many of the best are looked at before the cut to `limit`."""
        return self.diversity.pool(self.limit) if self.diversity else self.limit


@frozen(kw_only=False)
class Neighbour:
    """A stored memory near a text: its id and the cosine of their nearest chunks."""

    id: str
    cosine: float


@frozen
class Surroundings:
    """The neighbours of a text: the nearest memory anywhere, and those near enough in the same scope."""

    nearest: Neighbour | None
    near: tuple[Neighbour, ...] = ()


class OutcomeKind(StrEnum):
    """The kinds of outcome, told apart so that broken never looks like empty: in a search, in a write that was degraded
    or replaced secrets, or in a read of a copy while the store can't be reached."""

    FOUND = "found"
    NOTHING_STORED = "nothing_stored"
    NOTHING_MATCHED = "nothing_matched"
    NOTHING_RELEVANT = "nothing_relevant"
    LESS_SURE = "less_sure"
    BELOW_FLOOR = "below_floor"
    FILTERED_OUT = "filtered_out"
    DEGRADED = "degraded"
    OFFLINE = "offline"
    REDACTED = "redacted"


@frozen
class Outcome:
    """The outcome in a word and a sentence; `best_score` where everything was below a floor, `nearest` where nothing
    was close, and `more` results that a token budget had no room for. `corrected` says which words were searched for in
    place of misspelt ones; `message` begins with it."""

    kind: OutcomeKind
    message: str
    best_score: float | None = None
    more: int = 0
    nearest: Hit | None = None
    corrected: str = ""


@frozen
class Happened:
    """Asks a page for memories by when they happened, without a time of that by when they were saved: the latest first,
    from `after` on and before `before`; None is no bound. What happened on a day without a time is compared with
    `first_day` and `end_day` where they are given."""

    after: When | None = None
    before: When | None = None
    first_day: date | None = None
    end_day: date | None = None

    def admits(self, at: int, *, is_day: bool) -> bool:
        """Whether a time in microseconds is within the bounds."""
        first, end = self.after, self.before
        if is_day:
            first, end = self.first_day or first, self.end_day or end
        return (first is None or at >= to_micros(first)) and (end is None or at < to_micros(end))


@frozen
class Page:
    """One page of a list, the newest or the latest event first, then id; and the exact total."""

    memories: tuple[Memory, ...]
    total: int
