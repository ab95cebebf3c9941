"""A hook without a running server: it opens the store itself, in its own process."""

import logging
from pathlib import Path
from typing import Any

from ...runtime import local as runtime
from ...settings import read_settings
from .answering import answer


def answered(folder: str, event: str, asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to an event, by the store in a data folder. Raises SteeltrapError, OSError."""
    logging.getLogger("steeltrap").addHandler(logging.NullHandler())
    settings = read_settings(data=Path(folder))
    door = runtime.open_door(settings)
    try:
        return answer(door, settings.user, settings.data, event, asked)
    finally:
        door.store.close()
