"""The ways to reach the same store, each as a `Seam`: in this process, over HTTP, and by Lambda events."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, cast

from steeltrap.client import AsyncClient, Client, connect, connect_async
from steeltrap.client.calling import Patience
from steeltrap.client.in_process import Memory
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Candidates, Matches, Query, UserRef
from steeltrap.ports import Deadline, MemoryStore, Space
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import TrustedHeaders
from surfaces.callers import Functions
from surfaces.serving import served

T = TypeVar("T")
AT_ONCE: Final = Patience(pause=lambda seconds: None)


@dataclass
class Breakable:
    """A store that answers until somebody breaks it. Degraded, its searches lack a leg; blind, they find nothing."""

    store: MemoryStore
    is_broken: bool = False
    is_degraded: bool = False
    is_blind: bool = False

    def space(self, user: UserRef, deadline: Deadline) -> Space:
        if self.is_broken:
            raise Unavailable("The store does not answer; try again.", part="store")
        space = self.store.space(user, deadline)
        if not (self.is_degraded or self.is_blind):
            return space
        return cast("Space", _Degraded(space, self.is_blind))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


@dataclass(frozen=True)
class _Degraded:
    its: Space
    is_blind: bool

    def search(self, query: Query) -> Matches:
        matches = self.its.search(query)
        candidates = Candidates.of([]) if self.is_blind else matches.candidates
        return replace(matches, candidates=candidates, degraded="vectors do not answer")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.its, name)


def lose_answer(client: Client, at: int = 1) -> None:
    """Let a client's calls be done, and the answer of one of them be lost."""
    call, made = client.call, 0

    def lossy(tool: str, /, **arguments: Any) -> Any:
        nonlocal made
        made += 1
        answer = call(tool, **arguments)
        if made == at:
            raise Unavailable("The answer was lost; try again.", part="store")
        return answer

    client.call = lossy  # type: ignore[method-assign]


@dataclass
class Seam:
    """A way to a store: clients for a user, and a loop for what is awaited. `target` gives what `connect` takes."""

    store: Breakable
    target: Callable[[str], dict[str, Any]]
    stack: ExitStack
    runner: asyncio.Runner

    def client(self, user: str) -> Client:
        return self.stack.enter_context(connect(**self.target(user), patience=AT_ONCE))

    def async_client(self, user: str) -> AsyncClient:
        client = connect_async(**self.target(user), patience=AT_ONCE)
        self.stack.callback(lambda: self.run(client.close()))
        return client

    def run(self, awaited: Coroutine[Any, Any, T]) -> T:
        """The result of what is awaited, in the seam's one loop."""
        return self.runner.run(awaited)


@contextmanager
def _in_process(door: Door) -> Iterator[Callable[[str], dict[str, Any]]]:
    yield lambda user: {"target": Memory(door, Caller(UserRef(user), "default"))}


@contextmanager
def _http(door: Door) -> Iterator[Callable[[str], dict[str, Any]]]:
    with served(create_app(door, TrustedHeaders(), closes_store=False)) as url:
        yield lambda user: {"target": url, "headers": {"X-User-Id": user, "X-Agent-Id": "default"}}


@contextmanager
def _functions(door: Door) -> Iterator[Callable[[str], dict[str, Any]]]:
    functions = Functions(door)
    yield lambda user: {"target": "lambda:f-{operation}", "user": user, "agent": "default", "functions": functions}


FORMS: Final = {"in-process": _in_process, "http": _http, "lambda": _functions}


@contextmanager
def seam(form: str, door: Door) -> Iterator[Seam]:
    """The door's store through one form; its clients are closed at the end."""
    store = Breakable(door.store)
    with ExitStack() as stack:
        target = stack.enter_context(FORMS[form](replace(door, store=store)))
        runner = stack.enter_context(asyncio.Runner())
        yield Seam(store, target, stack.enter_context(ExitStack()), runner)
