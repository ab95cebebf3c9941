"""The search index of a store whose memories are stored elsewhere."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..errors import SteeltrapError
from ..model import Embedding, Memory, Query
from ..model.frozen import frozen
from .services import Deadline
from .space import Probe


@frozen
class Document:
    """A memory for an index. The index keeps what searches and filters need, and no text to show.

    `user` is `UserRef.key`. `index_version` grows with each write of a memory. `position` is its place in its
    conversation. `tokens` are the analysed text, with repeats; `embeddings` has one vector per chunk. A deleted memory
    is a tombstone instead.
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


@frozen
class Tombstone:
    """The mark that an index keeps of a deleted or forgotten memory, so that a late write can't bring it back."""

    user: str
    id: str
    index_version: int


class IndexedCandidate(NamedTuple):
    """A document that a leg returned.

    `cosine` is that of the best chunk; None without a semantic leg. `frequencies` has the number of occurrences of
    each distinct query token; () without a keyword leg. `length` is its number of tokens. The rest is as in
    `Candidate`.
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
    chunks: int = 1
    traits: int = 0
    occurred: int | None = None


@frozen
class Indexed:
    """One user's candidates, in no order, and the statistics for BM25.

    `stored` counts the documents that the user can see without a filter (turns only if the query includes them),
    `length` their tokens, and `frequencies` the documents that have each distinct query token. `admitted` counts the
    documents that pass the filter. `newest` is the highest index version among the user's documents and tombstones
    below the requested bound; None if there is none. `degraded` says which part of the index did not answer.
    """

    candidates: tuple[IndexedCandidate, ...]
    stored: int
    admitted: int
    length: int = 0
    frequencies: tuple[int, ...] = ()
    newest: int | None = None
    degraded: str | None = None


class IndexedNeighbour(NamedTuple):
    """A document near a probe. `cosine` is that of the nearest chunks."""

    id: str
    cosine: float
    created: int
    index_version: int


@frozen
class IndexedSurroundings:
    """The documents nearest to a probe, nearest first: in any scope, and in its own scope above the floor.

    `newest` is that of `Indexed`.
    """

    anywhere: tuple[IndexedNeighbour, ...] = ()
    near: tuple[IndexedNeighbour, ...] = ()
    newest: int | None = None


class Index(Protocol):
    """Searches memories that are stored elsewhere; it may be behind that store.

    `before` limits a search to documents with a lower index version; the store adds the newer ones. `leave_out` are
    documents that have changed since; they are not counted either.
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
        """At least the `query.per_leg` best documents of each leg, with true scores in both; turns only if the filter
        includes them. With 0 it only counts. Raises Unavailable, Throttled."""
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
        """For each probe, without turns: the nearest documents in any scope, at least one, and the `top_k` in its own
        scope with a cosine of at least `floor`. Raises Unavailable, Throttled."""
        ...

    def write(self, documents: Sequence[Document | Tombstone], deadline: Deadline) -> dict[int, SteeltrapError]:
        """Write documents; return the errors by position. Errors with `can_retry` may succeed later.

        Skipping a document that is older than the indexed one is a success. Raises Unavailable, Throttled if nothing
        could be written.
        """
        ...

    def check(self) -> None:
        """Raises Unavailable if the index can't serve."""
        ...
