"""The threads that calls run in: there are so many, and whoever waits too long for one is told when to come back.

A thread can't be ended from outside. So its place is taken, and what its call holds is held, until it has ended by
itself, even if its client has gone long before.
"""

import asyncio
import time
import weakref
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

import anyio

from ...errors import Unavailable

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
        """The result of the work in a thread. Whoever is cancelled goes on waiting, unless the task ends by force."""
        started = self.start(work)
        with anyio.CancelScope(shield=True):
            await asyncio.wait({started})
        return started.result()

    def start(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """The future result of the work in a thread, which holds the place until it ends, whoever waits for it."""
        done, loop = Future[T](), asyncio.get_running_loop()
        for each in self._holds:
            each.hold()

        def let_go() -> None:
            self._threads.busy -= 1
            for each in self._holds:
                each.let_go()

        def ended(_: "Future[T]") -> None:
            with suppress(RuntimeError):  # the loop has ended, and with it all that was held
                loop.call_soon_threadsafe(let_go)

        done.add_done_callback(ended)
        self._threads.start(partial(_fulfil, done, partial(copy_context().run, work)))
        return asyncio.wrap_future(done)


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
        held = Held(partial(self._give_back, me))
        try:
            yield Place(self, (held, *holds))
        finally:
            held.let_go()

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


def _fulfil(done: "Future[Any]", work: Callable[[], Any]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        done.set_exception(error)
    else:
        done.set_result(result)


def no_place() -> Unavailable:
    """All threads have been taken for a while."""
    return Unavailable("The server is busy with other calls; try again.", part="server", retry_after=_RETRY_SECONDS)
