"""The bench commands: one per thing that is measured."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from steeltrap.cli import terminal

from .stores import Store

LoCoMo = Annotated[Path, typer.Argument(metavar="PATH", help="The LoCoMo file, locomo10.json.")]
First = Annotated[
    int | None, typer.Option("--limit-conversations", metavar="N", min=1, help="Only the first N conversations.")
]
Where = Annotated[
    Store,
    typer.Option(
        "--store",
        help="`file`: a log in a folder. `aws` creates tables and an index of its own on the servers in the settings.",
    ),
]

Embedder = Annotated[
    str | None, typer.Option("--embedder", metavar="NAME", help="Use this embedder instead of STEELTRAP_EMBEDDER.")
]


def register(bench: typer.Typer) -> None:
    bench.command()(quality)
    bench.command()(languages)
    bench.command()(locomo)
    bench.command()(surprise)
    bench.command()(speed)
    bench.command()(langgraph)
    bench.command()(http)
    bench.command()(workers)
    bench.command()(hooks)
    bench.command()(cold)
    bench.command()(warm)
    bench.command()(backup)
    bench.command()(replica)
    bench.command()(opensearch)
    bench.command()(attacks)


def quality(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files or folders, each a set of questions.")],
    store: Where = Store.SQLITE,
    embedder: Embedder = None,
    keep: Annotated[Path | None, typer.Option("--keep", metavar="FILE", help="Write each question's scores.")] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="FILE", help="Compare, question by question, with a run that --keep wrote."),
    ] = None,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Also switch off each ranking rule in turn, and show what it gains.")
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="Also measure LoCoMo with these corrected labels (errors.json of dial481/locomo-audit).",
        ),
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option("--baselines", help="Also search by FTS5 alone, and by the embedder's cosine alone."),
    ] = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with plots.")] = None,
    as_json: terminal.Json = False,
) -> None:
    """Measure how well search finds the answers to questions.

    The search tool that users call is measured. The format of each set is recognised from its content: LoCoMo,
    LongMemEval, JSON Lines of your own, or a folder of BEAM, PrecisionMemBench, REALTALK, RealMem or VehicleMemBench.
    Every figure has a 95% confidence interval, computed by drawing the questions again. The folder, or the tables and
    the index, are removed afterwards.
    """
    from .quality.measure import measure
    from .quality.page import write
    from .quality.tables import show

    figures = measure(
        paths, store, embedder=embedder, keep=keep, against=against, ablate=ablate, baselines=baselines, labels=labels
    )
    if html is not None:
        write(html.expanduser(), figures)
    show(figures, as_json)


def languages(
    path: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="JSON Lines of your own, a space per language.")
    ] = None,
    store: Where = Store.SQLITE,
    embedder: Embedder = None,
    as_json: terminal.Json = False,
) -> None:
    """Measure how well search finds facts that are asked for in other words, by language.

    Without PATH the facts and questions of this benchmark are asked. Beside the search tool that users call, SQLite's
    FTS5 is measured. The last column counts the questions that share a word or a stem with their fact. The folder, or
    the tables and the index, are removed afterwards.
    """
    from .languages import OWN, measure, show

    show(measure(OWN if path is None else path.expanduser(), store, embedder=embedder), as_json)


def locomo(
    path: LoCoMo, limit_conversations: First = None, store: Where = Store.SQLITE, as_json: terminal.Json = False
) -> None:
    """Measure recall on LoCoMo's questions.

    Recall is the share of the turns with the answer that search finds. Questions of categories 1 to 4 are asked with
    the search tool that users call. Each conversation is loaded into its own space, one memory per turn. The folder, or
    the tables and the index, are removed afterwards.
    """
    from .locomo import TITLES, measure
    from .report import show

    show(measure(path.expanduser(), limit_conversations, store), as_json, TITLES)


def surprise(path: LoCoMo, limit_conversations: First = None, as_json: terminal.Json = False) -> None:
    """Measure the surprise of LoCoMo's turns.

    It is also measured for texts that repeat an earlier one in other words. Turns are saved in order with the save tool
    that users call, in a folder that is removed afterwards.
    """
    from .surprise import measure, show

    show(measure(path.expanduser(), limit_conversations), as_json)


def speed(
    size: Annotated[int, typer.Option("--size", metavar="N", min=1, help="Total number of memories.")] = 1000,
    users: Annotated[
        int, typer.Option("--users", metavar="N", min=1, help="Number of users that they are divided among.")
    ] = 1,
    against: Annotated[
        str | None, typer.Option("--against", metavar="PEER", help="Also measure a peer in the same run: langgraph.")
    ] = None,
    store: Where = Store.SQLITE,
    as_json: terminal.Json = False,
) -> None:
    """Measure search, save and import.

    They run in this process; searches run over HTTP too. The store is removed afterwards. search_ratio is our median
    time divided by the peer's (1 or less is good); save_ratio is our saves per second divided by the peer's (1 or more
    is good).
    """
    from .report import show
    from .speed import TITLES, measure

    show(measure(size, users, against, store), as_json, TITLES)


def langgraph(
    path: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="The LoCoMo file, locomo10.json, to measure recall too.")
    ] = None,
    size: Annotated[int, typer.Option("--size", metavar="N", min=1, help="Number of memories.")] = 1000,
    limit_conversations: First = None,
    as_json: terminal.Json = False,
) -> None:
    """Measure our store for LangGraph against its SqliteStore.

    Both have the same embedder, and take each text and query in turn. search_ratio is our median time divided by
    SqliteStore's (0.7 or less is good); put_ratio is our puts per second divided by SqliteStore's (0.7 or more is
    good). With PATH, LoCoMo's questions are asked of both. The folders are removed afterwards.
    """
    from .langgraph import TITLES, measure
    from .report import show

    show(measure(size, None if path is None else path.expanduser(), limit_conversations), as_json, TITLES)


def http(
    size: Annotated[int, typer.Option("--size", metavar="N", min=1, help="Number of memories.")] = 1000,
    calls: Annotated[int, typer.Option("--calls", metavar="N", min=1, help="Number of calls of each kind.")] = 300,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="N", min=0.01, help="How long each number of clients is measured.")
    ] = 2,
    as_json: terminal.Json = False,
) -> None:
    """Measure calls over HTTP and MCP.

    The servers are `steeltrap serve` and `steeltrap mcp`. First one client keeps its connection: medians and 95th
    percentiles of searches, saves and probes. Then 1, 4, 16 and 64 clients search: searches per second. Ratios compare
    with the same calls inside this process, in the same run. The folders are removed afterwards.
    """
    from .http import TITLES, measure
    from .report import show

    show(measure(size, calls, seconds), as_json, TITLES)


def workers(
    size: Annotated[int, typer.Option("--size", metavar="N", min=1, help="Number of memories.")] = 1000,
    workers: Annotated[int, typer.Option("--workers", metavar="N", min=2, help="Workers to compare with one.")] = 2,
    clients: Annotated[int, typer.Option("--clients", metavar="N", min=1, help="Number of connections.")] = 64,
    seconds: Annotated[float, typer.Option("--seconds", metavar="N", min=1, help="How long each round lasts.")] = 5,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", min=1, help="Rounds of each, in turn.")] = 5,
    as_json: terminal.Json = False,
) -> None:
    """Measure how many searches several workers of `steeltrap serve` answer, against one.

    wrk must be installed; it plays the clients. The server's processor time per request is measured beside it. The
    folder is removed afterwards.
    """
    from .report import show
    from .workers import TITLES, measure

    show(measure(size, workers, clients, seconds, rounds), as_json, TITLES)


def hooks(
    size: Annotated[int, typer.Option("--size", metavar="N", min=1, help="Number of memories.")] = 1000,
    prompts: Annotated[int, typer.Option("--prompts", metavar="N", min=1, help="Number of prompts of each kind.")] = 40,
    as_json: terminal.Json = False,
) -> None:
    """Measure how long a prompt waits for its hook.

    `steeltrap hook prompt` runs as a process of its own, beside a running server and without one, and so does Python
    that does nothing: medians, 95th percentiles, and the median processor time. The folders are removed afterwards.
    """
    from .hooks import TITLES, measure
    from .report import show

    show(measure(size, prompts), as_json, TITLES)


def cold(
    starts: Annotated[
        int, typer.Option("--starts", metavar="N", min=1, help="Number of starts of each function.")
    ] = 11,
    as_json: terminal.Json = False,
) -> None:
    """Measure cold starts of functions.

    The time is from the start of the process to its first answer; the cost of the imports is listed too. Lambda's
    runtime client runs the handlers on this machine, with tables and an index of their own on the servers in the
    settings. A function that makes one boto3 call is measured in the same run. The figures are medians.
    """
    from .cold import TITLES, measure
    from .report import show

    show(measure(starts), as_json, TITLES)


def warm(
    calls: Annotated[int, typer.Option("--calls", metavar="N", min=1, help="Number of searches each way.")] = 500,
    as_json: terminal.Json = False,
) -> None:
    """Measure what a warm function adds to a call.

    The same searches run as Lambda events and as plain calls in this process. The folder is removed afterwards.
    """
    from .report import show
    from .warm import TITLES, measure

    show(measure(calls), as_json, TITLES)


def backup(
    size: Annotated[int, typer.Option("--size", metavar="N", min=1, help="Number of memories.")] = 100_000,
    as_json: terminal.Json = False,
) -> None:
    """Measure a backup of a served folder.

    One client searches and saves, first alone, then while backups are made: the ratio compares the 95th percentiles.
    The folders are removed afterwards.
    """
    from .backup import TITLES, measure
    from .report import show

    show(measure(size), as_json, TITLES)


def replica(
    size: Annotated[int, typer.Option("--size", metavar="N", min=1, help="Number of memories of one user.")] = 10_000,
    users: Annotated[
        int,
        typer.Option("--users", metavar="N", min=10, help="Number of users that share a cache for a tenth of them."),
    ] = 1000,
    searches: Annotated[
        int, typer.Option("--searches", metavar="N", min=10, help="Number of searches and of saves of each kind.")
    ] = 300,
    as_json: terminal.Json = False,
) -> None:
    """Measure files that are replicated through a log.

    First a log in a folder is compared with SQLite alone: searches, durable saves and an import, in turn. Then there is
    a pause of 25 ms before each read of the log and of 35 ms before each write, as of a bucket in the same region.
    The folders are removed afterwards.
    """
    from .replica import TITLES, measure
    from .report import show

    show(measure(size, users, searches), as_json, TITLES)


def opensearch(
    size: Annotated[
        int, typer.Option("--size", metavar="N", min=100, help="Number of memories of each small user.")
    ] = 1000,
    users: Annotated[int, typer.Option("--users", metavar="N", min=1, help="Number of small users.")] = 10,
    as_json: terminal.Json = False,
) -> None:
    """Measure an index in OpenSearch by two forms of documents, and two ways to the nearest vectors.

    Two indices get the same memories: one has each vector in a nested document, the other has a memory's only vector
    in the memory's own document. Then both are searched, and the nearest vectors are asked for by the graph and by
    comparing all of a user's: those of a small user, and of one with ten times as many memories. It needs
    STEELTRAP_OPENSEARCH_URL. The indices are removed afterwards.
    """
    from .opensearch import TITLES, measure
    from .report import show

    def report(line: str) -> None:
        sys.stderr.write(line)
        sys.stderr.flush()

    show(measure(size, users, report), as_json, TITLES)


def attacks(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Only those whose name contains one of these.")
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="N", min=1, help="How long each may go on before it is left.")
    ] = 20,
    workers: Annotated[int, typer.Option("--workers", metavar="N", min=1, help="Workers of the server.")] = 1,
    as_json: terminal.Json = False,
) -> None:
    """Measure how long everybody waits beside one user who asks the most, or attacks.

    A process asks `/healthz` of a real server every 20 ms: beside every tool, page and import at its limits, and beside
    a list of attacks (bench/attacks). The table has the longest of these waits, and how long a call of another user
    takes afterwards. The exit code is 1 when a wait is over 200 ms, or another user gets no answer. The folder is
    removed afterwards.
    """
    from .attacks.running import run, show

    if not show(run(names or (), seconds, workers=workers), as_json):
        raise typer.Exit(1)
