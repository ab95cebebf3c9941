"""The changes that a commit writes."""

from ..model import Embedding, Memory, Revision
from ..model.frozen import frozen


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
