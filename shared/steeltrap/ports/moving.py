"""All that a user has, as a store of one kind gives it to a store of another kind."""

from ..model import Embedding, Import, Memory, Revision, Session, Usage
from ..model.frozen import frozen


@frozen
class Stored:
    """A memory or a turn, deleted or not, with all that belongs to it.

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
