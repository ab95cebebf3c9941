"""Python in an event loop: the calls of `client/in_process.py`, each in a thread, so that the loop goes on.

Nothing here belongs to one loop. `in_loop.pyi` spells out the attributes (`docs/stub.py`).
"""

from collections.abc import Callable, Generator
from functools import partial
from os import PathLike
from typing import Any

from ..invoke import Result
from ..model import JsonObject
from ..ports import Clock, Embedder
from ..toolsets import CATALOGUE
from .calling import CallThreads
from .in_process import Dialect, Memory, open_memory


class AsyncMemory:
    """One user's memory, for asyncio: the methods of `Memory`, to be awaited.

        async with open_memory_async("data") as memory:
            await memory.core.save(content="User prefers dark mode")

    Several calls may run at once, also from the event loops of several threads. A call that is cancelled may still be
    carried out.
    """

    def __init__(self, memory: Memory, threads: CallThreads) -> None:
        self._memory = memory
        self._threads = threads

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """The answer of a tool such as `core.save`. Raises the SteeltrapError that the call met."""
        return await self._threads.run(partial(self._memory.call, tool, **arguments))

    async def invoke(
        self, tool: str, arguments: JsonObject, *, idempotency_key: str | None = None, timezone: str | None = None
    ) -> Result:
        """A call with all that it tells: the answer, what a search met, and a failure as a value.

        `timezone` is the zone of the caller's days for this call. Raises NotFound for a tool that there isn't.
        """
        invoke = partial(self._memory.invoke, idempotency_key=idempotency_key, timezone=timezone)
        return await self._threads.run(partial(invoke, tool, arguments))

    def as_user(
        self,
        user: str,
        *,
        agent: str | None = None,
        conversation: str | None = None,
        timezone: str | None = None,
    ) -> "AsyncMemory":
        """The same store for another user, with the days of their time zone; closing either closes both."""
        other = self._memory.as_user(user, agent=agent, conversation=conversation, timezone=timezone)
        return AsyncMemory(other, self._threads)

    async def close(self) -> None:
        """Wait for the calls that run, flush what is buffered and let go of files."""
        await self._threads.close(self._memory.close)

    async def __aenter__(self) -> "AsyncMemory":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __getattr__(self, toolset: str) -> "AsyncDialect":
        if toolset.startswith("_"):
            raise AttributeError(toolset)
        return AsyncDialect(getattr(self._memory, toolset), self._threads)

    def __dir__(self) -> list[str]:
        return dir(self._memory)

    def __repr__(self) -> str:
        return f"Async{self._memory!r}"


class AsyncDialect:
    """A toolset's tools as attributes, each to be awaited."""

    def __init__(self, dialect: Dialect, threads: CallThreads) -> None:
        self._dialect = dialect
        self._threads = threads

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        wrapped = getattr(self._dialect, name)

        async def call(**arguments: Any) -> Any:
            return await self._threads.run(partial(wrapped, **arguments))

        for attribute in ("__name__", "__qualname__", "__doc__", "__signature__"):
            setattr(call, attribute, getattr(wrapped, attribute))
        return call

    def __dir__(self) -> list[str]:
        return dir(self._dialect)

    def __repr__(self) -> str:
        return repr(self._dialect)


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
