"""import and export."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ...errors import SteeltrapError
from . import options
from .exits import Exit
from .opening import opened
from .output import complain, say, write_json

_SHOWN_FLAWS = 200
_BLOCK_SECONDS = 600.0
_EXPORT_SECONDS = 24 * 3600.0


def register(app: typer.Typer) -> None:
    app.command("import")(import_)
    app.command()(export)


def import_(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A *.md, *.json or *.jsonl file, an export, or a folder of them.")
    ],
    scope: Annotated[
        str, typer.Option("--scope", help="The scope to file it under; an export keeps its own scopes.")
    ] = "user/default",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="A tag for everything imported; can be repeated.")
    ] = None,
    look_around: Annotated[
        bool, typer.Option("--look-around", help="Compute links and surprise for imported memories; slower.")
    ] = False,
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """Import notes, chat transcripts or an export.

    Re-running is safe; existing items are skipped. A long Markdown file becomes one memory per section. Messages of a
    transcript become turns of their conversation, and its episodes are made at once. Items that can't be imported are
    listed by line, and the exit code is 6. JSON is read as a stream; one item may have up to 64 MiB.
    """
    from . import importing
    from .files import Flaw, Origin, total_bytes
    from .progress import shown

    path = path.expanduser()
    size = total_bytes(path)
    tally = importing.Tally()
    listed: list[dict[str, str]] = []

    def report(flaw: Flaw) -> None:
        if len(listed) < _SHOWN_FLAWS:
            listed.append({"where": flaw.where, "message": flaw.sentence})
            complain(f"{flaw.where}: {flaw.sentence}")

    with opened(data=data, user=user, agent=agent) as memory:
        new_call = partial(memory.call, _BLOCK_SECONDS)
        try:
            with shown(f"Importing {path.name}", size) as advance:
                importing.run(
                    new_call,
                    Origin(path=path, scope=scope, tags=tuple(tag or ())).parts(),
                    tally=tally,
                    look_around=look_around,
                    report=report,
                    advance=advance,
                )
            with shown("Summarising conversations", len(tally.conversations)) as advance:
                importing.close(new_call, tally=tally, advance=advance)
        except (KeyboardInterrupt, SteeltrapError):
            if tally.seen:
                complain(f"Stopped with {tally.written:,} written. Run the same command again to continue.")
            raise
    if tally.failed > len(listed):
        complain(f"... and {tally.failed - len(listed):,} more that could not be imported.")
    if as_json:
        counts = {"written": tally.written, "skipped": tally.skipped, "failed": tally.failed}
        write_json({**counts, "episodes": tally.episodes, "errors": listed})
    else:
        done = f"{tally.written:,} written, {tally.skipped:,} were there already, {tally.failed:,} failed."
        say(done)
        if tally.episodes:
            say(f"Episodes made: {tally.episodes:,}. recall finds them; recall --turns finds single messages too.")
    if tally.failed:
        raise typer.Exit(Exit.PARTIAL)


def export(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The file to write, one record per line; `-` is stdout.")],
    turns: Annotated[bool, typer.Option("--turns/--no-turns", help="Include conversation turns.")] = True,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """Export all memories, with their history, to a file.

    `import` restores them from it without loss.
    """
    from . import exporting
    from .progress import shown

    with opened(data=data, user=user, agent=agent) as memory:
        call = memory.call(_EXPORT_SECONDS)
        counts = call.space.statistics()
        total = counts["memories"] + counts["superseded"] + (counts["turns"] if turns else 0)
        with shown("Exporting", total) as advance:
            written = exporting.run(call, path, turns=turns, advance=advance)
    if path != "-":
        say(f"{written:,} memories are in {path}.")
