"""Admits requests over ASGI, for HTTP and MCP: identifies the caller, limits calls per user, then reads the body."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import copy
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
"""Callers are identified in separate threads: waiting for a token issuer must not block calls or probes."""


class Admission:
    """Admits requests, at most `calls_of_user` per user at once. For one event loop.

    No body is read before the caller is identified, so an unknown caller costs no memory.
    """

    def __init__(self, identity: Identity, calls_of_user: int = MAX_CALLS_AT_ONCE) -> None:
        self._identity = identity
        self._identifying = anyio.CapacityLimiter(MAX_IDENTIFIED_AT_ONCE)
        self._share = FairShare(calls_of_user)
        self._bodies = Bodies()
        self.calls = anyio.CapacityLimiter(MAX_CALLS_AT_ONCE)
        """The threads that calls run in."""

    def known_by(self, identity: Identity) -> "Admission":
        """The same limits for callers that another identity finds."""
        other = copy(self)
        other._identity = identity
        return other

    @asynccontextmanager
    async def admitted(
        self, scope: Scope, receive: Receive, bounds: Bounds, what: str
    ) -> AsyncIterator[tuple[Caller, bytearray]]:
        """The caller and the body of a request for `what`, until the block ends.

        Raises what an identity raises, IdentityMissing, Throttled, and what `Bodies.read` raises.
        """
        async with self.turn(scope) as caller, self._bodies.read(scope, receive, bounds, what) as body:
            yield caller, body

    @asynccontextmanager
    async def turn(self, scope: Scope) -> AsyncIterator[Caller]:
        """The caller of a request whose body is read otherwise, until the block ends. Raises as `admitted`."""
        caller = identified(await self._caller(scope))
        async with self._share.turn(caller):
            yield caller

    async def _caller(self, scope: Scope) -> Caller | None:
        if isinstance(self._identity, AT_ONCE):
            return self._identity.caller(scope)
        return await anyio.to_thread.run_sync(self._identity.caller, scope, limiter=self._identifying)
