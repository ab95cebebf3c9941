"""The paths of files that are memories: their one form, and the scope that follows from a path.

A path begins with `/memories`. The directories are the scope, so that a search or a list can be narrowed to them. Pure;
raises InvalidInput.
"""

import unicodedata
from typing import Final

from ..errors import InvalidInput
from .limits import MAX_SCOPE_CHARACTERS, MAX_SCOPE_DEPTH, is_name

ROOT: Final = "/memories"
MAX_PATH_BYTES: Final = 1024
MAX_PATH_DEPTH: Final = 20
_SCOPE: Final = "memories"
_UNPRINTABLE: Final = ("Cc", "Cs", "Zl", "Zp")
_UNITS: Final = "BKMG"


def resolved(path: str) -> str:
    """A path in its one form: NFC, no empty parts, `.` and `..` resolved.

    Raises InvalidInput for a path outside of `/memories`, one of more than 1,024 bytes or 20 levels, and one with line
    breaks or other control characters.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidInput(f"Path must start with {ROOT}, got: {path}")
    if any(unicodedata.category(char) in _UNPRINTABLE for char in path):
        raise InvalidInput("A path has no line breaks or other control characters; leave them out.")
    parts: list[str] = []
    for part in unicodedata.normalize("NFC", path).split("/")[2:]:
        if part == ".." and not parts:
            raise InvalidInput(f"Path {path} would escape {ROOT} directory")
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    whole = "/".join([ROOT, *parts])
    if len(whole.encode()) > MAX_PATH_BYTES or len(parts) > MAX_PATH_DEPTH:
        raise InvalidInput(
            f"A path has at most {MAX_PATH_BYTES:,} bytes and {MAX_PATH_DEPTH} levels; use a shorter one."
        )
    return whole


def directory_scope(path: str) -> str:
    """The scope of a directory. Characters that no scope has become `_`, and a deep path ends early: so the files of
    a directory are all in its scope or below, but other files may be there too."""
    scope = _SCOPE
    for part in path.removeprefix(ROOT).split("/")[1:MAX_SCOPE_DEPTH]:
        longer = f"{scope}/{_scope_name(part)}"
        if len(longer) > MAX_SCOPE_CHARACTERS:
            break
        scope = longer
    return scope


def file_scope(path: str) -> str:
    """The scope of a file: that of its directory."""
    return directory_scope(parent(path))


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def parents(path: str) -> list[str]:
    """The directories between `/memories` and a path."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(3, len(parts))]


def _scope_name(part: str) -> str:
    name = "".join(char if is_name(f"a{char}") else "_" for char in part)
    return name if is_name(name) else f"_{name}"


def size_text(size: int) -> str:
    """A number of bytes as a listing shows it: 0B, 1.5K, 2M."""
    unit = 0 if size == 0 else min((size.bit_length() - 1) // 10, len(_UNITS) - 1)
    number = size / 1024**unit
    return f"{number:.0f}{_UNITS[unit]}" if number == int(number) else f"{number:.1f}{_UNITS[unit]}"
