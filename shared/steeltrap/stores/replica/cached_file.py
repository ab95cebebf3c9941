"""A user's file in a cache: it may be removed at any time, or be damaged, and is made again of what the log has.

Processes share a cache: who has a file open holds it, and only what nobody holds is removed. SQLite finds a file's log
by its name. If a file were removed that another process has open, and made again, the log of one could be read as that
of the other.

Other processes may remove the file or make it again meanwhile. A call that has seen rows never gets an answer without
them: it is an error to try again.
"""

import logging
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import apsw

from ...errors import SteeltrapError, Unavailable
from ...ports import Deadline
from ..data_folder import DataFolder, hold, release
from ..sqlite.connection import OPEN_SECONDS, DamagedFile, translated
from ..sqlite.file import UserFile
from ..sqlite.header import Header
from ..sqlite.opening import READER_KIB, Identity, Opened, identity
from ..sqlite.scrubbing import Reserve
from .bases import remove_copies
from .entries import damaged
from .position import Position, open_replica, read_position

_TRIES: Final = 50
_PAUSE: Final = 0.02
_DAMAGED: Final = "-damaged"
BEHIND: Final = datetime.fromtimestamp(0, UTC)
"""When a file was at the end of its log last, where it lacks an entry of its own."""


def hold_open(path: Path) -> int | None:
    """Hold a file that is about to be opened, until the descriptor is closed. None where a system has no such locks.

    Raises Unavailable while it is being removed.
    """
    marker = _marker(path)
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):  # the cache was removed: whoever makes a file makes its folder
            _make(marker)
        try:
            descriptor = hold(marker)
        except Unavailable:
            time.sleep(_PAUSE)
            continue
        if descriptor is None or _is_at(marker, descriptor):
            return descriptor
        release(descriptor)  # it was removed between its making and its lock
    raise Unavailable("The cache is being cleared; try again.", part="store")


def hold_made(path: Path) -> int | None:
    """Hold a file that processes may have open, as `hold_open`, but make nothing. None where none has opened it yet.

    Raises Unavailable while it is being removed.
    """
    try:
        return hold(_marker(path))
    except Unavailable as error:
        raise Unavailable("The cache is being cleared; try again.", part="store") from error


def discard(path: Path) -> bool:
    """Remove a file from the cache. False where another process has it open."""
    marker = _marker(path)
    with suppress(OSError):
        _make(marker)
        try:
            descriptor = hold(marker, alone=True)
        except Unavailable:
            return False
        try:
            if descriptor is not None and not _is_at(marker, descriptor):
                return False
            remove_file(path)
            marker.unlink(missing_ok=True)
            return True
        finally:
            release(descriptor)
    return False


def remove_file(path: Path) -> None:
    """Remove a replica's file, what SQLite keeps beside it, and the note that it is damaged."""
    for suffix in ("", "-wal", "-shm", _DAMAGED):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def note_current(path: Path, at: datetime) -> None:
    """Note that a file was at the end of its log at a time, for all processes that share the cache."""
    with suppress(OSError):
        os.utime(_marker(path), (at.timestamp(), at.timestamp()))


def note_behind(path: Path) -> None:
    """Note that a file lacks an entry that a call of this machine has created, until `note_current`."""
    note_current(path, BEHIND)


def current_at(path: Path) -> datetime | None:
    """When a file was at the end of its log last; None where that isn't known."""
    with suppress(OSError):
        return datetime.fromtimestamp(_marker(path).stat().st_mtime, UTC)
    return None


def note_damaged(path: Path, file: Identity, n: int) -> None:
    """Note that a file is damaged, for whichever process uses it next, and up to which entry it had come."""
    with suppress(OSError):
        note = _damage_note(path)
        _make(note)
        note.write_text(f"{file!r} {n}")


def forget_damage(path: Path) -> None:
    """Remove the note of a file that is no longer there: the next one may get the number of its inode."""
    with suppress(OSError):
        _damage_note(path).unlink()


def noted_damage(path: Path, file: Identity) -> int | None:
    """Up to which entry a file had come, at least, that was noted as damaged; None for one that was not."""
    with suppress(OSError):
        of, _, n = _damage_note(path).read_text().rpartition(" ")
        if of == repr(file) and n.isdecimal():
            return int(n)
    return None


def _make(marker: Path) -> None:
    """Make a marker that isn't there. One that is keeps its time."""
    os.close(os.open(marker, os.O_RDWR | os.O_CREAT, 0o600))


def _marker(path: Path) -> Path:
    return path.with_name(f"{path.name}-open")


def _damage_note(path: Path) -> Path:
    return path.with_name(path.name + _DAMAGED)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        named_file, open_file = os.stat(path), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return (named_file.st_dev, named_file.st_ino) == (open_file.st_dev, open_file.st_ino)


_MADE_AGAIN: Final = (
    "This machine's copy of these memories is damaged. They are in the log, from which it is made again: try again."
)

_log = logging.getLogger("steeltrap")


class CachedFile(UserFile, ABC):
    """A file that may be thrown away: what it holds is in the log. Safe for threads."""

    def __init__(self, path: Path, header: Header, data: DataFolder, reserve: Reserve, log_id: bytes) -> None:
        self._descriptor: int | None = None
        super().__init__(path, header, data, reserve, self._open_held)
        self._log_id = log_id
        self._last_position: tuple[Position, Identity | None] | None = None
        self._highest = 0
        self._in_full: apsw.Connection | None = None
        self._works_on: Identity | None = None
        self._is_beginning = self._is_damaged = False
        self._damaged_file: Identity | None = None
        self._made_again: Identity | None = None

    @abstractmethod
    def _has_entry(self, n: int) -> bool:
        """Whether the log has an entry. Raises Unavailable."""

    @abstractmethod
    def _begin_again(self, deadline: Deadline) -> None:
        """Make the file of what the log has, in one's turn to write. Raises Unavailable."""

    # Where the file is in the log

    def last_position(self) -> tuple[Position, Identity | None] | None:
        """The position that the file had when it was last read or written here. Another one stands for other rows."""
        return self._last_position

    def _position(self) -> Position:
        """Where the file is, as far as this process knows: another one that shares the file may have gone on."""
        file = identity(self.path)
        if self._last_position is not None and self._last_position[1] == file:
            return self._last_position[0]
        if file is None:
            self._let_go_of_nothing()
            return Position(self._log_id, 0, self._log_id)
        remove_copies(self.path)
        with suppress(OSError):
            os.utime(self.path)  # the cache gives up what was used longest ago
        with self._reading_unchecked() as connection:
            if connection is None:
                return Position(self._log_id, 0, self._log_id)
            position = read_position(connection, self._log_id)
        if position.log != self._log_id:
            self._throw_away()
            return Position(self._log_id, 0, self._log_id)
        self._note(position, file)
        return position

    def _note(self, position: Position, file: Identity | None) -> None:
        self._last_position = position, file
        self._highest = max(self._highest, position.n)

    def _let_go_of_nothing(self) -> None:
        """Close a file that was thrown away while it was open."""
        if self._connections.count:
            with self._write_turn(OPEN_SECONDS), self._read_lock:
                if identity(self.path) is None:
                    self._disconnect()

    def _read_known(self) -> Position:
        """The position in the file, in one's turn to write."""
        if identity(self.path) is None:
            return Position(self._log_id, 0, self._log_id)
        opened = self._open_writer()
        with translated(self.path):
            position = read_position(opened.connection, self._log_id)
        self._note(position, opened.file)
        return position

    # A file that is damaged

    def _note_damage(self, error: DamagedFile) -> None:
        """Have the next call make the file again, in this process or another. Raises the error where it was made of the
        log as it is: that is damaged itself."""
        file = identity(self.path)
        if file is not None and file == self._made_again:
            raise error
        self._is_damaged, self._damaged_file = True, file
        if file is not None:
            self._highest = max(self._highest, noted_damage(self.path, file) or 0)
            note_damaged(self.path, file, self._highest)

    def _look_for_damage(self) -> bool:
        """Whether the file is damaged, as far as a call has met it: of a file that this process has not used yet, one
        that ended."""
        if not self._is_damaged and self._last_position is None:
            file = identity(self.path)
            if file is None:
                forget_damage(self.path)
            elif (n := noted_damage(self.path, file)) is not None:
                self._is_damaged, self._damaged_file = True, file
                self._highest = max(self._highest, n)
        return self._is_damaged

    def _make_again(self, deadline: Deadline) -> None:
        """Throw the file away, in which a call met damage, and make it again, if the log has all that it held.

        Raises Unavailable, with the file as it is, for a log that can't be read or lacks entries.
        """
        with self._write_turn(deadline.before()):
            if not self._is_damaged:
                return  # another thread was faster
            highest = self._highest
            if identity(self.path) == self._damaged_file and not self._has_entry(max(1, highest)):
                raise damaged("entries are missing")
            if identity(self.path) == self._damaged_file:  # else another process made it, perhaps meanwhile
                _log.warning("a damaged replica was thrown away and is made again: %s", self.path.name)
                self._is_beginning = True
                try:
                    self._remove()
                    # Until it is made it is lost, and not that of a user without memories.
                    self._highest = max(1, highest)
                    self._begin_again(deadline)
                finally:
                    self._is_beginning = False
                if self._read_known().n < highest:
                    raise damaged("entries are missing")
                self._made_again = identity(self.path)
            self._is_damaged = False

    @contextmanager
    def noting_damage(self) -> Iterator[None]:
        """Note the damage that a call meets, and have its error say that the file will be made again."""
        try:
            yield
        except SteeltrapError as error:
            if isinstance(error, DamagedFile):
                self._note_damage(error)
            # What damaged rows seem to lack is no refusal; that the outcome isn't known is said as it is.
            if self._is_damaged and (isinstance(error, DamagedFile) or not isinstance(error, Unavailable)):
                raise DamagedFile(_MADE_AGAIN, retryable=True) from error
            raise

    @contextmanager
    def _reading_unchecked(self) -> Iterator[apsw.Connection | None]:
        with self.noting_damage(), super()._reading_unchecked() as connection:
            yield connection

    # A cache may be removed at any time

    def is_lost(self) -> bool:
        """Whether the file is gone that a call has brought to the end of the log."""
        return self._highest > 0 and identity(self.path) is None

    def is_there(self) -> bool:
        self._wait_for_rows()
        if self.is_lost():
            raise self._data.removed(self.path)
        return super().is_there()

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection | None]:
        self._wait_for_rows()
        with super().reading() as connection:
            if self.is_lost() if connection is None else self._is_behind(connection):
                raise self._data.removed(self.path)
            yield connection

    @contextmanager
    def reading_again(self) -> Iterator[apsw.Connection | None]:
        with self.reading() as connection:  # a cache may be removed between two reads of a call
            yield connection

    def _is_behind(self, connection: apsw.Connection) -> bool:
        """Whether another process is making the file again, and not all is in it that calls have seen."""
        if connection is self._in_full:
            return False
        if read_position(connection, self._log_id).n < self._highest:
            return True
        self._in_full = connection
        return False

    def _wait_for_rows(self) -> None:
        """Let a file that begins get its rows: with none, it would look like that of a user without memories."""
        if self._is_beginning:
            with self._write_turn(OPEN_SECONDS):
                pass

    def give_up(self) -> bool:
        """Remove the file, unless it is in use right now. What was read stays noted, to be written later."""
        with ExitStack() as locks:
            for lock in (self._write_lock, self._read_lock):
                if not lock.acquire(blocking=False):
                    return False
                locks.callback(lock.release)
            for opened in (self._connections.reader, self._connections.writer):
                if opened is not None:  # nothing needs to be durable that is about to go
                    opened.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._disconnect()
            return discard(self.path)

    def _open_held(self, path: Path, *, new: bool = False, cache_kib: int = READER_KIB) -> Opened:
        """A connection to the file, which other processes don't remove from the cache meanwhile."""
        if self._descriptor is None:
            self._descriptor = hold_open(path)
        if not new and identity(path) is None:
            raise self._data.removed(path)
        return open_replica(path, new=new, cache_kib=cache_kib)

    def _disconnect(self) -> None:
        super()._disconnect()
        # From now on another process may remove the file, and make one that gets the number of its inode.
        self._last_position = self._works_on = self._in_full = None
        descriptor, self._descriptor = self._descriptor, None
        release(descriptor)

    # Throwing away

    def _throw_away(self) -> None:
        with self._write_turn(OPEN_SECONDS):
            self._remove()

    def _remove(self) -> None:
        """Remove the file, in one's turn to write. What it holds is in the log."""
        with self._read_lock, translated(self.path):
            self._disconnect()
            remove_file(self.path)
        self._highest = 0
