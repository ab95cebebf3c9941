"""The bench commands: one per thing that is measured."""

from pathlib import Path
from typing import Annotated

import typer

from steeltrap.surfaces.cli import options

from .stores import Store

LoCoMo = Annotated[Path, typer.Argument(metavar="PATH", help="The LoCoMo file, locomo10.json.")]
First = Annotated[
    int | None, typer.Option("--limit-conversations", metavar="N", min=1, help="Only the first N conversations.")
]
Where = Annotated[
    Store, typer.Option("--store", help="`aws`: tables and an index of its own on the parts that the settings name.")
]


def register(app: typer.Typer) -> None:
    bench = typer.Typer(help="Measure retrieval and speed.", no_args_is_help=True, rich_markup_mode=None)
    bench.command()(quality)
    bench.command()(locomo)
    bench.command()(surprise)
    bench.command()(speed)
    bench.command()(http)
    bench.command()(cold)
    bench.command()(warm)
    app.add_typer(bench, name="bench")


def quality(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files or folders, each a set of questions.")],
    store: Where = Store.SQLITE,
    embedder: Annotated[
        str | None, typer.Option("--embedder", metavar="NAME", help="In place of STEELTRAP_EMBEDDER.")
    ] = None,
    keep: Annotated[Path | None, typer.Option("--keep", metavar="FILE", help="Write each question's scores.")] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="FILE", help="Compare, question by question, with a run that --keep wrote."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """How well the ordinary search tool finds what answers a question, and only that.

    The content tells the format of each set: LoCoMo, BEAM (a folder), LongMemEval, or JSON Lines of your own. Every
    figure has the interval in which 95 of 100 lie when the questions are drawn anew. Everything is in a folder, or
    tables and an index, that are removed afterwards.
    """
    from .quality.measure import measure, show

    show(measure(paths, store, embedder=embedder, keep=keep, against=against), as_json)


def locomo(
    path: LoCoMo, limit_conversations: First = None, store: Where = Store.SQLITE, as_json: options.Json = False
) -> None:
    """Recall of the turns that answer LoCoMo's questions, categories 1 to 4, by the ordinary search tool.

    Every conversation is loaded into a space of its own, a memory a turn, in a folder, or tables and an
    index, that are removed afterwards.
    """
    from .locomo import TITLES, measure
    from .report import show

    show(measure(path.expanduser(), limit_conversations, store), as_json, TITLES)


def surprise(path: LoCoMo, limit_conversations: First = None, as_json: options.Json = False) -> None:
    """How surprising LoCoMo's turns are, each saved in order, and texts that were said before in other words.

    Everything is saved by the ordinary tool, in a folder that is removed afterwards.
    """
    from .surprise import measure, show

    show(measure(path.expanduser(), limit_conversations), as_json)


def speed(
    size: Annotated[int, typer.Option("--size", metavar="N", min=1, help="How many memories in all.")] = 1000,
    users: Annotated[int, typer.Option("--users", metavar="N", min=1, help="How many users share them.")] = 1,
    against: Annotated[
        str | None, typer.Option("--against", metavar="PEER", help="Measure a peer in the same run: langgraph.")
    ] = None,
    store: Where = Store.SQLITE,
    as_json: options.Json = False,
) -> None:
    """Search, save and import, in this process, on a store that is removed afterwards; searches over HTTP beside them.

    Ratios: search_ratio is our median over the peer's (1 or less is good), save_ratio our saves a second
    over the peer's (1 or more is good).
    """
    from .report import show
    from .speed import TITLES, measure

    show(measure(size, users, against, store), as_json, TITLES)


def http(
    size: Annotated[int, typer.Option("--size", metavar="N", min=1, help="How many memories.")] = 1000,
    calls: Annotated[int, typer.Option("--calls", metavar="N", min=1, help="How many calls of each kind.")] = 300,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="N", min=0.01, help="How long each number of clients is measured.")
    ] = 2,
    as_json: options.Json = False,
) -> None:
    """What a client of `steeltrap serve` and `steeltrap mcp` sees, beside a call in this process.

    One client on a kept connection: medians and 95th percentiles of searches, saves and probes. Then 1, 4, 16 and 64
    clients: searches per second. Ratios are to the same calls in this process, in the same run. Everything is in
    folders that are removed afterwards.
    """
    from .http import TITLES, measure
    from .report import show

    show(measure(size, calls, seconds), as_json, TITLES)


def cold(
    starts: Annotated[int, typer.Option("--starts", metavar="N", min=1, help="How often each function starts.")] = 11,
    as_json: options.Json = False,
) -> None:
    """How long a function takes from the start of its process to its first answer, and what its imports cost.

    Lambda's own runtime client runs the handlers here, over tables and an index of their own on the parts that the
    settings name, beside a function that makes one boto3 client call. Medians of starts in turn.
    """
    from .cold import TITLES, measure
    from .report import show

    show(measure(starts), as_json, TITLES)


def warm(
    calls: Annotated[int, typer.Option("--calls", metavar="N", min=1, help="How many searches each way.")] = 500,
    as_json: options.Json = False,
) -> None:
    """What a warm function adds to a call: searches through the door and as events, in turn.

    Everything is in a folder that is removed afterwards.
    """
    from .report import show
    from .warm import TITLES, measure

    show(measure(calls), as_json, TITLES)
