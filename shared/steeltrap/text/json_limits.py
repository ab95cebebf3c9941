"""JSON that can be stored: how deep it may be, which values and keys, and the sentence that names the place of another.

Pure, and imports errors only: clients of a server ask too.
"""

from datetime import date
from typing import Final

from ..errors import InvalidInput

MAX_JSON_DEPTH: Final = 32
SHOWN: Final = 60
"""Characters of a text that a refusal quotes."""
_PATH_KEYS: Final = 4


def cut(text: str) -> str:
    """A text as a refusal quotes it, cut where it is long."""
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def check_text(name: str, text: str) -> None:
    """Whole Unicode characters and no NUL, which no store keeps. The door asks, and so do saves: files come past it."""
    if "\x00" in text:
        raise InvalidInput(f"`{name}` has a NUL character; leave it out.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"`{name}` has half of a surrogate pair; send whole Unicode characters.") from None


Path = tuple["Path", str] | tuple[()]
"""Where a value is: the path to what holds it, and its key or number there. Written out only for a refusal."""


def check_json(value: object, depth: int = 0, where: str = "") -> None:
    """Refuse what no store can keep: NaN, huge integers, half surrogates, NUL, deep nesting, keys that aren't text.

    `where` names the value; the sentence names the key within it, such as `metadata.order.number`.
    """
    _check_json(value, depth, ((), where) if where else ())


def _check_json(value: object, depth: int, path: Path) -> None:
    if depth > MAX_JSON_DEPTH:
        raise InvalidInput(f"`{_top(path)}` is nested more than {MAX_JSON_DEPTH} levels deep; flatten it.")
    if isinstance(value, str):
        if not value.isascii() or "\x00" in value:
            check_text(path_text(path), value)
    elif isinstance(value, float) and value - value != 0:
        raise InvalidInput(f"`{path_text(path)}` must be a finite number; leave it out, or send it as a string.")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidInput(f"`{path_text(path)}` must be an integer of at most 64 bits; send it as a string.")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInput(f"`{path_text(path)}` has a key that is not a string.")
            if not key.isascii() or "\x00" in key:
                check_text(path_text(path) or "arguments", key)
            _check_json(item, depth + 1, (path, key))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _check_json(item, depth + 1, (path, str(number)))
    elif value is not None and not isinstance(value, int | float | date):
        raise InvalidInput(f"`{path_text(path)}` has no form in JSON ({type(value).__name__}); give a plain value.")


def _top(path: Path) -> str:
    while path and path[0]:
        path = path[0]
    return cut(path[1]) if path else ""


def path_text(path: Path) -> str:
    """A path as it is told: its ends, where it is long."""
    keys: list[str] = []
    while path:
        keys.append(cut(path[1]))
        path = path[0]
    keys.reverse()
    return ".".join(keys if len(keys) <= _PATH_KEYS else [*keys[:2], "...", keys[-1]])
