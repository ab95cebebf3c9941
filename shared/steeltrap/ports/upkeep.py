"""Looking after an index: what it has to hold, and rebuilding it."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from ..errors import SteeltrapError
from ..model import UserRef
from .index import Document, Tombstone

TOMBSTONE_SECONDS: Final = 15 * 86_400
"""How long what is gone leaves a tombstone: longer than any replay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A change that an index permanently rejects: whose it is, and why. Nothing of its text."""

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

    def users(self) -> Iterator[UserRef]:
        """Everyone with a space. Raises Unavailable, Throttled."""
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

    def known(self, user: str, ids: Sequence[str]) -> frozenset[str]:
        """Those of a user's ids of which there is anything, if only a tombstone. Raises Unavailable, Throttled."""
        ...


class IndexUpkeep(Protocol):
    """Looks after an index: makes it, builds another one beside it, and tells what it holds."""

    def create(self) -> bool:
        """Make the first index, empty. False when there is one. Raises Unavailable, Throttled."""
        ...

    def unfit(self) -> str | None:
        """Why the index that is searched has to be rebuilt, for another embedder or form; None when it fits.

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

    def build(self, documents: Sequence[Document | Tombstone]) -> dict[int, SteeltrapError]:
        """Write to the new index only; otherwise as `Index.write`."""
        ...

    def reached(self, place: str) -> None:
        """Keep how far the building is. Raises Unavailable, Throttled."""
        ...

    def switch(self) -> None:
        """Search the new index, and remove the one before. Raises Unavailable, Throttled."""
        ...

    def mend(self, documents: Sequence[Document | Tombstone]) -> dict[int, SteeltrapError]:
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

    def drop_tombstones(self, *, before: int, known: Callable[[str, Sequence[str]], Collection[str]]) -> int:
        """Remove the tombstones with a lower index version, but those of a user's ids that are `known`; how many went.

        What was written in the place of one meanwhile stays. Raises Unavailable, Throttled.
        """
        ...
