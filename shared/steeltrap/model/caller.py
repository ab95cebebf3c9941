"""The caller: a user, their agent, and what it may do."""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from .frozen import frozen


@frozen
class Permissions:
    """The tools that a caller may use: all, only read tools, or only some toolsets.

    What an `untrusted` caller writes is marked so. `missing_scope` is the OAuth scope that would let a read-only caller
    write, "" if there is none.
    """

    read_only: bool = False
    toolsets: tuple[str, ...] = ()
    untrusted: bool = False
    missing_scope: str = ""


EVERYTHING: Final = Permissions()


@dataclass(frozen=True, slots=True)
class UserRef:
    """A user's id, and the tenant that tells equal ids of two customers apart."""

    user_id: str
    tenant: str = ""

    @property
    def key(self) -> str:
        """64 hexadecimal digits, unique per tenant and user, that name the user's file or partition. Any id works."""
        # JSON is an unambiguous encoding of the pair: ("a", "b/c") and ("a/b", "c") stay apart.
        return sha256(json.dumps([self.tenant, self.user_id]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller from the surface's authenticated context, never from a tool's arguments.

    `agent_id` and `conversation_id` are None if the surface knows none. `project` is the scope of the repository that
    the caller works in, if the surface knows one; it says where the `agent` toolset saves, and opens nothing that isn't
    the user's. `permissions` say what the caller may do with their own memories.
    """

    user: UserRef
    agent_id: str | None = None
    conversation_id: str | None = None
    permissions: Permissions = EVERYTHING
    project: str | None = None
