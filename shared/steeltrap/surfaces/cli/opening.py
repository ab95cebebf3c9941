"""From a command's options to an open door and a caller."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from ...model import UserRef

if TYPE_CHECKING:
    from ...engine.call import Call
    from ...invoke import Door
    from ...model import Caller
    from ...settings import Settings

_HANDLER: Final = "steeltrap-cli"


@dataclass(frozen=True, slots=True)
class Opened:
    """A door, who asks through it, and the settings that opened it."""

    door: "Door"
    caller: "Caller"
    settings: "Settings"

    def ask(self, tool: str, **arguments: Any) -> Any:
        """The body that a tool answers; arguments that are None are left out. Raises its SteeltrapError."""
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self.door.invoke(tool, given, self.caller)
        if result.error is not None:
            raise result.error
        return result.body

    def call(self, seconds: float) -> "Call":
        """A call of the engine's verbs that has this long."""
        return self.door.call_for(self.caller, seconds=seconds)


@contextmanager
def opened(
    *,
    data: Path | None = None,
    user: str | None = None,
    agent: str | None = None,
    conversation: str | None = None,
) -> Iterator[Opened]:
    """A door over the data folder, closed at the end. Raises SteeltrapError."""
    from ...model import Caller
    from ...runtime import local as runtime
    from ...settings import read_settings

    settings = read_settings(data=data and data.expanduser(), user=user, agent=agent)
    log_to_stderr(settings.log)
    door = runtime.open_door(settings)
    try:
        yield Opened(door, Caller(UserRef(settings.user), settings.agent, conversation), settings)
    finally:
        door.store.close()


def log_to_stderr(level: str, *, tracebacks: bool = False) -> None:
    """Send the log to stderr; a command's user sees a fault's traceback only at level debug."""
    logger = logging.getLogger("steeltrap")
    for handler in [handler for handler in logger.handlers if handler.name == _HANDLER]:
        logger.removeHandler(handler)
    handler = _Stderr()
    handler.name = _HANDLER
    if not tracebacks and level != "debug":
        handler.setFormatter(_OneLine("%(message)s"))
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to what stderr is at the time: while a progress bar is shown, that puts lines above the bar."""

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, _: TextIO) -> None:
        """Always stderr."""


class _OneLine(logging.Formatter):
    """A record in one line: a fault by its name only."""

    def format(self, record: logging.LogRecord) -> str:
        fault = record.exc_info[1] if record.exc_info else None
        return record.getMessage() + (f" ({type(fault).__name__}; STEELTRAP_LOG=debug shows more)" if fault else "")
