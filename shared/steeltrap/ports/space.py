"""One user's memories."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ..model import (
    Association,
    Embedding,
    Filter,
    Matches,
    Memory,
    Page,
    Query,
    Revision,
    ScopeUse,
    Session,
    Surroundings,
    Usage,
)
from .changes import Change, Entry
from .clock import Deadline

Pair = tuple[str, str]
"""The ids of two memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A text to look around: its chunks' embeddings, its scope (None: the whole space), and an id to leave out."""

    embeddings: tuple[Embedding, ...]
    scope: str | None
    leave_out: str | None = None


@dataclass(frozen=True, slots=True)
class TextKey:
    """A normalised text's digest and the place where a second copy would be a duplicate."""

    fold: bytes
    scope: str
    agent_id: str | None
    conversation_id: str | None


class Space(Protocol):
    """One user's memories. Turns are left out of everything but search with `include_turns`, `get`,
    `purge` and `open_turns`; what is deleted or expired is absent unless a method says otherwise.

    A space has a deadline, which all of its reads and writes keep. Behind it they raise Unavailable, but for
    `note_access` and `note_review`, which never fail.

    `atomic_updates` is how many `Replace` with their revisions one commit surely writes all or none of; None: any
    number.
    """

    atomic_updates: int | None

    def until(self, deadline: Deadline) -> "Space":
        """The same memories, for work that has to be done by another deadline."""
        ...

    def commit(self, changes: Sequence[Change]) -> None:
        """Write all of the changes durably, or none of them. Raises Conflict (VersionConflict,
        AlreadyExists, Duplicate, or for memories of another embedder), MemoryNotFound, Unavailable.

        Of more than 100 memories and turns a store may make several transactions: ids and versions are checked before
        the first, but when a later one fails, those before it stay. Committing the rest finishes it; committing all
        of it again raises AlreadyExists or VersionConflict.

        Links to what is neither there, deleted or not, nor among the changes are left out, of earlier
        images too: a purge that came between is not undone.
        """
        ...

    def get(self, ids: Sequence[str], *, deleted: bool = False) -> dict[str, Memory]:
        """The memories of these ids; unknown ones are left out. `deleted` admits deleted and expired ones too."""
        ...

    def copies(self, texts: Sequence[TextKey]) -> list[int]:
        """How many visible memories, turns included, have each text in that place."""
        ...

    def search(self, query: Query) -> Matches:
        """The best of each leg, by the filter, with true scores in both legs."""
        ...

    def look_around(self, probes: Sequence[Probe], *, floor: float, top_k: int) -> list[Surroundings]:
        """For each probe the nearest memory anywhere, and the `top_k` of its scope with a cosine of at
        least `floor`, nearest first, newest then id on a tie. Raises one of INDEX_FAILURES when only the search index
        fails."""
        ...

    def page(self, filter: Filter, *, limit: int, offset: int = 0) -> Page:
        """A page of what the filter admits, newest first then id, and the exact total."""
        ...

    def walk(self, *, after: str | None = None, turns: bool = False) -> Iterator[Memory]:
        """Every visible memory in a stable order, streaming; `after` resumes behind an id, deleted or not.

        Raises NotFound for an id that was never there or was purged.
        """
        ...

    def alike(self, pairs: Collection[Pair], *, floor: float) -> frozenset[Pair]:
        """Those pairs of memories whose nearest chunks have a cosine of at least `floor`. Raises Unavailable when
        comparing takes too long."""
        ...

    def distinct(self, ids: Sequence[str], *, floor: float, limit: int) -> list[str]:
        """The first `limit` of these ids that are alike to none chosen before them, in their order.

        Memories are alike as `alike` says; what has no embeddings is alike to nothing. Only what is chosen is
        compared with the rest. Raises Unavailable when that takes too long.
        """
        ...

    def open_turns(self, conversation_id: str) -> list[Memory]:
        """The turns of a conversation that no `Close` has named, in the order in which they were written."""
        ...

    def idle_conversations(self, since: datetime, *, limit: int) -> list[str]:
        """Conversations whose last open turn was written at or before a time, the longest idle first."""
        ...

    def pending(self) -> list[str]:
        """The ids of memories whose look-around is pending, in no order."""
        ...

    def embeddings(self, ids: Sequence[str]) -> dict[str, tuple[Embedding, ...]]:
        """The embeddings of these memories, turns too, one per chunk; what can't be searched is left out."""
        ...

    def associations(self, ids: Sequence[str]) -> dict[str, list[Association]]:
        """The links of each id, from both sides, strongest first; links to what is gone are left out."""
        ...

    def speakers(self) -> frozenset[str]:
        """The names, in lower case, of those who say at least two of the memories and turns."""
        ...

    def scopes(self) -> dict[str, ScopeUse]:
        """What lies directly in each scope that has memories."""
        ...

    def sessions(self) -> list[Session]:
        """The sessions that were added, oldest first, then by id."""
        ...

    def add_session(self, session: Session) -> bool:
        """Add a session durably. False when its id is there already, which is left as it is."""
        ...

    def remove_session(self, id: str) -> bool:
        """Remove a session, not its memories. False when there is none."""
        ...

    def revisions(self, id: str, *, after: int = 0, limit: int | None = None) -> list[Revision]:
        """The images that updates replaced, oldest first: those behind the version `after`, at most `limit`."""
        ...

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """What is known of the reading of these memories; those never read are left out."""
        ...

    def note_access(self, ids: Sequence[str], at: datetime) -> None:
        """Count a reading of each. Never fails a read and never changes a memory."""
        ...

    def note_review(self, id: str, *, previous: str | None, card: str) -> None:
        """Put an FSRS card in place of `previous`, unless another review came first. Never fails a read."""
        ...

    def keep_review(self, id: str, *, previous: str | None, card: str) -> bool:
        """Put an FSRS card in place of `previous` durably. False when another review came first, or the id is
        unknown. Raises Unavailable.
        """
        ...

    def purge(self, ids: Sequence[str]) -> list[str]:
        """Remove memories for good, deleted ones and turns included: record, vectors, tokens, revisions,
        usage and links to them, to the bytes. Answers the ids that were there; links to the others go too."""
        ...

    def stale(self, deleted_before: datetime) -> list[str]:
        """The ids of what was deleted before a time, and of what has expired, pinned or not: a sweep purges them."""
        ...

    def traces(self, id: str) -> list[str]:
        """Where the store still knows an id, links of images and earlier images too: empty after a purge.

        What the user wrote of it, in texts and metadata, is not looked at.
        """
        ...

    def reembed(self, anew: Callable[[Sequence[Memory]], list[Entry]]) -> int:
        """Give every memory new vectors and tokens, and record the store's embedder; how many there were.

        `anew` makes the entries of a block of memories, in its order, each with embeddings and tokens. What it made
        before a failure is kept for the next time, and until all is made the vectors in use stay. Meanwhile the store
        of the new embedder reads and writes too: its searches go by words and say `degraded`, and `look_around` raises
        IndexUnavailable.
        """
        ...

    def is_embedded(self) -> bool:
        """Whether the store's embedder made all vectors, and nobody is making others. Raises Unavailable."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """`memories`, `turns`, `deleted` (expired ones too, until they are purged), `chunks`, `bytes` on disk,
        `record_bytes` of all of these as JSON, without vectors and earlier images."""
        ...
