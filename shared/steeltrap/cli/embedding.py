"""embedder: switch to another embedding model, or prepare one in a folder."""

import os
import shlex
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ..errors import InvalidInput, Unavailable
from . import terminal
from .configuration import keep
from .session import Exit, complain, opened, say, write_json
from .terminal import confirm
from .upkeep import embedded, reembed_everyone

if TYPE_CHECKING:
    from ..ports import Embedder

_SAMPLE_QUERY: Final = "Which city did my sister say that she wants to move to?"
_TIMES: Final = 9


embedder: Final = typer.Typer(
    add_completion=False, help="Choose the embedding model.", no_args_is_help=True, rich_markup_mode=None
)


@embedder.command("small")
def small(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask before something is installed.")] = False,
    data: terminal.Data = None,
) -> None:
    """Switch to `small`, which finds more.

    The command installs it, re-embeds all memories, and keeps the choice.

    If it is interrupted, run it again: it continues where it stopped.
    """
    from .. import installation

    _check_free("small")
    if installation.lacks_small():
        _install(yes=yes)
    _switch("small", data)


@embedder.command("static-256")
def static(data: terminal.Data = None) -> None:
    """Switch back to the default, static-256.

    The command re-embeds all memories, and keeps the choice.
    """
    _check_free("static-256")
    _switch("static-256", data)


def _check_free(name: str) -> None:
    set_to = os.environ.get("STEELTRAP_EMBEDDER")
    if set_to and set_to != name:
        raise InvalidInput(
            f"STEELTRAP_EMBEDDER={set_to} in the environment goes before what the data folder says: unset it first."
        )


def _install(*, yes: bool) -> None:
    """Install the packages of `small`, or say what to run. Raises Unavailable."""
    from .. import installation

    command = installation.install_command("small")
    if command is None:
        raise Unavailable(
            "This Python has neither pip nor uv to install `small` with. In a container, use the image "
            "`steeltrap:small`; elsewhere, install pip or uv first."
        )
    say(f"`small` needs about 100 MB of packages: {shlex.join(command)}", error=True)
    if not yes:
        confirm("Install them?", otherwise="Nothing was changed")
    if not installation.run(command) or installation.lacks_small():
        raise Unavailable(f"The packages were not installed. Mend what is shown above, or run: {shlex.join(command)}")


def _switch(name: str, data: Path | None) -> None:
    with opened(data=data, embedder=name) as memory:
        run = reembed_everyone(memory)
        if run.failed:
            say("The embedder was not changed: correct what is named above, and run the command again.", error=True)
            raise typer.Exit(Exit.OTHER)
        keep(data, {"embedder": name})
        say(f"The embedder of {memory.settings.data} is {name} now.")
    say(f"{embedded(run)} Restart servers and clients that are running: until then they search by words alone.")


@embedder.command("add")
def add_embedder(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with model.onnx and tokenizer.json.")],
    name: Annotated[str | None, typer.Option("--name", help="Name of the model. Default: the folder's.")] = None,
    query_prefix: Annotated[
        str | None, typer.Option("--query-prefix", metavar="TEXT", help='Prefix for queries, such as "query: ".')
    ] = None,
    document_prefix: Annotated[
        str | None, typer.Option("--document-prefix", metavar="TEXT", help='Prefix for texts, such as "passage: ".')
    ] = None,
    pooling: Annotated[
        str | None, typer.Option("--pooling", metavar="mean|first", help="How token vectors become one. Default: mean.")
    ] = None,
    longest_tokens: Annotated[
        int | None, typer.Option("--longest-tokens", metavar="N", help="Longer texts are cut. Default: 256.")
    ] = None,
    as_json: terminal.Json = False,
) -> None:
    """Check and calibrate a model, and write its embedder.json.

    The model's card says which prefixes and which pooling it needs. Files that change later are rejected by their
    checksums.
    """
    from ..runtime import local as runtime

    folder = folder.expanduser().resolve()
    options = {
        "name": name,
        "query_prefix": query_prefix,
        "document_prefix": document_prefix,
        "pooling": pooling,
        "longest_tokens": longest_tokens,
    }
    added = runtime.add_embedder(folder, options)
    query_ms = round(_query_ms(added), 1)
    if as_json:
        levels = {"unrelated": added.unrelated, "novel": added.novel, "slope": added.slope}
        report = {"name": added.name, "dimension": added.dimension, **levels, "query_ms": query_ms}
        write_json({**report, "folder": str(folder)})
        return
    say(f"Added {added.name}: {added.dimension} dimensions, {query_ms:g} ms per query.")
    say(f"Use it with STEELTRAP_EMBEDDER=onnx STEELTRAP_EMBEDDER_MODEL={folder}", error=True)
    complain("If memories are stored already, run `steeltrap reembed` with these settings.")


def _query_ms(embedder: "Embedder") -> float:
    times = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        embedder.embed([_SAMPLE_QUERY], purpose="query", timeout=60)
        times.append(1000 * (time.perf_counter() - start))
    return median(times)
