"""Every user's file under a data folder, and which of them are open."""

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, Final

from ...errors import MovedAway, SteeltrapError, Unavailable
from ...model import UserRef
from ...ports import Clock, Deadline, Embedder
from ..data_folder import DataFolder, hold, release, require_process
from .connection import translated
from .counters import SqliteCounters
from .file import DESCRIPTORS, UserFile
from .header import MOVED_TO, Header, not_the_users, owner, read_meta
from .opening import bring_up_to_date, open_file
from .scrubbing import Reserve
from .space import SqliteSpace

_log = logging.getLogger("steeltrap")

FLUSH_SECONDS: Final = 1.0
_SWEEP_EVERY: Final = timedelta(hours=1)
_JUMP: Final = timedelta(minutes=10)
_SWEEP_SECONDS: Final = 5.0
_WIPE_SECONDS: Final = 30.0
_PROBE_EVERY: Final = timedelta(seconds=10)
_FEWEST_OPEN: Final = 4
_SUFFIX: Final = ".db"


class SqliteStore:
    """One file per user: another user's rows are not in it, and writers of two users never meet.

    `cache_bytes` bounds what open files hold in memory; how many files are open follows from it and
    from the process's descriptor limit. Both limits are soft: a file that is in use is never put away.
    Reading statistics are flushed about once a second.
    With a `retention`, what has expired or was deleted longer ago is purged in the background, in the
    files that are written: soon after the first write of a process, then at most once an hour.
    If it `takes_over`, a file of another embedder is opened all the same (`Header`).
    """

    def __init__(
        self,
        folder: Path,
        embedder: Embedder,
        clock: Clock,
        *,
        cache_bytes: int = 256 * 1024 * 1024,
        retention: timedelta | None = None,
        takes_over: bool = False,
    ) -> None:
        self.folder = folder
        self._takes_over = takes_over
        # The folder above may be the place that a disk is mounted to, which is there without the disk.
        self._data = DataFolder(folder / "users")
        self._reserve = Reserve(folder)
        self._held: int | None = None
        self._clock_set_at: datetime | None = None
        self._purges_from = -inf
        self._written_at: datetime | None = None
        self._embedder = embedder
        self._clock = clock
        self._cache_bytes = cache_bytes
        self._retention = retention
        self._swept: dict[UserRef, datetime] = {}
        self._most_open = max(_FEWEST_OPEN, _descriptor_limit() // 2 // DESCRIPTORS)
        self._open: OrderedDict[UserRef, UserFile] = OrderedDict()
        self._sizes: dict[UserRef, int] = {}
        self._bytes = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._flusher: threading.Thread | None = None
        self._process = os.getpid()

    def space(self, user: UserRef, deadline: Deadline) -> SqliteSpace:
        # The space asks for the file at each use, so that one put away in between is opened again.
        return SqliteSpace(lambda: self._file(user), self._clock, deadline)

    def path(self, user: UserRef) -> Path:
        """The path of a user's file. Any id works, because the file is named by its digest."""
        return self.folder / "users" / user.key[:2] / f"{user.key}{_SUFFIX}"

    def open_file(self, user: UserRef, deadline: Deadline) -> UserFile:
        """A user's file, as it is now: for who moves all of it to another store. Raises Unavailable."""
        return self._file(user)

    @contextmanager
    def in_passing(self, user: UserRef) -> Iterator[None]:
        """A user's file that is opened in the block is let go of at its end, unless it was open before or is in use."""
        with self._lock:
            was_open = user in self._open
        yield
        with self._lock:
            file = None if was_open else self._open.get(user)
        if file is not None and file.put_away():
            self._drop(user, file)

    def unlist(self, user: UserRef) -> None:
        """Take a user whose memories were moved out of `users`. A folder knows them by their files."""

    def users(self) -> Iterator[UserRef]:
        return self._owners(lambda meta: MOVED_TO not in meta)

    def users_to_move(self) -> Iterator[UserRef]:
        """All users whose rows are here, those too who were moved away or whose move was cut short."""
        return self._owners(lambda meta: "generation" in meta)

    def has_had_users(self) -> bool:
        """Whether anybody has or had memories here."""
        return next(self.users_to_move(), None) is not None

    def _owners(self, belongs: Callable[[Mapping[str, Any]], bool]) -> Iterator[UserRef]:
        damaged: SteeltrapError | None = None
        self._data.require()
        for path in sorted(self.folder.glob(f"users/*/*{_SUFFIX}")):
            try:
                meta = _meta(path)
                user = owner(meta) if meta and belongs(meta) else None
                if user is not None and self.path(user) != path:
                    raise not_the_users(path)
            except SteeltrapError as error:
                damaged = damaged or error  # one damaged file must not hide the users behind it
                continue
            if user is not None:
                yield user
        if damaged is not None:
            raise damaged

    def forget_user(self, user: UserRef) -> bool:
        had_file = self._file(user).wipe(Deadline.after(_WIPE_SECONDS, self._clock))
        counters = SqliteCounters(self.folder)
        try:
            counters.forget(user)
        except SteeltrapError as error:  # numbers under a digest; the memories are gone
            _log.warning("the counts of a forgotten user were not removed: %s", error.message)
        finally:
            counters.close()
        return had_file

    def check(self) -> None:
        """Raises Unavailable when the folder is gone, or could not be written to in the last 10 s.

        Also keeps some room for forgetting, so that it works on a full disk.
        """
        self._data.make()
        with self._lock:
            self._hold()
        now = self._clock.now()
        if self._written_at is not None and timedelta(0) <= now - self._written_at < _PROBE_EVERY:
            return
        try:
            probe = self.folder / ".writable"
            probe.touch(mode=0o600)
            probe.unlink(missing_ok=True)  # another process probes by the same name
        except OSError as error:
            raise Unavailable(
                f"The data folder can't be written to ({error.strerror}): fix its permissions, or set STEELTRAP_DATA "
                "to another folder.",
                retryable=False,
                part="store",
            ) from error
        self._written_at = now
        self._reserve.keep()

    def cached(self) -> tuple[int, int]:
        with self._lock:
            return len(self._open), self._bytes

    def flush(self, *, just_read: bool = False) -> None:
        with self._lock:
            files = list(self._open.values())
        for file in files:
            file.flush_usage()

    def sweep(self) -> None:
        """Purge what is stale in the files that are written, in each at most once an hour.

        What fails is logged and tried again an hour later.
        """
        if self._retention is None:
            return
        now = self._clock.now()
        if self._clock_jumped(now):
            return
        self._swept = {user: at for user, at in self._swept.items() if timedelta(0) <= now - at < _SWEEP_EVERY}
        with self._lock:
            due = [user for user, file in self._open.items() if file.is_open_to_write and user not in self._swept]
        for user in due:
            if self._closing.is_set():
                return
            self._swept[user] = now
            try:
                self.space(user, Deadline.after(_SWEEP_SECONDS, self._clock)).sweep(now - self._retention)
            except MovedAway:
                pass  # whoever has the memories sweeps them
            except Exception as error:  # the thread has to live
                _log.warning("a sweep failed: %s", getattr(error, "message", type(error).__name__))

    def _clock_jumped(self, now: datetime) -> bool:
        """Whether the clock jumped lately: what it wrongly calls expired must not be purged before it can be set right.

        Also after a suspension, which the clock that is never adjusted doesn't count.
        """
        moment = self._clock.monotonic()
        set_at = now - timedelta(seconds=moment)
        jump = timedelta(0) if self._clock_set_at is None else set_at - self._clock_set_at
        if abs(jump) > _JUMP:
            _log.warning("The clock jumped by %.0f s: nothing is purged for an hour.", jump.total_seconds())
            self._purges_from = moment + _SWEEP_EVERY.total_seconds()
        self._clock_set_at = set_at
        return moment < self._purges_from

    def close(self) -> None:
        self._closing.set()
        if self._flusher is not None:
            self._flusher.join()
        with self._lock:
            files = list(self._open.values())
            self._open.clear()
            self._sizes.clear()
            self._bytes = 0
        for file in files:
            file.close()
        release(self._held)
        self._held = None

    def _hold(self) -> None:
        """Tell a restore that the folder is in use. Under the lock."""
        if self._held is None and self.folder.is_dir():
            self._held = hold(self.folder)

    def _file(self, user: UserRef) -> UserFile:
        require_process(self._process)
        with self._lock:
            self._hold()
            file = self._open.get(user)
            if file is None:
                file = self._open[user] = self._new_file(user)
                self._start_flusher()
            self._open.move_to_end(user)
            size = file.memory()
            self._bytes += size - self._sizes.get(user, 0)
            self._sizes[user] = size
            surplus = self._surplus()
        for old_user, old in surplus:
            if old.put_away():
                self._drop(old_user, old)
        return file

    def _new_file(self, user: UserRef) -> UserFile:
        return UserFile(self.path(user), self._header(user), self._data, self._reserve)

    def _header(self, user: UserRef) -> Header:
        return Header(user, self._embedder.name, self._embedder.dimension, self._takes_over)

    def _surplus(self) -> list[tuple[UserRef, UserFile]]:
        """As many files as are over the limits: those not in use that were used longest ago."""
        over, over_bytes = len(self._open) - self._most_open, self._bytes - self._cache_bytes
        surplus = []
        for user, file in islice(self._open.items(), len(self._open) - 1):
            if over <= 0 and over_bytes <= 0:
                break
            if not file.is_in_use:
                surplus.append((user, file))
                over -= 1
                over_bytes -= self._sizes[user]
        return surplus

    def _drop(self, user: UserRef, file: UserFile) -> None:
        with self._lock:
            # Somebody may have asked for it again, and opened it.
            if self._open.get(user) is file and not file.is_open:
                del self._open[user]
                self._bytes -= self._sizes.pop(user)

    def _start_flusher(self) -> None:
        if self._flusher is None:
            self._flusher = threading.Thread(target=self._flush_regularly, name="steeltrap-usage", daemon=True)
            self._flusher.start()

    def _flush_regularly(self) -> None:
        while not self._closing.wait(FLUSH_SECONDS):
            self._look_after()

    def _look_after(self) -> None:
        self.flush()
        self.sweep()


def _meta(path: Path) -> dict[str, Any]:
    with translated(path):
        connection = bring_up_to_date(open_file(path), to_search=False).connection
        try:
            return read_meta(connection)
        finally:
            connection.close()


def _descriptor_limit() -> int:
    try:
        import resource
    except ImportError:  # Windows has no such limit to ask for
        return 2048
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
