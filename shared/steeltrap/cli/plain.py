"""The two commands that are typed most, `--help` and `recall`, without Typer.

Importing Typer takes longer than all else that help needs, and with its checks of each option as long as a third of a
search. Everything else goes through it (`app`), and so does a `recall` that is wrong or unusual in any way. Tests
compare both ways.
"""

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from .session import Exit, explained, opened

HELP: Final = Path(__file__).with_name("help.txt")
"""The help on a terminal of 80 columns or more. `make docs` writes it."""
OPTIONS: Final = Path(__file__).with_name("recall.json")
"""The options of `recall` as Typer knows them: the parameter of each, its type, and the bounds of a number. `make docs`
writes it."""
_TYPES: Final[Mapping[str, Any]] = {"bool": bool, "int": int, "str": str, "Path": Path, "list": list}
_PLACE: Final = ("data", "user", "agent", "conversation")
"""The parameters that say which memories are searched, and who asks."""
_COLUMNS: Final = 80
"""Help is no wider; on a narrower terminal, its lines are broken elsewhere."""


def run(arguments: Sequence[str]) -> bool:
    """Run a command line of these forms; False, with nothing done, for any other. Raises SystemExit."""
    match arguments:
        case ["--help"] if _is_wide():
            sys.stdout.write(HELP.read_text("utf-8"))
        case ["recall", *words] if (parameters := recall_parameters(words)) is not None:
            _recall(**parameters)
        case _:
            return False
    return True


def recall_parameters(words: Sequence[str]) -> dict[str, Any] | None:
    """The parameters of `recall` that Typer would read from the words; None where only Typer can tell."""
    if not all(map(_is_taken_as_typed, words)):
        return None
    parameters: dict[str, Any] = {}
    options = _options() if any(word.startswith("-") for word in words) else {}
    left = iter(words)
    for word in left:
        name, kind, value = "query", "str", word
        if word.startswith("-"):
            option, equals, value = word.partition("=")
            row = options.get(option, {"name": "", "type": ""})
            name, kind = row["name"], row["type"]
            if not equals:
                value = "True" if kind == "bool" else next(left, "")
            if not value or value.startswith("-") or (equals and kind == "bool"):
                return None
            if kind == "int" and value not in map(str, range(row["min"], row["max"] + 1)):
                return None
        if kind not in _TYPES or (name in parameters and kind != "list"):
            return None
        parameters[name] = [*parameters.get(name, ()), value] if kind == "list" else _TYPES[kind](value)
    return parameters if "query" in parameters else None


def _options() -> dict[str, Any]:
    import json

    options: dict[str, Any] = json.loads(OPTIONS.read_text("utf-8"))
    return options


def _is_wide() -> bool:
    """Whether help needn't be broken for this terminal, by the rule of Typer."""
    if "COLUMNS" in os.environ:
        return False
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else -1).columns >= _COLUMNS
    except (OSError, ValueError):
        return True  # a pipe or a file


def _is_taken_as_typed(word: str) -> bool:
    """Whether a word is the same after all that Typer does with words."""
    return word.isprintable() and sys.platform != "win32"  # there, it expands `*`


def _recall(**parameters: Any) -> NoReturn:
    """Search, and end the process without the interpreter's clean-up, which takes as long as a tenth of all."""
    gc.disable()  # the process ends in a moment
    # A search multiplies little, and NumPy's library for matrices would start threads that first wait busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from . import recalling

    place = {name: parameters.pop(name) for name in _PLACE if name in parameters}
    try:
        with explained(), opened(**place) as memory:
            recalling.recall_plainly(memory, **parameters)
            is_local = memory.settings.store_kind == "sqlite"
        sys.stdout.flush()
    except BrokenPipeError:
        raise SystemExit(Exit.OTHER) from None
    if not is_local:
        raise SystemExit(Exit.OK)  # a connection may have to be closed
    os._exit(Exit.OK)
