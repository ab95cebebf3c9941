"""The parts that commands share: their options, what a shell completes, questions and progress on a terminal.

Needs little, because `--help` must be quick; `showing` prints memories."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ..errors import InvalidInput
from .session import Exit, complain, opened, rich_console

EPILOG: Final = (
    "Exit codes: 0 success; 1 other failure (also: doctor found a fault, or you answered no); 2 wrong usage or "
    "invalid input; 3 not found; 4 conflict; 5 store or embedder unavailable, try again; 6 import incomplete, the"
    " failed items are listed; 7 over the quota of memories or bytes; 130 interrupted. Settings come from options, "
    "else from STEELTRAP_* variables, else from the data folder: see `steeltrap config`."
)

Choices = list[tuple[str, str]]
"""Words that a shell may complete, each with what it may show beside it.

A shell shows what is printed here as choices, so a failure completes nothing and says nothing.
"""

_MOST_CHOICES: Final = 50
_LATEST_IDS: Final = 1000
"""Number of memories, the latest ones, among which ids are looked for."""


def toolset_choices(incomplete: str) -> Choices:
    from ..toolsets import CATALOGUE

    return _beginning({name: f"{len(toolset.tools)} tools" for name, toolset in CATALOGUE.toolsets.items()}, incomplete)


def tool_choices(incomplete: str) -> Choices:
    """The names of tools, such as core.search."""
    from ..toolsets import CATALOGUE

    return _beginning({tool.full_name: tool.description.partition("\n")[0] for tool in CATALOGUE.tools()}, incomplete)


def setting_choices(incomplete: str) -> Choices:
    """The names of settings, as `config set` takes them."""
    from ..settings import FIELDS

    described = {name: field.metadata["description"] for name, field in FIELDS.items() if name != "data"}
    return _beginning(described, incomplete)


def memory_choices(ctx: typer.Context, incomplete: str) -> Choices:
    """The ids of stored memories."""
    return _id_choices(ctx, incomplete, deleted=False)


def changed_memory_choices(ctx: typer.Context, incomplete: str) -> Choices:
    """The ids of memories, first those that were deleted."""
    return [*_id_choices(ctx, incomplete, deleted=True), *_id_choices(ctx, incomplete, deleted=False)][:_MOST_CHOICES]


def _id_choices(ctx: typer.Context, incomplete: str, *, deleted: bool) -> Choices:
    from ..errors import SteeltrapError

    with suppress(SteeltrapError, OSError):
        return _beginning(dict(_listed(ctx.params, deleted=deleted)), incomplete)
    return []


def _listed(params: dict[str, Any], *, deleted: bool) -> Iterator[tuple[str, str]]:
    from .showing import short

    with opened(data=params.get("data"), user=params.get("user"), agent=params.get("agent")) as memory:
        page = memory.ask("core.list", limit=_LATEST_IDS, deleted=deleted or None)
    for memory in page["memories"]:
        yield memory["id"], short(memory["content"])


def _beginning(choices: dict[str, str], incomplete: str) -> Choices:
    return [(word, help) for word, help in choices.items() if word.startswith(incomplete)][:_MOST_CHOICES]


def path_typed(text: str) -> Path:
    """The path that was typed. Raises InvalidInput for an empty one, as of a variable that isn't set: it would be the
    current folder."""
    if not text:
        raise InvalidInput("The path of a file or folder is empty; give one, such as `.` for the current folder.")
    return Path(text)


Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        parser=path_typed,
        help="Folder where memories are stored (STEELTRAP_DATA, else ~/.steeltrap).",
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
        metavar="ID", autocompletion=memory_choices, help="The memory's id, or the start that an agent shows."
    ),
]
_IDS: Final = "Ids of memories, or the starts that an agent shows."
Ids = Annotated[list[str], typer.Argument(metavar="ID", autocompletion=memory_choices, help=_IDS)]
ChangedIds = Annotated[list[str], typer.Argument(metavar="ID", autocompletion=changed_memory_choices, help=_IDS)]
NoQuestion = Annotated[
    bool, typer.Option("--yes", "-y", help="Taken as other commands take it; this one doesn't ask for confirmation.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Toolset = Annotated[
    str | None,
    typer.Option(
        "--toolset",
        metavar="NAME",
        autocompletion=toolset_choices,
        help="Only this toolset, such as core or notes.",
    ),
]


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


def confirm_forgetting(description: str) -> None:
    """Ask before something is erased for good; leaves the command unless the answer is yes."""
    complain(f"This permanently erases: {description}")
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
