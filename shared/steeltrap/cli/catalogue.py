"""tools and call: the catalogue, and any tool of it, from a shell."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import terminal
from .session import CliSession, exit_code, opened, rich_console, say, write_json

if TYPE_CHECKING:
    from ..errors import SteeltrapError
    from ..tools import Tool


class Format(StrEnum):
    """How the tools are shown."""

    TABLE = "table"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    BEDROCK = "bedrock"
    MCP = "mcp"
    AGENTCORE = "agentcore"
    BEDROCK_OPENAPI = "bedrock-openapi"
    BEDROCK_FUNCTIONS = "bedrock-functions"
    OPENAPI = "openapi"


def tools(
    toolset: terminal.Toolset = None,
    format: Annotated[Format, typer.Option("--format", help="A table, or schemas as JSON.")] = Format.TABLE,
) -> None:
    """List the tools, or print their schemas for function calling.

    Schemas are printed for one toolset (default core), because tool names repeat between toolsets.
    """
    from ..servers import schemas
    from ..toolsets import CATALOGUE

    if format is Format.OPENAPI:
        catalogue = CATALOGUE if toolset is None else type(CATALOGUE)({toolset: CATALOGUE.toolset(toolset)})
        write_json(schemas.openapi(catalogue))
    elif format is Format.TABLE:
        _print_table(CATALOGUE.tools() if toolset is None else list(CATALOGUE.toolset(toolset).tools.values()))
    else:
        write_json(schemas.schemas(CATALOGUE.toolset(toolset or "core"), format.value))


def call(
    tool: Annotated[
        str,
        typer.Argument(
            metavar="TOOLSET.TOOL", autocompletion=terminal.tool_choices, help="The tool, such as core.search."
        ),
    ],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON", help="The arguments as a JSON object; `-` reads them from stdin.")
    ] = "{}",
    key: Annotated[
        str | None,
        typer.Option("--idempotency-key", metavar="KEY", help="Calls with the same key save a memory only once."),
    ] = None,
    data: terminal.Data = None,
    user: terminal.User = None,
    agent: terminal.Agent = None,
    conversation: terminal.Conversation = None,
    timezone: terminal.Timezone = None,
) -> None:
    """Call a tool.

    Only the tool's answer or error is printed to stdout; the exit code tells which it is.
    """
    from ..errors import SteeltrapError

    text: str | bytes = sys.stdin.buffer.read() if arguments == "-" else arguments
    try:
        with opened(data=data, user=user, agent=agent, conversation=conversation, timezone=timezone) as memory:
            body, error = _answer(memory, tool, text, key)
    except SteeltrapError as failure:  # before a tool was found, no dialect speaks
        from ..toolsets.core import CORE, error_body

        body, error = error_body(failure, next(iter(CORE.tools.values()))), failure
    if isinstance(body, str):
        sys.stdout.write(body if body.endswith("\n") else body + "\n")
    else:
        write_json(body)
    if error is not None:
        raise typer.Exit(exit_code(error))


def _answer(memory: CliSession, name: str, text: str | bytes, key: str | None) -> "tuple[Any, SteeltrapError | None]":
    from ..arguments import decode
    from ..errors import SteeltrapError

    catalogue = memory.door.catalogue
    tool = catalogue.tool(name)
    try:
        arguments = decode(text)
    except SteeltrapError as error:
        return catalogue.toolsets[tool.toolset].render_error(error, tool), error
    result = memory.door.invoke(tool, arguments, memory.caller, idempotency_key=key)
    return result.body, result.error


def _print_table(listed: "list[Tool]") -> None:
    from ..text.sentences import sentences

    rows = [(tool.full_name, tool.access, sentences(" ".join(tool.description.split()))[0]) for tool in listed]
    if not sys.stdout.isatty():
        for row in rows:
            say("\t".join(row))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("tool", "access", "what it does"):
        table.add_column(column, overflow="fold")  # a name that is cut can't be called
    for row in rows:
        table.add_row(*row)
    rich_console().print(table)
