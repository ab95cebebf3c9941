"""How many calls of one user run at once, so that nobody keeps the server from the others."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import anyio

from ...errors import Throttled
from ...model import Caller, UserRef
from .call_threads import Held

MAX_WAITING: Final = 64
"""If this many calls of one user wait, further ones are rejected at once."""
MAX_WAITING_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 1.0


class FairShare:
    """Lets `calls` of each user run at once. The next ones wait for their turn, in order. For one event loop."""

    def __init__(self, calls: int, *, waiting: int = MAX_WAITING, seconds: float = MAX_WAITING_SECONDS) -> None:
        self._calls = calls
        self._waiting = waiting
        self._seconds = seconds
        self._lines: dict[UserRef, anyio.CapacityLimiter] = {}

    @asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncIterator[Held]:
        """The turn of a call, until the block and everything that holds it have ended.

        Raises Throttled when it doesn't come soon.
        """
        if (line := self._lines.get(caller.user)) is None:
            line = self._lines[caller.user] = anyio.CapacityLimiter(self._calls)
        me = object()
        try:
            await self._take(line, me)
        except BaseException:
            self._forget(caller.user, line)
            raise
        held = Held(partial(self._give_back, caller.user, line, me))
        try:
            yield held
        finally:
            held.let_go()

    def _give_back(self, user: UserRef, line: anyio.CapacityLimiter, me: object) -> None:
        line.release_on_behalf_of(me)
        self._forget(user, line)

    def _forget(self, user: UserRef, line: anyio.CapacityLimiter) -> None:
        if not (line.borrowed_tokens or line.statistics().tasks_waiting):
            self._lines.pop(user, None)

    async def _take(self, line: anyio.CapacityLimiter, me: object) -> None:
        try:
            line.acquire_on_behalf_of_nowait(me)
        except anyio.WouldBlock:
            if line.statistics().tasks_waiting >= self._waiting:
                raise self._too_many() from None
            with anyio.move_on_after(self._seconds) as patience:
                await line.acquire_on_behalf_of(me)
            if patience.cancelled_caught:
                raise self._too_many() from None

    def _too_many(self) -> Throttled:
        return Throttled(
            f"Too many calls of this user: {self._calls} are running and others wait; try again when one has ended.",
            retry_after=_RETRY_SECONDS,
        )
