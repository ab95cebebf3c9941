"""The last step of forgetting: a file without a byte of what was removed."""

import threading
from typing import Final

import apsw

from ...errors import Unavailable
from ...ports import Deadline
from .connection import DiskFull
from .reserve import megabytes

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
