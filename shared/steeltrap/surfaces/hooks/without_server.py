"""A hook without a running server: it opens the store itself, in its own process."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...runtime import local as runtime
from ...settings import read_settings
from . import answering


def answer(folder: str, event: str, asked: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
    """Answer an event by the store in a data folder; `tell` is given the answer as soon as there is one. Raises
    SteeltrapError, OSError."""
    logging.getLogger("steeltrap").addHandler(logging.NullHandler())
    settings = read_settings(data=Path(folder))
    door = runtime.open_door(settings)
    try:
        answering.answer(door, settings.user, settings.data, event, asked, tell=tell)
    finally:
        door.store.close()
