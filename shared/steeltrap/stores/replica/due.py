"""Due work of a user, and the marker by which a sweep finds it without opening anybody else's file.

A marker is an object beside the logs: an hour, the number of an entry, and the user's key. It is put before the entry
of its number, which says in `meta` that it stands. So all replicas agree by the order of the log, and by no clock:

    put m7 -- entry 7: m7 stands -- its hour is over: sweep -- put m9 -- entry 9: m9 stands -- remove m7

The marker that stands names the hour of the user's earliest due work, or an earlier one. Only entry n lets a marker
of n stand. So a process that has entry n and sees that its marker doesn't stand may remove it: nothing needs it any
more.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

import apsw

from ...model import from_micros, later
from ...ports import Clock, Log, Marker, hour_of
from ...text.words import WORDS_VERSION
from ..sqlite.file import Kind
from ..sqlite.header import analysis_of, is_here, remove_meta
from .position import Position

_KEY: Final = "due"
_TURNS_WAIT: Final = timedelta(days=7)
"""Messages become episodes with the user's next call; a sweep makes them for those who don't come back."""
_ROUND_HOURS: Final = 64 * 24
"""After so long, daily sweeps have opened everyone: also users whose marker was lost, or of older releases."""
_SHARE_HOURS: Final = 25
"""A day, and the hour by which a daily sweep may be late."""
_KEYS: Final = 16**4


class DueWork:
    """Lets a marker stand for what transactions make due. Used in one's turn to write."""

    def __init__(self, log: Log, retention: timedelta, clock: Clock) -> None:
        self._log = log
        self._retention = retention
        self._clock = clock
        self._at: datetime | None = None

    def begin(self) -> None:
        """Begin a transaction: nothing is due by it yet."""
        self._at = None

    def note_change(self, connection: apsw.Connection, kind: Kind, change: int) -> None:
        """Note when work comes due by what a transaction changed."""
        if kind == "change":
            self._at = self._earliest(connection, change)
        elif kind == "move" and is_here(connection):
            # The rows are another file's: its marker isn't in this place, and there may be any work.
            let_stand(connection, None)
            self._at = self._clock.now()

    def note_all(self, connection: apsw.Connection, position: Position, markers: Collection[Marker]) -> None:
        """Note when work comes due in all rows, after a sweep that found some markers: none of those stands any more,
        but for one of an entry that isn't there. That entry is made now, so that its marker can be removed."""
        unused = next((marker for marker in markers if marker.n == position.n + 1), None)
        if unused is not None or standing(connection) in markers:
            let_stand(connection, unused)
        if (at := self._clock.now() if position.is_unfinished else self._earliest(connection, None)) is not None:
            self._at = max(at, self._clock.now())  # a sweep takes hours that are over: not this user twice

    def cover(self, connection: apsw.Connection, position: Position, *, at_once: bool) -> None:
        """Put a marker, before the entry of a transaction, for what is due earlier than the one that stands says: by
        its changes, or `at_once`. Raises Unavailable."""
        at = self._clock.now() if at_once else self._at
        stands = standing(connection)
        if at is None or (stands is not None and stands.hour <= hour_of(at)):
            return
        marker = Marker(hour_of(at), position.n + 1)
        self._log.mark(marker)
        let_stand(connection, marker)

    def _earliest(self, connection: apsw.Connection, change: int | None) -> datetime | None:
        """When the rows of a change need a sweep, or all rows; None where they need none."""
        where = "change = ?1" if change is not None else "?1 IS NULL"
        [(expires, deleted)] = connection.execute(
            f"SELECT min(expires_at), min(deleted_at) FROM memory WHERE {where}", (change,)
        )
        turns = connection.execute(f"SELECT 1 FROM open_turn JOIN memory USING (n) WHERE {where} LIMIT 1", (change,))
        times = [] if expires is None else [from_micros(expires)]
        if deleted is not None:
            times.append(later(from_micros(deleted), self._retention))
        if turns.fetchone() is not None:
            times.append(later(self._clock.now(), _TURNS_WAIT))
        if change is None and analysis_of(connection) < WORDS_VERSION:
            times.append(self._clock.now())
        return min(times, default=None)


def share_at(at: datetime) -> list[tuple[str, str]]:
    """The ranges of keys whose users a sweep at a time opens although no marker says that they have work due.

    They begin further on with each hour, so sweeps that reach a part only open other users each time.
    """
    hours = int(at.timestamp() // 3600) % _ROUND_HOURS
    first, end = (_KEYS * hour // _ROUND_HOURS for hour in (hours, hours + _SHARE_HOURS))
    ranges = [(first, min(end, _KEYS)), (0, end - _KEYS)]
    return [(f"{low:04x}", f"{high:04x}" if high < _KEYS else "g") for low, high in ranges if low < high]


def standing(connection: apsw.Connection) -> Marker | None:
    """The marker that stands, by the rows of a file."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    return None if row is None else Marker.of_name(str(row[0]))


def let_stand(connection: apsw.Connection, marker: Marker | None) -> None:
    """Say in a file that has begun which marker stands."""
    if marker is None:
        remove_meta(connection, _KEY)
    else:
        connection.execute(
            "INSERT OR REPLACE INTO meta (key, value) SELECT ?, ? WHERE EXISTS (SELECT 1 FROM meta)",
            (_KEY, marker.name),
        )
