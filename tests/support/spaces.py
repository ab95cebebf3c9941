"""Users' spaces as tests open them."""

from typing import Any, Final, cast

from steeltrap.model import UserRef
from steeltrap.ports import Clock, Deadline, Space
from steeltrap.runtime import SystemClock

SECONDS: Final = 30.0


def in_time(seconds: float = SECONDS, clock: Clock | None = None) -> Deadline:
    """So many seconds from now, by the computer's clock unless told."""
    return Deadline.after(seconds, clock or SystemClock())


class _Fresh:
    """A space whose every operation has a deadline of its own, as if each were a call: tests move the clock by days."""

    def __init__(self, store: Any, user: UserRef, seconds: float) -> None:
        self._open = lambda: store.space(user, in_time(seconds, getattr(store, "_clock", None)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._open(), name)


def space_of(store: Any, user_id: str, *, tenant: str = "", seconds: float = SECONDS) -> Space:
    """The space of a user in a store; each operation has so many seconds, by the store's clock."""
    return cast(Space, _Fresh(store, UserRef(user_id, tenant), seconds))
