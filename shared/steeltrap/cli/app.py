"""The command line itself: the commands in their groups, as `--help` lists them and docs/command-line.md describes
them, and the sentences for values that don't fit.

A command's module is imported when the command is asked for: `--help` must be quick.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any, ClassVar, Final, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

from ..version import VERSION
from .session import Exit, complain, explained, say
from .terminal import EPILOG


class Row(NamedTuple):
    """The module that a command is in, and the first line of its help."""

    module: str
    summary: str


Groups = Mapping[str, Mapping[str, Row]]

COMMANDS: Final[Groups] = {
    "Your memories": {
        "remember": Row("memories", "Save one memory."),
        "recall": Row("memories", "Search memories by meaning and keywords."),
        "list": Row("memories", "List memories, those that happened last first."),
        "get": Row("memories", "Show memories with all their fields."),
        "history": Row("memories", "Show all versions of a memory, oldest first."),
        "revise": Row("memories", "Save a memory in place of one that is no longer right."),
        "edit": Row("memories", "Change the text, tags, or pin of a memory."),
        "delete": Row("memories", "Delete memories."),
        "trash": Row("memories", "List the deleted memories that `undo` can restore."),
        "undo": Row("memories", "Undo the last change to a memory, or its deletion."),
        "forget": Row("memories", "Erase memories and their history permanently."),
        "stats": Row("memories", "Count what is stored for a user: memories, messages, bytes."),
        "import": Row("transfer", "Import what other tools remember: chats, notes, memories, tables."),
        "imports": Row("transfer", "List the imports: when, from which file, and what each wrote."),
        "export": Row("transfer", "Export all memories, with their history, to a file."),
    },
    "Agents and programs": {
        "serve": Row("serving", "Serve HTTP, and MCP at /mcp, until Ctrl-C or SIGTERM."),
        "mcp": Row("serving", "Serve MCP over stdin and stdout, for an MCP client."),
        "install": Row("installing", "Connect Claude Code, Codex, Cursor or another client."),
        "hook": Row("serving", "Run as a hook of Claude Code, Codex or Cursor."),
        "tools": Row("catalogue", "List the tools, or print their schemas for function calling."),
        "call": Row("catalogue", "Call a tool."),
        "keys": Row("configuration", "API keys for `steeltrap serve --auth keys`."),
    },
    "Upkeep": {
        "doctor": Row("upkeep", "Check the installation, and say how to fix what is broken."),
        "config": Row("configuration", "Show the settings, or keep one with `config set`."),
        "move": Row("moving", "Move memories and exported files to another place, while they are used."),
        "backup": Row("upkeep", "Back up the data folder, also while it is served."),
        "restore": Row("upkeep", "Restore a backup, or a user's memories as they were at a time."),
        "embedder": Row("embedding", "Choose the embedding model."),
        "reembed": Row("upkeep", "Re-embed all memories of all users with the current embedder."),
        "bench": Row("benchmarks", "Measure retrieval and speed."),
        "admin": Row("app", "Commands for those who run steeltrap for others."),
    },
}
OPERATORS: Final[Groups] = {
    "Users": {
        "users": Row("upkeep", "List the users who have data, by id."),
        "forget-user": Row("upkeep", "Erase all data of a user permanently."),
        "sweep": Row("upkeep", "Purge expired and old deleted memories, and close idle conversations."),
        "migrate": Row("upkeep", "Bring memories in a bucket, a table or a shared folder to this release."),
    },
    "Tables and search index of the cloud": {
        "setup": Row("upkeep", "Create the tables, and for `aws` the first search index, if missing."),
        "index": Row("upkeep", "Update the search index from the table's stream."),
        "reindex": Row("upkeep", "Rebuild the search index from the table, then switch to it."),
        "verify": Row("upkeep", "Compare the table and the search index, and list differences."),
    },
}
_NARROW: Final = 52
"""Columns below which help is made as narrow as the terminal."""


class CommandGroups(TyperGroup):
    """Commands that are listed in groups, and made when they are asked for."""

    groups: ClassVar[Groups] = COMMANDS
    hidden_groups: ClassVar[Groups] = OPERATORS
    """Commands that go on working by a name that they had before."""

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        columns = shutil.get_terminal_size().columns
        if columns < _NARROW:
            more.setdefault("terminal_width", max(columns - 2, 20))
        return super().make_context(*arguments, **more)

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for rows in self.groups.values() for name in rows]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        commands_by_name = {
            name: row
            for groups in (self.hidden_groups, self.groups)
            for rows in groups.values()
            for name, row in rows.items()
        }
        if cmd_name not in self.commands and cmd_name in commands_by_name:
            self.commands[cmd_name] = _loaded_command(cmd_name, commands_by_name[cmd_name].module)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            near = get_close_matches(name, self.list_commands(ctx), 3)
            suggestion = f" Did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else ""
            ctx.fail(f"No such command '{name}'.{suggestion}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, rows in self.groups.items():
            with formatter.section(title):
                formatter.write_dl([(name, row.summary) for name, row in rows.items()])


class OperatorsCommands(CommandGroups):
    """The commands below `steeltrap admin`."""

    groups = OPERATORS
    hidden_groups: ClassVar[Groups] = {}


admin: Final = typer.Typer(cls=OperatorsCommands, add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@admin.callback()
def operators() -> None:
    """Commands for those who run steeltrap for others.

    They work on all users' data, and on the tables and the index of STEELTRAP_STORE=aws.
    """


def _loaded_command(name: str, module: str) -> Any:
    """The command, which its module has as a function or as commands of its own."""
    command_module = import_module(f".{module}", __package__)
    attribute = name.replace("-", "_")
    command = getattr(command_module, attribute, None) or getattr(command_module, f"{attribute}_")
    if isinstance(command, typer.Typer):
        return get_command(command)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name)(command)
    return get_command(alone)


class Commands(CommandGroups):
    """Every command, with failures explained."""

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        with _explained():  # some options act while they are read: completion writes files
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: Any) -> Any:
        with _explained():
            return super().invoke(ctx)


@contextmanager
def _explained() -> Iterator[None]:
    with explained():
        try:
            yield
        except typer.BadParameter as error:
            sentence = _unfit(error)
            if sentence is None:
                raise
            complain(sentence)
            raise typer.Exit(Exit.USAGE) from None
        except Exception as error:  # Typer gives its errors a public class only from 0.28 on.
            _explain_dashes(error)
            raise


def _explain_dashes(error: Any) -> None:
    """Say how a value that begins with a dash is given, where it was read as an option, such as -1."""
    option, context = getattr(error, "option_name", ""), getattr(error, "ctx", None)
    if context is not None and re.fullmatch(r"-[^-].*", option, re.DOTALL):
        where = f"{context.command_path} -- {' '.join(context.command.collect_usage_pieces(context)[1:])}"
        error.message = f"{error.message}. Before a value that begins with a dash, write `--`: {where}"


def _unfit(error: typer.BadParameter) -> str | None:
    """The sentence for a value that doesn't fit an option or an argument; None where Typer's own has no words of the
    library that checks values."""
    refused = getattr(error.__cause__, "errors", None)
    if error.param is None or refused is None:
        return None
    from ..text.schemas import show

    detail: Any = refused()[0]
    names = [name for name in error.param.opts if name.startswith("--")]
    name = names[0] if names else error.param.metavar or str(error.param.name).upper()
    suggestion = _suggestion(error.param, detail)
    return f"`{name}` must be {_expected(error.param, detail)}; got {show(detail['input'])}.{suggestion}"


def _choices(param: Any) -> list[str]:
    """The words that a parameter may be; empty where it is no choice."""
    choices = getattr(getattr(param, "type_descriptor", None), "choices", None) or ()
    return [str(getattr(choice, "value", choice)) for choice in choices]


def _expected(param: Any, detail: Any) -> str:
    if choices := _choices(param):
        return f"one of {', '.join(choices)}"
    lowest, highest = getattr(param, "min", None), getattr(param, "max", None)
    if "int" not in detail["type"] and "float" not in detail["type"] and (lowest, highest) == (None, None):
        return f"another value ({detail['msg']})"
    number = "a number" if "float" in detail["type"] or isinstance(lowest, float) else "a whole number"
    if lowest is not None and highest is not None:
        return f"{number} from {lowest} to {highest}"
    if lowest is not None:
        return f"{number} of at least {lowest}"
    return number if highest is None else f"{number} of at most {highest}"


def _suggestion(param: Any, detail: Any) -> str:
    near = get_close_matches(str(detail["input"]), _choices(param), 1)
    return f" Did you mean `{near[0]}`?" if near else ""


app = typer.Typer(
    cls=Commands,
    help="Long-term memory for AI agents: one SQLite file per user, searched by meaning and keywords.",
    epilog=EPILOG,
    no_args_is_help=True,
    # Rich help costs more time than the whole command line.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(is_on: bool) -> None:
    if is_on:
        say(VERSION)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """The options of the command itself. Each command has its own."""
