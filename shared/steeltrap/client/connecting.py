"""One constructor for every place where memories are: a server, deployed functions, a folder.

https://memory.example           a server, over HTTP
lambda:steeltrap-dev-{operation} functions of AWS, by their names
data, Path("data"), a Memory     in this process
"""

from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike, fspath
from threading import Lock
from typing import TYPE_CHECKING, Any, Union, cast

from ..errors import InvalidInput
from .answers import Answer, Call, Transport, excerpt
from .calling import AsyncClient, Client, Patience

if TYPE_CHECKING:
    from .in_process import Memory

Target = Union[str, "PathLike[str]", "Memory"]


def connect(
    target: Target,
    *,
    token: str | None = None,
    user: str | None = None,
    agent: str | None = None,
    conversation: str | None = None,
    timezone: str | None = None,
    headers: Mapping[str, str] | None = None,
    functions: Any = None,
    patience: Patience | None = None,
) -> Client:
    """The memory of one user at a URL, behind `lambda:NAME`, in a folder, or of an open `Memory`.

    Over HTTP, `token` (an API key or a token) says who the user is, and `headers` go with every request. Elsewhere
    `user` and `agent` say it. `conversation` is the one that calls belong to, and `timezone` the IANA name of the zone
    of the user's days. `functions` is boto3's client for Lambda, for other credentials than the environment's.

    Nothing is called yet, but a folder is opened. Raises InvalidInput for what can't be a target, and what
    `open_memory` raises.
    """
    transport = _transport(target, token, user, agent, conversation, timezone, headers, functions)
    if isinstance(transport, OverFolder):
        transport.open()
    return Client(transport, patience=patience)


def connect_async(
    target: Target,
    *,
    token: str | None = None,
    user: str | None = None,
    agent: str | None = None,
    conversation: str | None = None,
    timezone: str | None = None,
    headers: Mapping[str, str] | None = None,
    functions: Any = None,
    patience: Patience | None = None,
) -> AsyncClient:
    """The same for asyncio. A folder is opened in a thread, by the first call."""
    transport = _transport(target, token, user, agent, conversation, timezone, headers, functions)
    return AsyncClient(Client(transport, patience=patience))


def _transport(
    target: Target,
    token: str | None,
    user: str | None,
    agent: str | None,
    conversation: str | None,
    timezone: str | None,
    headers: Mapping[str, str] | None,
    functions: Any,
) -> Transport:
    text = fspath(target) if isinstance(target, str | PathLike) else ""
    if text.startswith(("http://", "https://")):
        from .over_http import OverHttp

        if user is not None or agent is not None:
            raise InvalidInput(
                "Over HTTP, the token says who the user is: give `token`, and leave out `user` and `agent`."
            )
        return OverHttp(text, token=token, conversation=conversation, timezone=timezone, headers=headers)
    if token is not None or headers is not None:
        raise InvalidInput("`token` and `headers` are for a server: give its URL, such as https://memory.example.")
    if text.startswith(("lambda:", "arn:")):
        from .over_lambda import OverLambda, caller_fields, checked_name, functions_client

        caller, name = caller_fields(user, agent, conversation), checked_name(text)
        return OverLambda(name, functions or functions_client(), caller, timezone)
    if "://" in text:
        raise InvalidInput(f"{excerpt(text)} is no place of memories; give https://..., lambda:NAME or a folder.")
    return _in_process(target, user, agent, conversation, timezone)


def _in_process(
    target: Target, user: str | None, agent: str | None, conversation: str | None, timezone: str | None
) -> Transport:
    if isinstance(target, str | PathLike):
        return OverFolder(partial(_open, target, user, agent, conversation, timezone))
    memory = target
    if user is not None:
        memory = target.as_user(user, agent=agent, conversation=conversation, timezone=timezone)
    return OverFolder(lambda: memory, closes=False)


def _open(
    folder: "str | PathLike[str]", user: str | None, agent: str | None, conversation: str | None, timezone: str | None
) -> "Memory":
    from .in_process import open_memory

    return open_memory(folder, user=user, agent=agent, conversation=conversation, timezone=timezone)


class OverFolder:
    """The tools of a memory in this process, which `opening` opens when it is first needed. With `closes`, it is
    closed with the client."""

    def __init__(self, opening: "Callable[[], Memory]", *, closes: bool = True) -> None:
        self._opening = opening
        self._closes = closes
        self._memory: Memory | None = None
        self._lock = Lock()

    def open(self) -> "Memory":
        """The memory, opened if it isn't yet. Raises InvalidInput and Unavailable, as `open_memory` does."""
        with self._lock:
            if self._memory is None:
                self._memory = self._opening()
            return self._memory

    def send(self, call: Call) -> Answer:
        # Passed on as it is: `invoke` refuses what is no mapping.
        arguments = cast("dict[str, Any]", call.arguments)
        result = self.open().invoke(call.tool, arguments, idempotency_key=call.idempotency_key, timezone=call.timezone)
        if result.error is not None:
            return Answer(error=result.error)
        if (call_outcome := result.outcome) is None:
            return Answer(body=result.body)
        outcome = {
            "kind": call_outcome.kind.value,
            "message": call_outcome.message,
            "best_score": call_outcome.best_score,
        }
        return Answer(body=result.body, outcome=outcome)

    def as_user(self, user: str, *, agent: str | None, conversation: str | None, timezone: str | None) -> "OverFolder":
        def opening() -> "Memory":
            return self.open().as_user(user, agent=agent, conversation=conversation, timezone=timezone)

        return OverUser(opening, self)

    def close(self) -> None:
        with self._lock:
            if self._closes and self._memory is not None:
                self._memory.close()

    def __str__(self) -> str:
        return "a folder" if self._memory is None else repr(self._memory)


class OverUser(OverFolder):
    """The memory of another user in the same store, which belongs to its owner."""

    def __init__(self, opening: "Callable[[], Memory]", owner: OverFolder) -> None:
        super().__init__(opening)
        self._owner = owner

    def close(self) -> None:
        self._owner.close()
