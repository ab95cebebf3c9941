"""Adapters that take long to load and can be loaded ahead."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Loads(Protocol):
    """An adapter whose first call would otherwise wait for a model or a client."""

    def load(self) -> None:
        """Load now, without network requests. Raises Unavailable if something is missing on this machine."""
        ...
