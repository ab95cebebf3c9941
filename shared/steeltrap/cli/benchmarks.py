"""bench, which is in a checkout of the project and not in the package: the door to it."""

import sys
from pathlib import Path
from typing import Final

import typer

from ..errors import NotFound

_CHECKOUT: Final = Path(__file__).parents[3]

bench: Final = typer.Typer(
    help="Measure retrieval and speed.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)

if (_CHECKOUT / "bench" / "commands.py").is_file():
    if str(_CHECKOUT) not in sys.path:
        sys.path.append(str(_CHECKOUT))
    from bench import commands

    commands.register(bench)
else:

    @bench.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
    def elsewhere() -> None:
        """Measure retrieval and speed (from a checkout of the project only)."""
        raise NotFound(
            "The benchmarks are not in the package; clone the project's repository and run `make bench` there."
        )
