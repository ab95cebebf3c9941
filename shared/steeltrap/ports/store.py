"""All users' memories."""

from collections.abc import Iterator
from typing import Protocol

from ..model import UserRef
from .clock import Deadline
from .space import Space


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
