"""Transactions on a user's file, and the map from SQLite's errors to ours."""

import errno
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw

from ...errors import Internal, SteeltrapError, TooManyFiles, Unavailable
from ...local_files import is_full

_log = logging.getLogger("steeltrap")

OPEN_SECONDS: Final = 10.0
CONNECTION_BYTES: Final = 64 * 1024
"""The bytes that an open connection holds, about: its page cache, the schema and prepared statements."""
Bindings = Sequence[Any] | Mapping[str, Any]

DISK_FULL = "The disk is full: free some space, then try again."
_READ_ONLY: Final = (
    "The disk is read-only: find the reason in the system's log, make the disk writable again, then try again."
)
_BUSY = "The memory store is busy; try again."
_MENDABLE: Final[dict[type[apsw.Error], str]] = {
    apsw.BusyError: _BUSY,
    apsw.LockedError: _BUSY,
    apsw.InterruptError: "The call took too long and was stopped; try again.",
    apsw.FullError: DISK_FULL,
    apsw.NoMemError: "The machine is out of memory; try again.",
    apsw.ProtocolError: _BUSY,
}
_DAMAGED = "is damaged and was left as it is: run `steeltrap doctor`, then restore it from a backup or an export."
_PERMANENT: Final[dict[type[apsw.Error], str]] = {
    apsw.CorruptError: _DAMAGED,
    apsw.NotADBError: "is not a steeltrap database; move it away or restore it. It was left as it is.",
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
"""Errors that only a mistake in this store raises: Internal, with the cause in the log."""


class DamagedFile(Unavailable):
    """A file has other bytes than were written to it."""

    def __init__(self, message: str, *, retryable: bool = False, part: str = "store", **facts: Any) -> None:
        super().__init__(message, retryable=retryable, part=part, **facts)


class DiskFull(Unavailable):
    """There is no room left on the disk."""

    def __init__(self, message: str = DISK_FULL, *, part: str = "store", **facts: Any) -> None:
        super().__init__(message, part=part, **facts)


class translated:
    """Turn SQLite's errors into ours; a file that is at fault is named."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.Error | UnicodeDecodeError):
            raise translate(error, self._path) from error
        if isinstance(error, OSError):
            raise _of_system(error, self._path) from error


def _of_system(error: OSError, path: Path) -> Unavailable:
    if is_full(error):
        return DiskFull()
    if TooManyFiles.are_behind(error):
        return TooManyFiles()
    if error.errno == errno.EROFS:
        return Unavailable(_READ_ONLY, part="store")
    reason = (
        _PERMANENT[apsw.PermissionsError]
        if isinstance(error, PermissionError)
        else f"can't be used ({error.strerror}); check the disk."
    )
    return Unavailable(f"The file {path.name} {reason}", retryable=False, part="store")


def translate(error: apsw.Error | UnicodeDecodeError, path: Path) -> SteeltrapError:
    """The error of ours that stands for one of SQLite's, or for a text whose bytes are damaged."""
    if isinstance(error, UnicodeDecodeError):
        return DamagedFile(f"The file {path.name} {_DAMAGED}")
    if isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
        return DiskFull()
    for kind, message in _MENDABLE.items():
        if isinstance(error, kind):
            return Unavailable(message, part="store")
    for kind, message in _PERMANENT.items():
        if isinstance(error, kind):
            if isinstance(error, _OF_SYSTEM) and (cause := _system_fault(error, path)) is not None:
                return _of_system(cause, path)
            fault = DamagedFile if kind in (apsw.CorruptError, apsw.NotADBError) else Unavailable
            return fault(f"The file {path.name} {message}", retryable=False, part="store")
    # SQLite's messages name tables and columns; the values are bound, so that none is in them.
    _log.error("the memory store failed: %s: %s", type(error).__name__, error)
    return Internal("The memory store failed in an unexpected way; the log has the cause.")


_OF_SYSTEM: Final = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError)


def _system_fault(error: apsw.Error, path: Path) -> OSError | None:
    """The fault that keeps every file from being opened or written to, since SQLite doesn't tell it from a fault of the
    file."""
    nearest_folder = next(folder for folder in path.parents if folder.is_dir())
    if hasattr(os, "statvfs") and os.statvfs(nearest_folder).f_flag & os.ST_RDONLY:
        return OSError(errno.EROFS, os.strerror(errno.EROFS))
    if lacks_descriptors(error, path):
        return OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return None


def lacks_descriptors(error: apsw.Error, path: Path) -> bool:
    """Whether a file can't be opened, or only to be read, although nothing is wrong with it: the process has too many
    open."""
    if not isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError):
        return False
    if not path.exists() or not os.access(path.parent, os.W_OK | os.X_OK):
        return False
    together = (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm"))
    return all(each.is_file() and os.access(each, os.R_OK | os.W_OK) for each in together if each.exists())


def select(connection: apsw.Connection, statement: str, values: Bindings = ()) -> list[tuple[Any, ...]]:
    """All rows of a query at once: no read transaction stays open behind it."""
    return connection.execute(statement, values).fetchall()


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """One transaction that takes the write lock at its start, and is rolled back when its body raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def writing(connection: apsw.Connection, path: Path, timeout: float) -> Iterator[None]:
    """One transaction that takes the write lock at its start, within `timeout` seconds.

    A read that turns into a write would fail at once under contention, whatever the busy timeout.
    """
    with translated(path):
        connection.set_busy_timeout(max(1, int(timeout * 1000)))
        with transaction(connection):
            yield
