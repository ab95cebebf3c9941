"""Python in an event loop: the calls of `client/in_process.py`, each in a thread, so that the loop goes on.

Nothing here belongs to one loop. `in_loop.pyi` spells out the attributes (`docs/stub.py`).
"""

from collections.abc import Callable, Generator
from functools import partial
from os import PathLike
from typing import Any

from ..invoke import Result
from ..ports import Clock, Embedder
from ..toolsets import CATALOGUE
from .calling import Awaited, CallThreads
from .in_process import Memory, open_memory


class AsyncMemory(Awaited[Result]):
    """One user's memory, for asyncio: the methods of `Memory`, to be awaited.

        async with open_memory_async("data") as memory:
            await memory.core.save(content="User prefers dark mode")

    Several calls may run at once, also from the event loops of several threads. A call that is cancelled may still be
    carried out.
    """

    def __init__(self, memory: Memory, threads: CallThreads) -> None:
        super().__init__(memory, threads)

    def __repr__(self) -> str:
        return f"Async{self._client!r}"


class Opening:
    """A memory that is being opened: await it and close it yourself, or use it in an `async with`."""

    def __init__(self, opening: Callable[[], Memory]) -> None:
        self._opening = opening
        self._opened: AsyncMemory | None = None

    def __await__(self) -> Generator[Any, None, AsyncMemory]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncMemory:
        self._opened = await self
        return self._opened

    async def __aexit__(self, *_: object) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def _open(self) -> AsyncMemory:
        threads = CallThreads("This memory is closed; open it again with `open_memory_async`.")
        try:
            return AsyncMemory(await threads.run(partial(_opened, self._opening)), threads)
        except BaseException:
            threads.abandon()
            raise


def _opened(opening: Callable[[], Memory]) -> Memory:
    memory = opening()
    CATALOGUE.tools()  # imports them; otherwise the loop would wait for that when it first names a tool
    return memory


def open_memory_async(
    folder: str | PathLike[str] | None = None,
    *,
    user: str | None = None,
    agent: str | None = None,
    conversation: str | None = None,
    embedder: Embedder | str | None = None,
    clock: Clock | None = None,
    timezone: str | None = None,
) -> Opening:
    """The memory in a folder for asyncio, as `open_memory` opens it; nothing that it does keeps the event loop waiting.

    Use it in an `async with`, or await it and close what it gives. Raises InvalidInput and Unavailable then.
    """
    options = {"user": user, "agent": agent, "conversation": conversation, "timezone": timezone}
    return Opening(partial(open_memory, folder, **options, embedder=embedder, clock=clock))
