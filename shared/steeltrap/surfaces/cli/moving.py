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
    path: Annotated[Path, typer.Argument(metavar="PATH", help="Folder of Markdown, *.json, *.jsonl, our own export.")],
    scope: Annotated[str, typer.Option("--scope", help="Where to file it; an export keeps its own.")] = "user/default",
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A label for all of it; may be repeated.")] = None,
    look_around: Annotated[
        bool, typer.Option("--look-around", help="Find links and surprise for what is imported; slower.")
    ] = False,
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """Import notes, chat transcripts or an export. Again is safe: what is there is skipped.

    A long Markdown file becomes a memory a section. Messages of a transcript become turns of their
    conversation, and its episodes are made at once. What can't be imported is listed by line, and the
    exit code is 6. JSON is read as a stream; one item may have up to 64 MiB.
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
            with shown("Summing up conversations", len(tally.conversations)) as advance:
                importing.close(new_call, tally=tally, advance=advance)
        except (KeyboardInterrupt, SteeltrapError):
            if tally.seen:
                complain(f"Stopped with {tally.written:,} written. The same command again goes on from there.")
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
    path: Annotated[str, typer.Argument(metavar="PATH", help="The file to write, one record a line; `-` is stdout.")],
    turns: Annotated[bool, typer.Option("--turns/--no-turns", help="The turns of conversations too.")] = True,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """Export every memory, with its history, to a file that import takes back without loss."""
    from . import exporting
    from .progress import shown

    with opened(data=data, user=user, agent=agent) as memory:
        call = memory.call(_EXPORT_SECONDS)
        counts = call.space.statistics()
        total = counts["memories"] + (counts["turns"] if turns else 0)
        with shown("Exporting", total) as advance:
            written = exporting.run(call, path, turns=turns, advance=advance)
    if path != "-":
        say(f"{written:,} memories are in {path}.")
