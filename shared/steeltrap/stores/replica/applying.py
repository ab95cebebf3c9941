"""From entries to rows: whether they follow a position, their patchsets in one, and the position after them; and to the
tables of the release that wrote them.

A file is never migrated when it is opened. An entry says where: each replica migrates there, in the transaction with
the entries around it, so that all have the same tables at the same place. A release that can't make the tables which
the entry names takes them from a base, or asks to be upgraded.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from typing import Any, cast

import apsw

from ...errors import Unavailable
from ...model import UserRef
from ...ports import BaseName, Log
from ..sqlite import schema
from ..sqlite.schema import TABLES, is_current, make_version, migrate_to, migrate_within, versions_of_replicas, works_on
from .entries import LogEntry, damaged, newer, number_of, unpack
from .position import Position, read_position, write_position


class NeedsBase(Exception):
    """The effect of an entry is only in a base."""


class Diverged(Exception):
    """The file has what the log hasn't, or the other way round."""


class Applier:
    """Applies the entries of a user's log to their file. Used in one's turn to write."""

    def __init__(self, log: Log, user: UserRef, log_id: bytes) -> None:
        self._log = log
        self._user = user
        self._log_id = log_id
        self._fingerprint: tuple[apsw.Connection, int, bytes] | None = None

    def tables(self, connection: apsw.Connection) -> bytes:
        """The fingerprint of the file's tables. It takes fifty times as long as to ask whether they are the same."""
        version = int(connection.pragma("schema_version"))
        if self._fingerprint is None or self._fingerprint[:2] != (connection, version):
            self._fingerprint = connection, version, fingerprint(connection)
        return self._fingerprint[2]

    def forget_tables(self) -> None:
        """Read the tables again next time: they were changed, or a change of them was rolled back."""
        self._fingerprint = None

    def apply(self, connection: apsw.Connection, stored: Sequence[bytes]) -> tuple[Position, bool]:
        """Apply entries, those that the file has left out, inside a transaction; the position after them, and whether
        they migrated the file. Raises NeedsBase, Diverged, Unavailable."""
        position = read_position(connection, self._log_id)
        first = number_of(stored[0])
        entries = [unpack(data, self._user, first + at) for at, data in enumerate(stored)]
        entries = entries[max(0, position.n + 1 - first) :]
        if entries:
            check_order(entries, position)
            self._apply_in_turn(connection, entries, is_first=position.n == 0)
            position = position_after(position, entries, stored)
            write_position(connection, position)
        return position, any(entry.kind == "migrate" for entry in entries)

    def _apply_in_turn(self, connection: apsw.Connection, entries: Sequence[LogEntry], *, is_first: bool) -> None:
        for kind, run in groupby(entries, lambda entry: entry.kind):
            if kind == "stub":
                raise NeedsBase
            block = list(run)
            if kind == "migrate":
                for entry in block:
                    self.forget_tables()
                    migrate_at(connection, entry, self._log.bases)
                continue
            if is_first and block[0] is entries[0] and block[0].schema != self.tables(connection):
                self.forget_tables()
                begin_with(connection, block[0].schema)
            if any(entry.schema != self.tables(connection) for entry in block):
                raise newer()
            apply_patchsets(connection, block)


def check_order(entries: Sequence[LogEntry], position: Position) -> None:
    """Raise Diverged where entries don't follow a position, Unavailable for what is no entry."""
    before = position.n, position.nonce
    for entry in entries:
        if entry.kind == "base":
            raise damaged(f"entry {entry.n} is a base")
        if (entry.n - 1, entry.after) != before:
            raise Diverged(f"entry {entry.n} doesn't follow entry {before[0]}")
        before = entry.n, entry.nonce


def position_after(position: Position, entries: Sequence[LogEntry], stored: Sequence[bytes]) -> Position:
    """The position after entries that follow it."""
    last = entries[-1]
    sizes = [len(data) for data in stored[-len(entries) :]]
    since = sum(size for entry, size in zip(entries, sizes, strict=True) if entry.n > last.base)
    if last.base <= position.base:
        since += position.since_bytes
    return replace(
        position,
        n=last.n,
        nonce=last.nonce,
        base=max(position.base, last.base),
        since_bytes=since,
        forgot=max(position.forgot, last.forgot),
        removed=max(position.removed, last.removed),
    )


def apply_patchsets(connection: apsw.Connection, entries: Sequence[LogEntry]) -> None:
    """Change the rows as the entries say. Many are merged first: that is a sixth of the time of one after the other.

    Where SQLite can't apply them in one, each half is tried: it makes an update of no column of a row that is deleted
    and inserted again in a table of keys alone, such as a tag that is taken off and put back, and meets the constraints
    of rows that change places.
    """
    try:
        apsw.Changeset.apply(_merged(entries), connection, conflict=lambda *_: apsw.SQLITE_CHANGESET_ABORT)
    except (apsw.AbortError, apsw.ConstraintError, apsw.CorruptError) as error:
        if len(entries) == 1:
            raise Diverged(f"the rows don't take entry {entries[0].n}") from error
        middle = len(entries) // 2
        apply_patchsets(connection, entries[:middle])
        apply_patchsets(connection, entries[middle:])


def _merged(entries: Sequence[LogEntry]) -> bytes:
    if len(entries) == 1:
        return entries[0].body
    builder = cast(Any, apsw.ChangesetBuilder)()
    try:
        for entry in entries:
            builder.add(entry.body)
        return bytes(builder.output())
    finally:
        builder.close()


def fingerprint(connection: apsw.Connection) -> bytes:
    """8 bytes for the tables of a file, their columns and the order of these.

    A patchset names columns by their place: it would fill the wrong ones of another table without an error.
    """
    columns = [
        (table, name, kind, key)
        for table in sorted(TABLES)
        for _, name, kind, _, _, key in connection.execute(f"PRAGMA table_info({table})")
    ]
    return sha256(repr(columns).encode()).digest()[:8]


def require_own(connection: apsw.Connection) -> None:
    """Raise Unavailable where a file has tables that this release doesn't work on."""
    try:
        if works_on(connection):
            return
    except ValueError:
        raise newer() from None
    raise Unavailable(
        "These memories have the tables of an earlier steeltrap: once every machine has this one, run `steeltrap admin "
        "migrate`.",
        retryable=False,
        part="store",
    )


def begin_with(connection: apsw.Connection, tables: bytes) -> None:
    """Give a file without rows the tables of the release that began its log, inside a transaction.

    Raises Unavailable where no version that this release knows has them.
    """
    for version in versions_of_replicas():
        with closing(apsw.Connection(":memory:")) as trial:
            make_version(trial, version)
            is_it = fingerprint(trial) == tables
        if is_it:
            return make_version(connection, version)
    raise newer()


def body_of_migration(connection: apsw.Connection) -> bytes:
    """The body of the entry for a file that was migrated: the version of its tables."""
    return str(connection.pragma("user_version")).encode()


def migrate_at(connection: apsw.Connection, entry: LogEntry, bases: Callable[[], list[BaseName]]) -> None:
    """Migrate a file as an entry says, inside a transaction.

    Raises Unavailable where the entry is of a newer release, NeedsBase where only a base has the tables of one in
    between: such a release had columns that this one doesn't know how to derive.
    """
    version = int(entry.body or len(schema.MIGRATIONS))
    try:
        was_current = is_current(connection)
        if version < len(schema.MIGRATIONS):
            migrate_to(connection, version)
        else:
            migrate_within(connection)
    except ValueError:
        raise newer() from None
    if fingerprint(connection) != entry.schema:
        if was_current or all(name.n < entry.n for name in bases()):
            raise newer()
        raise NeedsBase
    reload_indexes(connection, entry)


def reload_indexes(connection: apsw.Connection, entry: LogEntry) -> None:
    """Have every open index read all rows again: a migration gives them no numbers of changes."""
    connection.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (entry.nonce.hex()[:16],))
