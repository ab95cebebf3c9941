"""Every user's partition in the two tables."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from typing import Any, Final

from ...model import UserRef, to_micros
from ...ports import Clock, Deadline, Embedder, Index
from . import keys, usage, users
from .client import READ_SECONDS, Connect, Tables
from .documents import everyone
from .partition import Partition
from .searching import Searcher
from .space import DynamoSpace
from .usage import UsageBuffer

FLUSH_SECONDS: Final = 5.0
"""Seconds within which reading the same again costs one write."""
_FLUSH_SECONDS: Final = 2.0
"""How long one flush takes at most; what is left waits for the next."""
WINDOW: Final = timedelta(minutes=5)
_FORGET_SECONDS: Final = 600.0
_THREADS: Final = 16


class DynamoStore:
    """The truth in two tables; `index` finds what was written more than `window` ago.

    `connect` makes a client of DynamoDB with a timeout in seconds per request (None: the machine's own account).
    Reading statistics are flushed every few seconds, and by `flush`, which a function calls before it sleeps.
    """

    def __init__(
        self,
        memory_table: str,
        usage_table: str,
        embedder: Embedder,
        clock: Clock,
        index: Index,
        *,
        connect: Connect | None = None,
        window: timedelta = WINDOW,
        at_close: Callable[[], None] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.tables = Tables(connect or connecting(), memory_table, usage_table, clock, pause)
        self._embedder = embedder
        self._clock = clock
        self._index = index
        self._at_close = at_close
        self._searcher = Searcher(index, window // timedelta(microseconds=1))
        self._buffers: dict[UserRef, UsageBuffer] = {}
        self._last_stamp = 0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="steeltrap-dynamodb")
        self._closing = threading.Event()
        self._flusher: threading.Thread | None = None

    def space(self, user: UserRef, deadline: Deadline) -> DynamoSpace:
        return DynamoSpace(self.partition(user, deadline), self._searcher, lambda: self._buffer(user))

    def users(self) -> Iterator[UserRef]:
        return everyone(self.tables)

    def users_to_move(self) -> Iterator[UserRef]:
        """All users who were not moved away; those of a move that was cut short are among them."""
        return self.users()

    def unlist(self, user: UserRef) -> None:
        """Take a user whose memories were moved out of `users`."""
        from . import moving

        moving.unlist(self.partition(user, self.tables.within(READ_SECONDS)))

    def forget_user(self, user: UserRef) -> bool:
        deadline = self.tables.within(_FORGET_SECONDS)
        usage.drop_all(self._buffer(user), deadline)
        self._searcher.forget_speakers(user.key)
        return users.forget(self.partition(user, deadline))

    def load(self) -> None:
        """Make the clients now: it takes longest of all that the first call does."""
        self.tables.load()

    def check(self) -> None:
        for table in (self.tables.memory, self.tables.usage):
            self.tables.call("describe_table", {"TableName": table}, self.tables.within(READ_SECONDS))
        self._index.check()

    def flush(self, *, just_read: bool = False) -> None:
        with self._lock:
            for user, buffer in list(self._buffers.items()):
                if buffer.is_idle() and not buffer.was_used:
                    del self._buffers[user]
                buffer.was_used = False
            waiting = [(user, buffer) for user, buffer in self._buffers.items() if not buffer.is_idle()]
        deadline = self.tables.within(_FLUSH_SECONDS)
        for user, buffer in waiting:
            usage.flush(self.partition(user, deadline), buffer, just_read=just_read)

    def close(self) -> None:
        self._closing.set()
        if self._flusher is not None:
            self._flusher.join()
        self.flush()
        self._pool.shutdown()
        self.tables.close()
        if self._at_close is not None:
            self._at_close()

    def partition(self, user: UserRef, deadline: Deadline) -> Partition:
        """A user's part of the tables: for who moves all of it to another store."""
        return Partition(
            tables=self.tables,
            user=user,
            key=user.key,
            embedder=self._embedder.name,
            dimension=self._embedder.dimension,
            now=self._now,
            stamp=self._stamp,
            pool=self._pool,
            deadline=deadline,
        )

    def _now(self) -> int:
        return min(to_micros(self._clock.now()), keys.LAST_TIME)

    def _stamp(self, least: int) -> int:
        """An index version: the time, unless a later one was given or must be exceeded."""
        with self._lock:
            self._last_stamp = max(self._now(), self._last_stamp + 1, least + 1)
            return self._last_stamp

    def _buffer(self, user: UserRef) -> UsageBuffer:
        with self._lock:
            buffer = self._buffers.setdefault(user, UsageBuffer())
            buffer.was_used = True
            if self._flusher is None:
                self._flusher = threading.Thread(target=self._flush_regularly, name="steeltrap-usage", daemon=True)
                self._flusher.start()
        return buffer

    def _flush_regularly(self) -> None:
        while not self._closing.wait(FLUSH_SECONDS):
            self.flush()


def connecting(**options: Any) -> Connect:
    """How clients are made: `options` are botocore's (region_name, endpoint_url, credentials)."""
    lock = threading.Lock()

    @cache
    def session() -> Any:
        # One for all clients: it keeps what it read of the service. boto3's would only import more.
        from botocore.session import get_session

        return get_session()

    def connect(seconds: float) -> Any:
        from botocore.config import Config

        config = Config(
            connect_timeout=min(1.0, seconds),
            read_timeout=seconds,
            # What to repeat, and for how long, is decided where the deadline is known.
            retries={"total_max_attempts": 1},
            max_pool_connections=2 * _THREADS,
            tcp_keepalive=True,
        )
        with lock:  # making a client is not safe for threads
            return session().create_client("dynamodb", config=config, **options)

    return connect
