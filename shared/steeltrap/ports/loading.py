"""What takes long to make ready, and can be made ready ahead."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Loads(Protocol):
    """An adapter whose first call waits for what `load` gets ready: a model, a client."""

    def load(self) -> None:
        """Get it ready now, asking no other machine. Raises Unavailable when something is missing here."""
        ...
