"""Files of JSON, and the ids of turns in them. Everything that can be wrong with one is an error that names it."""

import json
import re
from pathlib import Path
from typing import Any, Final

from steeltrap.errors import InvalidInput, NotFound

_TURN: Final = re.compile(r"D(\d+):(\d+)")


def text(path: Path) -> str:
    """A file's text. Raises NotFound or InvalidInput."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise NotFound(f"{path} can't be read ({error.strerror}).") from None
    except ValueError:
        raise InvalidInput(f"{path.name} is not text in UTF-8.") from None


def parsed(path: Path) -> Any:
    """A file's JSON. Raises NotFound or InvalidInput."""
    try:
        return json.loads(text(path))
    except ValueError:
        raise InvalidInput(f"{path.name} is not JSON.") from None


def turn_ids(text: str) -> list[str]:
    """The turns that a text names, in one spelling: some of LoCoMo have leading zeros, some stand several in a text."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _TURN.findall(text)]
