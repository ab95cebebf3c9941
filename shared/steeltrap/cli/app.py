"""The command line itself, and the sentences for values that don't fit it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from ..version import VERSION
from .groups import CommandGroups
from .session import Exit, complain, explained, say
from .terminal import EPILOG


class Commands(CommandGroups):
    """Every command, with failures explained."""

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        with _explained():  # some options act while they are read: completion writes files
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: Any) -> Any:
        with _explained():
            return super().invoke(ctx)


@contextmanager
def _explained() -> Iterator[None]:
    with explained():
        try:
            yield
        except typer.BadParameter as error:
            sentence = _unfit(error)
            if sentence is None:
                raise
            complain(sentence)
            raise typer.Exit(Exit.USAGE) from None


def _unfit(error: typer.BadParameter) -> str | None:
    """The sentence for a value that doesn't fit an option or an argument; None where Typer's own has no words of the
    library that checks values."""
    refused = getattr(error.__cause__, "errors", None)
    if error.param is None or refused is None:
        return None
    from ..text.schemas import show

    detail: Any = refused()[0]
    names = [name for name in error.param.opts if name.startswith("--")]
    name = names[0] if names else error.param.metavar or str(error.param.name).upper()
    suggestion = _suggestion(error.param, detail)
    return f"`{name}` must be {_expected(error.param, detail)}; got {show(detail['input'])}.{suggestion}"


def _choices(param: Any) -> list[str]:
    """The words that a parameter may be; empty where it is no choice."""
    choices = getattr(getattr(param, "type_descriptor", None), "choices", None) or ()
    return [str(getattr(choice, "value", choice)) for choice in choices]


def _expected(param: Any, detail: Any) -> str:
    if choices := _choices(param):
        return f"one of {', '.join(choices)}"
    lowest, highest = getattr(param, "min", None), getattr(param, "max", None)
    if "int" not in detail["type"] and "float" not in detail["type"] and (lowest, highest) == (None, None):
        return f"another value ({detail['msg']})"
    number = "a number" if "float" in detail["type"] or isinstance(lowest, float) else "a whole number"
    if lowest is not None and highest is not None:
        return f"{number} from {lowest} to {highest}"
    if lowest is not None:
        return f"{number} of at least {lowest}"
    return number if highest is None else f"{number} of at most {highest}"


def _suggestion(param: Any, detail: Any) -> str:
    from difflib import get_close_matches

    near = get_close_matches(str(detail["input"]), _choices(param), 1)
    return f" Did you mean `{near[0]}`?" if near else ""


app = typer.Typer(
    cls=Commands,
    help="Long-term memory for AI agents: one SQLite file per user, searched by meaning and keywords.",
    epilog=EPILOG,
    no_args_is_help=True,
    # Rich help costs more time than the whole command line.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(is_on: bool) -> None:
    if is_on:
        say(VERSION)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """The options of the command itself. Each command has its own."""
