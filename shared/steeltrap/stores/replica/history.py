"""A user's log as a history: the memories as they were at a time, as far back as the log goes.

It goes back to its first entry, or to the last forgetting: what was forgotten never comes back. Times are those of the
writers' clocks. A user's memories are put back by one more entry, which other machines apply like any other.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import Final

import apsw

from ...errors import InvalidInput
from ...model import Difference, UserRef, from_micros, to_micros
from ...ports import Deadline, Log
from ...text.limits import from_key
from ..sqlite.connection import transaction
from ..sqlite.file import UNFINISHED, UserFile
from ..sqlite.header import remove_meta
from ..sqlite.opening import READER_KIB
from .applying import apply_patchsets, fingerprint
from .bases import unpacked
from .entries import LogEntry, damaged, unpack
from .moving import DamagedRows, replace_rows
from .position import open_replica

_BLOCK: Final = 256


def build(log: Log, user: UserRef, log_id: bytes, at: datetime, path: Path) -> None:
    """Make a file of a user's memories as they were at a time. Raises InvalidInput for a time that is too early."""
    moment = to_micros(at)
    base = _base_before(log, user, moment)
    if base is None:
        first = _entry(log, user, 1)
        if first is not None and (first.kind == "stub" or first.written > moment):
            earliest = _earliest(log, user, first)
            raise InvalidInput(f"The history of these memories begins at {earliest}: name a later time.")
        open_replica(path, new=True).connection.close()
    else:
        entry, size = base
        with unpacked(entry, size, path, log_id) as base_file:
            base_file.rename(path)
    with closing(open_replica(path, cache_kib=READER_KIB).connection) as connection:
        for entries in _entries_until(log, user, 1 if base is None else base[0].n + 1, moment):
            if any(entry.schema != fingerprint(connection) for entry in entries):
                raise InvalidInput("The history of these memories begins at the last migration: name a later time.")
            with transaction(connection):
                apply_patchsets(connection, entries)


def _base_before(log: Log, user: UserRef, moment: int) -> tuple[LogEntry, int] | None:
    """The newest base that was the state at a time or before, and its size."""
    for name in reversed(log.bases()):
        entry = _entry(log, user, name.n)
        if entry is not None and entry.written <= moment and (data := log.read_base(name)) is not None:
            return unpack(data, user, name.n), len(data)
    return None


def _entry(log: Log, user: UserRef, n: int) -> LogEntry | None:
    [data] = log.read([n])
    return None if data is None else unpack(data, user, n)


def _earliest(log: Log, user: UserRef, first: LogEntry) -> str:
    written_at = first.written
    if first.kind == "stub":
        root = _entry(log, user, log.bases()[0].n)
        written_at = written_at if root is None else root.written
    return f"{from_micros(written_at):%Y-%m-%d %H:%M:%S} UTC"


def _entries_until(log: Log, user: UserRef, n: int, moment: int) -> Iterator[list[LogEntry]]:
    """The entries from a number on that were written up to a time, in blocks."""
    while True:
        entries: list[LogEntry] = []
        for data in log.read(range(n, n + _BLOCK)):
            entry = None if data is None else unpack(data, user, n)
            if entry is None or entry.written > moment:
                break
            if entry.kind in ("stub", "base"):
                raise damaged(f"entry {n} is a {entry.kind}, and no base is behind it")
            entries += [entry] if entry.kind == "change" else []  # a migration leaves the rows as they are
            n += 1
        else:
            if entries:
                yield entries
            continue
        if entries:
            yield entries
        return


def differences(now: Path, past: Path) -> list[Difference]:
    """The memories that differ between two files, messages too; a deleted memory is none."""
    old, new = _texts(past), _texts(now)
    return [
        Difference(id=id, now=new.get(id, (None, None))[1], then=old.get(id, (None, None))[1])
        for id in sorted(old.keys() | new.keys())
        if old.get(id) != new.get(id)
    ]


def _texts(path: Path) -> Mapping[str, tuple[int, str]]:
    """By id the version and the text of all memories of a file."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        rows = connection.execute("SELECT id, version, image ->> '$.content' FROM memory WHERE deleted_at IS NULL")
        return {from_key(id): (version, content) for id, version, content in rows}


def put_back(file: UserFile, past: Path, deadline: Deadline) -> None:
    """Put the memories of a file in place of a user's. Raises Unavailable, also where these were moved to another
    place."""

    def redo(connection: apsw.Connection, _: int) -> None:
        file.header.check_owner(connection, file.path)
        replace_rows(connection, past)
        # The index of every process is made anew: the numbers of changes go back.
        connection.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (token_hex(8),))
        remove_meta(connection, UNFINISHED)

    try:
        file.transaction("move", redo, deadline)
    except DamagedRows as error:
        raise error.damage from error
