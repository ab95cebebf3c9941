"""One user's open file: a connection to read by, one to write by, the index over it, and how its memories are read.

Counts are added, a card is replaced only where it is still the one the review began from. What is in the
buffer when a process dies is lost, by contract.

Readers and writers don't wait for each other; two readers of one user do, for well under a millisecond.
Locks are taken in one order: to flush, to write or to open, SQLite's own, to read. So nothing waits for SQLite's
write lock while it holds the lock to read, which a writer may want.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import apsw

from ...errors import SteeltrapError, Unavailable
from ...model import Memory, Usage, from_micros, to_micros
from ...ports import Deadline
from ...record import from_image
from ...text.limits import to_key
from ..data_folder import DataFolder
from ..exact.index import Index
from ..usage_buffer import Pending, UsageBuffer
from .connection import CONNECTION_BYTES, OPEN_SECONDS, select, translated, writing
from .header import Header, read_meta
from .opening import WRITER_KIB, Identity, Opened, Opener, identity, open_current
from .records import AMONG, IndexSource, changes, to_keys
from .schema import TABLES
from .scrubbing import Reserve, scrub


class Connections:
    """A connection to read by and one to write by, each opened when it is needed.

    Not safe for threads: whoever calls holds the lock to read or to write, and to close anything both.
    """

    def __init__(self, path: Path, data: DataFolder, open: Opener) -> None:
        self._path = path
        self._data = data
        self.open = open
        self.reader: Opened | None = None
        self.writer: Opened | None = None

    @property
    def count(self) -> int:
        """How many are open."""
        return (self.reader is not None) + (self.writer is not None)

    @property
    def are_replaced(self) -> bool:
        """Whether another file is at the path."""
        with translated(self._path):
            return not self.are_of(identity(self._path))

    def are_of(self, file_identity: Identity | None) -> bool:
        """Whether all that is open is this file. One connection to another is enough that it isn't: the other's log
        would be read as this one's."""
        return all(opened is None or opened.file == file_identity for opened in (self.reader, self.writer))

    def find(self) -> Identity | None:
        """The identity of the file at the path. Raises Unavailable when it was there and is gone."""
        was_open = self.count > 0  # read first: another thread may be making the file
        file_identity = identity(self._path)
        if file_identity is None:
            self._data.require()
            if was_open:
                raise self._data.removed(self._path)
        return file_identity

    def to_write(self, *, new: bool) -> Opened:
        """The connection to write by; a `new` file is made if it is not there."""
        if self.writer is None:
            if new:
                self._data.make()
                self._path.parent.mkdir(mode=0o700, exist_ok=True)
            self.writer = self.open(self._path, new=new, cache_kib=WRITER_KIB)
        return self.writer

    def take_logs_along(self) -> None:
        """Move the logs of a file that was replaced into it. Raises SteeltrapError, with all still open."""
        for opened in (self.writer, self.reader):
            if opened is not None:
                opened.take_log_along()

    def close(self) -> None:
        for opened in (self.reader, self.writer):
            if opened is not None:
                opened.connection.close()
        self.reader = self.writer = None


_FLUSH = """
INSERT INTO usage (n, access_count, last_accessed_at)
SELECT n, :count, :at FROM memory WHERE id = :key
ON CONFLICT (n) DO UPDATE SET
  access_count = access_count + excluded.access_count,
  last_accessed_at = max(coalesce(last_accessed_at, 0), excluded.last_accessed_at)
"""
_REVIEW = """
INSERT INTO usage (n, access_count, card) SELECT n, 0, :card FROM memory WHERE id = :key
ON CONFLICT (n) DO UPDATE SET card = excluded.card WHERE card IS :previous
"""

_READ = "SELECT id, access_count, last_accessed_at, card FROM usage JOIN memory USING (n)"
_MANY = 5_000
"""From so many ids on, reading all that was ever accessed is quicker than looking each one up."""


def write_usage(connection: apsw.Connection, pending: Mapping[str, Pending]) -> None:
    """Put what was pending into the file, inside a transaction."""
    for id, more in pending.items():
        key = to_key(id)
        if more.count and more.at:
            connection.execute(_FLUSH, {"key": key, "count": more.count, "at": to_micros(more.at)})
        for previous, card in more.reviews:
            write_review(connection, id, previous, card)


def write_review(connection: apsw.Connection, id: str, previous: str | None, card: str) -> bool:
    """Put a card in place of `previous`; whether that was the one there."""
    before = connection.total_changes()
    connection.execute(_REVIEW, {"key": to_key(id), "card": card, "previous": previous})
    return connection.total_changes() > before


def read_usage(connection: apsw.Connection, ids: Sequence[str]) -> dict[str, Usage]:
    """The usage of these memories, as far as it is written down."""
    keys = {to_key(id): id for id in ids}
    if len(keys) < _MANY:
        rows = connection.execute(f"{_READ} WHERE {AMONG}", (to_keys(ids),))
    else:
        rows = connection.execute(_READ)
    return {
        keys[key]: Usage(access_count=count, last_accessed_at=None if at is None else from_micros(at), card=card)
        for key, count, at, card in rows
        if key in keys
    }


UNFINISHED: Final = "unscrubbed"
"""Set in `meta` with the rows' removal, taken away when their bytes are gone: a crash in between is known."""


def is_marked(connection: apsw.Connection) -> bool:
    """Whether bytes of what was removed are left."""
    return connection.execute("SELECT 1 FROM meta WHERE key = ?", (UNFINISHED,)).fetchone() is not None


def _empty_tables(connection: apsw.Connection, _: int) -> bool:
    """Remove every row. False when there was none."""
    was_used = connection.execute("SELECT 1 FROM meta").fetchone() is not None
    for table in TABLES:
        connection.execute(f"DELETE FROM {table}")
    return was_used


T = TypeVar("T")
Redo = Callable[[apsw.Connection, int], T]
Kind = Literal["change", "vectors", "usage", "wipe", "move"]
"""The kinds of transactions: `change` has the next number, and takes only memories of the file's embedder; the others
have none. `usage` and `move` are allowed in any file, `vectors` and `wipe` in the owner's."""

_log = logging.getLogger("steeltrap")

DESCRIPTORS: Final = 6
"""Descriptors of an open file at most: two connections, each with the database and its log, and shared memory."""


_FLUSH_SECONDS: Final = 1.0
_MOST_RECENT: Final = 2_000
_SHORT: Final = 2_000
"""Characters of the longest memory, written with all its fields, that is kept when it was read."""
_MEMORY_BYTES: Final = 600
"""About what a memory takes beside its text."""
_BYTES_OF_OTHERS: Final = 5
"""About what each character takes in a text that has others than those of ASCII."""


class UserFile:
    """Made without touching the disk; the file comes to be with the first write.

    If the file is replaced while it is open, the new file is served from then on. If it is removed, every call is an
    error until it is put back or the file is closed: what was acknowledged is never silently gone.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        data: DataFolder,
        reserve: Reserve,
        open: Opener = open_current,
    ) -> None:
        self.path = path
        self.embedder = header.embedder
        self.dimension = header.dimension
        self.reserve = reserve
        self.header = header
        self._data = data
        self._connections = Connections(path, data, open)
        self._read_lock = threading.Lock()
        self._open_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._flush_lock = threading.Lock()
        self._index = Index(header.dimension)
        self._meta: Mapping[str, Any] = {}
        self._recent: dict[str, tuple[Memory, int]] = {}
        self._recent_bytes = 0
        self._meta_version = self._index_version = -1
        self.usage = UsageBuffer()

    def is_there(self) -> bool:
        """Whether the user has a file. Raises Unavailable for one that was removed while it was open."""
        with translated(self.path):
            return self._connections.find() is not None

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection | None]:
        """The reading connection, or None while the user has no file. Raises Conflict for another embedder's file."""
        with self._reading_unchecked() as connection:
            if connection is not None:
                version = connection.execute("PRAGMA data_version").get
                if version != self._meta_version or not self._meta:
                    self._note_meta(self.header.check(connection, self.path), connection)
                    self._meta_version = version
            yield connection

    def _note_meta(self, meta: Mapping[str, Any], connection: apsw.Connection | None = None) -> None:
        """Note what the file says of itself. Memories that were written since they were read are read again."""
        since, change = self._meta.get("change", 0), meta.get("change", 0)
        if connection is None or meta.get("generation") != self._meta.get("generation") or change < since:
            self._drop_recent()
        elif change > since and self._recent:
            # First what may fail: the next look then finds the same difference.
            ids = changes(connection, since, _MOST_RECENT)
            if ids is None:
                self._drop_recent()
            for id in ids or ():
                if id in self._recent:
                    self._recent_bytes -= self._recent.pop(id)[1]
        self._meta = meta

    def _drop_recent(self) -> None:
        self._recent, self._recent_bytes = {}, 0

    def memories(self, connection: apsw.Connection, ids: Sequence[str]) -> dict[str, Memory]:
        """The memories with these ids as they are stored, deleted and expired ones too. Within `reading`.

        To read and decode a memory takes half as long as to find it: what a search found lately it finds again, so
        short ones are kept until they change. Whoever asks gets the same ones: nobody may change them.
        """
        missing = [id for id in ids if id not in self._recent]
        if not missing:
            return {id: self._recent[id][0] for id in ids}
        # For few, a statement with a place for each is quicker; SQLite has 32,766 places.
        few = len(missing) <= _MOST_RECENT
        where = f"id IN ({', '.join('?' * len(missing))})" if few else AMONG
        values = tuple(map(to_key, missing)) if few else (to_keys(missing),)
        rows = select(connection, f"SELECT image FROM memory WHERE {where}", values)
        memories = [(from_image(image), image) for (image,) in rows]
        known = {id: self._recent[id][0] for id in ids if id in self._recent}
        known |= {memory.id: memory for memory, _ in memories}
        if len(self._recent) + len(memories) > _MOST_RECENT:
            self._drop_recent()
        for memory, image in memories[:_MOST_RECENT]:
            if len(image) <= _SHORT:
                size = _MEMORY_BYTES + len(image) * (1 if image.isascii() else _BYTES_OF_OTHERS)
                self._recent[memory.id] = memory, size
                self._recent_bytes += size
        return {id: known[id] for id in ids if id in known}

    @contextmanager
    def _reading_unchecked(self) -> Iterator[apsw.Connection | None]:
        while True:
            with self._read_lock, translated(self.path):
                file_identity = self._connections.find()
                reader = self._connections.reader
                if file_identity is None:
                    yield None
                    return
                if reader is not None and reader.file == file_identity:
                    yield reader.connection
                    return
            self._open_reader()

    def meta(self) -> Mapping[str, Any]:
        """All that the file says of its user, also where the memories were moved; nothing where there is no file."""
        if not self.is_there():
            return {}
        with self._reading_unchecked() as connection:
            return {} if connection is None else read_meta(connection)

    @contextmanager
    def noting_damage(self) -> Iterator[None]:
        """Let the file know of damage that others meet who read it by its path."""
        yield

    @contextmanager
    def reading_again(self) -> Iterator[apsw.Connection | None]:
        """The reading connection for a call that has just looked: neither whether another file is at the path, nor what
        another process has changed, is asked for again."""
        with self._read_lock, translated(self.path):
            reader = self._connections.reader
            if reader is not None and self._meta:
                yield reader.connection
                return
        with self.reading() as connection:
            yield connection

    def index(self, connection: apsw.Connection) -> Index:
        """The index, with all that is committed. Within `reading`."""
        if self._meta_version != self._index_version:
            self._refresh_index(connection, self._meta)
            self._index_version = self._meta_version
        return self._index

    def transaction(self, kind: Kind, redo: Redo[T], deadline: Deadline | None = None) -> T:
        """Write in one transaction, in one's turn; all of it is durable at the end. Every write of a file is one.

        `redo` gets the connection and the number that its changes get. It changes nothing but the file, so that it can
        be run again where the transaction is refused in the end.
        """
        turn = -1 if deadline is None else deadline.before()
        with self._write_turn(turn):
            return self._run(kind, redo, OPEN_SECONDS if deadline is None else deadline.before())

    def _run(self, kind: Kind, redo: Redo[T], timeout: float) -> T:
        with self._transaction(timeout) as connection:
            if kind in ("usage", "move"):
                return redo(connection, 0)
            if kind != "change":
                self.header.check_owner(connection, self.path, may_be_reserved=kind == "wipe")
                return redo(connection, 0)
            change = self.header.begin(connection, self.path)
            answer = redo(connection, change)
            connection.execute("UPDATE meta SET value = ? WHERE key = 'change'", (change,))
            return answer

    def is_embedded(self) -> bool:
        """Whether all vectors are this embedder's, and none are being made."""
        if not self.is_there():
            return True
        return self.transaction("vectors", lambda connection, _: self.header.is_embedded(connection, self.path))

    @contextmanager
    def index_under_lock(self, connection: apsw.Connection) -> Iterator[Index]:
        """The index as of a transaction that holds the write lock and has written nothing yet."""
        with self._read_lock:
            self._refresh_index(connection, read_meta(connection))
            yield self._index

    def _refresh_index(self, connection: apsw.Connection, meta: Mapping[str, Any]) -> None:
        self._index.refresh(IndexSource(connection, meta), self.header.degraded(connection, meta))

    def wipe(self, deadline: Deadline) -> bool:
        """Remove everything, the user's name too; the file stays as an empty shell.

        It is emptied, not unlinked: a handle that another process holds then writes into a fresh space,
        where a write to an unlinked file would be acknowledged and lost. False when it was empty.
        """
        self.usage.take()
        with self._write_turn(deadline.before()):
            with translated(self.path):
                if identity(self.path) is None:
                    self._data.require()
                    with self._read_lock:
                        self._let_go()  # of a file that was removed
                    return False
            was_there = self.reserve.with_room(lambda: self._empty(deadline))
        self.scrub(deadline)
        return was_there

    def scrub(self, deadline: Deadline) -> None:
        """Leave no byte of what was removed: the one step after a removal. Raises Unavailable."""
        with self._write_turn(deadline.before()), translated(self.path):
            scrub(self._open_writer().connection, self._read_lock, deadline)

    def is_unfinished(self) -> bool:
        """Whether a removal was cut short before the bytes were gone."""
        with self.reading() as connection:
            return connection is not None and is_marked(connection)

    def flush_usage(self) -> None:
        """Write down what was read. What can't be written is dropped: reading statistics are best effort."""
        try:
            # Who comes second waits until the first has written what it took.
            with self._flush_lock:
                if not self.usage or not self.is_there():
                    return
                pending = self.usage.take()
                with self._write_turn():
                    self._run("usage", lambda connection, _: write_usage(connection, pending), _FLUSH_SECONDS)
        except SteeltrapError as error:
            self.usage.take()
            _log.warning("reading statistics were not kept; nothing else is affected: %s", error)

    def memory(self) -> int:
        """Bytes held, about: the index, the memories read lately, and what the connections cache."""
        connections = self._connections.count * CONNECTION_BYTES
        return self._index.memory() + self._recent_bytes + connections

    def close(self) -> None:
        """Flush what was read and let go of the file, behind everyone who uses it."""
        self.flush_usage()
        with self._write_lock, self._read_lock:
            try:
                self._let_go()
            except SteeltrapError as error:
                _log.warning("a replaced file kept its log: %s", error)
                self._disconnect()

    def put_away(self) -> bool:
        """Close it, unless it is in use, here or by a writer in another process: False then. Waits for nobody."""
        with ExitStack() as locks:
            for lock in (self._flush_lock, self._write_lock):
                if not lock.acquire(blocking=False):
                    return False
                locks.callback(lock.release)
            if self.usage and not self._flush_at_once():
                return False
            if not self._read_lock.acquire(blocking=False):
                return False
            locks.callback(self._read_lock.release)
            try:
                self._let_go()
            except SteeltrapError:
                return False
            return True

    @property
    def is_in_use(self) -> bool:
        """Whether it is read or written right now."""
        return any(lock.locked() for lock in (self._flush_lock, self._write_lock, self._open_lock, self._read_lock))

    @property
    def is_open(self) -> bool:
        return self._connections.count > 0

    @property
    def is_open_to_write(self) -> bool:
        """Whether it was written since it was opened."""
        return self._connections.writer is not None

    def _empty(self, deadline: Deadline) -> bool:
        connection = self._open_writer().connection
        # Overwriting all of a large file would need as much room again in the log. Scrubbing cuts the file off.
        connection.pragma("secure_delete", "off")
        try:
            return self._run("wipe", _empty_tables, deadline.before())
        finally:
            connection.pragma("secure_delete", "on")

    def _flush_at_once(self) -> bool:
        """Whether another process's write is not in the way of the reading statistics."""
        batches: list[Mapping[str, Pending]] = []

        def redo(connection: apsw.Connection, _: int) -> None:
            batches.append(self.usage.take())
            for pending in batches:
                write_usage(connection, pending)

        try:
            if self.is_there():
                self._run("usage", redo, 0)
        except SteeltrapError as error:
            if self.usage and error.can_retry:
                return False
            self.usage.take()
            _log.warning("reading statistics were not kept; nothing else is affected: %s", error)
        return True

    @contextmanager
    def _write_turn(self, timeout: float = -1) -> Iterator[None]:
        if not self._write_lock.acquire(timeout=timeout):
            raise Unavailable("The memory store is busy; try again.", part="store")
        try:
            yield
        finally:
            self._write_lock.release()

    @contextmanager
    def _transaction(self, timeout: float) -> Iterator[apsw.Connection]:
        """A transaction, in one's turn to write, in the file that is at the path before and after its commit."""
        opened = self._open_writer()
        with writing(opened.connection, self.path, timeout):
            yield opened.connection
            self._require_in_place(opened)
        # Replaced between that look and the commit, the file that was written is not the one that is served.
        self._require_in_place(opened)

    def _require_in_place(self, opened: Opened) -> None:
        if not opened.is_in_place:
            raise Unavailable(
                f"The file {self.path.name} was replaced or removed while it was written; try again.", part="store"
            )

    def _let_go(self) -> None:
        """Close what is open. With the locks to write and to read. Raises SteeltrapError, with all still open."""
        self._connections.take_logs_along()
        self._disconnect()

    def _disconnect(self) -> None:
        self._connections.close()
        self._index = Index(self.dimension)
        self._note_meta({})
        self._meta_version = self._index_version = -1

    def _open_reader(self) -> None:
        if self._connections.are_replaced:
            with self._write_turn(OPEN_SECONDS), self._read_lock:
                if self._connections.are_replaced:
                    self._let_go()
        # Not under the lock to read: making or migrating a file waits for SQLite's write lock, whose holder
        # may want to look into the index.
        with self._open_lock:
            if self._connections.reader is None:
                opened = self._connections.open(self.path)
                with self._read_lock:
                    self._connections.reader = opened

    def _open_writer(self) -> Opened:
        with translated(self.path):
            file_identity = self._connections.find()
            if not self._connections.are_of(file_identity):
                with self._read_lock:
                    self._let_go()
            return self._connections.to_write(new=file_identity is None)
