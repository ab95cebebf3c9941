"""embedder add: prepare a model's folder for STEELTRAP_EMBEDDER=onnx."""

import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Final

import typer

from . import options
from .output import say, write_json

if TYPE_CHECKING:
    from ...ports import Embedder

_QUERY: Final = "Which city did my sister say that she wants to move to?"
_TIMES: Final = 9


def register(app: typer.Typer) -> None:
    embedder = typer.Typer(help="Embedding models in folders.", no_args_is_help=True, rich_markup_mode=None)

    @embedder.callback()
    def _alone() -> None:
        """Embedding models in folders."""  # Typer would make a lone command the whole group

    embedder.command()(add)
    app.add_typer(embedder, name="embedder")


def add(
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
    as_json: options.Json = False,
) -> None:
    """Check and calibrate a model, and write its embedder.json.

    The model's card says which prefixes and which pooling it needs. Files that change later are rejected by their
    checksums.
    """
    from ...runtime import local as runtime

    folder = folder.expanduser().resolve()
    given = {
        "name": name,
        "query_prefix": query_prefix,
        "document_prefix": document_prefix,
        "pooling": pooling,
        "longest_tokens": longest_tokens,
    }
    embedder = runtime.add_embedder(folder, given)
    query_ms = round(_query_ms(embedder), 1)
    if as_json:
        levels = {"unrelated": embedder.unrelated, "novel": embedder.novel, "slope": embedder.slope}
        done = {"name": embedder.name, "dimension": embedder.dimension, **levels, "query_ms": query_ms}
        write_json({**done, "folder": str(folder)})
        return
    say(f"Added {embedder.name}: {embedder.dimension} dimensions, {query_ms:g} ms per query.")
    say(f"Use it with STEELTRAP_EMBEDDER=onnx STEELTRAP_EMBEDDER_MODEL={folder}", error=True)
    say("If memories are stored already, run `steeltrap reembed` with these settings.", error=True)


def _query_ms(embedder: "Embedder") -> float:
    taken = []
    for _ in range(_TIMES):
        begun = time.perf_counter()
        embedder.embed([_QUERY], purpose="query", timeout=60)
        taken.append(1000 * (time.perf_counter() - begun))
    return median(taken)
