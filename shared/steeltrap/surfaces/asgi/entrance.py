"""The way in over ASGI, for plain HTTP and MCP alike: who calls, then their turn, then the body."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
import anyio.to_thread
from starlette.types import Receive, Scope

from ...invoke import identified
from ...model import Caller
from ...rules.bounds import Bounds
from ..auth.identity import AT_ONCE, Identity
from .bodies import Bodies
from .fair_share import FairShare

# Calls wait for SQLite and numpy, which let go of the interpreter; more threads would only queue there.
MAX_CALLS_AT_ONCE: Final = 16
MAX_IDENTIFIED_AT_ONCE: Final = 40
"""Who calls is found in threads of their own: a caller that waits for an issuer takes none from calls or probes."""


class Entrance:
    """Lets requests in, at most `calls_of_user` of each user at once. For one event loop.

    Nothing of a body is read before it is known who calls, so a stranger costs no memory.
    """

    def __init__(self, identity: Identity, calls_of_user: int = MAX_CALLS_AT_ONCE) -> None:
        self._identity = identity
        self._identifying = anyio.CapacityLimiter(MAX_IDENTIFIED_AT_ONCE)
        self._share = FairShare(calls_of_user)
        self._bodies = Bodies()
        self.calls = anyio.CapacityLimiter(MAX_CALLS_AT_ONCE)
        """The threads that calls run in."""

    @asynccontextmanager
    async def admitted(
        self, scope: Scope, receive: Receive, bounds: Bounds, what: str
    ) -> AsyncIterator[tuple[Caller, bytearray]]:
        """The caller and the body of a request for `what`, until the block ends.

        Raises what an identity raises, IdentityMissing, Throttled, and what `Bodies.read` raises.
        """
        caller = identified(await self._caller(scope))
        async with self._share.turn(caller), self._bodies.read(scope, receive, bounds, what) as body:
            yield caller, body

    async def _caller(self, scope: Scope) -> Caller | None:
        if isinstance(self._identity, AT_ONCE):
            return self._identity.caller(scope)
        return await anyio.to_thread.run_sync(self._identity.caller, scope, limiter=self._identifying)
