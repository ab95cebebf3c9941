"""Every user's replica in a cache folder, over the logs of all users.

Calls while the logs can't be reached read what the cache has, and say since when; they change nothing. A log can't be
reached where nothing answers at its address. A service that refuses, fails or is busy is no network that is down: its
calls fail. Whoever is offline can't know what others saved, deleted or forgot since; a replica that has begun to read
newer entries doesn't answer by its older rows.
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice, starmap
from math import inf
from pathlib import Path
from typing import Final

from ...errors import SteeltrapError, StoreUnreachable, Unavailable
from ...model import RETENTION, UserRef
from ...ports import Clock, Deadline, Embedder, Gone, Logs, Marker, hour_of
from .. import whole_files
from ..data_folder import DataFolder
from ..sqlite.file import T, UserFile
from ..sqlite.space import SqliteSpace
from ..sqlite.store import SqliteStore
from .cached_file import discard
from .due import share_at
from .entries import may_not_purge
from .file import ReplicaFile
from .history import build

_QUIET_SECONDS: Final = 10.0
"""How long calls read the cache without asking, once nothing answered: else each of them would wait for the network."""
REMEMBERED_ID: Final = "log-id"
"""The file of the cache that has the id of the logs."""


class Reach:
    """How calls come by a user's rows, with the network or without. Safe for threads.

    `folder` is the cache, which keeps the id of the logs: without it no file there could be told from those of another
    place.
    """

    def __init__(self, logs: Logs, folder: Path, clock: Clock) -> None:
        self._logs = logs
        self._id_place = folder / REMEMBERED_ID
        self._clock = clock
        self._lock = threading.Lock()
        self._id: bytes | None = None
        self._is_confirmed = False
        self._quiet_until = -inf

    def log_id(self) -> bytes:
        """The id of the logs, as the cache remembers it where they can't be reached. Raises Unavailable."""
        with self._lock:
            if self._id is None:
                self._id = self._ask_id()
            return self._id

    def _ask_id(self) -> bytes:
        log_id = None
        with suppress(OSError):
            log_id = whole_files.read(self._id_place) or None
        if log_id is not None and self._is_quiet():
            return log_id
        try:
            id = self._logs.id()
        except StoreUnreachable:
            if log_id is None:
                raise
            self._wait()
            return log_id
        self._is_confirmed = True
        if log_id != id:
            with suppress(OSError):  # a full disk: only calls without a network need it
                whole_files.replace(self._id_place, id)
        return id

    def bring_up(self, file: ReplicaFile, deadline: Deadline) -> datetime | None:
        """Bring a file to the end of its log; None. Where nothing answers, the time when it was there last.

        Raises Unavailable, also where the log can't be reached and the cache has nothing of the user.
        """
        if not (self._is_quiet() and (since := file.go_offline()) is not None):
            try:
                self._confirm_id()
                file.catch_up(deadline)
                return None
            except StoreUnreachable:
                self._wait()
                since = file.go_offline()
                if since is None:
                    raise
        return since

    def _confirm_id(self) -> None:
        """Make sure that an id that was remembered is still that of the place. Raises Unavailable."""
        if self._is_confirmed:
            return
        if self._logs.id() != self.log_id():
            self._id_place.unlink(missing_ok=True)
            raise Unavailable(
                "Other memories are in this place than before: start steeltrap again.", retryable=False, part="store"
            )
        self._is_confirmed = True

    def _is_quiet(self) -> bool:
        return self._clock.monotonic() < self._quiet_until

    def _wait(self) -> None:
        self._quiet_until = self._clock.monotonic() + _QUIET_SECONDS


_log = logging.getLogger("steeltrap")

_WIPE_SECONDS: Final = 60.0
_PAGE: Final = 1000


class _Others:
    """Users in pages. Where the list can't be read to its end, the pages end, and `error` says why."""

    def __init__(self, users: Iterator[UserRef]) -> None:
        self._users = users
        self.error: SteeltrapError | None = None

    def page(self) -> list[UserRef]:
        users: list[UserRef] = []
        try:
            users.extend(islice(self._users, _PAGE))
        except SteeltrapError as error:
            self.error = error
        return users


class ReplicaStore(SqliteStore):
    """Files that are replicas of logs: any number of processes on any machines share the logs.

    `folder` is a cache. Processes of one machine may share it, and it may be removed at any time. It holds at most
    about `disk_bytes`: files that are not in use are removed, those that were used longest ago first.
    """

    def __init__(
        self,
        folder: Path,
        logs: Logs,
        embedder: Embedder,
        clock: Clock,
        *,
        cache_bytes: int = 256 * 1024 * 1024,
        disk_bytes: float = inf,
        retention: timedelta | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(folder, embedder, clock, cache_bytes=cache_bytes, retention=retention)
        self._data = _CacheFolder(folder / "users")
        self._logs = logs
        self._reach = Reach(logs, folder, clock)
        self._disk_bytes = disk_bytes
        self._pause = pause
        self._markers: dict[UserRef, list[Marker]] = {}

    def space(self, user: UserRef, deadline: Deadline) -> SqliteSpace:
        return _ReplicaSpace(_Call(lambda: self._replica(user), self._reach, deadline), self._clock, deadline)

    def open_file(self, user: UserRef, deadline: Deadline) -> UserFile:
        file = self._replica(user)
        file.catch_up(deadline)
        return file

    def build(self, user: UserRef, at: datetime, path: Path) -> None:
        """Make a file of a user's memories as they were at a time. Raises InvalidInput for a time that is too early."""
        build(self._logs.of(user), user, self._logs.id(), at, path)

    def unlist(self, user: UserRef) -> None:
        self._logs.of(user).unlist_user()

    def users(self) -> Iterator[UserRef]:
        return self._logs.users()

    def users_to_move(self) -> Iterator[UserRef]:
        return self._logs.users()  # who was moved away is no longer among them

    def has_had_users(self) -> bool:
        return self._logs.is_begun()

    def forget_user(self, user: UserRef) -> bool:
        deadline = Deadline.after(_WIPE_SECONDS, self._clock)
        file = self._replica(user)
        file.catch_up(deadline)
        if not file.may_purge():
            raise may_not_purge()
        was_there = super().forget_user(user)
        self.unlist(user)
        return was_there

    def migrate(self, user: UserRef, deadline: Deadline) -> bool:
        file = self._replica(user)
        is_migrated = file.migrate(deadline)
        file.renew_marker(deadline)  # an older release put none
        return is_migrated

    def due(self) -> Iterator[list[UserRef]]:
        now = self._clock.now()
        others = _Others(chain.from_iterable(starmap(self._logs.users, share_at(now))))
        for page in self._logs.due(hour_of(now)):
            self._markers = defaultdict(list)
            for user, marker in page:
                self._markers[user].append(marker)
            yield list(self._markers)
            self._markers = {}
            # A run may never finish due work, so the others get a page after each page of it.
            yield others.page()
        while page_of_others := others.page():
            yield page_of_others
        if others.error is not None:
            raise others.error

    def note_sweep(self, user: UserRef, deadline: Deadline) -> None:
        file = self._replica(user)
        file.renew_marker(deadline, self._markers.get(user, ()))
        if file.needs_base():
            file.put_base()

    def check(self) -> None:
        """Raises Unavailable when the cache folder or the logs can't be written to."""
        super().check()
        self._logs.check()

    def flush(self, *, just_read: bool = False) -> None:
        """Write what was read; with `just_read`, at the end of a call, only what has waited for a write for long."""
        for file in self._replicas():
            file.flush_usage(at_last=not just_read)
        if just_read:
            self._put_bases()

    def _look_after(self) -> None:
        self.flush(just_read=True)
        self.sweep()

    def _put_bases(self) -> None:
        for file in self._replicas():
            if not file.needs_base():
                continue
            try:
                file.put_base()
            except SteeltrapError as error:
                _log.warning("no base was put: %s", error.message)

    def _replicas(self) -> list[ReplicaFile]:
        with self._lock:
            return [file for file in self._open.values() if isinstance(file, ReplicaFile)]

    def close(self) -> None:
        super().close()
        self._logs.close()

    def _replica(self, user: UserRef) -> ReplicaFile:
        file = self._file(user)
        assert isinstance(file, ReplicaFile)
        return file

    def _new_file(self, user: UserRef) -> UserFile:
        return ReplicaFile(
            self.path(user),
            self._header(user),
            self._data,
            self._reserve,
            log=self._logs.of(user),
            log_id=self._reach.log_id(),
            clock=self._clock,
            retention=self._retention if self._retention is not None else RETENTION,
            make_room=self._make_room,
            pause=self._pause,
        )

    def _make_room(self, size: int) -> None:
        """Remove the least recently used files, until another one of this size has room."""
        if self._disk_bytes == inf:
            return
        sizes, used = self._sizes_on_disk()
        over = sum(sizes.values()) + size - self._disk_bytes
        if over <= 0:
            return
        open_files = {file.path: file for file in self._replicas()}  # that of the last call last
        closed = sorted(sizes.keys() - open_files.keys(), key=lambda path: (used[path], path))
        for path in (*closed, *(path for path in open_files if path in sizes)):
            if over <= 0:
                return
            file = open_files.get(path)
            if file.give_up() if file is not None else discard(path):
                over -= sizes[path]

    def _sizes_on_disk(self) -> tuple[dict[Path, int], dict[Path, float]]:
        """The bytes of each file with those that SQLite keeps beside it, and when it was used last, about."""
        sizes: dict[Path, int] = defaultdict(int)
        used: dict[Path, float] = {}
        for each in self.folder.glob("users/*/*.db*"):
            with suppress(FileNotFoundError):
                facts = each.stat()
                path = each.with_name(each.name.partition("-")[0])
                sizes[path] += facts.st_size
                used[path] = max(used.get(path, 0.0), facts.st_mtime)
        return sizes, used


class _Call:
    """Asks for a user's file in one call: the first time it is brought to the end of its log, and again where the cache
    has given it up meanwhile. `cached_at` is when the file was there last, where the log can't be reached. While a call
    reads ahead, `_notes` has the uses of memories by an answer that may not stand."""

    def __init__(self, file: Callable[[], ReplicaFile], reach: Reach, deadline: Deadline) -> None:
        self.cached_at: datetime | None = None
        self._file = file
        self._reach = reach
        self._deadline = deadline
        self._lock = threading.Lock()
        self._is_current = False
        self._notes: list[Callable[[], None]] | None = None

    def __call__(self) -> ReplicaFile:
        file = self._file()
        with self._lock:
            if self._notes is None and (not self._is_current or file.is_lost()):
                self.cached_at = self._reach.bring_up(file, self._deadline)
                self._is_current = True
        return file

    def ahead(self, read: Callable[[], T]) -> T:
        """The answer of a read by the rows that are here, while the log is asked. It stands where the log has nothing
        newer: rows that were current at one moment of the call were so for all of it."""
        file = self._file()
        if self._is_current or not file.is_far():
            return read()
        position, has_begun = file.last_position(), threading.Event()
        with ThreadPoolExecutor(1) as pool:
            pull = pool.submit(self._pull, file, has_begun)
            has_begun.wait()  # else this thread may hold the interpreter for 5 ms before the log is asked
            self._notes = []
            try:
                answer = read()
            except Exception:
                if self._is_confirmed(pull, file, position):
                    raise
            else:
                if self._is_confirmed(pull, file, position):
                    return answer
        return read()

    def _pull(self, file: ReplicaFile, has_begun: threading.Event) -> datetime | None:
        has_begun.set()
        return self._reach.bring_up(file, self._deadline)

    def _is_confirmed(self, pull: "Future[datetime | None]", file: ReplicaFile, position: object) -> bool:
        """Whether the log had nothing newer than the rows at a position. Raises Unavailable."""
        notes, self._notes = self._notes or [], None
        self.cached_at = pull.result()
        self._is_current = True
        if self.cached_at is not None or file.last_position() != position:
            return False
        for note in notes:
            note()
        return True

    def note(self, note: Callable[[], None]) -> None:
        """Note a use of memories, once it is sure that the answer which used them stands."""
        if self._notes is None:
            note()
        else:
            self._notes.append(note)


class _ReplicaSpace(SqliteSpace):
    """A space that knows since when what it reads may be old."""

    def __init__(self, call: _Call, clock: Clock, deadline: Deadline) -> None:
        super().__init__(call, clock, deadline)
        self._call = call

    def until(self, deadline: Deadline) -> "_ReplicaSpace":
        return _ReplicaSpace(self._call, self._clock, deadline)

    def ahead(self, read: Callable[[], T]) -> T:
        return self._call.ahead(read)

    def cached_at(self) -> datetime | None:
        return self._call.cached_at

    def note_access(self, ids: Sequence[str], at: datetime) -> None:
        self._call.note(partial(super().note_access, ids, at))

    def check_purge(self) -> None:
        if not self._call().may_purge():
            raise may_not_purge()

    def purge(self, ids: Sequence[str]) -> list[str]:
        file = self._call()
        if (ids or file.is_unfinished()) and not file.may_purge():
            raise may_not_purge()
        return super().purge(ids)

    def sweep(self, deleted_before: datetime) -> int:
        file = self._call()
        is_due = file.is_unfinished() or bool(self.find(Gone(deleted_before)))
        return super().sweep(deleted_before) if is_due and file.may_purge() else 0  # else a server's sweep does it


class _CacheFolder(DataFolder):
    """A folder that may go at any time, and is made again."""

    def make(self) -> None:
        self._was_there = False
        super().make()

    def require(self) -> None:
        """Nothing is lost with a cache."""

    def removed(self, path: Path) -> Unavailable:
        return Unavailable("The cache was removed while these memories were read; try again.", part="store")
