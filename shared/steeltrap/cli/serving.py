"""serve and mcp, the long-running commands; hook, which agents start."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..servers.hooks import command
from ..servers.process.authentication import Auth
from . import terminal
from .session import say


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 picks a free one.")] = 8765,
    toolset: terminal.Toolset = None,
    user_header: Annotated[
        str | None,
        typer.Option("--user-header", metavar="NAME", help="Trust this header, set by a gateway, for the user's id."),
    ] = None,
    agent_header: Annotated[
        str | None,
        typer.Option("--agent-header", metavar="NAME", help="The header for the agent's id (default X-Agent-Id)."),
    ] = None,
    conversation_header: Annotated[
        str | None,
        typer.Option(
            "--conversation-header",
            metavar="NAME",
            help="The header for the conversation's id (default X-Conversation-Id).",
        ),
    ] = None,
    auth: Annotated[
        Auth | None, typer.Option("--auth", help="How callers authenticate (STEELTRAP_AUTH, else local).")
    ] = None,
    workers: Annotated[
        int,
        typer.Option("--workers", metavar="N", min=1, max=64, help="Number of processes; use one per processor core."),
    ] = 1,
    data: terminal.Data = None,
    user: terminal.User = None,
    agent: terminal.Agent = None,
) -> None:
    """Serve HTTP, and MCP at /mcp, until Ctrl-C or SIGTERM.

    --auth local listens on loopback only, and every caller is the same local user. `headers` trusts headers that a
    gateway sets, as --user-header does. `oidc` requires tokens from STEELTRAP_OIDC_ISSUER; `keys` requires keys made
    with `steeltrap keys add`.
    """
    from ..servers.process import server
    from ..settings import read_settings

    settings = read_settings(data=data and data.expanduser(), user=user, agent=agent)
    headers = {"user_header": user_header, "agent_header": agent_header, "conversation_header": conversation_header}
    server.run(server.Plan(settings, auth, headers, host, toolset, workers), port, show=_show)


def _show(lines: Sequence[str]) -> None:
    for number, line in enumerate(lines):
        say((line, "" if number else "bold"), error=True)


def mcp(
    toolset: Annotated[
        str,
        typer.Option(
            "--toolset",
            metavar="NAME",
            autocompletion=terminal.toolset_choices,
            help="The toolset to offer; core has every tool.",
        ),
    ] = "agent",
    data: terminal.Data = None,
    user: terminal.User = None,
    agent: terminal.Agent = None,
    conversation: terminal.Conversation = None,
    project: Annotated[
        str | None,
        typer.Option(
            "--project",
            metavar="FOLDER",
            help="A folder of the git repository whose memories to keep apart, or none (STEELTRAP_PROJECT, else the "
            "folder that the client works in).",
        ),
    ] = None,
) -> None:
    """Serve MCP over stdin and stdout, for an MCP client."""
    from ..runtime.background import closing_in_background, reanalysing_in_background
    from ..servers.mcp import run_stdio
    from .session import opened

    with (
        opened(data=data, user=user, agent=agent, conversation=conversation) as memory,
        closing_in_background(memory.door) as door,
        reanalysing_in_background(door, [memory.caller.user] if memory.settings.store_kind != "aws" else []),
    ):
        scope = _scope_of_project(memory.settings.project if project is None else project)
        caller = replace(memory.caller, project=scope)
        run_stdio(door, door.catalogue.toolset(toolset).name, caller)


def _scope_of_project(folder_name: str) -> str | None:
    """The scope of the project that the user named, else of the one that the client works in."""
    import os

    from ..project import folder_of_client, project_of

    if folder_name == "none":
        return None
    # A client that knows no such variable passes "${workspaceFolder}" as it is.
    is_told = folder_name and "${" not in folder_name
    repository = project_of(Path(folder_name).expanduser() if is_told else folder_of_client(os.environ))
    return repository and repository.scope


Event = StrEnum("Event", {name: name for name in command.EVENTS})  # type: ignore[misc]


def hook(
    event: Annotated[Event, typer.Argument(help="What happened in the client.")],
    client: Annotated[
        str | None,
        typer.Option("--client", metavar="NAME", help="claude-code, codex or cursor. Default: seen from the input."),
    ] = None,
    data: terminal.Data = None,
) -> None:
    """Run as a hook of Claude Code, Codex or Cursor.

    Reads the client's JSON from stdin. `session-start` and `prompt` print what is remembered, for the client to add to
    its context; every event stores what was said since the last one. It always exits with 0 and prints nothing if
    anything fails; hooks/hooks.log in the data folder says why. STEELTRAP_HOOKS=off switches it off.
    """
    command.run(event, client=client, data=None if data is None else str(data))
