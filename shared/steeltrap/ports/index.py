"""What finds memories for a store that holds the truth elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..errors import SteeltrapError
from ..model import Embedding, Memory, Query
from .clock import Deadline
from .space import Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A memory as an index is told of it. The index keeps what it is found and filtered by, and nothing to show.

    `user` is `UserRef.key`. `index_version` only grows along a memory's writes. `position` counts up along the
    memory's conversation. `tokens` are the analysed text, repeats kept, and `embeddings` one per chunk. What is
    deleted is no document but a tombstone.
    """

    user: str
    index_version: int
    memory: Memory
    position: int = 0
    speaker: str | None = None
    tokens: tuple[str, ...] = ()
    embeddings: tuple[Embedding, ...] = ()

    @property
    def id(self) -> str:
        return self.memory.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What an index keeps of a memory that is deleted or forgotten, so that no late write brings it back."""

    user: str
    id: str
    index_version: int


class IndexedCandidate(NamedTuple):
    """A document that a leg returned.

    `cosine` is the best chunk's, None without a semantic leg. `frequencies` says how often each distinct query
    token occurs in it, () without a keyword leg, and `length` counts its tokens.
    """

    id: str
    index_version: int
    created: int
    cosine: float | None = None
    frequencies: tuple[int, ...] = ()
    length: int = 0
    pinned: bool = False
    surprise: float | None = None
    importance: float | None = None
    conversation: str | None = None
    position: int = 0
    speaker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What an index found of one user: candidates in no order, and what BM25 needs.

    `stored` counts the documents that the user sees without any filter, turns where the query includes them,
    `length` their tokens, and `frequencies` in how many of them each distinct query token is; `admitted` counts
    those that the filter lets through. `newest` is the highest index version of all the user's documents,
    tombstones too, below the bound that was asked for; None when there is none. `degraded` says which part of
    the index did not answer.
    """

    candidates: tuple[IndexedCandidate, ...]
    stored: int
    admitted: int
    length: int = 0
    frequencies: tuple[int, ...] = ()
    newest: int | None = None
    degraded: str | None = None


class IndexedNeighbour(NamedTuple):
    """A document near a probe: the cosine of the nearest chunks."""

    id: str
    cosine: float
    created: int
    index_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedSurroundings:
    """The documents nearest to a probe, nearest first: anywhere, and those of its scope above the floor.

    `newest` is as `Indexed` says.
    """

    anywhere: tuple[IndexedNeighbour, ...] = ()
    near: tuple[IndexedNeighbour, ...] = ()
    newest: int | None = None


class Index(Protocol):
    """Finds memories for a store that holds the truth elsewhere; it may be behind that store.

    `before` bounds what a search looks at: documents whose index version is lower. The store knows the rest
    better. `leave_out` are documents that it knows to have changed, counted nowhere either.
    """

    def search(
        self,
        user: str,
        query: Query,
        *,
        now: int,
        deadline: Deadline,
        before: int | None = None,
        leave_out: Sequence[str] = (),
    ) -> Indexed:
        """At least the `query.per_leg` best documents of each leg, with true scores in both; no turns unless the
        filter includes them. With 0 it only counts. Raises Unavailable, Throttled."""
        ...

    def look_around(
        self,
        user: str,
        probes: Sequence[Probe],
        *,
        now: int,
        floor: float,
        top_k: int,
        deadline: Deadline,
        before: int | None = None,
        leave_out: Sequence[str] = (),
    ) -> list[IndexedSurroundings]:
        """For each probe, turns aside, the nearest documents anywhere, at least one, and the `top_k` of its scope
        with a cosine of at least `floor`. Raises Unavailable, Throttled."""
        ...

    def write(self, documents: Sequence[Document | Tombstone], deadline: Deadline) -> dict[int, SteeltrapError]:
        """Take in documents; the errors by position, of which some may pass later (`can_retry`).

        What is older than what the index has is left out, which is a success. Raises Unavailable, Throttled
        when nothing could be written.
        """
        ...

    def check(self) -> None:
        """Raises Unavailable when the index can't serve."""
        ...
