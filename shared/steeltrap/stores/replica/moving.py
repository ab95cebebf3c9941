"""A user's memories moved whole from one place to another: between data folders and logs, either way.

Both are marked first, the target before the source: whoever uses one of them from then on, on whichever machine, is
told of the other one, so that neither gets a memory that the other lacks. Then all rows are put into the target in one
transaction and compared. A move that was cut short is finished by the next one.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final

import apsw

from ...errors import Conflict, SteeltrapError, Unavailable
from ...model import UserRef
from ...ports import Deadline
from ..sqlite.connection import translated
from ..sqlite.file import UserFile
from ..sqlite.header import MOVED_TO
from ..sqlite.schema import TABLES
from ..sqlite.store import SqliteStore
from .entries import newer

_BLOCK: Final = 1000
"""Rows that are read and written at once."""


@dataclass(frozen=True, slots=True)
class Place:
    """A store, and the name that people know it by: the path of a folder, or a URL."""

    name: str
    store: SqliteStore


def move_user(user: UserRef, source: Place, target: Place, deadline: Deadline) -> int | None:
    """Move a user's memories; returns how many they are, deleted ones too, or None if there was nothing left to move.

    Raises Conflict where the target has other memories of the user, or the source was moved to a third place, and
    Unavailable. The source is as it was then.
    """
    old, new = source.store.open_file(user, deadline), target.store.open_file(user, deadline)
    meta = _meta(old)
    if "generation" not in meta:
        return None
    if meta.get(MOVED_TO) == target.name and "generation" in _meta(new):
        source.store.unlist(user)
        return None
    new.transaction("move", lambda connection, _: _reserve(connection, user, source.name), deadline)
    try:
        if not old.transaction("move", lambda connection, _: _mark(connection, target.name), deadline):
            new.transaction("move", lambda connection, _: _release(connection), deadline)
            return None
        count = new.transaction("move", lambda connection, _: _take(connection, old, source.name), deadline)
    except BaseException:
        with suppress(SteeltrapError):  # where the target's answer is lost, both stay marked, and nothing is in two
            if new.transaction("move", lambda connection, _: _is_moved(connection, source.name), deadline):
                old.transaction("move", lambda connection, _: _unmark(connection, target.name), deadline)
                new.transaction("move", lambda connection, _: _release(connection), deadline)
        raise
    source.store.unlist(user)
    return count


def copy_user(user: UserRef, source: Place, target: Place, deadline: Deadline) -> int | None:
    """Copy a user's memories as of one moment; returns how many they are, deleted ones too, or None if there are none.

    Raises Conflict where the target has memories of the user, Unavailable.
    """
    old, new = source.store.open_file(user, deadline), target.store.open_file(user, deadline)
    meta = _meta(old)
    if not meta or MOVED_TO in meta:
        return None
    return new.transaction("move", lambda connection, _: _take(connection, old, None), deadline)


def _meta(file: UserFile) -> Mapping[str, Any]:
    """The `meta` of a file; nothing where there is no file."""
    if not file.is_there():
        return {}
    with _reading(file.path) as connection:
        return dict(connection.execute("SELECT key, value FROM meta"))


def _reading(path: Path) -> "closing[apsw.Connection]":
    with translated(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(10_000)
    return closing(connection)


def _require_room(meta: Mapping[str, Any], source: str | None) -> None:
    """Raises Conflict, unless a file is empty or its memories are those that were moved to the source before."""
    if meta and (source is None or meta.get(MOVED_TO) != source):
        if MOVED_TO in meta:
            raise Conflict(f"The target has what was moved to {meta[MOVED_TO]} before: move this user there first.")
        raise Conflict("The target has other memories of this user; they were left as they are.")


def _reserve(connection: apsw.Connection, user: UserRef, source: str) -> None:
    """Empty a file, and say in it that the memories are at the source still. Raises Conflict where it has others.

    What was moved to the source before goes, so that a move the other way, while this one is cut short, finds nothing.
    """
    _require_room(dict(connection.execute("SELECT key, value FROM meta")), source)
    for table in TABLES:
        connection.execute(f"DELETE FROM {table}")
    reservation = {"user_id": user.user_id, "tenant": user.tenant, MOVED_TO: source}
    connection.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", reservation.items())


def _release(connection: apsw.Connection) -> None:
    """Make a file that is only reserved an empty one again."""
    connection.execute("DELETE FROM meta WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = 'generation')")


def _is_moved(connection: apsw.Connection, place: str) -> bool:
    """Whether a file says that its memories are at a place."""
    return bool(connection.execute("SELECT value FROM meta WHERE key = ?", (MOVED_TO,)).get == place)


def _mark(connection: apsw.Connection, target: str) -> bool:
    """Say in a file where its memories are. False for a file without any."""
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    if meta.get(MOVED_TO, target) != target:
        raise Conflict(f"The memories of this user were moved to {meta[MOVED_TO]} before: move them from there.")
    if "generation" not in meta:
        return False
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (MOVED_TO, target))
    return True


def _unmark(connection: apsw.Connection, target: str | None = None) -> None:
    """Let the memories of a file be used again; with a target, only where they were marked as moved to it."""
    connection.execute("DELETE FROM meta WHERE key = ? AND value = coalesce(?, value)", (MOVED_TO, target))


def _take(connection: apsw.Connection, old: UserFile, source: str | None) -> int:
    """Put the rows of a file as of one moment in place of those of the target; how many memories they are."""
    _require_room(dict(connection.execute("SELECT key, value FROM meta")), source)
    replace_rows(connection, old.path)
    _unmark(connection)
    return int(connection.execute("SELECT count(*) FROM memory").get)


def replace_rows(connection: apsw.Connection, path: Path) -> None:
    """Put the rows of another file as of one moment in place of those of a file, in a transaction, and compare them.

    Raises Unavailable for a file with other tables.
    """
    with _reading(path) as reader:
        reader.execute("BEGIN")
        for table in TABLES:
            columns = _columns(reader, table)
            if columns != _columns(connection, table):
                raise newer()
            connection.execute(f"DELETE FROM {table}")
            places = ", ".join("?" * len(columns))
            for rows in _blocks(reader, f"SELECT {', '.join(columns)} FROM {table}"):
                connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)
        if _digest(reader) != _digest(connection):
            raise Unavailable("The copy differs from what was copied; nothing was changed. Try again.", part="store")


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    return [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]


def _blocks(connection: apsw.Connection, query: str) -> Iterator[list[tuple[Any, ...]]]:
    cursor = connection.execute(query)
    while rows := list(islice(cursor, _BLOCK)):
        yield rows


def _digest(connection: apsw.Connection) -> bytes:
    """A digest of all rows, whatever their order in the file."""
    digest = sha256()
    for table in TABLES:
        key = ", ".join(name for _, name, _, _, _, place in connection.execute(f"PRAGMA table_info({table})") if place)
        for rows in _blocks(connection, f"SELECT * FROM {table} ORDER BY {key}"):
            digest.update(repr(rows).encode())
    return digest.digest()
