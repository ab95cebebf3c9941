"""serve and mcp: the long-running commands."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from ...settings import Settings
    from ..identity import Identity


def register(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(mcp)


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 8765,
    toolset: options.Toolset = None,
    user_header: Annotated[
        str | None,
        typer.Option("--user-header", metavar="NAME", help="Trust this header of a gateway in front to name the user."),
    ] = None,
    agent_header: Annotated[
        str | None, typer.Option("--agent-header", metavar="NAME", help="The same for the agent (X-Agent-Id).")
    ] = None,
    conversation_header: Annotated[
        str | None,
        typer.Option("--conversation-header", metavar="NAME", help="The same for the conversation."),
    ] = None,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """Serve HTTP, and MCP at /mcp, until Ctrl-C.

    Everybody on this computer is one local user. Behind a gateway that authenticates, --user-header trusts
    the header it sets; without it no address that others reach is listened on.
    """
    from ...settings import read_settings
    from . import server

    settings = read_settings(data=data and data.expanduser(), user=user, agent=agent)
    identity = _identity(settings, user_header, agent_header, conversation_header)
    server.refuse_open_door(host, trusted=user_header is not None)
    server.run(settings, identity, host=host, port=port, toolset=toolset, user_header=user_header)


def mcp(
    toolset: Annotated[str, typer.Option("--toolset", metavar="NAME", help="The tools to offer.")] = "core",
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
    conversation: options.Conversation = None,
) -> None:
    """Serve MCP over stdin and stdout, as an MCP client starts it."""
    from ..mcp import run_stdio
    from .opening import opened

    with opened(data=data, user=user, agent=agent, conversation=conversation) as memory:
        run_stdio(memory.door, memory.door.catalogue.toolset(toolset).name, memory.caller)


def _identity(
    settings: "Settings", user_header: str | None, agent_header: str | None, conversation_header: str | None
) -> "Identity":
    from ...errors import InvalidInput
    from ..identity import LocalUser, TrustedHeaders

    if user_header is not None:
        names = {"user_header": user_header, "agent_header": agent_header, "conversation_header": conversation_header}
        return TrustedHeaders(**{name: header for name, header in names.items() if header})
    if agent_header or conversation_header:
        raise InvalidInput("--agent-header and --conversation-header need --user-header: they say who of whose.")
    return LocalUser(settings.user, settings.agent)
