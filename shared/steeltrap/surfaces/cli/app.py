"""The commands by name. What a command needs is imported when it runs: `--help` must stay quick."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ...errors import SteeltrapError
from ...version import VERSION
from . import (
    backups,
    benches,
    browsing,
    configuration,
    embedders,
    hooking,
    indexing,
    installing,
    keys,
    looking,
    memories,
    moving,
    serving,
    undoing,
    upkeep,
)
from .exits import EPILOG, Exit, exit_code
from .output import complain, say


class Commands(TyperGroup):
    """The one place where a command's failure becomes a sentence and an exit code."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        with _explained():  # some options act while they are read: completion writes files
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        with _explained():
            return super().invoke(ctx)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except SteeltrapError as error:
        complain(error.message)
        raise typer.Exit(exit_code(error)) from None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "steeltrap"):
            raise  # ours are always there: this is a fault to be seen
        complain(f"The package {package} is not installed: run {_installed_by(package)}.")
        raise typer.Exit(Exit.UNAVAILABLE) from None
    except BrokenPipeError:
        raise  # whoever read the output has gone; the group's own main ends quietly
    except OSError as error:
        complain(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.")
        raise typer.Exit(Exit.OTHER) from None
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None


def _installed_by(package: str) -> str:
    if package == "awslambdaric":
        return "`pip install --group bench` in the project's folder"
    extra = {"boto3": "[aws]", "botocore": "[aws]", "opensearchpy": "[aws]", "onnxruntime": "[onnx]"}.get(package, "")
    return f'`pip install "steeltrap{extra}"`'


app = typer.Typer(
    cls=Commands,
    help="Long-term memory for AI agents: one SQLite file per user, searched by meaning and keywords.",
    epilog=EPILOG,
    no_args_is_help=True,
    # Rich help costs more time than the whole command line.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(VERSION)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """The options of the command itself. Each command has its own."""


for register in (
    serving.register,
    hooking.register,
    installing.register,
    keys.register,
    looking.register,
    memories.register,
    browsing.register,
    moving.register,
    undoing.register,
    upkeep.register,
    configuration.register,
    backups.register,
    embedders.register,
    indexing.register,
    benches.register,
):
    register(app)
