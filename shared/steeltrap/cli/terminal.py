"""The parts that commands share: their options, opening a door, lines and questions on a terminal, exit codes.

Needs little, because `--help` must be quick; `showing` prints memories."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..errors import InvalidInput, OverQuota, SteeltrapError
from . import completing

if TYPE_CHECKING:
    from rich.console import Console

    from ..engine.call import Call
    from ..invoke import Door
    from ..model import Caller
    from ..settings import Settings


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    OTHER = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    UNAVAILABLE = 5
    PARTIAL = 6
    QUOTA = 7
    INTERRUPTED = 130


_CODES: Final = {
    "invalid_input": Exit.USAGE,
    "too_large": Exit.USAGE,
    "identity_missing": Exit.USAGE,
    "not_found": Exit.NOT_FOUND,
    "conflict": Exit.CONFLICT,
    "unavailable": Exit.UNAVAILABLE,
    "throttled": Exit.UNAVAILABLE,
}

EPILOG: Final = (
    "Exit codes: 0 success; 1 other failure (also: doctor found a fault, or you answered no); 2 wrong usage or "
    "invalid input; 3 not found; 4 conflict; 5 store or embedder unavailable, try again; 6 import incomplete, the"
    " failed items are listed; 7 over the quota of memories or bytes; 130 interrupted. Settings come from options, "
    "else from STEELTRAP_* variables, else from the data folder: see `steeltrap config`."
)


def exit_code(error: SteeltrapError) -> Exit:
    """The exit code that stands for an error."""
    return Exit.QUOTA if isinstance(error, OverQuota) else _CODES.get(error.code, Exit.OTHER)


Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="FOLDER", help="Folder where memories are stored (STEELTRAP_DATA, else ~/.steeltrap)."
    ),
]
User = Annotated[str | None, typer.Option("--user", metavar="ID", help="The user's id (STEELTRAP_USER, else local).")]
Agent = Annotated[
    str | None, typer.Option("--agent", metavar="ID", help="The agent's id (STEELTRAP_AGENT, else default).")
]
Conversation = Annotated[str | None, typer.Option("--conversation", metavar="ID", help="The conversation's id.")]


def _known_zone(name: str | None) -> str | None:
    from ..text.dates import zone_of

    if name and zone_of(name) is None:
        from ..text.schemas import show

        raise InvalidInput(f"--timezone: no time zone is called {show(name)}; give an IANA name such as Europe/Lisbon.")
    return name


Timezone = Annotated[
    str | None,
    typer.Option(
        "--timezone",
        metavar="ZONE",
        callback=_known_zone,
        help="Time zone of days and times, such as Europe/Lisbon (STEELTRAP_TIMEZONE, else the machine's).",
    ),
]
Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", autocompletion=completing.memories, help="The memory's id, or the start that an agent shows."
    ),
]
_IDS: Final = "Ids of memories, or the starts that an agent shows."
Ids = Annotated[list[str], typer.Argument(metavar="ID", autocompletion=completing.memories, help=_IDS)]
ChangedIds = Annotated[list[str], typer.Argument(metavar="ID", autocompletion=completing.changed_memories, help=_IDS)]
NoQuestion = Annotated[
    bool, typer.Option("--yes", "-y", help="Taken as other commands take it; this one doesn't ask for confirmation.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Toolset = Annotated[
    str | None,
    typer.Option(
        "--toolset",
        metavar="NAME",
        autocompletion=completing.toolsets,
        help="Only this toolset, such as core or notes.",
    ),
]


Styled = tuple[str, str]
"""Words and the style that rich prints them in."""


def write_json(value: Any) -> None:
    """One line of JSON on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def complain(sentence: str) -> None:
    """One sentence on stderr."""
    sys.stderr.write(printable(sentence) + "\n")


def say(*parts: str | Styled, error: bool = False) -> None:
    """A line for people, printed as it is: no markup in it has a meaning, no control sequence gets through."""
    stream = sys.stderr if error else sys.stdout
    styled = [(part, "") if isinstance(part, str) else part for part in parts]
    if not stream.isatty():
        # Nobody sees styles in a pipe, and loading rich would cost a tenth of the time a command may take.
        stream.write("".join(printable(words) for words, _ in styled) + "\n")
        return
    from rich.text import Text

    rich_console(error=error).print(Text.assemble(*((printable(words), style) for words, style in styled)))


@cache
def rich_console(*, error: bool = False) -> "Console":
    """The terminal that stdout, or stderr, is."""
    from rich.console import Console

    return Console(stderr=error, highlight=False, markup=False, emoji=False)


_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "�")


def printable(content: str) -> str:
    """Without control characters: a stored escape sequence must not drive the reader's terminal."""
    return content.translate(_CONTROLS)


def read_stdin() -> str:
    """The text that is piped in, without the newlines at its end, as a shell's `$(...)` has it. Raises InvalidInput."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidInput("The text is not valid UTF-8; send it encoded as UTF-8.") from None


def counted(number: int, one: str, many: str) -> str:
    """A number and its noun."""
    return f"{number:,} {one if number == 1 else many}"


def confirm(question: str, *, otherwise: str) -> None:
    """Ask; leaves the command unless the answer is yes. `otherwise` says what a no means, without the full stop."""
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        complain(f"\n{otherwise}: there was no answer. Pass --yes to skip the question.")
        raise typer.Exit(Exit.OTHER) from None
    if not agreed:
        complain(f"{otherwise}.")
        raise typer.Exit(Exit.OTHER)


def confirm_forgetting(what: str) -> None:
    """Ask before something is erased for good; leaves the command unless the answer is yes."""
    complain(f"This permanently erases: {what}")
    confirm("Forget it?", otherwise="Nothing was forgotten")


Advance = Callable[[float, int], None]
"""Says how far the work is (in the bar's own unit) and how many memories, or other units, are done."""


@contextmanager
def progress_bar(title: str, total: float | None, *, unit: str = "memories") -> Iterator[Advance]:
    """A bar of this length while the block runs, with a count of what is done; None shows the count only."""
    if not sys.stderr.isatty():
        yield _silent
        return
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            count, seconds = task.fields["count"], task.elapsed or 0
            return Text(f"{count:,} {unit}, {count / seconds:,.0f}/s" if seconds else f"{count:,} {unit}")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        Rate(Column(no_wrap=True)),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=rich_console(error=True), transient=True) as progress:
        bar = progress.add_task(title, total=total, count=0)
        yield lambda reached, count: progress.update(bar, completed=reached, count=count)


def _silent(reached: float, count: int) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class CliSession:
    """A door, who asks through it, and the settings that opened it."""

    door: "Door"
    caller: "Caller"
    settings: "Settings"

    def ask(self, tool: str, **arguments: Any) -> Any:
        """The body that a tool answers; arguments that are None are left out. Raises its SteeltrapError.

        Secrets in what a command saves are replaced, whatever the tool does for programs.
        """
        fields = {name: value for name, value in arguments.items() if value is not None}
        result = self.door.invoke(tool, fields, self.caller, secrets="redact")
        if result.error is not None:
            raise result.error
        outcome = result.outcome
        says_so = tool == "core.search"  # its answer has the outcome
        if outcome is not None and (outcome.kind == "redacted" or (outcome.kind == "offline" and not says_so)):
            complain(outcome.message)
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
    timezone: str | None = None,
    embedder: str | None = None,
    as_set: bool = False,
) -> Iterator[CliSession]:
    """A door over the data folder, closed at the end. Raises SteeltrapError.

    It has this `embedder`, or the one that the settings choose; `as_set` it has the default one where they choose none,
    whoever made the folder's vectors.
    """
    from ..model import Caller, UserRef
    from ..runtime import local as runtime
    from ..servers.process.logs import log_to_stderr
    from ..settings import read_settings

    folder = data and data.expanduser()
    settings = read_settings(data=folder, user=user, agent=agent, timezone=timezone, embedder=embedder)
    log_to_stderr(settings.log, format=settings.log_format)
    door = runtime.open_door(settings, embedder=runtime.open_embedder(settings) if as_set else None)
    try:
        yield CliSession(door, Caller(UserRef(settings.user), settings.agent, conversation), settings)
    finally:
        door.store.close()


_OPTIONS: Final = {"data": Data, "user": User, "agent": Agent, "conversation": Conversation, "timezone": Timezone}


def on_memory(*options: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function, whose first argument becomes the memory that these options open."""

    def command(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(**params: Any) -> None:
            with opened(**{name: params.pop(name) for name in options}) as memory:
                function(memory, **params)

        _, *own = signature(function).parameters.values()
        kind = Parameter.POSITIONAL_OR_KEYWORD
        shared = [Parameter(name, kind, default=None, annotation=_OPTIONS[name]) for name in options]
        run.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (*own, *shared)}
        return run

    return command
