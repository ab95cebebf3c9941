"""A folder of data that is made at most once: if it goes away later, that is an error and not an empty place."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from ..errors import Unavailable

_NO_WAITING: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Opening a pipe would wait for its other end."""


def require_process(opened_in: int) -> None:
    """Raise Unavailable in a process that was forked from the one in which something was opened: there are none of its
    threads, locks stay held, and SQLite loses its own."""
    if os.getpid() != opened_in:
        raise Unavailable(
            "This process was forked from one that had the memories open, and can't use what that one opened: start "
            "processes by spawn, or open the memories after the fork.",
            retryable=False,
            part="store",
        )


class NotRegular(Exception):
    """In place of a file there is a link, a pipe, a device or a folder, or there is a link in its path."""


def open_regular(folder: Path, name: str) -> BinaryIO:
    """Open a regular file below a folder for reading. Raises NotRegular, OSError."""
    *above, last = name.split("/")
    path = folder
    for part in above:
        path = path / part
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise NotRegular(path)
    if not stat.S_ISREG(os.lstat(path / last).st_mode):  # a device may act when it is opened
        raise NotRegular(path / last)
    try:
        descriptor = os.open(path / last, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | _NO_WAITING)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotRegular(path / last) from None
        raise
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise NotRegular(path / last)
    return file


class DataFolder:
    """Folders that are made are open to their owner only; those that are there stay as they are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._was_there = os.path.isdir(path)

    def make(self) -> None:
        """Make the folder, unless it was there before. Raises Unavailable."""
        self.require()
        if not self._was_there:
            try:
                _make_private(self.path)
            except OSError as error:
                raise Unavailable(
                    f"The data folder can't be created ({error.strerror}): `steeltrap config` shows which one that is; "
                    "set STEELTRAP_DATA to a folder that can be written to.",
                    retryable=False,
                    part="store",
                ) from error
            self._was_there = True

    def removed(self, path: Path) -> Unavailable:
        """The error for a file of the folder that was removed while it was open."""
        return Unavailable(
            f"The file {path.name} was removed while it was in use: put it back, or restart to begin with an empty "
            "one.",
            retryable=False,
            part="store",
        )

    def require(self) -> None:
        """Raises Unavailable when the folder was there before and is gone."""
        was_there = self._was_there  # read first: another thread may make the folder during the look
        if os.path.isdir(self.path):
            self._was_there = True
        elif was_there:
            raise Unavailable(
                "The data folder was removed, or its disk was unmounted, while it was in use: put it back, or restart "
                "to begin with an empty one.",
                retryable=False,
                part="store",
            )


def _make_private(folder: Path) -> None:
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def hold(folder: Path, *, alone: bool = False) -> int | None:
    """Tell other processes that this one uses an existing folder, until the descriptor is closed.

    None where that can't be told. Raises Unavailable while others use it and either side wants to be alone.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        reason = "is used by a server or by another command: stop it first" if alone else "is being restored; try again"
        raise Unavailable(f"The data folder {reason}.", part="store") from error
    except OSError:
        os.close(descriptor)  # a file system without such locks
        return None
    return descriptor


def release(descriptor: int | None) -> None:
    """Use a folder no longer, where that could be told."""
    if descriptor is not None:
        os.close(descriptor)


@contextmanager
def held(folder: Path, *, alone: bool = False) -> Iterator[None]:
    """Hold a folder, if it is there, while the block runs. Raises Unavailable."""
    descriptor = hold(folder, alone=alone) if folder.is_dir() else None
    try:
        yield
    finally:
        release(descriptor)
