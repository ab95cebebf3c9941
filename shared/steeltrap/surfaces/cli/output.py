"""Where a command's words go: machines read JSON on stdout, people read what rich prints."""

import json
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import typer

from .exits import Exit

if TYPE_CHECKING:
    from rich.console import Console

Styled = tuple[str, str]
"""Words and the style that rich prints them in."""


def write_json(value: Any) -> None:
    """One line of JSON on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def complain(sentence: str) -> None:
    """One sentence on stderr."""
    sys.stderr.write(printable(sentence) + "\n")


def say(*parts: str | Styled, error: bool = False) -> None:
    """A line for people, printed as it is: no markup in it has a meaning, no control sequence gets through."""
    stream = sys.stderr if error else sys.stdout
    styled = [(part, "") if isinstance(part, str) else part for part in parts]
    if not stream.isatty():
        # Nobody sees styles in a pipe, and loading rich would cost a tenth of the time a command may take.
        stream.write("".join(printable(words) for words, _ in styled) + "\n")
        return
    from rich.text import Text

    terminal(error=error).print(Text.assemble(*((printable(words), style) for words, style in styled)))


@cache
def terminal(*, error: bool = False) -> "Console":
    """The terminal that stdout, or stderr, is."""
    from rich.console import Console

    return Console(stderr=error, highlight=False, markup=False, emoji=False)


_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "�")


def printable(content: str) -> str:
    """Without control characters: a stored escape sequence must not drive the reader's terminal."""
    return content.translate(_CONTROLS)


def confirm(question: str, *, otherwise: str) -> None:
    """Ask; leaves the command unless the answer is yes. `otherwise` says what a no means, without the full stop."""
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        complain(f"\n{otherwise}: there was no answer. Pass --yes to skip the question.")
        raise typer.Exit(Exit.OTHER) from None
    if not agreed:
        complain(f"{otherwise}.")
        raise typer.Exit(Exit.OTHER)


def confirm_forgetting(what: str) -> None:
    """Ask before something is erased for good; leaves the command unless the answer is yes."""
    complain(f"This permanently erases: {what}")
    confirm("Forget it?", otherwise="Nothing was forgotten")
