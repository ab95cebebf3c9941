"""Everyone's memories."""

from collections.abc import Iterator
from typing import Protocol

from ..model import UserRef
from .clock import Deadline
from .space import Space


class MemoryStore(Protocol):
    """Hands out spaces. Only `runtime` and maintenance hold one."""

    def space(self, user: UserRef, deadline: Deadline) -> Space:
        """The space of one user, for what is done by a deadline; it comes to be with the first write."""
        ...

    def users(self) -> Iterator[UserRef]:
        """Everyone with a space. What can't be read is raised behind all that can."""
        ...

    def forget_user(self, user: UserRef) -> bool:
        """Remove everything of a user, to the bytes. False when there was nothing."""
        ...

    def check(self) -> None:
        """Raises Unavailable when the store can't serve."""
        ...

    def flush(self, *, just_read: bool = False) -> None:
        """Write down what was read. Never raises: what can't be written is dropped.

        With `just_read` all of it was read a moment ago, and is not looked at again to see that it is still there.
        """
        ...

    def close(self) -> None:
        """Flush what is buffered and let go of files and connections."""
        ...
