"""Everyone's memories."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from .space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRef:
    """A user as a store knows one."""

    user_id: str
    tenant: str = ""

    @property
    def key(self) -> str:
        """64 hexadecimal digits that no two users share: what names a user's place. Any id works."""
        # JSON is an unambiguous encoding of the pair: ("a", "b/c") and ("a/b", "c") stay apart.
        return sha256(json.dumps([self.tenant, self.user_id]).encode()).hexdigest()


class MemoryStore(Protocol):
    """Hands out spaces. Only `runtime` and maintenance hold one."""

    def space(self, user_id: str, *, tenant: str = "") -> Space:
        """The space of one user; it comes to be with the first write."""
        ...

    def users(self) -> Iterator[UserRef]:
        """Everyone with a space. What can't be read is raised behind all that can."""
        ...

    def forget_user(self, user_id: str, *, tenant: str = "") -> bool:
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
