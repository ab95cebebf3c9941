"""The tables of a replica's file: which release's they are, and how a log brings them to another release's.

A file is never migrated when it is opened. An entry says where: each replica migrates there, in the transaction with
the entries around it, so that all have the same tables at the same place. A release that can't make the tables which
the entry names takes them from a base, or asks to be upgraded.
"""

from collections.abc import Callable
from contextlib import closing
from hashlib import sha256

import apsw

from ...errors import Unavailable
from ...ports import BaseName
from ..sqlite import schema
from ..sqlite.schema import TABLES, is_current, make_version, migrate_to, migrate_within, versions_of_replicas, works_on
from .entries import LogEntry, newer


class NeedsBase(Exception):
    """The effect of an entry is only in a base."""


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
