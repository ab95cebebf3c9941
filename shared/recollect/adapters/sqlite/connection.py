"""Opening a user's file, transactions on it, and the one map by which SQLite's errors cross over."""

import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw

from ...errors import Internal, RecollectError, Unavailable
from .schema import is_foreign, migrate

_log = logging.getLogger("recollect")

OPEN_SECONDS: Final = 10.0
CONNECTION_BYTES: Final = 64 * 1024
"""What an open connection holds, about: its page cache, the schema and prepared statements."""
READER_KIB: Final = 128
"""A thousand open users must fit: what is searched lies in the index, and the system caches the file."""
WRITER_KIB: Final = 512
"""Enough for the pages that every write touches: the ends of the tables and the roots of the indexes."""
Bindings = Sequence[Any] | Mapping[str, Any]
_PAUSE: Final = 0.005

_BUSY = "The memory store is busy; try again."
_MENDABLE: Final[dict[type[apsw.Error], str]] = {
    apsw.BusyError: _BUSY,
    apsw.LockedError: _BUSY,
    apsw.InterruptError: "The call took too long and was given up; try again.",
    apsw.FullError: "The disk is full: free some space, then try again.",
    apsw.NoMemError: "The machine is out of memory; try again.",
    apsw.ProtocolError: _BUSY,
}
_LASTING: Final[dict[type[apsw.Error], str]] = {
    apsw.CorruptError: "is damaged; restore it from a backup or an export. It was left as it is.",
    apsw.NotADBError: "is not a recollect database; move it away or restore it. It was left as it is.",
    apsw.CantOpenError: "can't be opened; check that the folder exists and may be written to.",
    apsw.ReadOnlyError: "may not be written to; check its permissions.",
    apsw.PermissionsError: "may not be read; check its permissions.",
    apsw.AuthError: "may not be read; check its permissions.",
    apsw.IOError: "can't be read or written; check the disk.",
    apsw.NoLFSError: "is too large for this file system.",
}
OURS: Final[tuple[type[apsw.Error], ...]] = (
    apsw.AbortError,
    apsw.BindingsError,
    apsw.ConnectionClosedError,
    apsw.ConnectionNotClosedError,
    apsw.ConstraintError,
    apsw.CursorClosedError,
    apsw.EmptyError,
    apsw.ExecTraceAbort,
    apsw.ExecutionCompleteError,
    apsw.ExtensionLoadingError,
    apsw.ForkingViolationError,
    apsw.FormatError,
    apsw.IncompleteExecutionError,
    apsw.InternalError,
    apsw.InvalidContextError,
    apsw.MismatchError,
    apsw.MisuseError,
    apsw.NoFTS5Error,
    apsw.NotFoundError,
    apsw.RangeError,
    apsw.SQLError,
    apsw.SchemaChangeError,
    apsw.ThreadingViolationError,
    apsw.TooBigError,
    apsw.VFSFileClosedError,
    apsw.VFSNotImplementedError,
)
"""What only a mistake in this adapter raises: Internal, with the cause in the log."""


@contextmanager
def crossing(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours; a file that is at fault is named."""
    try:
        yield
    except apsw.Error as error:
        raise translate(error, path) from error
    except PermissionError as error:
        raise Unavailable(
            f"The file {path.name} {_LASTING[apsw.PermissionsError]}", retryable=False, part="store"
        ) from error


def translate(error: apsw.Error, path: Path) -> RecollectError:
    """The error of ours that stands for one of SQLite's."""
    for kind, message in _MENDABLE.items():
        if isinstance(error, kind):
            return Unavailable(message, part="store")
    for kind, message in _LASTING.items():
        if isinstance(error, kind):
            return Unavailable(f"The file {path.name} {message}", retryable=False, part="store")
    # SQLite's messages name tables and columns; the values are bound, so that none is in them.
    _log.error("the memory store failed: %s: %s", type(error).__name__, error)
    return Internal("The memory store failed in an unexpected way; the log has the cause.")


def open_file(path: Path, *, cache_kib: int = READER_KIB) -> apsw.Connection:
    """A connection to a user's file, made and migrated where needed.

    WAL with synchronous=FULL: an acknowledged write survives a power cut. secure_delete overwrites what
    is deleted. May wait for the write lock of SQLite, so never call it where a writer could wait for the
    caller. Raises RecollectError.
    """
    deadline = time.monotonic() + OPEN_SECONDS
    with crossing(path):
        while True:
            new = not path.exists()
            connection = apsw.Connection(str(path))
            try:
                if new:
                    os.chmod(path, 0o600)  # before the log is made, which takes the mode of the file
                _prepare(connection, cache_kib)
                return connection
            except apsw.BusyError:
                connection.close()
                # Switching a new file to WAL ignores the busy timeout, so two first openers meet here.
                if time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)
            except ValueError as newer:
                connection.close()
                raise Unavailable(
                    f"The file {path.name} was written by a newer recollect ({newer}); upgrade.",
                    retryable=False,
                    part="store",
                ) from None
            except BaseException:
                connection.close()
                raise


def _prepare(connection: apsw.Connection, cache_kib: int) -> None:
    connection.set_busy_timeout(int(OPEN_SECONDS * 1000))
    if is_foreign(connection):
        raise apsw.NotADBError("a database of another program")
    if connection.pragma("journal_mode") != "wal":
        connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    connection.pragma("secure_delete", "on")
    connection.pragma("cache_size", -cache_kib)
    migrate(connection)


def select(connection: apsw.Connection, statement: str, values: Bindings = ()) -> list[tuple[Any, ...]]:
    """All rows of a query at once: no read transaction stays open behind it."""
    return connection.execute(statement, values).fetchall()


@contextmanager
def writing(connection: apsw.Connection, path: Path, timeout: float) -> Iterator[None]:
    """One transaction that takes the write lock at its start, within `timeout` seconds.

    A read that turns into a write would fail at once under contention, whatever the busy timeout.
    """
    with crossing(path):
        connection.set_busy_timeout(max(1, int(timeout * 1000)))
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
