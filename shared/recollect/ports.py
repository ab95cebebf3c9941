"""The capabilities that the engine needs.

Every adapter earns its port by one contract suite (`tests/contracts`). A `Space` is all that the engine
ever holds of a store: one user's memories, from which nobody else's can be reached.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Literal, NamedTuple, Protocol

from .errors import RecollectError
from .model import (
    Association,
    Embedding,
    Filter,
    JsonObject,
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


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The current time, UTC, timezone-aware."""
        ...


class Scale(Protocol):
    """What the cosines of an embedder mean, by three of them, 0 to 1.

    `unrelated` is that between texts that have nothing to do with each other; `unrelated_japanese` that between
    such texts in Japanese, which many models crowd; and `novel`, no lower than the first, that between a turn that
    says something new in a long conversation, its speaker's name in front, and the nearest before it.
    """

    @property
    def unrelated(self) -> float: ...
    @property
    def unrelated_japanese(self) -> float: ...
    @property
    def novel(self) -> float: ...


class Embedder(Scale, Protocol):
    """Turns texts into unit vectors. `name` identifies model and version: vectors of two names never meet."""

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        """One embedding a text, in order, within `timeout` seconds.

        Raises Unavailable when the model does not answer in time or refuses.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory with what it is found by.

    `fold` is the digest of the normalised text (16 bytes): equal texts have equal folds. `embeddings`
    has one vector a chunk and `tokens` the analysed text; both None keep what the store has (an update
    that left the text alone), both empty take the memory out of search (a delete). `speaker` is who
    says it, in lower case.
    """

    memory: Memory
    fold: bytes
    embeddings: tuple[Embedding, ...] | None = None
    tokens: tuple[str, ...] | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What must not be there when a memory is created, checked where the write is serialised.

    Raises Conflict, with `id` of what is there, when the same scope has a memory of equal normalised
    text (`same_text`), and with `similarity` too when one has a cosine of at least `threshold`.
    """

    same_text: bool = False
    threshold: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Add a memory, with the history that an import brings. An id that exists already, deleted or not,
    raises Conflict with `id`.

    `links_ahead` keeps links to memories that are not there yet: a later part of an import brings them.
    """

    entry: Entry
    guard: Guard | None = None
    revisions: tuple[Revision, ...] = ()
    links_ahead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Put a new image in place of version `expected` and keep `revision`.

    Raises NotFound when the id is unknown, Conflict with `version` (the one stored) when another
    write came first.
    """

    entry: Entry
    expected: int
    revision: Revision | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """Turns that are open no longer: an episode sums them up. Those that are closed already stay so."""

    turn_ids: tuple[str, ...]


Change = Create | Replace | Close


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
    `purge` and `open_turns`; what is deleted or expired is absent unless a method says otherwise."""

    def commit(self, changes: Sequence[Change], *, timeout: float) -> None:
        """Write all of the changes durably, or none of them. Raises Conflict, NotFound, Unavailable.

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
        least `floor`, nearest first, newest then id on a tie."""
        ...

    def page(self, filter: Filter, *, limit: int, offset: int = 0) -> Page:
        """A page of what the filter admits, newest first then id, and the exact total."""
        ...

    def walk(self, *, after: str | None = None, turns: bool = False) -> Iterator[Memory]:
        """Every visible memory in a stable order, streaming; `after` resumes behind an id, deleted or not.

        Raises NotFound for an id that was never there or was purged.
        """
        ...

    def alike(self, ids: Sequence[str], *, floor: float) -> dict[str, frozenset[str]]:
        """For each of these memories the others of them whose nearest chunks have a cosine of at least `floor`."""
        ...

    def open_turns(self, conversation_id: str) -> list[Memory]:
        """The turns of a conversation that no `Close` has named, in the order in which they were written."""
        ...

    def idle_conversations(self, since: datetime, *, limit: int) -> list[str]:
        """Conversations whose last open turn was written at or before a time, the longest idle first."""
        ...

    def embeddings(self, ids: Sequence[str]) -> dict[str, tuple[Embedding, ...]]:
        """The embeddings of these memories, turns too, one a chunk; what can't be searched is left out."""
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

    def add_session(self, session: Session, *, timeout: float) -> bool:
        """Add a session durably. False when its id is there already, which is left as it is."""
        ...

    def remove_session(self, id: str, *, timeout: float) -> bool:
        """Remove a session, not its memories. False when there is none."""
        ...

    def revisions(self, id: str) -> list[Revision]:
        """The images that updates replaced, oldest first."""
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

    def keep_review(self, id: str, *, previous: str | None, card: str, timeout: float) -> bool:
        """Put an FSRS card in place of `previous` durably. False when another review came first, or the id is
        unknown. Raises Unavailable.
        """
        ...

    def purge(self, ids: Sequence[str], *, timeout: float) -> list[str]:
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

    def reembed(self, embed: Callable[[Sequence[Memory]], list[tuple[Embedding, ...]]]) -> int:
        """Give every memory new vectors and record the store's embedder, all or nothing; how many there were.

        `embed` makes the vectors of a block of memories, one tuple of chunk embeddings a memory.
        """
        ...

    def statistics(self) -> Mapping[str, int]:
        """`memories`, `turns`, `deleted` (expired ones too, until they are purged), `chunks`, `bytes` on disk."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A memory as an index holds it: what it is found and filtered by, and nothing to show.

    `user` is `UserRef.key`. `index_version` only grows along a memory's writes. Times are in microseconds since
    1970. `conversation_id` is where it was said, `position` counts up along that conversation. `tokens` are the
    analysed text, repeats kept, and `embeddings` one a chunk. What is deleted is no document but a tombstone.
    """

    user: str
    id: str
    index_version: int
    turn: bool
    tier: str
    content_type: str
    scope: str
    created_at: int
    category: str | None = None
    agent_id: str | None = None
    agent_label: str | None = None
    conversation_id: str | None = None
    position: int = 0
    speaker: str | None = None
    occurred_at: int | None = None
    expires_at: int | None = None
    pinned: bool = False
    surprise: float | None = None
    importance: float | None = None
    tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    embeddings: tuple[Embedding, ...] = ()
    links: tuple[str, ...] = ()


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
    """The documents nearest to a probe, nearest first: anywhere, and those of its scope above the floor."""

    anywhere: tuple[IndexedNeighbour, ...] = ()
    near: tuple[IndexedNeighbour, ...] = ()


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
        timeout: float,
        before: int | None = None,
        leave_out: Sequence[str] = (),
    ) -> Indexed:
        """At least the `query.per_leg` best documents of each leg, with true scores in both; no turns unless the
        filter includes them. Raises Unavailable, Throttled."""
        ...

    def look_around(
        self,
        user: str,
        probes: Sequence[Probe],
        *,
        now: int,
        floor: float,
        top_k: int,
        timeout: float,
        before: int | None = None,
        leave_out: Sequence[str] = (),
    ) -> list[IndexedSurroundings]:
        """For each probe, turns aside, the nearest documents anywhere, at least one, and the `top_k` of its scope
        with a cosine of at least `floor`. Raises Unavailable, Throttled."""
        ...

    def write(self, documents: Sequence[Document | Tombstone], *, timeout: float) -> dict[int, RecollectError]:
        """Take in documents; the errors by position, of which some may pass later (`can_retry`).

        What is older than what the index has is left out, which is a success. Raises Unavailable, Throttled
        when nothing could be written.
        """
        ...

    def check(self) -> None:
        """Raises Unavailable when the index can't serve."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """A change that an index will never take: whose it is, and why. Nothing of its text."""

    user: str
    id: str
    index_version: int
    error: str


class Held(NamedTuple):
    """What is kept of a memory somewhere: which version, and whether that is more than a tombstone."""

    index_version: int
    is_there: bool


class Truth(Protocol):
    """All that an index has to hold, read block by block for its upkeep. It may take as long as it takes."""

    def users(self) -> Iterator[str]:
        """The `UserRef.key` of everyone with a space. Raises Unavailable, Throttled."""
        ...

    def everything(self, *, after: str = "") -> Iterator[tuple[Sequence[Document | Tombstone], str]]:
        """Everyone's documents and tombstones in blocks, each with the place behind it, from which another
        reading goes on. Raises Unavailable, Throttled."""
        ...

    def documents(self, user: str) -> Iterator[Document | Tombstone]:
        """One user's. Raises Unavailable, Throttled."""
        ...

    def held(self, user: str) -> dict[str, Held]:
        """What one user's index has to hold, by id. Raises Unavailable, Throttled."""
        ...


class IndexUpkeep(Protocol):
    """Looks after an index: makes it, builds another one beside it, and tells what it holds."""

    def create(self) -> bool:
        """Make the first index, empty. False when there is one. Raises Unavailable, Throttled."""
        ...

    def unfit(self) -> str | None:
        """Why the index that is searched has to be built anew, for another embedder or form; None when it fits.

        Raises Unavailable, Throttled.
        """
        ...

    def begin(self) -> str:
        """Make an index beside the one that is searched, or go on with one that was begun and still fits.

        Answers the last place given to `reached`, "" when all is still to be done: whoever builds waits
        `learned_seconds` then, until every writer writes to both. Raises Unavailable, Throttled.
        """
        ...

    @property
    def learned_seconds(self) -> float:
        """How long a writer may not know of a new index."""
        ...

    def build(self, documents: Sequence[Document | Tombstone], *, timeout: float) -> dict[int, RecollectError]:
        """Write to the new index only; otherwise as `Index.write`."""
        ...

    def reached(self, place: str) -> None:
        """Keep how far the building is. Raises Unavailable, Throttled."""
        ...

    def switch(self) -> None:
        """Search the new index, and remove the one before. Raises Unavailable, Throttled."""
        ...

    def mend(self, documents: Sequence[Document | Tombstone], *, timeout: float) -> dict[int, RecollectError]:
        """Write to the index that is searched what it may have in the same version already."""
        ...

    def held(self, user: str) -> dict[str, Held]:
        """What it holds of a user, by id. Raises Unavailable, Throttled."""
        ...

    def refresh(self) -> None:
        """Let `held` and `count` see all that was written. Raises Unavailable, Throttled."""
        ...

    def count(self, *, before: int) -> int:
        """How many documents, tombstones aside, it holds of everyone with a lower index version."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRef:
    """A user as a store knows one."""

    user_id: str
    tenant: str = ""

    @property
    def key(self) -> str:
        """64 hexadecimal digits that no two users share: what names a user's place. Any id works."""
        # JSON is an unambiguous encoding of the pair: ("a", "b/c") and ("a/b", "c") stay apart.
        return sha256(json.dumps([self.tenant, self.user_id]).encode()).hexdigest()


class MemoryStore(Protocol):
    """Hands out spaces. Only `runtime` and maintenance hold one."""

    def space(self, user_id: str, *, tenant: str = "") -> Space:
        """The space of one user; it comes to be with the first write."""
        ...

    def users(self) -> Iterator[UserRef]:
        """Everyone with a space. What can't be read is raised behind all that can."""
        ...

    def forget_user(self, user_id: str, *, tenant: str = "") -> bool:
        """Remove everything of a user, to the bytes. False when there was nothing."""
        ...

    def check(self) -> None:
        """Raises Unavailable when the store can't serve."""
        ...

    def close(self) -> None:
        """Flush what is buffered and let go of files and connections."""
        ...


class ExportFiles(Protocol):
    """One user's files by name. A name is a relative path that `engine.limits.check_file_name` admits."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole, in place of one of that name. Raises InvalidInput, Unavailable."""
        ...

    def read(self, name: str, *, most: int) -> bytes:
        """A file's bytes. Raises NotFound, TooLarge for more than `most` bytes, InvalidInput, Unavailable."""
        ...

    def names(self) -> list[str]:
        """The names of all files, sorted."""
        ...


class FileStore(Protocol):
    """Hands out users' files. Only `runtime` and maintenance hold one."""

    def files(self, user_id: str, *, tenant: str = "") -> ExportFiles:
        """The files of one user, from which nobody else's can be reached."""
        ...

    def forget_user(self, user_id: str, *, tenant: str = "") -> bool:
        """Remove every file of a user. False when there was none."""
        ...
