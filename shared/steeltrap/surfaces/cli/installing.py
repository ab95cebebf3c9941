"""install: the entries of steeltrap in the files of an MCP client, shown before they are written."""

import os
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from ...errors import Unavailable
from . import options
from .clients.entries import CLIENTS, Machine, parts_of
from .output import confirm, say

Client = StrEnum("Client", {name: name for name in CLIENTS})  # type: ignore[misc]
_AFTERWARDS: Final = {
    "claude-code": "Start Claude Code again.",
    "codex": "Start Codex again. It asks you to trust the hooks: run /hooks.",
    "cursor": "Start Cursor again.",
    "claude-desktop": "Quit Claude Desktop and start it again.",
    "vscode": "VS Code asks you to trust the server when it first starts it.",
    "gemini": "Start Gemini CLI again.",
}


def register(app: typer.Typer) -> None:
    app.command()(install)


def install(
    client: Annotated[Client, typer.Argument(help="The client to connect.")],
    undo: Annotated[bool, typer.Option("--undo", help="Take out what install put in.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change and write nothing.")] = False,
    hooks: Annotated[bool, typer.Option("--hooks/--no-hooks", help="Also the hooks, where the client has any.")] = True,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    data: options.Data = None,
) -> None:
    """Connect a client: its MCP server, and hooks for Claude Code, Codex and Cursor.

    Shows the change to the client's own settings and asks before it writes. The file as it was is kept beside it, with
    the ending .before-steeltrap.
    """
    from .clients import changes

    machine = Machine(Path.home(), os.environ)
    folder = None if data is None else Path(os.path.abspath(data.expanduser()))
    parts = parts_of(client, _command(), machine, data=folder, hooks=hooks or undo)
    planned = changes.to_undo(parts) if undo else changes.to_install(parts)
    if not planned:
        say(f"Nothing to change: {client} has {'nothing' if undo else 'everything'} of steeltrap.")
        return
    for change in planned:
        say(change.diff())
    if dry_run:
        return
    if not yes:
        confirm("Write it?", otherwise="Nothing was changed")
    changes.write(planned)
    for change in planned:
        kept = f" {change.backup} has it as it was." if change.backup else ""
        say(f"{'Removed' if change.new is None else 'Written'}: {change.path}.{kept}")
    if not undo:
        say(f"{_AFTERWARDS[client]} `steeltrap install {client} --undo` takes it back.")


def _command() -> list[str]:
    """The command that starts steeltrap from any folder, without a shell's PATH. Raises Unavailable."""
    here = Path(sys.executable).parent
    if "archive-v0" in here.parts or "builds-v0" in here.parts:  # `uvx` made it, and its cache may be emptied
        uvx = shutil.which("uvx")
        if uvx:
            return [uvx, "steeltrap"]
    found = shutil.which("steeltrap", path=str(here)) or shutil.which("steeltrap")
    if found is None:
        raise Unavailable("The command `steeltrap` is not installed: run `pip install steeltrap` or `uv tool install`.")
    return [os.path.abspath(found)]
