"""Every user's file under a data folder, and which of them are open."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from ...errors import RecollectError, Unavailable
from ...ports import Clock, Embedder, UserRef
from .connection import crossing, open_file, select
from .file import DESCRIPTORS, UserFile
from .space import SqliteSpace

_log = logging.getLogger("recollect")

FLUSH_SECONDS: Final = 1.0
_SWEEP_EVERY: Final = timedelta(hours=1)
_SWEEP_SECONDS: Final = 5.0
_WIPE_SECONDS: Final = 30.0
_FEWEST_OPEN: Final = 4
_SUFFIX: Final = ".db"


class SqliteStore:
    """One file per user: another user's rows are not in it, and writers of two users never meet.

    `cache_bytes` bounds what open files hold in memory; how many files are open follows from it and
    from the process's descriptor limit. Reading statistics are flushed about once a second.
    With a `retention`, what has expired or was deleted longer ago is purged in the background, in the
    files that are written: soon after the first write of a process, then at most once an hour.
    """

    def __init__(
        self,
        folder: Path,
        embedder: Embedder,
        clock: Clock,
        *,
        cache_bytes: int = 256 * 1024 * 1024,
        retention: timedelta | None = None,
    ) -> None:
        self.folder = folder
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

    def space(self, user_id: str, *, tenant: str = "") -> SqliteSpace:
        user = UserRef(user_id=user_id, tenant=tenant)
        # The space asks for the file at each use, so that one put away in between is opened again.
        return SqliteSpace(lambda: self._file(user), self._clock)

    def path(self, user: UserRef) -> Path:
        """Where a user's file lies: any id works, since only a digest of it names the file."""
        return self.folder / "users" / user.key[:2] / f"{user.key}{_SUFFIX}"

    def users(self) -> Iterator[UserRef]:
        damaged: RecollectError | None = None
        for path in sorted(self.folder.glob(f"users/*/*{_SUFFIX}")):
            try:
                meta = _owner(path)
            except RecollectError as error:
                damaged = damaged or error  # one damaged file must not hide the users behind it
                continue
            if meta:
                yield UserRef(user_id=str(meta["user_id"]), tenant=str(meta["tenant"]))
        if damaged is not None:
            raise damaged

    def forget_user(self, user_id: str, *, tenant: str = "") -> bool:
        return self._file(UserRef(user_id=user_id, tenant=tenant)).wipe(_WIPE_SECONDS)

    def check(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            probe = self.folder / ".writable"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise Unavailable(
                f"The data folder {self.folder} can't be written to ({error.strerror}): mend its permissions, or set "
                "RECOLLECT_DATA to another folder.",
                retryable=False,
                part="store",
            ) from error

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
        self._swept = {user: at for user, at in self._swept.items() if now - at < _SWEEP_EVERY}
        with self._lock:
            due = [user for user, file in self._open.items() if file.is_open_to_write and user not in self._swept]
        for user in due:
            if self._closing.is_set():
                return
            self._swept[user] = now
            try:
                self.space(user.user_id, tenant=user.tenant).sweep(now - self._retention, timeout=_SWEEP_SECONDS)
            except Exception as error:  # the thread has to live
                _log.warning("a sweep failed: %s", getattr(error, "message", type(error).__name__))

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

    def _file(self, user: UserRef) -> UserFile:
        with self._lock:
            file = self._open.get(user)
            if file is None:
                file = UserFile(self.path(user), user, self._embedder.name, self._embedder.dimension)
                self._open[user] = file
                self._start_flusher()
            self._open.move_to_end(user)
            size = file.memory()
            self._bytes += size - self._sizes.get(user, 0)
            self._sizes[user] = size
            put_away = self._surplus()
        for old in put_away:
            old.close()
        return file

    def _surplus(self) -> list[UserFile]:
        """Take out the files that were used longest ago, as many as are over the limits."""
        out = []
        while len(self._open) > 1 and (len(self._open) > self._most_open or self._bytes > self._cache_bytes):
            user, file = self._open.popitem(last=False)
            self._bytes -= self._sizes.pop(user)
            out.append(file)
        return out

    def _start_flusher(self) -> None:
        if self._flusher is None:
            self._flusher = threading.Thread(target=self._flush_regularly, name="recollect-usage", daemon=True)
            self._flusher.start()

    def _flush_regularly(self) -> None:
        while not self._closing.wait(FLUSH_SECONDS):
            self.flush()
            self.sweep()


def _owner(path: Path) -> dict[str, object]:
    with crossing(path):
        connection = open_file(path)
        try:
            return dict(select(connection, "SELECT key, value FROM meta WHERE key IN ('user_id', 'tenant')"))
        finally:
            connection.close()


def _descriptor_limit() -> int:
    try:
        import resource
    except ImportError:  # Windows has no such limit to ask for
        return 2048
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
