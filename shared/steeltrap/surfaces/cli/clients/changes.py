"""The changes to a client's files: planned for all of them before one is written, and written whole."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from types import ModuleType
from typing import Final

from ....errors import Conflict, InvalidInput
from ....regular_files import read_regular
from . import json_text, toml_text
from .entries import Part

_BACKUP: Final = ".before-steeltrap"
_MAX_BYTES: Final = 64 * 1024 * 1024
"""Claude Code also keeps a history in its file."""


@dataclass(frozen=True, slots=True)
class Change:
    """The text of a file, None without one, and its text after the change; None takes the file away. `backup` is where
    the old text is kept, or None where it is not, because it has parts of steeltrap in it. `done_with` is a backup that
    the file is now equal to."""

    path: Path
    old: str | None
    new: str | None
    backup: Path | None = None
    done_with: Path | None = None

    def diff(self) -> str:
        """The change as a unified diff."""
        old, new = ((text or "").splitlines() for text in (self.old, self.new))
        return "\n".join(unified_diff(old, new, str(self.path), str(self.path), lineterm=""))


def to_install(parts: Sequence[Part]) -> list[Change]:
    """The changes after which each part is there. Raises InvalidInput and Conflict."""
    changes = []
    for part in parts:
        path, kind = _target(part), _kind(part)
        old = _read(path)
        new: str = kind.added(old or "", part)
        if new != old:
            is_first = old is not None and kind.removed(old, part, old) == old
            changes.append(Change(path, old, new, _beside(path) if is_first else None))
    return changes


def to_undo(parts: Sequence[Part]) -> list[Change]:
    """The changes after which no part is there: a file that was not edited since is again what it was before.
    Raises InvalidInput."""
    changes = []
    for part in parts:
        path, kind = _target(part), _kind(part)
        old, before = _read(path), _read(_beside(path))
        if old is None:
            continue
        new: str | None = kind.removed(old, part, before)
        if new == old:
            continue
        if kind.added(before or "", part) == old:
            new = before
        elif before is None and not (new or "").strip("{} \t\r\n"):
            new = None
        # The backup of a file that was edited since may still be wanted.
        changes.append(Change(path, old, new, done_with=_beside(path) if new == before else None))
    return changes


def write(changes: Sequence[Change]) -> None:
    """Write the changes, each file at once. Raises InvalidInput for a file that is read-only, Conflict for one that
    changed in the meantime, and OSError."""
    for change in changes:
        if change.old is not None and not change.path.stat().st_mode & 0o222:
            raise InvalidInput(f"{change.path} is read-only: make it writable first. Nothing was changed.")
    for change in changes:
        if _read(change.path) != change.old:
            raise Conflict(f"{change.path} was changed in the meantime; run the command again.")
        if change.backup is not None and change.old is not None:
            _replace(change.backup, change.old, change.path)
        if change.new is None:
            change.path.unlink()
        else:
            _replace(change.path, change.new, change.path)
        if change.done_with is not None:
            change.done_with.unlink(missing_ok=True)


def _target(part: Part) -> Path:
    """The file itself, where the path is a link to it."""
    return Path(os.path.realpath(part.path))


def _beside(path: Path) -> Path:
    return path.with_name(path.name + _BACKUP)


def _kind(part: Part) -> ModuleType:
    return toml_text if part.path.suffix == ".toml" else json_text


def _read(path: Path) -> str | None:
    try:
        return read_regular(path, _MAX_BYTES).decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"{path} can't be read ({error.strerror}). Nothing was changed.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is no UTF-8 text: correct it first. Nothing was changed.") from None


def _replace(path: Path, text: str, like: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
