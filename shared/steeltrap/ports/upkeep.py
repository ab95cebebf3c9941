"""Upkeep of an index: what it must contain, and rebuilding it."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from ..errors import SteeltrapError
from ..model import UserRef
from ..model.frozen import frozen
from .index import Document, Tombstone

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
