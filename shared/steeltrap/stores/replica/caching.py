"""Files of a cache that processes share: who has one open holds it, and only what nobody holds is removed.

SQLite finds a file's log by its name. If a file were removed that another process has open, and made again, the log of
one could be read as that of the other.
"""

import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ...errors import Unavailable
from ..data_folder import hold, release
from ..sqlite.opening import Identity

_TRIES: Final = 50
_PAUSE: Final = 0.02
_DAMAGED: Final = "-damaged"
BEHIND: Final = datetime.fromtimestamp(0, UTC)
"""When a file was at the end of its log last, where it lacks an entry of its own."""


def hold_open(path: Path) -> int | None:
    """Hold a file that is about to be opened, until the descriptor is closed. None where a system has no such locks.

    Raises Unavailable while it is being removed.
    """
    marker = _marker(path)
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):  # the cache was removed: whoever makes a file makes its folder
            _make(marker)
        try:
            descriptor = hold(marker)
        except Unavailable:
            time.sleep(_PAUSE)
            continue
        if descriptor is None or _is_at(marker, descriptor):
            return descriptor
        release(descriptor)  # it was removed between its making and its lock
    raise Unavailable("The cache is being cleared; try again.", part="store")


def hold_made(path: Path) -> int | None:
    """Hold a file that processes may have open, as `hold_open`, but make nothing. None where none has opened it yet.

    Raises Unavailable while it is being removed.
    """
    try:
        return hold(_marker(path))
    except Unavailable as error:
        raise Unavailable("The cache is being cleared; try again.", part="store") from error


def discard(path: Path) -> bool:
    """Remove a file from the cache. False where another process has it open."""
    marker = _marker(path)
    with suppress(OSError):
        _make(marker)
        try:
            descriptor = hold(marker, alone=True)
        except Unavailable:
            return False
        try:
            if descriptor is not None and not _is_at(marker, descriptor):
                return False
            remove_file(path)
            marker.unlink(missing_ok=True)
            return True
        finally:
            release(descriptor)
    return False


def remove_file(path: Path) -> None:
    """Remove a replica's file, what SQLite keeps beside it, and the note that it is damaged."""
    for suffix in ("", "-wal", "-shm", _DAMAGED):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def note_current(path: Path, at: datetime) -> None:
    """Note that a file was at the end of its log at a time, for all processes that share the cache."""
    with suppress(OSError):
        os.utime(_marker(path), (at.timestamp(), at.timestamp()))


def note_behind(path: Path) -> None:
    """Note that a file lacks an entry that a call of this machine has created, until `note_current`."""
    note_current(path, BEHIND)


def current_at(path: Path) -> datetime | None:
    """When a file was at the end of its log last; None where that isn't known."""
    with suppress(OSError):
        return datetime.fromtimestamp(_marker(path).stat().st_mtime, UTC)
    return None


def note_damaged(path: Path, file: Identity, n: int) -> None:
    """Note that a file is damaged, for whichever process uses it next, and up to which entry it had come."""
    with suppress(OSError):
        note = _damage_note(path)
        _make(note)
        note.write_text(f"{file!r} {n}")


def forget_damage(path: Path) -> None:
    """Remove the note of a file that is no longer there: the next one may get the number of its inode."""
    with suppress(OSError):
        _damage_note(path).unlink()


def noted_damage(path: Path, file: Identity) -> int | None:
    """Up to which entry a file had come, at least, that was noted as damaged; None for one that was not."""
    with suppress(OSError):
        of, _, n = _damage_note(path).read_text().rpartition(" ")
        if of == repr(file) and n.isdecimal():
            return int(n)
    return None


def _make(marker: Path) -> None:
    """Make a marker that isn't there. One that is keeps its time."""
    os.close(os.open(marker, os.O_RDWR | os.O_CREAT, 0o600))


def _marker(path: Path) -> Path:
    return path.with_name(f"{path.name}-open")


def _damage_note(path: Path) -> Path:
    return path.with_name(path.name + _DAMAGED)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        named_file, open_file = os.stat(path), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return (named_file.st_dev, named_file.st_ino) == (open_file.st_dev, open_file.st_ino)
