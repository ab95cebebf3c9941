"""Python: the tools as calls, on one folder, without a server.

Attributes are found in the catalogue; for editors and type checkers `in_process.pyi` spells them out (`docs/stub.py`).
"""

import keyword
import os
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from threading import Event
from typing import Any

from ..errors import InvalidInput, SteeltrapError
from ..invoke import Door, Result
from ..model import Caller, JsonObject, UserRef
from ..ports import Clock, Embedder
from ..runtime.local import nearest_to, not_a_folder, open_door
from ..settings import read_settings
from ..tools import Toolset
from .answers import as_sent, tool_name


class Memory:
    """One user's memory. Safe for many threads; close it at the end, or use it in a `with`.

        with open_memory("data") as memory:
            memory.core.save(content="User prefers dark mode")
            memory.call("notes.memory_search", query="theme")

    Each toolset is an attribute, and each tool one of its attributes (`memory.core.import_`, since
    `import` is a keyword).
    """

    def __init__(self, door: Door, caller: Caller, timezone: str | None = None, *, place: str = "") -> None:
        self._door = door
        self._caller = caller
        self._timezone = timezone
        self._place = place
        self._closed = Event()

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """The answer of a tool such as `core.save`. Raises the SteeltrapError that the call met."""
        result = self.invoke(tool, arguments)
        if result.error is not None:
            raise result.error
        return result.body

    def invoke(
        self, tool: str, arguments: JsonObject, *, idempotency_key: str | None = None, timezone: str | None = None
    ) -> Result:
        """A call with all that it tells: the answer, what a search met, and a failure as a value.

        `timezone` is the zone of the caller's days for this call. Raises NotFound for a tool that there isn't,
        InvalidInput for a name that is no text, and RuntimeError once this is closed.
        """
        if self._closed.is_set():
            raise RuntimeError("This memory is closed; open it again with `open_memory`.")
        zone = timezone or self._timezone
        tool = tool_name(tool)
        try:
            sent = as_sent(arguments)
        except SteeltrapError as error:
            return self._door.refuse(self._door.catalogue.tool(tool), error)
        return self._door.invoke(tool, sent, self._caller, idempotency_key=idempotency_key, timezone=zone)

    def as_user(
        self,
        user: str,
        *,
        agent: str | None = None,
        conversation: str | None = None,
        timezone: str | None = None,
    ) -> "Memory":
        """The same store for another user, with the days of their time zone; closing either closes both."""
        caller = Caller(UserRef(user), agent, conversation)
        other = Memory(self._door, caller, timezone or self._timezone, place=self._place)
        other._closed = self._closed
        return other

    def close(self) -> None:
        """Flush what is buffered and let go of files. Later calls are refused."""
        self._closed.set()
        self._door.store.close()

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, toolset: str) -> "Dialect":
        if toolset.startswith("_") or toolset not in self._door.catalogue.toolsets:
            raise AttributeError(f"no toolset {toolset!r}; there are: {', '.join(self._door.catalogue.toolsets)}")
        return Dialect(self, self._door.catalogue.toolset(toolset))

    def __dir__(self) -> list[str]:
        public = (name for name in super().__dir__() if not name.startswith("_"))
        return [*public, *self._door.catalogue.toolsets]

    def __repr__(self) -> str:
        return f"<Memory of user {self._caller.user.user_id!r} in {self._place}>"


@dataclass(frozen=True)
class Dialect:
    """A toolset's tools as attributes, each called with its arguments by name."""

    _memory: Memory
    _toolset: Toolset

    def __getattr__(self, name: str) -> Any:
        tools = self._toolset.tools
        tool = tools.get(name.removesuffix("_"))
        if name.startswith("_") or tool is None:
            raise AttributeError(f"no tool {name!r} in {self._toolset.name!r}; there are: {', '.join(tools)}")
        full_name = tool.full_name

        def call(**arguments: Any) -> Any:
            return self._memory.call(full_name, **arguments)

        call.__name__ = name
        call.__qualname__ = full_name
        call.__doc__ = tool.description
        call.__signature__ = tool.signature  # type: ignore[attr-defined]  # what `help` and editors show
        return call

    def __dir__(self) -> list[str]:
        return [name + "_" * keyword.iskeyword(name) for name in self._toolset.tools]

    def __repr__(self) -> str:
        return f"<Toolset {self._toolset.name!r}: {', '.join(self.__dir__())}>"


def open_memory(
    folder: str | PathLike[str] | None = None,
    *,
    user: str | None = None,
    agent: str | None = None,
    conversation: str | None = None,
    embedder: Embedder | str | None = None,
    clock: Clock | None = None,
    timezone: str | None = None,
) -> Memory:
    """The memory in a folder. A folder that isn't there is made at the first save.

    What is not given comes from the settings that the command line uses: STEELTRAP_DATA (else ~/.steeltrap),
    STEELTRAP_USER, STEELTRAP_AGENT. So `open_memory()` opens what `steeltrap recall` searches.
    `timezone` is the IANA name of the user's zone, STEELTRAP_TIMEZONE or the machine's own without it.
    `embedder` is a setting's name (`static-256`) or an object that embeds. Raises InvalidInput, and Unavailable for a
    folder that can't be one.
    """
    if folder is not None and not os.fspath(folder):
        raise InvalidInput("`folder` is empty: give a path, or leave it out for the folder of the settings.")
    embedder_name = embedder if isinstance(embedder, str) else None
    custom_embedder = None if isinstance(embedder, str) else embedder
    settings = read_settings(
        source="argument",
        data=None if folder is None else Path(folder),
        user=user,
        agent=agent,
        embedder=embedder_name,
        timezone=timezone,
    )
    if settings.store_kind == "sqlite":
        _check(settings.data)
    caller = Caller(UserRef(settings.user), settings.agent, conversation)
    return Memory(open_door(settings, clock=clock, embedder=custom_embedder), caller, place=settings.place)


def _check(folder: Path) -> None:
    """Raises Unavailable where a folder neither is nor can be made; makes nothing."""
    nearest_path = nearest_to(folder)
    rights = os.R_OK | os.X_OK if nearest_path == folder else os.W_OK | os.X_OK
    if nearest_path.is_dir() and os.access(nearest_path, rights):
        return
    reason = "can't be entered or written to" if nearest_path.is_dir() else "is not a folder"
    raise not_a_folder(folder, f"{nearest_path} {reason}")
