"""Adapters that take long to load and can be loaded ahead, or keep much of what they loaded."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Loads(Protocol):
    """An adapter whose first call would otherwise wait for a model or a client."""

    def load(self) -> None:
        """Load now, without network requests. Raises Unavailable if something is missing on this machine."""
        ...


@runtime_checkable
class Caches(Protocol):
    """A store that keeps the memories of users in this process, to search them."""

    def cached(self) -> tuple[int, int]:
        """The number of users whose files are open, and the bytes held for them."""
        ...
