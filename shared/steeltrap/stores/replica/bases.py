"""Bases of a log: made from a replica's file, checked like any database from elsewhere, and cleared away.

A base is the file after its entry. A replica that puts a base deletes those that are no longer needed. If two do so at
once, the one that looks later sees both.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import apsw

from ...errors import Unavailable
from ...model import UserRef
from ...ports import BaseName, Log
from ..data_folder import hold, release
from ..sqlite.connection import OPEN_SECONDS, select, transaction, translated, writing
from ..sqlite.foreign import distrust
from ..sqlite.header import owner, read_meta
from ..sqlite.schema import TABLES, has_own_schema
from .applying import fingerprint
from .entries import LogEntry, damaged, newer, unpack
from .position import TABLE, Position, read_position, write_position

A = TypeVar("A")
B = TypeVar("B")

_COPY: Final = "-base-"


def make_base(path: Path, user: UserRef, *, forgetting: bool, written: int, log_id: bytes) -> LogEntry:
    """A base of a replica's file as it is now. With `forgetting` it is the first one after what is forgotten.

    Other writers and readers of the file go on meanwhile. Raises Unavailable.
    """
    with _copy_beside(path) as copy, translated(path):
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(10_000)
            connection.execute("VACUUM INTO ?", (str(copy),))
        with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)) as base_file:
            position, tables = read_position(base_file, log_id), fingerprint(base_file)
        content = copy.read_bytes()
    return LogEntry(
        kind="base",
        user=user,
        n=position.n,
        nonce=position.nonce,
        after=position.log,
        schema=tables,
        base=position.n,
        forgot=position.n if forgetting else position.forgot,
        removed=position.removed,
        written=written,
        body=content,
    )


@contextmanager
def _copy_beside(path: Path) -> Iterator[Path]:
    """An empty file beside a replica's for a copy of it, gone at the end. It is held, so that others leave it there."""
    with translated(path):
        while True:
            descriptor, name = tempfile.mkstemp(prefix=f"{path.name}{_COPY}", dir=path.parent)
            os.close(descriptor)
            copy = Path(name)
            try:
                lock = hold(copy)
            except Unavailable:
                continue  # another one takes it for left over, and removes it
            if copy.exists():
                break
            release(lock)
    try:
        yield copy
    finally:
        copy.unlink(missing_ok=True)
        release(lock)


def remove_copies(path: Path) -> None:
    """Remove the copies of a replica's file that nobody holds: who died left them, with all their texts."""
    start = f"{path.name}{_COPY}"
    for file in path.parent.glob(f"{start}*"):
        # SQLite keeps a journal beside a copy, by its name and an ending: whoever holds the copy needs that.
        copy = file.with_name(start + file.name.removeprefix(start).partition("-")[0])
        with suppress(Unavailable):
            lock = hold(copy, alone=True)
            file.unlink(missing_ok=True)
            release(lock)


def clear_bases(log: Log) -> None:
    """Delete every base but the newest and the root, the oldest at or after all that is forgotten.

    What is forgotten is the highest that any base says: the newest may be of a replica that hasn't heard of it yet.
    """
    names = log.bases()
    if not names:
        return
    forgot = max(name.forgot for name in names)
    root = next((name for name in names if name.n >= forgot), names[-1])
    for name in names:
        if name not in (names[-1], root):
            log.delete_base(name)


def read_newest(
    log: Log, user: UserRef, names: Sequence[BaseName] | None = None
) -> tuple[LogEntry, int, list[bytes]] | None:
    """The newest base of a log, its size as it is stored and the entries after it; None where there is no base.

    `names` are the bases where they were just listed. Raises Unavailable.
    """
    while names := log.bases() if names is None else names:
        newest = names[-1]
        data, entries = side_by_side(partial(log.read_base, newest), partial(log.read_on, newest.n + 1, are_many=True))
        if data is not None:  # else a newer one came in between
            base = unpack(data, user, newest.n)
            if base.kind != "base":
                raise damaged(f"base {base.n} is none")
            return base, len(data), entries
        names = None
    return None


def side_by_side(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """The answers to two requests that are made at once. Raises what the first raises, else the second."""
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(second)
        return first(), answer.result()


@contextmanager
def unpacked(base: LogEntry, size: int, place: Path, log_id: bytes) -> Iterator[Path]:
    """The file of a base beside its place, checked, while the block lasts; it may be moved there.

    A base comes from another machine, so nothing of it runs before it is known to have the product's tables alone, the
    user's name, and the position that its name says. Raises Unavailable.
    """
    if base.after != log_id:
        raise damaged(f"base {base.n} belongs to another log")
    with _copy_beside(place) as path:
        with translated(path):
            path.write_bytes(base.body)
        _check(path, base)
        with translated(path), closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            position = read_position(connection, log_id)
            with transaction(connection):
                write_position(connection, started(position, base, size))
        yield path


def started(position: Position, base: LogEntry, size: int) -> Position:
    """The position of a file that begins with a base.

    Up to which entry all are stubs is what the file says: a forgetting puts its base before its stubs.
    """
    return replace(position, base=base.n, base_bytes=size, since_bytes=0, scrubbed=position.removed)


def put_rows(connection: apsw.Connection, path: Path, base_file: Path, base: LogEntry, size: int) -> Position:
    """Put the rows of a base's file in place of a replica's, unless those are newer; the position after it."""
    with translated(path):
        connection.execute("ATTACH ? AS base", (str(base_file),))
    try:
        with writing(connection, path, OPEN_SECONDS):
            position = read_position(connection, base.after)
            if position.n < base.n:
                _take_rows(connection)
                position = replace(started(read_position(connection, base.after), base, size), scrubbed=0)
                write_position(connection, position)
    finally:
        connection.execute("DETACH base")
    return position


def _take_rows(connection: apsw.Connection) -> None:
    """Put the rows of the file that is attached as `base` in place of those of a file, inside a transaction."""
    for table in (*TABLES, TABLE):
        columns = ", ".join(name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})"))
        if not columns:
            continue  # a table of a later version
        connection.execute(f"DELETE FROM main.{table}")
        connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM base.{table}")


def _check(path: Path, base: LogEntry) -> None:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    with closing(connection):
        try:
            distrust(connection)
            is_ours = has_own_schema(connection, beside=(TABLE,)) and select(connection, "PRAGMA quick_check(1)") == [
                ("ok",)
            ]
            if not is_ours:
                raise damaged(f"base {base.n} isn't a file of this product")
            if fingerprint(connection) != base.schema:
                raise newer()
            position, meta = read_position(connection, b""), read_meta(connection)
        except apsw.Error:
            raise damaged(f"base {base.n} can't be read") from None
    if (position.log, position.n, position.nonce) != (base.after, base.n, base.nonce):
        raise damaged(f"base {base.n} is at another place than it says")
    if meta and owner(meta) != base.user:
        raise damaged(f"base {base.n} is of another user")


_BLOCK: Final = 256


def stub_entries(log: Log, user: UserRef, first: int, last: int) -> None:
    """Leave stubs of the entries `first` to `last`; a stub stays as it is. Raises Unavailable."""
    for start in range(first, last + 1, _BLOCK):
        numbers = range(start, min(start + _BLOCK, last + 1))
        stubs = {}
        for n, data in zip(numbers, log.read(numbers), strict=True):
            if data is None:
                raise damaged(f"entry {n} is missing")
            entry = unpack(data, user, n)
            if entry.kind != "stub":
                stubs[n] = entry.stub().pack()
        log.overwrite(stubs)
