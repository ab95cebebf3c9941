"""One constructor for every place where memories are: a server, deployed functions, a folder.

https://memory.example           a server, over HTTP
lambda:steeltrap-dev-{operation} functions of AWS, by their names
data, Path("data"), a Memory     in this process
"""

from collections.abc import Mapping
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Union

from ..errors import InvalidInput
from .answers import Transport, excerpt
from .calling import Client, Patience
from .calling_in_loop import AsyncClient
from .over_folder import OverFolder

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
