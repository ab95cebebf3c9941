"""From a command's options to an open door and a caller."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...model import UserRef
from .logs import log_to_stderr
from .output import complain

if TYPE_CHECKING:
    from ...engine.call import Call
    from ...invoke import Door
    from ...model import Caller
    from ...settings import Settings


@dataclass(frozen=True, slots=True)
class Opened:
    """A door, who asks through it, and the settings that opened it."""

    door: "Door"
    caller: "Caller"
    settings: "Settings"

    def ask(self, tool: str, **arguments: Any) -> Any:
        """The body that a tool answers; arguments that are None are left out. Raises its SteeltrapError.

        Secrets in what a command saves are replaced, whatever the tool does for programs.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self.door.invoke(tool, given, self.caller, secrets="redact")
        if result.error is not None:
            raise result.error
        if result.outcome is not None and result.outcome.kind == "redacted":
            complain(result.outcome.message)
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
    log_to_stderr(settings.log, format=settings.log_format)
    door = runtime.open_door(settings)
    try:
        yield Opened(door, Caller(UserRef(settings.user), settings.agent, conversation), settings)
    finally:
        door.store.close()
