"""The search index of a store whose memories are stored elsewhere: its use, and its upkeep."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from ..errors import SteeltrapError
from ..model import Embedding, Memory, Query, UserRef
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


TOMBSTONE_SECONDS: Final = 15 * 86_400
"""How long tombstones are kept: longer than any replay."""


@frozen
class DeadLetter:
    """A change that an index permanently rejects: the ids and the reason, without the text."""

    user: str
    id: str
    index_version: int
    error: str


class Held(NamedTuple):
    """The stored version of a memory, and whether it exists or is only a tombstone."""

    index_version: int
    is_there: bool


class Truth(Protocol):
    """Everything that an index must contain, read block by block, without a deadline."""

    def users(self) -> Iterator[UserRef]:
        """All users with a space. Raises Unavailable, Throttled."""
        ...

    def everything(self, *, after: str = "") -> Iterator[tuple[Sequence[Document | Tombstone], str]]:
        """All users' documents and tombstones in blocks, each with the place after which another reading continues.

        Raises Unavailable, Throttled.
        """
        ...

    def documents(self, user: str) -> Iterator[Document | Tombstone]:
        """The documents and tombstones of one user. Raises Unavailable, Throttled."""
        ...

    def held(self, user: str) -> dict[str, Held]:
        """The versions that the index must have of one user's memories, by id. Raises Unavailable, Throttled."""
        ...

    def known(self, user: str, ids: Sequence[str]) -> frozenset[str]:
        """Those of a user's ids that the store has, if only as a tombstone. Raises Unavailable, Throttled."""
        ...


class IndexUpkeep(Protocol):
    """Creates an index, rebuilds it beside the one in use, and reports what it contains."""

    def create(self) -> bool:
        """Create the first index, empty. False if one exists. Raises Unavailable, Throttled."""
        ...

    def unfit(self) -> str | None:
        """Why the index in use must be rebuilt (another embedder, another mapping); None if it fits.

        Raises Unavailable, Throttled.
        """
        ...

    def begin(self) -> str:
        """Create an index beside the one in use, or continue with one that was begun and still fits.

        Returns the last place given to `reached`, or "" for a new index. For a new index, wait `learned_seconds`
        before building, until every writer writes to both. Raises Unavailable, Throttled.
        """
        ...

    @property
    def learned_seconds(self) -> float:
        """The seconds until every writer knows a new index."""
        ...

    def build(self, documents: Sequence[Document | Tombstone]) -> dict[int, SteeltrapError]:
        """Write to the new index only; otherwise like `Index.write`."""
        ...

    def reached(self, place: str) -> None:
        """Store how far the rebuild is. Raises Unavailable, Throttled."""
        ...

    def switch(self) -> None:
        """Switch searches to the new index, and remove the old one. Raises Unavailable, Throttled."""
        ...

    def mend(self, documents: Sequence[Document | Tombstone]) -> dict[int, SteeltrapError]:
        """Write to the index in use, even documents whose version it already has."""
        ...

    def held(self, user: str) -> dict[str, Held]:
        """The versions that the index has of a user's memories, by id. Raises Unavailable, Throttled."""
        ...

    def refresh(self) -> None:
        """Make all writes visible to `held`, `count` and searches. Raises Unavailable, Throttled."""
        ...

    def count(self, *, before: int) -> int:
        """The number of documents of all users with a lower index version, without tombstones."""
        ...

    def drop_tombstones(self, *, before: int, find_stored: Callable[[str, Sequence[str]], Collection[str]]) -> int:
        """Remove the tombstones with a lower index version and return their number. `find_stored` returns those of a
        user's ids whose tombstones stay.

        Documents that replaced a tombstone in the meantime stay. Raises Unavailable, Throttled.
        """
        ...
