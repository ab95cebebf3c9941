"""Counters of all processes that serve a data folder, in a small file of their own beside the users'; and those over a
log, for the quotas of its users.

Over a log amounts are in the user's own file, which each machine has brought up to date by the time that it writes. So
none is kept: each is measured there, and is exact on all machines.
"""

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

import apsw

from ...model import UserRef
from ...ports import Amount
from ..data_folder import DataFolder
from .connection import translated

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS calls (user TEXT, minute INTEGER, count INTEGER, PRIMARY KEY (user, minute)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS amount (user TEXT PRIMARY KEY, memories INTEGER, bytes INTEGER, measured REAL) WITHOUT ROWID;
"""
_COUNT: Final = (
    "INSERT INTO calls VALUES (?, ?, 1) ON CONFLICT (user, minute) DO UPDATE SET count = count + 1 RETURNING count"
)
_WAIT_SECONDS: Final = 1.0
"""A call goes on uncounted rather than wait longer."""


class SqliteCounters:
    """Calls of the current minute and the amount of each user, named by their digests. Safe for threads.

    Nothing waits for the disk: after a power cut the counts may be those of some seconds earlier.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "counters.db"
        self._folder = DataFolder(folder)
        self._connection: apsw.Connection | None = None
        self._minute = 0
        self._lock = threading.Lock()

    def count_call(self, user: UserRef, minute: int) -> int:
        [(count,)] = self._run(_COUNT, (user.key, minute))
        if minute > self._minute:
            self._minute = minute
            self._run("DELETE FROM calls WHERE minute < ?", (minute - 1,))  # a late call may still count for the last
        return int(count)

    def amount(self, user: UserRef) -> Amount | None:
        for memories, size, measured in self._run(
            "SELECT memories, bytes, measured FROM amount WHERE user = ?", (user.key,)
        ):
            return Amount(memories=memories, bytes=size, measured_at=datetime.fromtimestamp(measured, UTC))
        return None

    def set_amount(self, user: UserRef, amount: Amount) -> None:
        values = (user.key, amount.memories, amount.bytes, amount.measured_at.timestamp())
        self._run("INSERT OR REPLACE INTO amount VALUES (?, ?, ?, ?)", values)

    def add_amount(self, user: UserRef, *, memories: int, bytes: int) -> None:
        values = (memories, bytes, user.key)
        self._run("UPDATE amount SET memories = memories + ?, bytes = bytes + ? WHERE user = ?", values)

    def forget(self, user: UserRef) -> None:
        """Remove what was counted of a user."""
        if self._path.exists():
            self._run("DELETE FROM calls WHERE user = ?", (user.key,))
            self._run("DELETE FROM amount WHERE user = ?", (user.key,))

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _run(self, statement: str, values: Sequence[Any]) -> list[Any]:
        with self._lock, translated(self._path):
            if self._connection is None:
                self._connection = self._opened()
            return self._connection.execute(statement, values).fetchall()

    def _opened(self) -> apsw.Connection:
        self._folder.make()
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = apsw.Connection(str(self._path))
        try:
            connection.set_busy_timeout(int(_WAIT_SECONDS * 1000))
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "off")
            connection.pragma("secure_delete", "on")
            connection.execute(_TABLES)
        except BaseException:
            connection.close()
            raise
        return connection


class CountsCalls(Protocol):
    """Counts the calls of users: a table for all machines, or a file for this one."""

    def count_call(self, user: UserRef, minute: int) -> int: ...


class LogCounters:
    """Counters that store no amount, so that a caller measures it."""

    def __init__(self, calls: CountsCalls) -> None:
        self._calls = calls

    def count_call(self, user: UserRef, minute: int) -> int:
        return self._calls.count_call(user, minute)

    def amount(self, user: UserRef) -> None:
        """Always None."""

    def set_amount(self, user: UserRef, amount: Amount) -> None:
        """Nothing is kept."""

    def add_amount(self, user: UserRef, *, memories: int, bytes: int) -> None:
        """Nothing is kept."""
