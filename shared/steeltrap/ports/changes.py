"""What a commit writes."""

from dataclasses import dataclass

from ..model import Embedding, Memory, Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory with what it is found by.

    `fold` is the digest of the normalised text (16 bytes): equal texts have equal folds. `embeddings`
    has one vector per chunk and `tokens` the analysed text; both None keep what the store has (an update
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

    Raises Duplicate, with `id` of what is there, when the same scope has a memory of equal normalised
    text (`same_text`), and with `similarity` too when one has a cosine of at least `threshold`.
    """

    same_text: bool = False
    threshold: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Add a memory, with the history that an import brings. An id that exists already, deleted or not,
    raises AlreadyExists with `id`.

    `links_ahead` keeps links to memories that are not there yet: a later part of an import brings them.
    """

    entry: Entry
    guard: Guard | None = None
    revisions: tuple[Revision, ...] = ()
    links_ahead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Put a new image in place of version `expected` and keep `revision`.

    Raises MemoryNotFound when the id is unknown, VersionConflict with `version` (the one stored) when another
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
