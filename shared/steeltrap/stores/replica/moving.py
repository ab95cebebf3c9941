"""A user's memories moved whole from one place to another: between data folders and logs, either way, and by the same
steps into other stores and out of them.

    the target is reserved: emptied, and it names the source    who has other memories there keeps them
      └─> the source is marked: it names the target            nobody changes it any more
            └─> all rows are put into the target, compared     in one transaction, which ends its reservation

Whoever uses one of the two meanwhile, on whichever machine, is told of the other one, so that neither gets a memory
that the other lacks. Each move has a token, and ends where it no longer finds it. One that was cut short is finished by
the next.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, Protocol

import apsw

from ...errors import Conflict, SteeltrapError, Unavailable, moved_away
from ...model import UserRef
from ...ports import Deadline
from ..sqlite.connection import DamagedFile, translated
from ..sqlite.file import T
from ..sqlite.header import MOVED_TO, read_meta, remove_meta
from ..sqlite.schema import TABLES
from ..sqlite.store import SqliteStore
from .entries import newer

MOVE: Final = "move"
"""The move, in `meta`, that has reserved or marked a file, or has put its rows there."""
_BLOCK: Final = 1000
"""Rows that are read and written at once."""


class Place(Protocol):
    """A store, and the name that people know it by. All methods raise Unavailable."""

    @property
    def name(self) -> str: ...

    def meta(self, user: UserRef, deadline: Deadline) -> Mapping[str, Any]:
        """All that is said of a user: `generation` where memories are here, `MOVED_TO` and `MOVE` where a move wrote
        so. Empty for a user of whom nothing is here."""
        ...

    def reserve(self, user: UserRef, source: str, move: str, deadline: Deadline) -> None:
        """Empty it for a move, and say that the memories are at the source still. Raises Conflict."""
        ...

    def release(self, user: UserRef, source: str, deadline: Deadline) -> None:
        """Remove a user for whom it is only reserved."""
        ...

    def withdraw(self, user: UserRef, move: str, deadline: Deadline) -> bool:
        """End a move for which it is reserved. False where the memories are there, or another move came."""
        ...

    def clean(self, user: UserRef, deadline: Deadline) -> None:
        """Remove what a move that failed has brought."""
        ...

    def mark(self, user: UserRef, target: str, move: str, deadline: Deadline) -> bool:
        """Say where the memories are; nobody writes to them any more when it returns. False for a user without any.

        Raises Conflict."""
        ...

    def unmark(self, user: UserRef, move: str, deadline: Deadline) -> None:
        """Let the memories be used again, where it was this move that marked them."""
        ...

    def rows(self, user: UserRef, deadline: Deadline) -> AbstractContextManager[Path]:
        """A user's file in SQLite with all that is here."""
        ...

    def take(self, user: UserRef, path: Path, source: str, move: str, deadline: Deadline) -> int:
        """Put what a marked file has where it was reserved, compare both, and let it be used; how many memories it is.

        Raises Conflict where another move came between."""
        ...


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A data folder by its path, or a log by its URL."""

    name: str
    store: SqliteStore

    def meta(self, user: UserRef, deadline: Deadline) -> Mapping[str, Any]:
        return self.store.open_file(user, deadline).meta()

    def reserve(self, user: UserRef, source: str, move: str, deadline: Deadline) -> None:
        self._write(user, lambda connection: _reserve(connection, user, source, move), deadline)

    def release(self, user: UserRef, source: str, deadline: Deadline) -> None:
        self._write(user, lambda connection: _release(connection, source), deadline)

    def withdraw(self, user: UserRef, move: str, deadline: Deadline) -> bool:
        return self._write(user, lambda connection: _withdraw(connection, move), deadline)

    def clean(self, user: UserRef, deadline: Deadline) -> None:
        """A transaction that failed has brought nothing."""

    def mark(self, user: UserRef, target: str, move: str, deadline: Deadline) -> bool:
        return self._write(user, lambda connection: _mark(connection, target, move), deadline)

    def unmark(self, user: UserRef, move: str, deadline: Deadline) -> None:
        self._write(user, lambda connection: _unmark(connection, move), deadline)

    @contextmanager
    def rows(self, user: UserRef, deadline: Deadline) -> Iterator[Path]:
        file = self.store.open_file(user, deadline)
        try:
            yield file.path
        except DamagedRows as error:
            with file.noting_damage():
                raise error.damage from error

    def take(self, user: UserRef, path: Path, source: str, move: str, deadline: Deadline) -> int:
        return self._write(user, lambda connection: _take(connection, path, source, self.name, move), deadline)

    def _write(self, user: UserRef, redo: Callable[[apsw.Connection], T], deadline: Deadline) -> T:
        file = self.store.open_file(user, deadline)
        return file.transaction("move", lambda connection, _: redo(connection), deadline)


def move_user(user: UserRef, source: Place, target: Place, deadline: Deadline) -> int | None:
    """Move a user's memories; returns how many they are, deleted ones too, or None if there was nothing left to move.

    Raises Conflict where the target has other memories of the user, or the source was moved to a third place, and
    Unavailable. The source is as it was then, and the target names it.
    """
    here, there = source.meta(user, deadline), target.meta(user, deadline)
    if not here and there.get(MOVED_TO) == source.name:  # the user was forgotten while a move was cut short
        target.release(user, source.name, deadline)
    if "generation" not in here:
        return None
    is_marked = here.get(MOVED_TO) == target.name
    if is_marked and "generation" in there and there.get(MOVE) == here.get(MOVE):
        return None
    require_unmoved(here, target.name)
    if is_marked and not there:
        raise Conflict(
            "These memories were moved to the target before, and it has none of this user: they were forgotten there, "
            "or it is another place now. What is left here was left as it is."
        )
    move = token_hex(8)
    target.reserve(user, source.name, move, deadline)
    try:
        if not source.mark(user, target.name, move, deadline):
            target.release(user, source.name, deadline)
            return None
        with source.rows(user, deadline) as path:
            return target.take(user, path, source.name, move, deadline)
    except BaseException:
        ends = Deadline.after(deadline.seconds, deadline.clock)  # the time may be over
        with suppress(SteeltrapError):
            # It writes, so a log whose answer was lost says now whether the rows are there.
            if target.withdraw(user, move, ends):
                source.unmark(user, move, ends)
                target.clean(user, ends)
        raise


def copy_user(user: UserRef, source: FilePlace, target: FilePlace, deadline: Deadline) -> int | None:
    """Copy a user's memories as of one moment; returns how many they are, deleted ones too, or None if there are none.

    Raises Conflict where the target has memories of the user, MovedAway, Unavailable.
    """
    meta, new = source.meta(user, deadline), target.store.open_file(user, deadline)
    if MOVED_TO in meta:
        raise moved_away(meta[MOVED_TO])
    if not meta:
        return None
    with source.rows(user, deadline) as path:
        return new.transaction("move", lambda connection, _: _copy(connection, path), deadline)


class DamagedRows(Exception):
    """The file is damaged whose rows are read, and not the one in whose transaction they are written."""

    def __init__(self, damage: DamagedFile) -> None:
        super().__init__(damage.message)
        self.damage = damage


@contextmanager
def reading_rows(path: Path) -> Iterator[None]:
    """Read rows of a file. Raises DamagedRows, Unavailable."""
    try:
        with translated(path):
            yield
    except DamagedFile as damage:
        raise DamagedRows(damage) from damage


def reading(path: Path) -> "closing[apsw.Connection]":
    """A connection to read a user's file by, whatever it says of itself."""
    with translated(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(10_000)
    return closing(connection)


def require_unmoved(meta: Mapping[str, Any], target: str) -> None:
    """Raises Conflict for memories that were moved to a third place."""
    if meta.get(MOVED_TO, target) != target:
        raise Conflict(f"The memories of this user were moved to {meta[MOVED_TO]} before: move them from there.")


def require_room(meta: Mapping[str, Any], source: str) -> None:
    """Raises Conflict for memories of a target that are not what was moved to the source before."""
    if meta.get(MOVED_TO, source) != source:
        raise Conflict(f"The target has what was moved to {meta[MOVED_TO]} before: move this user there first.")
    if meta and MOVED_TO not in meta:
        raise _has_others()


def _has_others() -> Conflict:
    return Conflict("The target has other memories of this user; they were left as they are.")


def differs() -> Unavailable:
    """The error of a copy that is not what was copied."""
    return Unavailable("The copy differs from what was copied; nothing was changed. Try again.", part="store")


def came_between() -> Conflict:
    """The error of a move that no longer finds its token."""
    return Conflict("Another move of this user came between; run `steeltrap move` again.")


def _reserve(connection: apsw.Connection, user: UserRef, source: str, move: str) -> None:
    """Empty a file for a move, and say in it that the memories are at the source still.

    What was moved to the source before goes, so that a move the other way, while this one is cut short, finds nothing.
    Raises Conflict where the file has other memories.
    """
    require_room(read_meta(connection), source)
    for table in TABLES:
        connection.execute(f"DELETE FROM {table}")
    reservation = {"user_id": user.user_id, "tenant": user.tenant, MOVED_TO: source, MOVE: move}
    connection.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", reservation.items())


def _release(connection: apsw.Connection, source: str) -> None:
    """Make a file that is only reserved for the memories of a source an empty one again."""
    if sign(connection)[0] == source:
        connection.execute("DELETE FROM meta WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = 'generation')")


def _withdraw(connection: apsw.Connection, move: str) -> bool:
    """End a move in the file that it has reserved. False where the rows are there, or another move came."""
    if connection.execute("SELECT 1 FROM meta WHERE key = 'generation'").get or sign(connection)[1] != move:
        return False
    connection.execute("UPDATE meta SET value = ? WHERE key = ?", (token_hex(8), MOVE))
    return True


def _mark(connection: apsw.Connection, target: str, move: str) -> bool:
    """Say in a file where its memories are. False for a file without any."""
    meta = read_meta(connection)
    require_unmoved(meta, target)
    if "generation" not in meta:
        return False
    signs = [(MOVED_TO, target), (MOVE, move)]
    connection.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", signs)
    return True


def _unmark(connection: apsw.Connection, move: str) -> None:
    """Let the memories of a file be used again, where it was this move that marked it."""
    if sign(connection)[1] == move:
        remove_meta(connection, MOVED_TO)


def sign(connection: apsw.Connection) -> tuple[str | None, str | None]:
    """The place at which the memories of a file are, if it is another one, and the move that wrote so."""
    meta = read_meta(connection)
    return meta.get(MOVED_TO), meta.get(MOVE)


def _take(connection: apsw.Connection, path: Path, source: str, target: str, move: str) -> int:
    """Put the rows of a marked file into the one that was reserved for them; how many memories they are."""
    is_reserved = sign(connection) == (source, move)
    if is_reserved:
        replace_rows(connection, path)
    if not is_reserved or sign(connection) != (target, move):
        raise came_between()
    _unmark(connection, move)
    return _count(connection)


def _copy(connection: apsw.Connection, path: Path) -> int:
    """Put the rows of a file into an empty one; how many memories they are."""
    if connection.execute("SELECT 1 FROM meta").get:
        raise _has_others()
    replace_rows(connection, path)
    remove_meta(connection, MOVED_TO)
    return _count(connection)


def _count(connection: apsw.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM memory").get)


def replace_rows(connection: apsw.Connection, path: Path) -> None:
    """Put the rows of another file as of one moment in place of those of a file, in a transaction, and compare them.

    Raises Unavailable for a file with other tables, DamagedRows.
    """
    with reading(path) as reader:
        reader.execute("BEGIN")
        for table in TABLES:
            with reading_rows(path):
                columns = _columns(reader, table)
            if columns != _columns(connection, table):
                raise newer()
            connection.execute(f"DELETE FROM {table}")
            places = ", ".join("?" * len(columns))
            for rows in _read_blocks(reader, f"SELECT {', '.join(columns)} FROM {table}", path):
                connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)
        with reading_rows(path):
            digest = _digest(reader)
        if digest != _digest(connection):
            raise differs()


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    return [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]


def _blocks(connection: apsw.Connection, query: str) -> Iterator[list[tuple[Any, ...]]]:
    cursor = connection.execute(query)
    while rows := list(islice(cursor, _BLOCK)):
        yield rows


def _read_blocks(reader: apsw.Connection, query: str, path: Path) -> Iterator[list[tuple[Any, ...]]]:
    with reading_rows(path):
        yield from _blocks(reader, query)


def _digest(connection: apsw.Connection) -> bytes:
    """A digest of all rows, whatever their order in the file."""
    digest = sha256()
    for table in TABLES:
        key = ", ".join(name for _, name, _, _, _, place in connection.execute(f"PRAGMA table_info({table})") if place)
        for rows in _blocks(connection, f"SELECT * FROM {table} ORDER BY {key}"):
            digest.update(repr(rows).encode())
    return digest.digest()
