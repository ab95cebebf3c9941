"""The log of one user's changes, and the logs of all users.

An entry is one commit. Its number is taken once and for ever: an entry is never removed, only overwritten by a stub
without its content. A base is the whole state after the entry of its number.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol

from ..model import UserRef


class BaseName(NamedTuple):
    """Which state a base has: after the entry `n`, when all entries up to `forgot` were stubs."""

    n: int
    forgot: int


_MARKER: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d)-(\d{12})")


class Marker(NamedTuple):
    """Says that a user has work due in an hour of UTC, such as 2026-01-31T09, and before which entry it was put."""

    hour: str
    n: int

    @property
    def name(self) -> str:
        """The marker in one word; names sort as markers do."""
        return f"{self.hour}-{self.n:012}"

    @classmethod
    def of_name(cls, name: str) -> "Marker | None":
        """The marker of such a name; None where it is another one."""
        match = _MARKER.fullmatch(name)
        return None if match is None else cls(match[1], int(match[2]))


def hour_of(at: datetime) -> str:
    """The hour of a time, as markers name it."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H}"


class Log(Protocol):
    """One user's log. No method takes a user. All raise Unavailable."""

    def create(self, n: int, entry: bytes) -> bool:
        """Create the entry `n`, durably, if there is none.

        False where it is there already, be it by this very call: a service may have done what it answers it didn't.
        So whoever needs to know reads the entry, also after Unavailable.
        """
        ...

    def read(self, numbers: Sequence[int]) -> list[bytes | None]:
        """The entries of these numbers, None for those that aren't there."""
        ...

    def read_on(self, n: int, *, are_many: bool = False) -> list[bytes]:
        """The entry `n` and all after it up to the first number that isn't taken: mostly none or one, unless they
        `are_many`."""
        ...

    def overwrite(self, stubs: Mapping[int, bytes]) -> None:
        """Put stubs in the place of entries, durably, and nothing of the entries is left."""
        ...

    def bases(self) -> list[BaseName]:
        """The names of all bases, the newest last."""
        ...

    def put_base(self, name: BaseName, base: bytes) -> None:
        """Put a base there, durably, in place of one of the same name."""
        ...

    def read_base(self, name: BaseName) -> bytes | None:
        """A base; None where it is gone."""
        ...

    def delete_base(self, name: BaseName) -> None:
        """Remove a base, if it is there."""
        ...

    def may_delete(self) -> bool:
        """Whether these credentials may delete. Who may not makes no bases, because nobody would clear them away."""
        ...

    def list_user(self) -> None:
        """Make the user one of `Logs.users`."""
        ...

    def unlist_user(self) -> None:
        """Take the user out of `Logs.users`."""
        ...

    def mark(self, marker: Marker) -> None:
        """Have `Logs.due` find the user from the end of an hour on, durably."""
        ...

    def unmark(self, marker: Marker) -> None:
        """Remove a marker, if it is there."""
        ...


class Logs(Protocol):
    """All users' logs at one place. Only a store and maintenance hold them."""

    def of(self, user: UserRef) -> Log:
        """The log of a user."""
        ...

    def id(self) -> bytes:
        """16 bytes that no other place has, made when they are first asked for. Raises Unavailable."""
        ...

    def is_begun(self) -> bool:
        """False where no user ever had a log; true where one has. A place that can't list logs goes by its id, which
        any first call makes. Raises Unavailable."""
        ...

    def users(self, first: str = "", end: str = "g") -> Iterator[UserRef]:
        """The users with a log, read page by page: those whose keys are in a range. Raises Unavailable."""
        ...

    def due(self, hour: str) -> Iterator[list[tuple[UserRef, Marker]]]:
        """The markers of hours before this one and their users, in pages, the earliest first. Markers of users who
        aren't listed any more are removed. Raises Unavailable."""
        ...

    def check(self) -> None:
        """Raises Unavailable if nothing can be written."""
        ...

    def close(self) -> None:
        """Let go of connections and threads."""
        ...
