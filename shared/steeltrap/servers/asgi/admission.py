"""Admits requests over ASGI, for HTTP and MCP: identifies the caller, limits calls per user, then reads the body.

Calls run in threads. A thread can't be ended from outside. So its place is taken, and what its call holds is held,
until it has ended by itself, even if its client has gone long before.
"""

import asyncio
import time
import weakref
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from contextvars import copy_context
from copy import copy
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

import anyio
from starlette.types import Message, Receive, Scope

from ...errors import InvalidInput, Throttled, Unavailable
from ...invoke import identified
from ...model import Caller, UserRef
from ...text.schemas import Bounds
from ..auth.identity import AT_ONCE, Identity, one_header

MAX_WAITING: Final = 256
"""If this many calls wait for a thread, further ones are rejected at once."""
MAX_WAITING_SECONDS: Final = 10.0
FULL_SECONDS: Final = 1.0
"""So long without a free thread, the server says that it isn't ready."""
_RETRY_SECONDS: Final = 1.0

T = TypeVar("T")
_Jobs = SimpleQueue[Callable[[], None] | None]


class Held:
    """Something that is given back when everybody who holds it has let it go. For one event loop."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._holders = 1
        self._give_back = give_back

    def hold(self) -> None:
        if not self._holders:
            raise RuntimeError("it was given back already")
        self._holders += 1

    def let_go(self) -> None:
        self._holders -= 1
        if not self._holders:
            self._give_back()


class Place:
    """A place among the threads: its work begins at once. Works of one place run one after the other."""

    def __init__(self, threads: "CallThreads", holds: Sequence[Held]) -> None:
        self._threads = threads
        self._holds = holds

    async def run(self, work: Callable[[], T]) -> T:
        """The result of the work in a thread. A cancelled task still waits for it, unless it ends by force."""
        started = self.start(work)
        with anyio.CancelScope(shield=True):
            await asyncio.wait({started})
        return started.result()

    def start(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """The future result of the work in a thread. The work holds the place until it ends, even if nobody waits for
        it."""
        future, loop = Future[T](), asyncio.get_running_loop()
        for hold in self._holds:
            hold.hold()

        def let_go() -> None:
            self._threads.busy -= 1
            for hold in self._holds:
                hold.let_go()

        def ended(_: "Future[T]") -> None:
            with suppress(RuntimeError):  # the loop has ended, and with it all that was held
                loop.call_soon_threadsafe(let_go)

        future.add_done_callback(ended)
        self._threads.start(partial(_fulfil, future, partial(copy_context().run, work)))
        return asyncio.wrap_future(future)


class CallThreads:
    """At most `places` threads, made when they are needed. For one event loop."""

    def __init__(
        self,
        places: int,
        *,
        waiting: int = MAX_WAITING,
        seconds: float = MAX_WAITING_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places = anyio.CapacityLimiter(places)
        self._waiting = waiting
        self._seconds = seconds
        self._clock = clock
        self._full_since: float | None = None
        self._jobs: _Jobs = SimpleQueue()
        self._threads = 0
        self.busy = 0
        """How many of the threads have work."""
        weakref.finalize(self, self._jobs.put, None)

    @property
    def is_full(self) -> bool:
        """Whether no place has become free for a while."""
        return self._full_since is not None and self._clock() - self._full_since >= FULL_SECONDS

    def start(self, job: Callable[[], None]) -> None:
        """Have a thread do a job, for somebody who has a place."""
        self.busy += 1
        if self.busy > self._threads:
            # A thread that never ends must not keep the process from ending.
            Thread(target=_work, args=(self._jobs,), name=f"steeltrap-call-{self._threads}", daemon=True).start()
            self._threads += 1
        self._jobs.put(job)

    @asynccontextmanager
    async def place(self, *holds: Held) -> AsyncIterator[Place]:
        """A place, until the block and all work in it have ended; the work holds all of `holds`, too.

        Raises Unavailable when no place becomes free soon.
        """
        me = object()
        await self._take(me)
        hold = Held(partial(self._give_back, me))
        try:
            yield Place(self, (hold, *holds))
        finally:
            hold.let_go()

    async def run(self, work: Callable[[], T], *holds: Held) -> T:
        """The result of the work in a place of its own. Raises Unavailable when none becomes free soon."""
        async with self.place(*holds) as place:
            return await place.run(work)

    async def _take(self, me: object) -> None:
        try:
            self._places.acquire_on_behalf_of_nowait(me)
        except anyio.WouldBlock:
            if self._places.statistics().tasks_waiting >= self._waiting:
                raise no_place() from None
            with anyio.move_on_after(self._seconds) as patience:
                await self._places.acquire_on_behalf_of(me)
            if patience.cancelled_caught:
                raise no_place() from None
        if not self._places.available_tokens:
            self._full_since = self._clock()

    def _give_back(self, me: object) -> None:
        self._full_since = None
        self._places.release_on_behalf_of(me)
        if not self._places.available_tokens:  # somebody waited for it
            self._full_since = self._clock()


def _work(jobs: _Jobs) -> None:
    """Work off jobs until there is nobody left who brings any."""
    while (job := jobs.get()) is not None:
        job()
        del job  # or its arguments would be kept until the next one
    jobs.put(None)  # for the next thread


def _fulfil(future: "Future[Any]", work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def no_place() -> Unavailable:
    """All threads have been taken for a while."""
    return Unavailable("The server is busy with other calls; try again.", part="server", retry_after=_RETRY_SECONDS)


MAX_WAITING_OF_USER: Final = 64
"""If this many calls of one user wait, further ones are rejected at once."""


class FairShare:
    """Lets `calls` of each user run at once. The next ones wait for their turn, in order. For one event loop."""

    def __init__(self, calls: int, *, waiting: int = MAX_WAITING_OF_USER, seconds: float = MAX_WAITING_SECONDS) -> None:
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
        hold = Held(partial(self._give_back, caller.user, line, me))
        try:
            yield hold
        finally:
            hold.let_go()

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


MAX_HELD_BYTES: Final = 256 * 1024 * 1024
"""Bytes of all bodies that are being read or worked on."""
SMALL_BYTES: Final = 64 * 1024
"""There is always room for so much of a body: a few large ones keep no ordinary call away."""


class Bodies:
    """Reads bodies within one limit for all of them together. For one event loop."""

    def __init__(self, most: int = MAX_HELD_BYTES) -> None:
        self._most = most
        self.held_bytes = 0

    @asynccontextmanager
    async def read(self, scope: Scope, receive: Receive, bounds: Bounds, what: str) -> AsyncIterator[bytearray]:
        """The body, which counts as held until the block ends.

        Raises TooLarge over the bounds of `what` it is for, Unavailable when there is no room for it now, and
        InvalidInput when the client goes before its end.
        """
        declared = one_header(scope, "Content-Length") or ""
        if declared.isascii() and declared.isdigit():
            bounds.check_size(int(declared[:18]), what)  # a longer number is no less too large
        body = bytearray()
        try:
            more = True
            while more:
                message = await receive()
                part, more = _part(message)
                bounds.check_size(len(body) + len(part), what)
                if len(body) + len(part) > SMALL_BYTES and self.held_bytes + len(part) > self._most:
                    raise _no_room()
                self.held_bytes += len(part)
                body += part
            yield body
        finally:
            self.held_bytes -= len(body)


def _part(message: Message) -> tuple[bytes, bool]:
    if message["type"] != "http.request":
        raise InvalidInput("The connection ended before the body did.")
    return message.get("body", b""), message.get("more_body", False)


def _no_room() -> Unavailable:
    return Unavailable(
        "The server is busy with other large bodies; try again.", part="server", retry_after=_RETRY_SECONDS
    )


# Calls wait for SQLite and numpy, which let go of the interpreter; more threads would only queue there.
MAX_CALLS_AT_ONCE: Final = 16
MAX_IDENTIFIED_AT_ONCE: Final = 40
"""Callers are identified in separate threads: waiting for a token issuer must not block calls or probes."""
MAX_IMPORTS_AT_ONCE: Final = 4
"""Calls with files, which may take long: they have threads of their own, so that calls never wait for them."""
MAX_IMPORTS_OF_USER: Final = 2


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
