"""The last step of forgetting: a file without a byte of what was removed, also on a full disk."""

import os
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Final, TypeVar

import apsw

from ...errors import Unavailable
from ...ports import Deadline
from .connection import DiskFull

RESERVE_BYTES: Final = 8 * 1024 * 1024
"""Enough for the log of any forgetting but that of thousands of memories at once."""
_PLENTY: Final = 8
"""The reserve is made only while so many times its size is free, so that it never fills a disk."""


_T = TypeVar("_T")


class Reserve:
    """A file that is given up when the disk is full, and made again when there is plenty of room."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / ".reserve"

    def keep(self) -> None:
        """Make the file where it is missing. Never raises: without it, forgetting needs some room."""
        with suppress(OSError):
            if self._path.exists() or shutil.disk_usage(self._path.parent).free < _PLENTY * RESERVE_BYTES:
                return
            part = self._path.with_name(f"{self._path.name}-{token_hex(8)}")
            try:
                with open(part, "xb", opener=_private) as file:
                    # File systems that compress would keep no room for zeros.
                    file.write(token_bytes(RESERVE_BYTES))
                part.replace(self._path)
            finally:
                part.unlink(missing_ok=True)

    def with_room(self, forget: Callable[[], _T]) -> _T:
        """Forget, on a full disk in the room of the reserve. Raises DiskFull where that is not enough."""
        try:
            return forget()
        except DiskFull:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        try:
            return forget()
        except DiskFull as full:
            raise DiskFull(
                "The disk is full, so nothing was forgotten: free at least "
                f"{megabytes(RESERVE_BYTES)} on the disk of the data folder, then try again."
            ) from full


def megabytes(size: int) -> str:
    """A size, rounded up."""
    return f"{-(-size // (1024 * 1024))} MB"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


_PAUSE_MS: Final = 20


def scrub(connection: apsw.Connection, readers: threading.Lock, deadline: Deadline) -> None:
    """Rewrite the file, move the log into it and cut it.

    Deleting overwrites a row, but not the copies of it that page splits may have left in unallocated
    space. Rewriting takes 30 ms at 2,000 memories, 0.3 s at 10,000, 2.4 s at 100,000.
    Raises Unavailable when a reader in another process needs the log until the deadline, or the disk is too full.
    """
    connection.set_busy_timeout(max(1, int(deadline.before() * 1000)))
    try:
        _rewrite(connection, readers, deadline)
    except apsw.FullError as full:
        # A second copy of the file for SQLite to work in, and a third in the log.
        size = int(connection.pragma("page_count") * connection.pragma("page_size"))
        raise DiskFull(
            f"It is gone from every answer, but the disk is too full to rewrite the file: free {megabytes(2 * size)}, "
            "then call again to finish."
        ) from full


def _rewrite(connection: apsw.Connection, readers: threading.Lock, deadline: Deadline) -> None:
    try:
        connection.execute("VACUUM")
    except apsw.FullError:
        _cut_log(connection, readers, deadline)  # which leaves its room to the second try
        connection.execute("VACUUM")
    _cut_log(connection, readers, deadline)


def _cut_log(connection: apsw.Connection, readers: threading.Lock, deadline: Deadline) -> None:
    connection.set_busy_timeout(_PAUSE_MS)
    while True:
        with readers:  # our own reader would be in the way
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1, 0, 0)
        if not busy:
            return
        if not deadline.before():
            raise Unavailable(
                "It is gone from every answer, but another process still reads the old log: call again to finish.",
                part="store",
            )
