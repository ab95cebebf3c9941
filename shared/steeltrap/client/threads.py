"""Threads for the calls of event loops. They belong to no loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, TypeVar

AT_ONCE: Final = 16
"""Calls that run at once; further ones wait for their turn."""

T = TypeVar("T")


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
