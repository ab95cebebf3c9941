"""Opening a user's file, knowing whether it is still the file at its path, and making its words again where an earlier
version of the rules chose them.

Vectors stay, and so does a memory whose words are the same. What is done is kept block by block, so that the next
opening goes on where one ended.
"""

import logging
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Protocol

import apsw

from ...errors import Unavailable
from ...model.frozen import frozen
from ...record import from_image
from ...text.words import WORDS_AS_TODAY_SINCE, WORDS_VERSION, indexed_words
from .connection import OPEN_SECONDS, lacks_descriptors, select, transaction, translated
from .header import read_meta, remove_meta, write_meta
from .records import to_terms
from .schema import MIGRATIONS, is_foreign, migrate

SECONDS: Final = 10.0
"""How long one opening makes words: callers wait for it, and each may wait no longer than for a lock."""
_BLOCK: Final = 1000
_REACHED: Final = "words_reached"
"""The key in `meta` of the row number up to which the words are made."""

_log = logging.getLogger("steeltrap")


def reword(connection: apsw.Connection, path: Path) -> None:
    """Bring the words of a file to those of today. Raises Unavailable, to be called again, when that takes long."""
    end = time.monotonic() + SECONDS
    try:
        while (reached := _reached(connection)) is not None:
            _make(connection, reached)
            if time.monotonic() > end and (reached := _reached(connection)) is not None:
                raise _unfinished(connection, path, reached)
    except apsw.FullError:
        # Reading and forgetting work on a full disk too.
        _log.warning("The disk is full, so memories in %s may not be found by words whose rules changed.", path.name)


def _reached(connection: apsw.Connection) -> int | None:
    """Up to which row number the words are made; None when all are, or there are none."""
    meta = read_meta(connection)
    if "change" not in meta or meta.get("words_version", 0) >= WORDS_AS_TODAY_SINCE:
        return None
    # What another version began is begun again.
    version, _, row = str(meta.get(_REACHED, "")).partition(":")
    return int(row) if version == str(WORDS_VERSION) else 0


def _make(connection: apsw.Connection, after: int) -> None:
    """Make the words of the next block, and keep how far that is."""
    block = select(
        connection,
        "SELECT n, image, terms FROM memory JOIN search USING (n) WHERE n > ? ORDER BY n LIMIT ?",
        (after, _BLOCK),
    )
    rows = [(to_terms(indexed_words(from_image(image))), n, terms) for n, image, terms in block]
    updates = [row for row in rows if row[0] != row[2]]
    with transaction(connection):
        meta = read_meta(connection)
        if "change" not in meta:  # the file was emptied meanwhile
            return
        if updates:
            _keep(connection, updates, int(meta["change"]) + 1)
        if len(block) == _BLOCK:
            write_meta(connection, {_REACHED: f"{WORDS_VERSION}:{block[-1][0]}"})
        else:
            write_meta(connection, {"words_version": WORDS_VERSION})
            remove_meta(connection, _REACHED)


def _keep(connection: apsw.Connection, updates: Sequence[tuple[bytes, int, bytes]], number: int) -> None:
    """Put new words in place as a change of its own number, so that every open index takes them in."""
    for terms, n, before in updates:
        connection.execute("UPDATE search SET terms = ? WHERE n = ? AND terms = ?", (terms, n, before))
        if connection.changes():  # else another process wrote it meanwhile
            connection.execute("UPDATE memory SET change = ? WHERE n = ?", (number, n))
    write_meta(connection, {"change": number})


def _unfinished(connection: apsw.Connection, path: Path, reached: int) -> Unavailable:
    count, total = connection.execute(
        "SELECT count(*) FILTER (WHERE n <= ?), count(*) FROM search", (reached,)
    ).fetchone() or (0, 0)
    return Unavailable(
        f"After the upgrade the words of the memories in {path.name} are made again: {count:,} of {total:,} are "
        "done; try again to go on.",
        part="store",
    )


READER_KIB: Final = 128
"""A thousand open users must fit: what is searched is in the index, and the system caches the file."""
WRITER_KIB: Final = 512
"""Enough for the pages that every write touches: the ends of the tables and the roots of the indexes."""
_PAUSE: Final = 0.005
_LOG_SECONDS: Final = 1.0
_DESCRIPTOR_SECONDS: Final = 2.0
_INSPECTION_MS: Final = 10_000

Identity = tuple[int, int]

# Closing a file drops the process's POSIX locks on it, those of other connections too. So nobody may connect to
# a new file between its making and the closing of the descriptor that made it.
_connecting = threading.Lock()


def identity(path: Path) -> Identity | None:
    """Device and inode of the file at a path; None without a file. A file that replaces another has its own."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


@frozen(kw_only=False)
class Opened:
    """A connection, and which file and which write-ahead log it has open."""

    connection: apsw.Connection
    path: Path
    file: Identity
    log: Identity | None

    @property
    def is_in_place(self) -> bool:
        """Whether the path still leads to the file that is open."""
        with translated(self.path):
            return identity(self.path) == self.file

    def take_log_along(self) -> None:
        """Move the log into the file that it belongs to, and remove it, when that file was replaced or removed.

        SQLite finds a log by its name: it would read this one as a part of the file that comes in place.
        Raises Unavailable while another process needs the log.
        """
        log = _beside(self.path, "-wal")
        with translated(self.path):
            if self.log is None or self.is_in_place or identity(log) != self.log:
                return
            self.connection.set_busy_timeout(int(_LOG_SECONDS * 1000))
            busy, _, _ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1, 0, 0)
            if busy:
                raise apsw.BusyError("another process needs the log")
            for path in (log, _beside(self.path, "-shm")):
                path.unlink(missing_ok=True)


def open_file(path: Path, *, new: bool = False, cache_kib: int = READER_KIB, synchronous: str = "full") -> Opened:
    """A connection to a user's file as it is; a `new` one is made if it is not there.

    WAL; with `synchronous` full, an acknowledged write survives a power cut. secure_delete overwrites what
    is deleted. Raises SteeltrapError.
    """
    deadline, descriptors = time.monotonic() + OPEN_SECONDS, time.monotonic() + _DESCRIPTOR_SECONDS
    with translated(path):
        while True:
            connection = None
            try:
                connection, file = connect(path, new=new)
                _prepare(connection, cache_kib, synchronous)
                _check_writable(connection, path)
                if identity(path) == file:
                    return Opened(connection, path, file, identity(_beside(path, "-wal")))
                connection.close()  # replaced meanwhile: which of the two was opened is not known
            except apsw.BusyError:
                _close(connection)
                # Switching a new file to WAL ignores the busy timeout, so two first openers meet here.
                if time.monotonic() > deadline:
                    raise
            except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
                _close(connection)
                # Files that were idle for longest are closed while others wait here.
                if time.monotonic() > descriptors or not lacks_descriptors(error, path):
                    raise
            except BaseException:
                _close(connection)
                raise
            if time.monotonic() > deadline:
                raise apsw.BusyError("replaced again and again")
            time.sleep(_PAUSE)


def open_current(path: Path, *, new: bool = False, cache_kib: int = READER_KIB) -> Opened:
    """A connection to a user's file, migrated to the tables and the words of today. Raises SteeltrapError."""
    return bring_up_to_date(open_file(path, new=new, cache_kib=cache_kib))


class Opener(Protocol):
    """Opens a user's file; a `new` one is made if it is not there. Raises SteeltrapError."""

    def __call__(self, path: Path, *, new: bool = False, cache_kib: int = READER_KIB) -> Opened: ...


def bring_up_to_date(opened: Opened, *, to_search: bool = True) -> Opened:
    """Migrate a file that was just opened; what is opened `to_search` gets the words of today.

    May wait for the write lock of SQLite, so never call it where a writer could wait for the caller. Raises
    SteeltrapError, with the file closed.
    """
    try:
        with translated(opened.path):
            migrate(opened.connection)
            if to_search:
                reword(opened.connection, opened.path)
    except ValueError as newer:
        opened.connection.close()
        raise Unavailable(
            f"The file {opened.path.name} was written by a newer steeltrap ({newer}); upgrade.",
            retryable=False,
            part="store",
        ) from None
    except BaseException:
        opened.connection.close()
        raise
    return opened


def connect(path: Path, *, new: bool = False) -> tuple[apsw.Connection, Identity]:
    """A bare connection, and which file it has open. Raises apsw.Error, OSError."""
    with _connecting:
        if new:
            with suppress(FileExistsError):
                # The log takes its mode from the file.
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        file = identity(path)
        if file is None:
            raise apsw.CantOpenError("no such file")
        return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE), file


@frozen(kw_only=False)
class Inspection:
    """A file as it is on disk: what is wrong with it, its schema version, and its `meta` if it has one."""

    faults: list[str]
    schema: int = 0
    newest: int = len(MIGRATIONS)
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def is_newer(self) -> bool:
        return self.schema > self.newest


def inspect(path: Path, *, has_meta: bool = True) -> Inspection:
    """Look through a file without changing it. Never raises."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(_INSPECTION_MS)
            answers = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
            faults = [] if answers == ["ok"] else answers
            schema = int(connection.pragma("user_version"))
            readable = has_meta and schema <= len(MIGRATIONS)
            return Inspection(faults, schema, meta=read_meta(connection) if readable else {})
        finally:
            connection.close()
    except (apsw.Error, UnicodeDecodeError) as error:
        return Inspection([str(error)])


def recorded_embedder(path: Path) -> str | None:
    """The name of the embedder that made a file's vectors; None for a file that doesn't say, or can't be read."""
    try:
        connection, _ = connect(path)  # one that can't write would leave its log behind
        try:
            embedder = read_meta(connection).get("embedder")
        finally:
            connection.close()
    except (apsw.Error, OSError, UnicodeDecodeError):
        return None
    return embedder and str(embedder)


def _close(connection: apsw.Connection | None) -> None:
    if connection is not None:
        connection.close()


def _prepare(connection: apsw.Connection, cache_kib: int, synchronous: str) -> None:
    connection.set_busy_timeout(int(OPEN_SECONDS * 1000))
    if is_foreign(connection):
        raise apsw.NotADBError("a database of another program")
    if connection.pragma("journal_mode") != "wal":
        connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", synchronous)
    connection.pragma("secure_delete", "on")
    connection.pragma("cache_size", -cache_kib)


def _check_writable(connection: apsw.Connection, path: Path) -> None:
    """Raise ReadOnlyError if SQLite opened a writable file, or its log, read-only.

    That happens if the process had no descriptor left at first, and then one that was just freed.
    """
    connection.set_busy_timeout(0)
    try:
        # A transaction tells it of the log only.
        if connection.readonly("main"):
            raise apsw.ReadOnlyError("opened to be read only")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except apsw.BusyError:
        pass  # only what may be written to is locked
    except apsw.ReadOnlyError as error:
        if lacks_descriptors(error, path):
            raise
    finally:
        connection.set_busy_timeout(int(OPEN_SECONDS * 1000))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
