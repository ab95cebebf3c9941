"""bench: the benchmarks, which are in the project's repository and not in the package."""

import sys
from pathlib import Path
from typing import Final

import typer

from ...errors import NotFound

_CHECKOUT: Final = Path(__file__).parents[4]


def register(app: typer.Typer) -> None:
    if not (_CHECKOUT / "bench" / "commands.py").is_file():
        takes_all = {"allow_extra_args": True, "ignore_unknown_options": True}
        app.command(name="bench", context_settings=takes_all)(elsewhere)
        return
    if str(_CHECKOUT) not in sys.path:
        sys.path.append(str(_CHECKOUT))
    from bench import commands

    commands.register(app)


def elsewhere() -> None:
    """Measure retrieval and speed (from a checkout of the project only)."""
    raise NotFound("The benchmarks are not in the package; clone the project's repository and run `make bench` there.")
