"""Reads a SQLite database that somebody else made, so that nothing of theirs runs and nothing is written beside it.

A database carries SQL: views, triggers, virtual tables, generated columns, expressions. A few kilobytes of it take all
memory, or never end. So only ordinary tables that were asked for are read, by statements that can reach nothing else,
with small limits and a look at the time every few thousand steps. Where a write-ahead log or a journal holds a part of
the database, a copy is read.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import apsw

from ...errors import InvalidInput, SteeltrapError
from ...local_files import is_full, temporary_folder_fails, writing_temporary

MAX_ROW_BYTES: Final = 16 * 1024 * 1024
_STEPS: Final = 5000
_BESIDE: Final = ("-wal", "-journal")
_LIMITS: Final = (
    (apsw.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES),
    (apsw.SQLITE_LIMIT_SQL_LENGTH, 1024 * 1024),
    (apsw.SQLITE_LIMIT_COLUMN, 200),
    (apsw.SQLITE_LIMIT_EXPR_DEPTH, 100),
    (apsw.SQLITE_LIMIT_VDBE_OP, 25_000),
    (apsw.SQLITE_LIMIT_ATTACHED, 0),
    (apsw.SQLITE_LIMIT_WORKER_THREADS, 0),
)
_PRAGMAS: Final = ("table_list", "table_xinfo")
_SCHEMA: Final = ("sqlite_master", "sqlite_schema")


def distrust(connection: apsw.Connection) -> None:
    """Have nothing run that the schema of a database brings along."""
    for setting, value in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
    ):
        connection.config(setting, value)


class ForeignDatabase:
    """A database that is open to read. `going_on` is called all along, and raises what is to end the reading."""

    def __init__(self, connection: apsw.Connection, name: str, going_on: Callable[[], None]) -> None:
        self._connection = connection
        self._name = name
        self._going_on = going_on
        self._ended: BaseException | None = None
        self._readable: set[str] = set()
        for limit, value in _LIMITS:
            connection.limit(limit, value)
        distrust(connection)
        connection.pragma("cell_size_check", True)
        connection.pragma("mmap_size", 0)
        connection.authorizer = self._allowed
        connection.set_progress_handler(self._is_to_end, _STEPS)

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table, () where there is none. Raises InvalidInput for what only passes for a table."""
        rows = list(self._rows(f"SELECT name, type, sql FROM sqlite_master WHERE lower(name) = '{table}'", "lower"))
        if not rows:
            return ()
        [entry] = list(self._rows(f"PRAGMA table_list({table})")) or [("", "", "")]
        _, kind, sql = rows[0]
        if len(rows) > 1 or kind != "table" or entry[2] != "table" or not _is_plain(sql) or self._generated(table):
            raise InvalidInput(
                f"{self._name}: `{table}` is no ordinary table (a view, a virtual table, or one with generated "
                "columns), so it is not read."
            )
        self._readable.add(table)
        return tuple(str(row[1]) for row in self._rows(f"PRAGMA table_xinfo({table})"))

    def count(self, table: str) -> int:
        [(count,)] = self._rows(f"SELECT count(*) FROM {table}", "count")
        return int(count)

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """The rows of a table in their order. Text that is not UTF-8 has replacement characters."""
        return self._rows(f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid")

    def _generated(self, table: str) -> bool:
        identifier = table.replace('"', '""')
        return any(row[6] for row in self._rows(f'PRAGMA table_xinfo("{identifier}")'))

    def _rows(self, statement: str, *functions: str) -> Iterator[tuple[Any, ...]]:
        self._functions = functions
        try:
            yield from self._connection.execute(statement)
        except apsw.Error as error:
            if self._ended is not None:
                raise self._ended from None
            raise _failed(error, f"{self._name} can't be read further") from error

    def _allowed(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        match action:
            case apsw.SQLITE_SELECT:
                allowed = True
            case apsw.SQLITE_READ:
                allowed = first in _SCHEMA or (first or "").lower() in self._readable
            case apsw.SQLITE_PRAGMA:
                allowed = first in _PRAGMAS
            case apsw.SQLITE_FUNCTION:
                allowed = second in self._functions
            case _:
                allowed = False
        return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY

    def _is_to_end(self) -> bool:
        try:
            self._going_on()
        except BaseException as ended:
            self._ended = ended
            return True
        return False


@contextmanager
def opened(path: Path, name: str, going_on: Callable[[], None] = lambda: None) -> Iterator[ForeignDatabase]:
    """A database by its path; `name` is what it is called in sentences. Raises InvalidInput that says why it can't be
    opened, Unavailable where a copy finds no room, and what `going_on` raises."""
    with _settled(path, name) as (place, is_copy):
        flags = apsw.SQLITE_OPEN_URI | (apsw.SQLITE_OPEN_READWRITE if is_copy else apsw.SQLITE_OPEN_READONLY)
        uri = f"file:{quote(str(place.absolute()))}" + ("" if is_copy else "?immutable=1")
        try:
            connection = apsw.Connection(uri, flags=flags)
        except apsw.Error as error:
            raise _failed(error, f"{name} can't be opened") from error
        with closing(connection):
            yield ForeignDatabase(connection, name, going_on)


@contextmanager
def _settled(path: Path, name: str) -> Iterator[tuple[Path, bool]]:
    """The file, or a copy of it together with what a write-ahead log or a journal holds, and whether it is one."""
    files = [path, *(companion for end in _BESIDE if _size(companion := path.with_name(path.name + end)))]
    if len(files) == 1:
        yield path, False
        return
    with writing_temporary():
        holder = tempfile.TemporaryDirectory(prefix="steeltrap-database-")
    with holder as folder:
        try:
            before = [(file.stat().st_size, file.stat().st_mtime_ns) for file in files]
            for file in files:
                shutil.copyfile(file, os.path.join(folder, file.name))
            after = [(file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        except OSError as error:
            if is_full(error):
                raise temporary_folder_fails(error) from error
            raise InvalidInput(f"{name} can't be copied to be read ({error.strerror}).") from None
        if before != after:
            raise InvalidInput(f"{name} is being written: stop the program that uses it, then import it again.")
        yield Path(folder) / path.name, True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _is_plain(sql: object) -> bool:
    words = str(sql or "").split(None, 2)
    return len(words) == 3 and [word.upper() for word in words[:2]] == ["CREATE", "TABLE"]


def _failed(error: apsw.Error, saying: str) -> SteeltrapError:
    # Only a copy is written: what its log or journal holds goes into it, and SQLite keeps an index of a log beside it.
    if isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
        return temporary_folder_fails()
    return InvalidInput(f"{saying}: {_why(error)}.")


def _why(error: apsw.Error) -> str:
    if str(error).startswith("not authorized"):  # a function; columns and tables have an error of their own
        return "it asks for what is not allowed"
    return {
        apsw.NotADBError: "it is no SQLite database, or it is encrypted",
        apsw.CorruptError: "it is damaged",
        apsw.TooBigError: "a row is larger than 16 MiB",
        apsw.CantOpenError: "the file can't be opened; check its permissions",
        apsw.AuthError: "it asks for what is not allowed",
    }.get(type(error), str(error))
