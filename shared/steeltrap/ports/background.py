"""The thread that closes conversations behind the calls that append to them."""

from typing import Protocol

from ..model import UserRef
from .clock import Deadline


class Background(Protocol):
    """Makes the episodes that are due, so that no append waits for it. Safe for threads; never fails."""

    def appended(self, user: UserRef, conversation_id: str) -> None:
        """Note that a conversation has new turns. Returns at once."""
        ...

    def settle(self, user: UserRef, deadline: Deadline) -> bool:
        """Wait until what is due in the user's noted conversations has been made. False if that is not certain: the
        caller then makes it."""
        ...
