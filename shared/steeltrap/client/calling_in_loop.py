"""The calls of `calling.py` for asyncio: each in a thread, so that the event loop goes on.

Nothing here, no thread either, belongs to one loop: loops of several threads may share a client.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .answers import Answer
from .calling import Client, ToolCalls, toolset_name
from .tool_table import TOOLS

if TYPE_CHECKING:
    from .in_loop import (
        AsyncAgent,
        AsyncAssociative,
        AsyncCategories,
        AsyncCore,
        AsyncEpisodic,
        AsyncFiles,
        AsyncNotes,
        AsyncRecords,
    )

AT_ONCE: Final = 16
"""Calls that run at once; further ones wait for their turn."""

T = TypeVar("T")


class AsyncClient:
    """One user's memory for asyncio, here or elsewhere: the methods of `Client`, to be awaited.

        async with connect_async("http://127.0.0.1:8765") as memory:
            await memory.core.save(content="User prefers dark mode")

    Several calls may run at once, also from the event loops of several threads. A call that is cancelled may still be
    carried out.
    """

    agent: "AsyncAgent"
    core: "AsyncCore"
    files: "AsyncFiles"
    notes: "AsyncNotes"
    categories: "AsyncCategories"
    records: "AsyncRecords"
    associative: "AsyncAssociative"
    episodic: "AsyncEpisodic"

    def __init__(self, client: Client, threads: "CallThreads | None" = None) -> None:
        self._client = client
        self._threads = threads or CallThreads("This client is closed; make another with `connect_async`.")

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """The answer of a tool such as `core.save`. Raises the SteeltrapError that the call met."""
        return await self._threads.run(partial(self._client.call, tool, **arguments))

    async def invoke(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        idempotency_key: str | None = None,
        timezone: str | None = None,
    ) -> Answer:
        """A call with everything that came back: the answer, what a search met, and a failure as a value.

        `timezone` is the zone of the caller's days for this call. Raises NotFound for a tool that doesn't exist.
        """
        invoke = partial(self._client.invoke, idempotency_key=idempotency_key, timezone=timezone)
        return await self._threads.run(partial(invoke, tool, arguments))

    def as_user(
        self,
        user: str,
        *,
        agent: str | None = None,
        conversation: str | None = None,
        timezone: str | None = None,
    ) -> "AsyncClient":
        """The same memory for another user; closing either closes both. Raises InvalidInput over HTTP, where the
        token names the user."""
        other = self._client.as_user(user, agent=agent, conversation=conversation, timezone=timezone)
        return AsyncClient(other, self._threads)

    async def close(self) -> None:
        """Wait for the calls that run, and let go of connections and files."""
        await self._threads.close(self._client.close)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    if not TYPE_CHECKING:

        def __getattr__(self, toolset: str) -> ToolCalls:
            return ToolCalls(toolset_name(toolset), self.call)

    def __dir__(self) -> list[str]:
        return [*(name for name in super().__dir__() if not name.startswith("_")), *TOOLS]

    def __repr__(self) -> str:
        return f"<Async{repr(self._client).removeprefix('<')}"


class CallThreads:
    """Threads that run calls until they are closed; `closed` is the sentence for calls that come later."""

    def __init__(self, closed: str) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, "steeltrap")
        self._closed = closed

    async def run(self, work: Callable[[], T]) -> T:
        """The result of the work in a thread. Raises RuntimeError once they are closed."""
        loop = asyncio.get_running_loop()
        try:
            running = loop.run_in_executor(self._threads, copy_context().run, work)
        except RuntimeError as error:
            raise RuntimeError(self._closed) from error
        return await running

    async def close(self, last: Callable[[], None] = lambda: None) -> None:
        """Wait for the calls that run, then do the last thing."""

        def close() -> None:
            self._threads.shutdown()
            last()

        await asyncio.to_thread(close)

    def abandon(self) -> None:
        """Take no more calls, without waiting for those that run."""
        self._threads.shutdown(wait=False)
