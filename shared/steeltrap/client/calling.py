"""The tools as calls, over any transport: names checked, answers checked, lost calls repeated where that is safe.

    send ──answer──> done                        a read, or a save under its key: send again
      └──nothing──> may it have been carried out?
                      no: send again             yes, and repeating would do it twice: NoAnswer

A save gets an idempotency key when the caller names none, so that sending it again saves once.

For asyncio, each call runs in a thread, so that the event loop goes on. Nothing here, no thread either, belongs to one
loop: loops of several threads may share a client.
"""

import asyncio
import keyword
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial, wraps
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar
from uuid import uuid4

from ..errors import OverQuota, SteeltrapError, Throttled, unknown_name
from .answers import Answer, Call, NoAnswer, Transport, tool_name
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
    from .in_process import Agent, Associative, Categories, Core, Episodic, Files, Notes, Records

ATTEMPTS: Final = 5
FIRST_PAUSE: Final = 0.2
"""Seconds before the second attempt, at most; each later pause may be twice as long, or as long as the server asks."""
PATIENCE: Final = 30.0
"""A server that asks for a longer pause, in seconds, is not waited for."""
AT_ONCE: Final = 16
"""Calls that run at once; further ones wait for their turn."""

A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How lost calls are repeated; `pause` waits, and `spread` makes clients pause out of step."""

    attempts: int = ATTEMPTS
    pause: Callable[[float], None] = time.sleep
    spread: Callable[[float, float], float] = random.uniform


class Client:
    """One user's memory, here or elsewhere. Safe for many threads; close it at the end, or use it in a `with`.

        with connect("http://127.0.0.1:8765") as memory:
            memory.core.save(content="User prefers dark mode")

    Each toolset is an attribute, and each tool one of its attributes (`memory.core.import_`, since `import` is a
    keyword).
    """

    agent: "Agent"
    core: "Core"
    files: "Files"
    notes: "Notes"
    categories: "Categories"
    records: "Records"
    associative: "Associative"
    episodic: "Episodic"

    def __init__(self, transport: Transport, *, patience: Patience | None = None) -> None:
        self._transport = transport
        self._patience = patience or Patience()
        self._closed = Event()

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """The answer of a tool such as `core.save`. Raises the SteeltrapError that the call met."""
        answer = self.invoke(tool, arguments)
        if answer.error is not None:
            raise answer.error
        return answer.body

    def invoke(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        idempotency_key: str | None = None,
        timezone: str | None = None,
    ) -> Answer:
        """A call with everything that came back: the answer, what a search met, and a failure as a value.

        `timezone` is the zone of the caller's days for this call. Raises NotFound for a tool that doesn't exist, and
        RuntimeError once this is closed.
        """
        if self._closed.is_set():
            raise RuntimeError("This client is closed; make another with `connect`.")
        call = called(tool, arguments, idempotency_key, timezone)
        try:
            return self._send(call)
        except SteeltrapError as error:
            return Answer(error=error)

    def as_user(
        self,
        user: str,
        *,
        agent: str | None = None,
        conversation: str | None = None,
        timezone: str | None = None,
    ) -> "Client":
        """The same memory for another user; closing either closes both. Raises InvalidInput over HTTP, where the
        token names the user."""
        place = self._transport.as_user(user, agent=agent, conversation=conversation, timezone=timezone)
        other = Client(place, patience=self._patience)
        other._closed = self._closed
        return other

    def close(self) -> None:
        """Let go of connections and files. Later calls are refused."""
        self._closed.set()
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    if not TYPE_CHECKING:

        def __getattr__(self, toolset: str) -> "ToolCalls":
            return ToolCalls(toolset_name(toolset), self.call)

    def __dir__(self) -> list[str]:
        return [*(name for name in super().__dir__() if not name.startswith("_")), *TOOLS]

    def __repr__(self) -> str:
        return f"<Client of {self._transport}>"

    def _send(self, call: Call) -> Answer:
        pause = FIRST_PAUSE
        for attempt in range(1, self._patience.attempts + 1):
            try:
                answer = self._transport.send(call)
                failure = answer.error
            except SteeltrapError as error:
                answer, failure = Answer(error=error), error
            if failure is None or attempt == self._patience.attempts or not may_repeat(call, failure):
                break
            seconds = float(failure.details.get("retry_after", 0))
            if seconds > PATIENCE:
                break
            self._patience.pause(max(seconds, self._patience.spread(0, pause)))
            pause *= 2
        return answer if failure is None else Answer(error=_explained(call, failure), outcome=answer.outcome)


def called(tool: str, arguments: dict[str, Any], key: str | None, timezone: str | None) -> Call:
    """The call of a tool's name. Raises NotFound, and InvalidInput for a name that is no text."""
    toolset, _, name = tool_name(tool).partition(".")
    rows = TOOLS.get(toolset)
    if rows is None:
        raise unknown_name("toolset", toolset, TOOLS)
    if name not in rows:
        raise unknown_name("tool", name, rows, of=f" in `{toolset}`")
    row = rows[name]
    if key is None and row.repeats == "by_key":
        key = str(uuid4())
    return Call(tool=tool, row=row, arguments=arguments, idempotency_key=key, timezone=timezone)


def may_repeat(call: Call, failure: SteeltrapError) -> bool:
    """Whether the same call may be sent again: that may help, and can't do anything twice."""
    if not failure.can_retry or isinstance(failure, OverQuota):
        return False
    if isinstance(failure, Throttled) or (isinstance(failure, NoAnswer) and not failure.sent):
        return True
    # An edit of a named version would be refused by its own first attempt.
    return call.row.repeats != "never" and call.arguments.get("version") is None


def _explained(call: Call, failure: SteeltrapError) -> SteeltrapError:
    if not isinstance(failure, NoAnswer) or not failure.sent or may_repeat(call, failure):
        return failure
    sentence = f"{failure.cause}; `{call.tool}` may have been carried out, so look before you call it again."
    error = NoAnswer(sentence, sent=True, retryable=False)
    error.__cause__ = failure.__cause__
    return error


def toolset_name(toolset: str) -> str:
    """The name of a toolset that is asked for as an attribute. Raises AttributeError."""
    if toolset.startswith("_") or toolset not in TOOLS:
        raise AttributeError(f"no toolset {toolset!r}; there are: {', '.join(TOOLS)}")
    return toolset


@dataclass(frozen=True)
class ToolCalls:
    """A toolset's tools as attributes, each called with its arguments by name; `run` makes one call."""

    _toolset: str
    _run: Callable[..., Any]

    def __getattr__(self, name: str) -> Any:
        tool = name.removesuffix("_")
        if name.startswith("_") or tool not in TOOLS[self._toolset]:
            raise AttributeError(f"no tool {name!r} in {self._toolset!r}; there are: {', '.join(dir(self))}")

        def call(**arguments: Any) -> Any:
            return self._run(f"{self._toolset}.{tool}", **arguments)

        call.__name__ = name
        call.__qualname__ = f"{self._toolset}.{tool}"
        return call

    def __dir__(self) -> list[str]:
        return [name + "_" * keyword.iskeyword(name) for name in TOOLS[self._toolset]]

    def __repr__(self) -> str:
        return f"<Toolset {self._toolset!r}: {', '.join(self.__dir__())}>"


class Awaited(Generic[A]):
    """The methods of a client, to be awaited; `A` is what its `invoke` answers."""

    def __init__(self, client: Any, threads: "CallThreads") -> None:
        self._client = client
        self._threads = threads

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
    ) -> A:
        """A call with everything that came back: the answer, what a search met, and a failure as a value.

        `timezone` is the zone of the caller's days for this call. Raises NotFound for a tool that doesn't exist.
        """
        invoke = partial(self._client.invoke, idempotency_key=idempotency_key, timezone=timezone)
        answer: A = await self._threads.run(partial(invoke, tool, arguments))
        return answer

    def as_user(
        self,
        user: str,
        *,
        agent: str | None = None,
        conversation: str | None = None,
        timezone: str | None = None,
    ) -> Self:
        """The same memory for another user; closing either closes both. Raises InvalidInput over HTTP, where the
        token names the user."""
        other = self._client.as_user(user, agent=agent, conversation=conversation, timezone=timezone)
        return type(self)(other, self._threads)

    async def close(self) -> None:
        """Wait for the calls that run, and let go of connections and files."""
        await self._threads.close(self._client.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    if not TYPE_CHECKING:

        def __getattr__(self, toolset: str) -> "AwaitedTools":
            if toolset.startswith("_"):
                raise AttributeError(toolset)
            return AwaitedTools(getattr(self._client, toolset), self._threads)

    def __dir__(self) -> list[str]:
        return dir(self._client)

    def __repr__(self) -> str:
        return f"<Async{repr(self._client).removeprefix('<')}"


class AwaitedTools:
    """A toolset's tools as attributes, each to be awaited."""

    def __init__(self, tools: Any, threads: "CallThreads") -> None:
        self._tools = tools
        self._threads = threads

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        tool = getattr(self._tools, name)

        @wraps(tool)
        async def call(**arguments: Any) -> Any:
            return await self._threads.run(partial(tool, **arguments))

        return call

    def __dir__(self) -> list[str]:
        return dir(self._tools)

    def __repr__(self) -> str:
        return repr(self._tools)


class AsyncClient(Awaited[Answer]):
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
        super().__init__(client, threads or CallThreads("This client is closed; make another with `connect_async`."))


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
