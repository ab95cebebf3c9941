"""Anthropic's memory tool: its files are memories.

    {"command": "view", "path": "/memories"}  ->  the tool `memory` of the toolset `files`
    its answer                                ->  the result that Claude reads
    its error                                 ->  ToolError, a result with `is_error`

Commands, answers and errors are those of the toolset, which gives what Anthropic documents. The SDK has no word for
undo: what was edited, deleted or cleared can be brought back by `core.undo`.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..installation import install_line
from . import entries

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError as error:
    raise ImportError(f"This needs Anthropic's SDK: run `{install_line('anthropic')}`.") from error

from ..client import Client
from ..errors import NotFound, SteeltrapError

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818Command,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

ROOT: Final = "/memories/"
"""The directory of all files."""
_SCOPE: Final = "memories"
_PAGE: Final = 100


class SteeltrapMemoryTool(BetaAbstractMemoryTool):
    """Anthropic's memory tool over a client, for one user. Safe for many threads.

        tool = SteeltrapMemoryTool(connect("http://127.0.0.1:8765"))
        client.beta.messages.tool_runner(tools=[tool], ...)

    Every method raises ToolError with a sentence for the model; its `__cause__` is the SteeltrapError. The client
    stays the caller's to close.
    """

    def __init__(self, client: Client, *, cache_control: "BetaCacheControlEphemeralParam | None" = None) -> None:
        super().__init__(cache_control=cache_control)
        self._client = client

    def view(self, command: "BetaMemoryTool20250818ViewCommand") -> str:
        return _answer(self._client, command)

    def create(self, command: "BetaMemoryTool20250818CreateCommand") -> str:
        return _answer(self._client, command)

    def str_replace(self, command: "BetaMemoryTool20250818StrReplaceCommand") -> str:
        return _answer(self._client, command)

    def insert(self, command: "BetaMemoryTool20250818InsertCommand") -> str:
        return _answer(self._client, command)

    def delete(self, command: "BetaMemoryTool20250818DeleteCommand") -> str:
        return _answer(self._client, command)

    def rename(self, command: "BetaMemoryTool20250818RenameCommand") -> str:
        return _answer(self._client, command)

    def clear_all_memory(self) -> str:
        """Delete all files; `core.undo` brings each back."""
        return _clear(self._client)


class SteeltrapAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """`SteeltrapMemoryTool` for asyncio: its calls work in threads, and several event loops may share it.

    tool = SteeltrapAsyncMemoryTool(connect("http://127.0.0.1:8765"))
    """

    def __init__(self, client: Client, *, cache_control: "BetaCacheControlEphemeralParam | None" = None) -> None:
        super().__init__(cache_control=cache_control)
        self._client = client

    async def view(self, command: "BetaMemoryTool20250818ViewCommand") -> str:
        return await asyncio.to_thread(_answer, self._client, command)

    async def create(self, command: "BetaMemoryTool20250818CreateCommand") -> str:
        return await asyncio.to_thread(_answer, self._client, command)

    async def str_replace(self, command: "BetaMemoryTool20250818StrReplaceCommand") -> str:
        return await asyncio.to_thread(_answer, self._client, command)

    async def insert(self, command: "BetaMemoryTool20250818InsertCommand") -> str:
        return await asyncio.to_thread(_answer, self._client, command)

    async def delete(self, command: "BetaMemoryTool20250818DeleteCommand") -> str:
        return await asyncio.to_thread(_answer, self._client, command)

    async def rename(self, command: "BetaMemoryTool20250818RenameCommand") -> str:
        return await asyncio.to_thread(_answer, self._client, command)

    async def clear_all_memory(self) -> str:
        """Delete all files; `core.undo` brings each back."""
        return await asyncio.to_thread(_clear, self._client)


def _answer(client: Client, command: "BetaMemoryTool20250818Command") -> str:
    # The model's own arguments, of whatever type: the toolset says what is wrong with them.
    return _call(client, command.model_dump(exclude_unset=True))


def _call(client: Client, arguments: Mapping[str, Any]) -> str:
    try:
        return str(client.call("files.memory", **arguments))
    except SteeltrapError as error:
        raise ToolError(error.message) from error


def _clear(client: Client) -> str:
    try:
        places = {path.removeprefix(ROOT).partition("/")[0] for path in _paths(client)}
        for place in sorted(places):
            try:
                client.call("files.memory", command="delete", path=ROOT + place)
            except NotFound:
                continue  # somebody else deleted it in between
    except SteeltrapError as error:
        raise ToolError(error.message) from error
    return "All memory cleared"


def _paths(client: Client) -> Iterator[str]:
    for row in entries(client, _SCOPE, page=_PAGE):
        path = row.get("metadata", {}).get("path")
        if isinstance(path, str) and path.startswith(ROOT):
            yield path
