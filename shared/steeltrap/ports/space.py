"""One user's memories, the changes that a commit writes to them, the store that has them, and all of them on a move."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from typing import Literal, Protocol, TypeVar

from ..model import (
    Embedding,
    Filter,
    Happened,
    Import,
    Matches,
    Memory,
    Page,
    Query,
    Revision,
    ScopeUse,
    Session,
    Surroundings,
    Usage,
    UserRef,
)
from ..model.frozen import frozen
from .services import Deadline


@frozen
class Entry:
    """A memory with its search data.

    `fold` is the digest of the normalised text (16 bytes): equal texts have equal folds. `embeddings`
    has one vector per chunk and `tokens` the analysed text; if both are None, the
    stored ones stay (an update that didn't change the text); if both are empty, the memory leaves the search (a
    delete). `speaker` is in lower case.
    """

    memory: Memory
    fold: bytes
    embeddings: tuple[Embedding, ...] | None = None
    tokens: tuple[str, ...] | None = None
    speaker: str | None = None


@frozen
class Guard:
    """The duplicate that must not exist when a memory is created; checked inside the serialised write. Memories that
    the same commit takes out of sight don't count.

    Raises Duplicate with the `id` of the existing memory if the same scope has a memory with equal normalised text
    (`same_text`), and also with `similarity` if one has a cosine of at least `threshold`.
    """

    same_text: bool = False
    threshold: float | None = None


@frozen
class Create:
    """Add a memory, with the history that an import brings. An id that exists already, deleted or not,
    raises AlreadyExists with `id`.

    `links_ahead` keeps links to memories that are not there yet: a later part of an import brings them.
    """

    entry: Entry
    guard: Guard | None = None
    history: tuple[Revision, ...] = ()
    links_ahead: bool = False


@frozen
class Replace:
    """Put a new image in place of version `expected`. `history` keeps the image that it replaces, or the earlier ones
    that an import brings.

    Raises MemoryNotFound when the id is unknown, VersionConflict with `version` (the one stored) when another
    write came first.
    """

    entry: Entry
    expected: int
    history: tuple[Revision, ...] = ()


@frozen
class Close:
    """Closes turns, because an episode summarises them. Turns that are already closed stay closed."""

    turn_ids: tuple[str, ...]


Change = Create | Replace | Close


T = TypeVar("T")


@frozen
class Probe:
    """A text to find neighbours of: its chunks' embeddings, its scope (None: the whole space), an id to leave out."""

    embeddings: tuple[Embedding, ...]
    scope: str | None
    leave_out: str | None = None


@frozen(kw_only=False)
class TextKey:
    """The digest of a normalised text, and where a second copy of it would be a duplicate."""

    fold: bytes
    scope: str
    agent_id: str | None
    conversation_id: str | None


@frozen(kw_only=False)
class IdStarts:
    """The memories whose ids have one of these starts (`text.limits.start_of`): up to `limit` for each, in order."""

    starts: Sequence[str]
    limit: int


@frozen(kw_only=False)
class Naming:
    """The memories that name one of these in a field: that link to it, or that it superseded."""

    field: Literal["links", "superseded_by"]
    ids: Sequence[str]


@frozen(kw_only=False)
class OfImport:
    """The memories and turns that have the id of this import."""

    id: str


@frozen(kw_only=False)
class LatestWrites:
    """The last `limit` that were written, the latest first. What one commit wrote is in no order."""

    limit: int


@frozen(kw_only=False)
class Gone:
    """The memories deleted before a time, and the expired ones, pinned or not."""

    deleted_before: datetime


@frozen(kw_only=False)
class Pending:
    """The visible memories whose look-around is pending."""


@frozen(kw_only=False)
class OpenTurns:
    """The turns of a conversation that no `Close` has closed, in the order of writing."""

    conversation_id: str


Lookup = IdStarts | Naming | OfImport | LatestWrites | Gone | Pending | OpenTurns


class Space(Protocol):
    """One user's memories.

    Only search with `include_turns`, `get`, `find`, `images` and `purge` see turns. Deleted and expired memories are
    absent unless a method says otherwise. Only `get`, `find`, `walk`, `images`, `embeddings`, and searches and pages
    that ask for them see memories that another one superseded.

    All reads and writes of a space share one deadline. After it they raise Unavailable, except `note_access` and
    `note_review`, which never fail.

    `atomic_updates` is the largest number of `Replace` (with revisions) that one commit writes all or none of; None
    is no limit.
    """

    atomic_updates: int | None

    def until(self, deadline: Deadline) -> "Space":
        """The same memories with another deadline."""
        ...

    def ahead(self, read: Callable[[], T]) -> T:
        """The answer of a read that changes nothing. A store that has to ask elsewhere what is newest may let it begin
        meanwhile; it runs again where there was something new. Raises what the read raises."""
        ...

    def cached_at(self) -> datetime | None:
        """When what was read of the space was current, where the store can't be reached and a copy answers; None where
        it was current as it was read. Never asks the store."""
        ...

    def commit(self, changes: Sequence[Change]) -> None:
        """Write all of the changes durably, or none of them. Raises Conflict (VersionConflict,
        AlreadyExists, Duplicate, or for memories of another embedder), MemoryNotFound, Unavailable.

        For more than 100 memories and turns, a store may use several transactions. Ids and versions are checked before
        the first, but if a later one fails, the earlier ones stay. Committing the rest completes it; committing all of
        it again raises AlreadyExists or VersionConflict.

        References to purged memories are removed from the images, earlier ones too, before they are written, so a
        concurrent purge is never undone.
        """
        ...

    def get(self, ids: Sequence[str], *, deleted: bool = False) -> dict[str, Memory]:
        """The memories with these ids; unknown ids are left out. `deleted` includes deleted and expired memories."""
        ...

    def find(self, lookup: Lookup) -> list[str]:
        """The ids of the memories and turns that a lookup names, in no order unless it says one. Deleted, expired and
        superseded ones are among them unless it says otherwise.

        `Naming` may give memories that did so before: whoever reads them looks. The others are exact.
        """
        ...

    def successions(self, ids: Sequence[str]) -> dict[str, str]:
        """By which memory each of these was superseded, and that one in turn, and so on, as far as they are visible:
        each read once, also in a circle. A store that reads them one after the other may leave out the end of a very
        long chain, so what has no entry may have been superseded all the same."""
        ...

    def copies(self, texts: Sequence[TextKey]) -> list[int]:
        """For each text, the number of visible memories and turns that have it in that place."""
        ...

    def search(self, query: Query) -> Matches:
        """The best matches of each leg that pass the filter, with true scores in both legs."""
        ...

    def look_around(self, probes: Sequence[Probe], *, floor: float, top_k: int) -> list[Surroundings]:
        """For each probe, the nearest memory in any scope, and the `top_k` in its own scope with a cosine of at least
        `floor`: nearest first, ties newest first, then by id. Raises one of INDEX_FAILURES if only the search index
        fails."""
        ...

    def page(self, filter: Filter, *, limit: int, offset: int = 0, happened: Happened | None = None) -> Page:
        """A page of the memories that pass the filter, newest first, then by id; and the exact total. `happened` asks
        for them by when they happened instead."""
        ...

    def walk(self, *, after: str | None = None, turns: bool = False) -> Iterator[Memory]:
        """Every visible memory in a stable order, streamed; `after` continues after an id, deleted or not.

        Raises NotFound for an id that never existed or was purged.
        """
        ...

    def images(self, *, earlier: bool = False) -> Iterator[Memory]:
        """Every image that is kept, streamed, in no order: of memories and turns, superseded, expired and deleted ones
        too; or all `earlier` images, which updates replaced. What is written meanwhile may be left out."""
        ...

    def idle_conversations(self, since: datetime, *, limit: int) -> list[str]:
        """Conversations whose last open turn was written at or before a time, the longest idle first."""
        ...

    def embeddings(self, ids: Sequence[str]) -> dict[str, tuple[Embedding, ...]]:
        """The embeddings of these memories and turns, one per chunk; those that can't be searched are left out."""
        ...

    def speakers(self) -> frozenset[str]:
        """The speakers of at least two memories or turns, in lower case."""
        ...

    def vocabulary(self) -> Set[str] | None:
        """The words of all memories and turns, and maybe others; None where they aren't at hand."""
        ...

    def scopes(self) -> dict[str, ScopeUse]:
        """The use of each scope that has memories, without the scopes below it."""
        ...

    def sessions(self) -> list[Session]:
        """The sessions, oldest first, then by id."""
        ...

    def add_session(self, session: Session) -> bool:
        """Add a session durably. False if the id exists; that session is left unchanged."""
        ...

    def remove_session(self, id: str) -> bool:
        """Remove a session, but not its memories. False if there is none."""
        ...

    def imports(self) -> list[Import]:
        """The imports, the latest begun first, then by id."""
        ...

    def put_import(self, run: Import) -> None:
        """Write an import durably, in place of the one of its id."""
        ...

    def revisions(self, id: str, *, after: int = 0, limit: int | None = None) -> list[Revision]:
        """The images that updates replaced, oldest first: those after the version `after`, at most `limit`."""
        ...

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """How often and when these memories were read; those never read are left out."""
        ...

    def note_access(self, ids: Sequence[str], at: datetime) -> None:
        """Count one access to each. Never fails, and never changes a memory."""
        ...

    def note_review(self, id: str, *, previous: str | None, card: str) -> None:
        """Replace the FSRS card `previous`, unless another review came first. Never fails."""
        ...

    def keep_review(self, id: str, *, previous: str | None, card: str) -> bool:
        """Replace the FSRS card `previous` durably. False if another review came first or the id is unknown.

        Raises Unavailable.
        """
        ...

    def check_purge(self) -> None:
        """Raise Unavailable if this process may not purge. For work that changes something before it purges."""
        ...

    def purge(self, ids: Sequence[str]) -> list[str]:
        """Remove memories permanently, including deleted ones and turns: record, vectors, tokens, revisions, usage and
        links to them, down to the bytes. At the same moment, what they superseded is superseded no more.
        Return the ids that existed; links to the other ids are removed too."""
        ...

    def traces(self, id: str) -> list[str]:
        """Where the store still has an id, including links in images and earlier images; empty after a purge.

        Texts and metadata that the user wrote are not checked.
        """
        ...

    def reembed(
        self,
        make_entries: Callable[[Sequence[Memory]], list[Entry]],
        on_start: Callable[[int, int], None] = lambda count, total: None,
    ) -> int:
        """Give every memory new vectors and tokens, and record the store's embedder; return the number of memories.

        `make_entries` makes the entries of a block of memories, in order, each with embeddings and tokens. After a
        failure, the blocks already made are kept for the next call; the old vectors stay in use until all are made.
        Meanwhile a store with the new embedder can read and write: its searches use words only and say `degraded`, and
        `look_around` raises IndexUnavailable. `on_start` is called with the number of memories that an earlier call has
        made, and of all; a store that would have to read all of them to know it doesn't call it.
        """
        ...

    def analysis(self) -> int:
        """By which version of the analysis (`text.words.WORDS_VERSION`) all of the user's memories are found; that of
        today for a user without any."""
        ...

    def set_analysis(self, version: int) -> None:
        """Keep by which version all memories are found; nothing for a user without any."""
        ...

    def is_embedded(self) -> bool:
        """Whether the store's embedder made all vectors, and no re-embedding is under way. Raises Unavailable."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """`memories` (as they are listed), `superseded`, `turns`, `deleted` (and expired, until they are purged),
        `chunks`, `bytes` on disk, and `record_bytes`: all of these as JSON, without vectors and earlier images."""
        ...


def memory_count(statistics: Mapping[str, int]) -> int:
    """How many memories there are by a space's statistics, those that others superseded included, and no turns."""
    return statistics["memories"] + statistics["superseded"]


class MemoryStore(Protocol):
    """Hands out spaces. Only `runtime` and maintenance hold one."""

    def space(self, user: UserRef, deadline: Deadline) -> Space:
        """The space of one user, with the deadline of the call. It is created by the first write."""
        ...

    def users(self) -> Iterator[UserRef]:
        """All users with a space. An error in reading some of them is raised after all others were returned."""
        ...

    def forget_user(self, user: UserRef) -> bool:
        """Remove all data of a user, including the bytes on disk. False if there was none."""
        ...

    def check(self) -> None:
        """Raises Unavailable if the store can't serve."""
        ...

    def flush(self, *, just_read: bool = False) -> None:
        """Write the buffered usage counts. Never raises: counts that can't be written are dropped.

        With `just_read`, everything was read a moment ago, so the store doesn't check that it still exists.
        """
        ...

    def close(self) -> None:
        """Flush the buffers; close files and connections."""
        ...


@frozen
class Stored:
    """A memory or a turn, deleted or not, with all that belongs to it, as one store gives it to another.

    `n` is its place in the order of creation, `written` in that of the last writes; both count from 1. Without
    `embeddings` it can't be searched. `is_open` says that it is a turn that no episode summarises.
    """

    memory: Memory
    n: int
    written: int
    embeddings: tuple[Embedding, ...]
    history: tuple[Revision, ...]
    usage: Usage
    is_open: bool


@frozen
class Beside:
    """A user's sessions and imports, and by which version of the analysis all memories are found."""

    sessions: tuple[Session, ...]
    imports: tuple[Import, ...]
    analysis: int
