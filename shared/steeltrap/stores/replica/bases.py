"""Bases of a log: made from a replica's file, checked like any database from elsewhere, and cleared away.

A base is the file behind its entry. Whoever puts one deletes those that nobody needs any more: of two replicas that do
so at once, the later one to look sees both.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Final

import apsw

from ...model import UserRef
from ...ports import Log
from ..sqlite.connection import select, translated
from ..sqlite.foreign import distrust
from ..sqlite.header import owner
from ..sqlite.schema import TABLES, has_own_schema
from .entries import LogEntry, damaged, fingerprint, newer, unpack
from .position import TABLE, Position, read_position, write_position


def make_base(path: Path, user: UserRef, *, forgetting: bool, written: int, log_id: bytes) -> LogEntry:
    """A base of a replica's file as it is now. With `forgetting` it is the first one behind what is forgotten.

    Other writers and readers of the file go on meanwhile. Raises Unavailable.
    """
    copy = path.with_name(f"{path.name}-base-{token_hex(8)}")
    try:
        with translated(path):
            with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
                connection.set_busy_timeout(10_000)
                os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                connection.execute("VACUUM INTO ?", (str(copy),))
            with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)) as made:
                position, tables = read_position(made, log_id), fingerprint(made)
            content = copy.read_bytes()
    finally:
        copy.unlink(missing_ok=True)
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


def clear_bases(log: Log) -> None:
    """Delete every base but the newest and the root, the oldest at or behind all that is forgotten.

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


def read_newest(log: Log, user: UserRef) -> tuple[LogEntry, int] | None:
    """The newest base of a log and its size as it is stored; None where there is none. Raises Unavailable."""
    while names := log.bases():
        data = log.read_base(names[-1])
        if data is not None:  # else a newer one came in between
            base = unpack(data, user, names[-1].n)
            if base.kind != "base":
                raise damaged(f"base {base.n} is none")
            return replace(base, forgot=max(base.forgot, names[-1].forgot)), len(data)
    return None


@contextmanager
def unpacked(base: LogEntry, size: int, folder: Path, log_id: bytes) -> Iterator[Path]:
    """The file of a base beside the replicas', checked, while the block lasts; it may be moved to its place.

    A base comes from another machine, so nothing of it runs before it is known to have the product's tables alone, the
    user's name, and the position that its name says. Raises Unavailable.
    """
    if base.after != log_id:
        raise damaged(f"base {base.n} belongs to another log")
    descriptor, name = tempfile.mkstemp(prefix=".base-", dir=folder)
    path = Path(name)
    try:
        with translated(path), os.fdopen(descriptor, "wb") as file:
            file.write(base.body)
        _check(path, base)
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            position = read_position(connection, log_id)
            connection.execute("BEGIN")
            write_position(connection, started(position, base, size))
            connection.execute("COMMIT")
        yield path
    finally:
        path.unlink(missing_ok=True)


def started(position: Position, base: LogEntry, size: int) -> Position:
    """The position of a file that begins with a base."""
    return replace(position, base=base.n, base_bytes=size, since_bytes=0, forgot=base.forgot, scrubbed=position.removed)


def take_rows(connection: apsw.Connection) -> None:
    """Put the rows of the file that is attached as `base` in place of those of a file, inside a transaction."""
    for table in (*TABLES, TABLE):
        columns = ", ".join(name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})"))
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
            position, meta = read_position(connection, b""), dict(select(connection, "SELECT key, value FROM meta"))
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
