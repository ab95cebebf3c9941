"""The commands by name. What a command needs is imported when it runs: `--help` must stay quick."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..errors import SteeltrapError
from ..version import VERSION
from . import catalogue, configuration, embedding, installing, memories, serving, transfer, upkeep
from .terminal import EPILOG, Exit, complain, exit_code, say


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
        complain(f"The package {package} is not installed: {_installed_by(package)}.")
        raise typer.Exit(Exit.UNAVAILABLE) from None
    except BrokenPipeError:
        raise  # whoever read the output has gone; the group's own main ends quietly
    except OSError as error:
        complain(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.")
        raise typer.Exit(Exit.OTHER) from None
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None


def _installed_by(package: str) -> str:
    from ..installation import install_line

    if package == "awslambdaric":
        return "run `pip install --group bench` in the project's folder"
    extra = {"boto3": "aws", "botocore": "aws", "opensearchpy": "aws", "onnxruntime": "onnx", "obstore": "bucket"}
    return f"run `{install_line(extra[package])}`" if package in extra else "install steeltrap again"


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


for command in (
    *(serving.serve, serving.mcp, serving.hook, installing.install, catalogue.tools, catalogue.call),
    *(memories.remember, memories.revise, memories.recall, memories.history, memories.undo, memories.forget),
    *(memories.list_, memories.get, memories.delete, memories.trash, memories.stats),
    *(transfer.import_, transfer.export, transfer.imports),
    *(upkeep.reembed, upkeep.sweep, upkeep.users, upkeep.forget_user, upkeep.doctor),
    *(upkeep.backup, upkeep.restore, upkeep.setup, upkeep.index, upkeep.reindex, upkeep.verify),
):
    app.command(command.__name__.rstrip("_").replace("_", "-"))(command)
configuration.register_config(app)
configuration.register_keys(app)
embedding.register_embedder(app)
serving.register_bench(app)
