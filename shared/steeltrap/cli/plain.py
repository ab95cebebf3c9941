"""The two forms of the command line that are typed most, `--help` and `recall QUERY`, without Typer.

Importing Typer takes longer than all else that help needs, and with its checks of each option as long as a third of a
search. Everything else goes through it (`app`), `recall` with options too. A test compares both ways.
"""

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from .session import Exit, explained, opened

HELP: Final = Path(__file__).with_name("help.txt")
"""The help on a terminal of 80 columns or more. `make docs` writes it."""
_COLUMNS: Final = 80
"""Help is no wider; on a narrower terminal, its lines are broken elsewhere."""


def run(arguments: Sequence[str]) -> bool:
    """Run a command line of these forms; False, with nothing done, for any other. Raises SystemExit."""
    match arguments:
        case ["--help"] if _is_wide():
            sys.stdout.write(HELP.read_text("utf-8"))
        case ["recall", query] if _is_taken_as_typed(query):
            _recall(query)
        case _:
            return False
    return True


def _is_wide() -> bool:
    """Whether help needn't be broken for this terminal, by the rule of Typer."""
    if "COLUMNS" in os.environ:
        return False
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else -1).columns >= _COLUMNS
    except (OSError, ValueError):
        return True  # a pipe or a file


def _is_taken_as_typed(query: str) -> bool:
    """Whether a word is no option, and the same after all that Typer does with words."""
    return not query.startswith("-") and query.isprintable() and sys.platform != "win32"  # there, it expands `*`


def _recall(query: str) -> NoReturn:
    """Search, and end the process without the interpreter's clean-up, which takes as long as a tenth of all."""
    gc.disable()  # the process ends in a moment
    # A search multiplies little, and NumPy's library for matrices would start threads that first wait busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from . import recalling

    try:
        with explained(), opened() as memory:
            recalling.recall_plainly(memory, query)
            is_local = memory.settings.store_kind == "sqlite"
        sys.stdout.flush()
    except BrokenPipeError:
        raise SystemExit(Exit.OTHER) from None
    if not is_local:
        raise SystemExit(Exit.OK)  # a connection may have to be closed
    os._exit(Exit.OK)
