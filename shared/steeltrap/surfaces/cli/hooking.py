"""hook: what coding agents start. `surfaces.hooks.command` runs it, before this is imported; here it is described."""

from enum import StrEnum
from typing import Annotated

import typer

from ..hooks import command
from . import options

Event = StrEnum("Event", {name: name for name in command.EVENTS})  # type: ignore[misc]


def register(app: typer.Typer) -> None:
    app.command()(hook)


def hook(
    event: Annotated[Event, typer.Argument(help="What happened in the client.")],
    client: Annotated[
        str | None,
        typer.Option("--client", metavar="NAME", help="claude-code, codex or cursor. Default: seen from the input."),
    ] = None,
    data: options.Data = None,
) -> None:
    """Run as a hook of Claude Code, Codex or Cursor.

    Reads the client's JSON from stdin. `session-start` and `prompt` print what is remembered, for the client to add to
    its context; every event stores what was said since the last one. It always exits with 0 and prints nothing if
    anything fails; hooks/hooks.log in the data folder says why. STEELTRAP_HOOKS=off switches it off.
    """
    command.run(event, client=client, data=None if data is None else str(data))
