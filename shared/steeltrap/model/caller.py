"""Who calls."""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """Which tools a caller may use: all, only those that read, only those of some toolsets."""

    read_only: bool = False
    toolsets: tuple[str, ...] = ()


EVERYTHING: Final = Permissions()


@dataclass(frozen=True, slots=True)
class UserRef:
    """Whose memories: a user's id, and the tenant that keeps two customers' equal ids apart."""

    user_id: str
    tenant: str = ""

    @property
    def key(self) -> str:
        """64 hexadecimal digits that no two users share: what names a user's place. Any id works."""
        # JSON is an unambiguous encoding of the pair: ("a", "b/c") and ("a/b", "c") stay apart.
        return sha256(json.dumps([self.tenant, self.user_id]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as the surface's authenticated context says; never read from a tool's arguments.

    `agent_id` and `conversation_id` are None where the surface knows none. `permissions` say what the
    caller may do among their own memories.
    """

    user: UserRef
    agent_id: str | None = None
    conversation_id: str | None = None
    permissions: Permissions = EVERYTHING
