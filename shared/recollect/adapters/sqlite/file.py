"""One user's open file: a connection to read by, one to write by, and the index over it.

Readers and writers don't wait for each other; two readers of one user do, for well under a millisecond.
Locks are taken in one order: to flush, to write or to open, SQLite's own, to read. So nothing waits for SQLite's
write lock while it holds the lock to read, which a writer may want.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Final

import apsw

from ...errors import Conflict, RecollectError, Unavailable
from ...ports import UserRef
from ..reading import UsageBuffer
from .connection import CONNECTION_BYTES, OPEN_SECONDS, WRITER_KIB, crossing, open_file, writing
from .index import Index
from .schema import TABLES
from .usage import write as write_usage

_log = logging.getLogger("recollect")

DESCRIPTORS: Final = 6
"""What an open file costs at most: two connections, each with the database and its log, and shared memory."""


_PAUSE_MS: Final = 20
_FLUSH_SECONDS: Final = 1.0


class UserFile:
    """Made without touching the disk; the file comes to be with the first write."""

    def __init__(self, path: Path, user: UserRef, embedder: str, dimension: int) -> None:
        self.path = path
        self.user = user
        self.embedder = embedder
        self.dimension = dimension
        self._reader: apsw.Connection | None = None
        self._writer: apsw.Connection | None = None
        self._read_lock = threading.RLock()
        self._open_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._flush_lock = threading.Lock()
        self._index = Index(dimension)
        self._data_version = -1
        self._changes_before = 0
        self._checked = False
        self.usage = UsageBuffer()

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection | None]:
        """The reading connection, or None while the user has no file."""
        while True:
            with self._read_lock, crossing(self.path):
                if self._reader is not None or not self.path.exists():
                    if self._reader is not None and not self._checked:
                        self._checked = self._check_embedder(self._reader)
                    yield self._reader
                    return
            self._open_reader()

    @contextmanager
    def searching(self) -> Iterator[tuple[apsw.Connection, Index] | None]:
        """The reading connection and an index that has all that is committed, or None without a file."""
        with self.reading() as connection:
            if connection is None:
                yield None
                return
            version = connection.execute("PRAGMA data_version").get
            if version != self._data_version:
                self._checked = self._check_embedder(connection)
                self._index.refresh(connection)
                self._data_version = version
            yield connection, self._index

    @contextmanager
    def writing(self, timeout: float) -> Iterator[tuple[apsw.Connection, int]]:
        """A transaction, with the number that its changes get; all of it is durable at the end."""
        if not self._write_lock.acquire(timeout=timeout):
            raise Unavailable("The memory store is busy; try again.", part="store")
        try:
            connection = self._open_writer()
            with writing(connection, self.path, timeout):
                change = self._begin(connection)
                self._changes_before = connection.total_changes()
                yield connection, change
                connection.execute("UPDATE meta SET value = ? WHERE key = 'change'", (change,))
        finally:
            self._write_lock.release()

    @contextmanager
    def rewriting(self) -> Iterator[apsw.Connection]:
        """A transaction over the whole file, whichever embedder made its vectors."""
        with self._write_lock:
            connection = self._open_writer()
            with writing(connection, self.path, OPEN_SECONDS):
                yield connection

    @contextmanager
    def index_under_lock(self, connection: apsw.Connection) -> Iterator[Index]:
        """The index as of a transaction that holds the write lock: nothing can change beside it.

        What the transaction itself has written goes into an index of its own: it may be rolled back.
        """
        with self._read_lock:
            unwritten = connection.total_changes() == self._changes_before
            index = self._index if unwritten else Index(self.dimension)
            index.refresh(connection)
            yield index

    def wipe(self, timeout: float) -> bool:
        """Remove everything, the user's name too; the file stays as an empty shell.

        It is emptied, not unlinked: a handle that another process holds then writes into a fresh space,
        where a write to an unlinked file would be acknowledged and lost. False when it was empty.
        """
        self.usage.take()
        if not self.path.exists():
            return False
        with self._write_lock:
            connection = self._open_writer()
            with writing(connection, self.path, timeout):
                [(there,)] = connection.execute("SELECT count(*) FROM meta")
                for table in TABLES:
                    connection.execute(f"DELETE FROM {table}")
        self.scrub(timeout)
        return bool(there)

    def scrub(self, timeout: float) -> None:
        """Rewrite the file, move the log into it and cut it, so that no byte of what was removed is left.

        Deleting overwrites a row, but not the copies of it that page splits may have left in unallocated
        space. Rewriting takes 30 ms at 2,000 memories, 0.3 s at 10,000, 2.4 s at 100,000.
        Raises Unavailable when a reader in another process needs the log for all of `timeout`.
        """
        ends = time.monotonic() + timeout
        with self._write_lock, crossing(self.path):
            connection = self._open_writer()
            connection.set_busy_timeout(max(1, int(timeout * 1000)))
            connection.execute("VACUUM")
            connection.set_busy_timeout(_PAUSE_MS)
            while not self._cut_log(connection):
                if time.monotonic() > ends:
                    raise Unavailable(
                        "It is gone from every answer, but another process still reads the old log: call again to "
                        "finish.",
                        part="store",
                    )

    def flush_usage(self) -> None:
        """Write down what was read. What can't be written is dropped: reading statistics are best effort."""
        try:
            # Who comes second waits until the first has written what it took.
            with self._flush_lock, crossing(self.path):
                if not self.usage or not self.path.exists():
                    return
                pending = self.usage.take()
                with self._write_lock:
                    connection = self._open_writer()
                    with writing(connection, self.path, _FLUSH_SECONDS):
                        write_usage(connection, pending)
        except (RecollectError, OSError) as error:
            _log.warning("reading statistics were not kept: %s", error)

    def memory(self) -> int:
        """Bytes held, about: the index and what the connections cache."""
        connections = (self._reader is not None) + (self._writer is not None)
        return self._index.memory() + connections * CONNECTION_BYTES

    def close(self) -> None:
        self.flush_usage()
        with self._write_lock, self._read_lock:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    connection.close()
            self._reader = self._writer = None
            self._index = Index(self.dimension)
            self._data_version = -1
            self._checked = False

    @property
    def is_open_to_write(self) -> bool:
        """Whether it was written since it was opened."""
        return self._writer is not None

    def _open_reader(self) -> None:
        # Not under the lock to read: making or migrating a file waits for SQLite's write lock, whose holder
        # may want to look into the index.
        with self._open_lock:
            if self._reader is None:
                connection = open_file(self.path)
                with self._read_lock:
                    self._reader = connection

    def _cut_log(self, connection: apsw.Connection) -> bool:
        with self._read_lock:  # our own reader would be in the way
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1, 0, 0)
        return busy == 0

    def _open_writer(self) -> apsw.Connection:
        if self._writer is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise Unavailable(
                    f"The data folder can't be made ({error.strerror}): set RECOLLECT_DATA to a folder that may be "
                    "written to.",
                    retryable=False,
                    part="store",
                ) from error
            self._writer = open_file(self.path, cache_kib=WRITER_KIB)
        return self._writer

    def _begin(self, connection: apsw.Connection) -> int:
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        if "generation" not in meta:
            # A new file, or one that was wiped: a fresh space begins.
            meta = {
                "generation": token_hex(8),
                "change": 0,
                "user_id": self.user.user_id,
                "tenant": self.user.tenant,
                "embedder": self.embedder,
                "dimension": self.dimension,
            }
            connection.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", meta.items())
        self._refuse_other_embedder(meta)
        return int(meta["change"]) + 1

    def _check_embedder(self, connection: apsw.Connection) -> bool:
        meta = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('embedder', 'dimension')"))
        if meta:
            self._refuse_other_embedder(meta)
        return bool(meta)

    def _refuse_other_embedder(self, meta: dict[str, object]) -> None:
        stored = (meta["embedder"], meta["dimension"])
        if stored != (self.embedder, self.dimension):
            raise Conflict(
                f"These memories were embedded by {stored[0]} ({stored[1]} dimensions), and this is {self.embedder} "
                f"({self.dimension}). Go back to that embedder, or run `recollect reembed` to embed them anew.",
                part="embedder",
            )
