"""Files of JSON. Everything that can be wrong with one is an error that names it."""

import json
from pathlib import Path
from typing import Any

from steeltrap.errors import InvalidInput, NotFound


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
