"""Admits requests over ASGI, for HTTP and MCP: identifies the caller, limits calls per user, then reads the body."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from starlette.types import Receive, Scope

from ...invoke import identified
from ...model import Caller
from ...text.schemas import Bounds
from ..auth.identity import AT_ONCE, Identity
from .bodies import Bodies
from .call_threads import CallThreads, Held, Place
from .fair_share import FairShare

# Calls wait for SQLite and numpy, which let go of the interpreter; more threads would only queue there.
MAX_CALLS_AT_ONCE: Final = 16
MAX_IDENTIFIED_AT_ONCE: Final = 40
"""Callers are identified in separate threads: waiting for a token issuer must not block calls or probes."""
MAX_IMPORTS_AT_ONCE: Final = 4
"""Calls with files, which may take long: they have threads of their own, so that calls never wait for them."""
MAX_IMPORTS_OF_USER: Final = 2

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request whose turn has come, and who makes it. The turn lasts until its threads have ended, too."""

    caller: Caller
    turn: Held
    threads: CallThreads

    async def run(self, work: Callable[[], T]) -> T:
        """The result of the work in a thread. Raises Unavailable when no thread is free soon."""
        return await self.threads.run(work, self.turn)

    def place(self) -> AbstractAsyncContextManager[Place]:
        """A place among the threads, whose work then waits no more. Raises Unavailable when none is free soon."""
        return self.threads.place(self.turn)


class Admission:
    """Admits requests, at most `calls_of_user` per user at once. For one event loop.

    No body is read before the caller is identified, so an unknown caller costs no memory.
    """

    def __init__(self, identity: Identity, calls_of_user: int = MAX_CALLS_AT_ONCE) -> None:
        self._identity = identity
        self._share = FairShare(calls_of_user)
        self._import_share = FairShare(MAX_IMPORTS_OF_USER)
        self._bodies = Bodies()
        self.identifying = CallThreads(MAX_IDENTIFIED_AT_ONCE)
        """The threads that find out who calls."""
        self.calls = CallThreads(MAX_CALLS_AT_ONCE)
        self.imports = CallThreads(MAX_IMPORTS_AT_ONCE)

    def known_by(self, identity: Identity) -> "Admission":
        """The same limits for callers that another identity finds."""
        other = copy(self)
        other._identity = identity
        return other

    @asynccontextmanager
    async def admitted(
        self, scope: Scope, receive: Receive, bounds: Bounds, what: str
    ) -> AsyncIterator[tuple[Admitted, bytearray]]:
        """A request for `what`, and its body, until the block ends.

        Raises what an identity raises, IdentityMissing, Throttled, and what `Bodies.read` raises.
        """
        async with self.turn(scope) as admitted, self._bodies.read(scope, receive, bounds, what) as body:
            yield admitted, body

    @asynccontextmanager
    async def turn(self, scope: Scope) -> AsyncIterator[Admitted]:
        """A request whose body is read otherwise, until the block ends. Raises as `admitted`."""
        caller = identified(await self._caller(scope))
        async with self._share.turn(caller) as turn:
            yield Admitted(caller, turn, self.calls)

    @asynccontextmanager
    async def import_turn(self, scope: Scope) -> AsyncIterator[Admitted]:
        """A request that imports a file, until the block ends. Raises as `admitted`."""
        caller = identified(await self._caller(scope))
        async with self._import_share.turn(caller) as turn:
            yield Admitted(caller, turn, self.imports)

    async def _caller(self, scope: Scope) -> Caller | None:
        if isinstance(self._identity, AT_ONCE):
            return self._identity.caller(scope)
        return await self.identifying.run(partial(self._identity.caller, scope))
