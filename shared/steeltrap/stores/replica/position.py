"""How far a user's file has come in its log: a row of the file, written in one transaction with the rows of memories.

The table is in no patchset, so it is each replica's own. A base carries it along.
"""

from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final

import apsw

from ..sqlite.connection import translated
from ..sqlite.opening import READER_KIB, Opened, open_file
from ..sqlite.schema import migrate

_MOST_ENTRIES: Final = 256
"""The most entries after a base: this many are read and applied in a moment."""
_FEWEST_ENTRIES: Final = 8
"""Up to this number, entries are read side by side: a base would be no quicker."""
_SMALL_BASE: Final = 64 * 1024
"""A smaller base is made no more often than one of this size."""
_LARGE_BASE: Final = 16 * 1024 * 1024
"""A base of more bytes is made only when the entries since are worth it."""

TABLE: Final = "position"
_CREATE: Final = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
  log BLOB NOT NULL, n INTEGER NOT NULL, nonce BLOB NOT NULL, base INTEGER NOT NULL, base_bytes INTEGER NOT NULL,
  since_bytes INTEGER NOT NULL, forgot INTEGER NOT NULL, removed INTEGER NOT NULL, scrubbed INTEGER NOT NULL
)
"""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a file is. `n` is the last applied entry of `log`, `nonce` its nonce. `base` is the newest known base,
    with its bytes and those of the entries since. All entries up to `forgot` are stubs. `removed` is the last entry
    that removed something for good, `scrubbed` the last such entry whose bytes are gone from this file."""

    log: bytes
    n: int
    nonce: bytes
    base: int = 0
    base_bytes: int = 0
    since_bytes: int = 0
    forgot: int = 0
    removed: int = 0
    scrubbed: int = 0

    @property
    def is_unfinished(self) -> bool:
        """Whether the log has bytes of what was removed."""
        return self.removed > self.forgot


_NAMES: Final = ", ".join(field.name for field in fields(Position))
_PLACES: Final = ", ".join("?" * len(fields(Position)))


def read_position(connection: apsw.Connection, log: bytes) -> Position:
    """The position of a file; its beginning in a file that has none."""
    row = connection.execute(f"SELECT {_NAMES} FROM {TABLE}").fetchone()
    return Position(log, 0, log) if row is None else Position(*row)


def write_position(connection: apsw.Connection, position: Position) -> None:
    """Put the position of a file in place of the one there, inside a transaction."""
    connection.execute(f"DELETE FROM {TABLE}")
    connection.execute(f"INSERT INTO {TABLE} ({_NAMES}) VALUES ({_PLACES})", astuple(position))


def is_worth_a_base(position: Position) -> bool:
    """Whether so much came after the last base that a new replica would have to read for long."""
    entries = position.n - position.base
    is_worth_it = position.since_bytes > max(position.base_bytes, _SMALL_BASE) // 4
    are_many = entries > _MOST_ENTRIES and position.base_bytes < _LARGE_BASE
    return are_many or (entries > _FEWEST_ENTRIES and is_worth_it)


def open_replica(path: Path, *, new: bool = False, cache_kib: int = READER_KIB) -> Opened:
    """A connection to a replica's file; a `new` one gets its tables.

    The log is what is durable, so a commit of the file doesn't wait for the disk. An older file is never migrated here:
    its log says where. Raises SteeltrapError.
    """
    opened = open_file(path, new=new, cache_kib=cache_kib, synchronous="normal")
    connection = opened.connection
    with translated(path):
        try:
            if connection.pragma("user_version") == 0:
                migrate(connection)
            connection.execute(_CREATE)
        except BaseException:
            connection.close()
            raise
    return opened
