"""steeltrap.toml: the settings that stay with a data folder, whichever program opens it.

A file of `name = value` lines. Values are read as the environment would have them, so that both are checked by the same
rules (`settings`). Comments, order and form of the file are kept when a value is written. Needs the standard library
alone to read: hooks do.
"""

import os
from datetime import date, time
from pathlib import Path
from typing import Any, Final

from .errors import InvalidInput
from .local_files import read_regular, replace_file

NAME: Final = "steeltrap.toml"
_MAX_BYTES: Final = 256 * 1024


def path_in(folder: str | Path) -> Path:
    return Path(folder) / NAME


def read(folder: str | Path) -> dict[str, str]:
    """The values by name, as text; empty without a file. Raises InvalidInput for a file that can't be read."""
    text = text_in(folder)
    if text is None:
        return {}
    import tomllib

    path = path_in(folder)
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid TOML: correct it ({error}), or remove it.") from None
    for name, value in values.items():
        if isinstance(value, (dict, list, date, time)):
            raise InvalidInput(f"`{name}` in {path} must be text, a number, true or false.")
    return {name: as_text(value) for name, value in values.items()}


def as_text(value: Any) -> str:
    """A value as the environment has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def text_in(folder: str | Path) -> str | None:
    """The file as it is, None without one. Raises InvalidInput for one that can't be read."""
    path = path_in(folder)
    try:
        return read_regular(path, _MAX_BYTES).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidInput(f"{path} can't be read ({error.strerror}): correct that, or remove it.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text: save it as UTF-8, or remove it.") from None


def changed(text: str | None, values: dict[str, str | int | float | bool | None]) -> str:
    """The file's text with these values; None takes a value out. The text was read by `text_in`."""
    import tomlkit

    document = tomlkit.parse(text or "")
    for name, value in values.items():
        if value is not None:
            document[name] = value
        elif name in document:
            del document[name]
    return tomlkit.dumps(document)


def write(folder: Path, text: str) -> None:
    """Write the file at once, so that only its owner can read it. Raises OSError."""
    path = Path(os.path.realpath(path_in(folder)))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, text)
