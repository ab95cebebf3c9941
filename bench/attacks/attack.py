"""An attack: something that one user does, beside which all others must be answered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .target import Target

HEADERS: Final = ("--auth", "headers")
KEYS: Final = ("--auth", "keys")


def _full(target: Target) -> None:
    target.fill()


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack: `prepare`, which isn't measured, then `run`. `options` are the server's.

    `prepare` usually gives the user 1,000 memories, of all kinds. An attack that is `whole` must be answered 200, all
    of it.
    """

    name: str
    run: Callable[[Target], object]
    prepare: Callable[[Target], object] = _full
    options: tuple[str, ...] = HEADERS
    whole: bool = False


def nothing(target: Target) -> None:
    """Prepare nothing."""
