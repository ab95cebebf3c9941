"""Every user's partition in the two tables, and one user's memories in theirs, found through an index."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any, Final

from ...model import (
    Embedding,
    Filter,
    Happened,
    Import,
    Matches,
    Memory,
    Page,
    Query,
    Revision,
    ScopeUse,
    Session,
    Surroundings,
    Usage,
    UserRef,
    from_micros,
    to_micros,
)
from ...ports import Change, Clock, Deadline, Embedder, Entry, Index, Lookup, Probe, TextKey
from ...text.limits import canonical
from ...text.words import WORDS_VERSION
from . import conversations, items, keys, listing, usage, users
from .client import MOST_ACTIONS, READ_SECONDS, Connect, Tables
from .documents import everyone
from .items import number, text
from .partition import USER, WRITE_SECONDS, Partition, T, require_here
from .searching import Searcher, Seen
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

    def space(self, user: UserRef, deadline: Deadline) -> "DynamoSpace":
        return DynamoSpace(self.partition(user, deadline), self._searcher, lambda: self._buffer(user))

    def users(self) -> Iterator[UserRef]:
        return everyone(self.tables)

    def users_to_move(self) -> Iterator[UserRef]:
        """All users who were not moved away; those of a move that was cut short are among them."""
        return self.users()

    def has_had_users(self) -> bool:
        """Whether anybody has memories here, or had them until they were moved."""
        return any(True for kind in (keys.HERE, keys.MOVED) for _ in everyone(self.tables, kind))

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


class DynamoSpace:
    """A `Space` over a user's partition. Safe for threads."""

    atomic_updates: int | None = MOST_ACTIONS // 2  # an image and its revision each

    def __init__(self, partition: Partition, searcher: Searcher, buffer: Callable[[], UsageBuffer]) -> None:
        self._partition = partition
        self._searcher = searcher
        self._buffer = buffer
        self._snapshot: Seen | None = None
        self._here_until = 0.0

    def until(self, deadline: Deadline) -> "DynamoSpace":
        return DynamoSpace(replace(self._partition, deadline=deadline), self._searcher, self._buffer)

    def ahead(self, read: Callable[[], T]) -> T:
        return read()

    def cached_at(self) -> datetime | None:
        return None

    @property
    def _reading(self) -> Partition:
        """For one read, which gives up on a table that hangs before the call's time is over."""
        return self._partition.within(READ_SECONDS)

    def commit(self, changes: Sequence[Change]) -> None:
        if not changes:
            return
        from .writing import commit  # not loaded by a search

        snapshot, self._snapshot = self._snapshot, None
        renamed = True
        try:
            renamed = commit(self._partition, changes, self._searcher, snapshot)
        finally:
            if renamed:
                self._searcher.forget_speakers(self._partition.key)

    def get(self, ids: Sequence[str], *, deleted: bool = False) -> dict[str, Memory]:
        if not ids:
            self._require_here()
            return {}
        canonical_ids = {id: canonical(id) for id in ids}
        memories = self._reading.memories(filter(None, canonical_ids.values()))
        now = from_micros(self._partition.now())
        return {
            id: memories[key_id]
            for id, key_id in canonical_ids.items()
            if key_id in memories and (deleted or memories[key_id].is_visible(now))
        }

    def find(self, lookup: Lookup) -> list[str]:
        self._require_here()
        return listing.find(self._reading, lookup)

    def successions(self, ids: Sequence[str]) -> dict[str, str]:
        return listing.successions(self.get, ids)

    def copies(self, texts: Sequence[TextKey]) -> list[int]:
        self._require_here()
        return self._partition.each(partial(self._copies, self._reading), texts)

    def search(self, query: Query) -> Matches:
        return self._searcher.search(self._reading, query)

    def look_around(self, probes: Sequence[Probe], *, floor: float, top_k: int) -> list[Surroundings]:
        if not probes:
            return []
        # A save that looked around needn't read once more what it saw.
        results, self._snapshot = self._searcher.look_around(self._reading, probes, floor=floor, top_k=top_k)
        return results

    def page(self, filter: Filter, *, limit: int, offset: int = 0, happened: Happened | None = None) -> Page:
        self._require_here()
        return listing.page(self._partition, filter, limit=limit, offset=offset, happened=happened)

    def walk(self, *, after: str | None = None, turns: bool = False) -> Iterator[Memory]:
        self._require_here()
        return listing.walk(self._partition, after, turns)

    def images(self, *, earlier: bool = False) -> Iterator[Memory]:
        return listing.images(self._partition, earlier=earlier)

    def idle_conversations(self, since: datetime, *, limit: int) -> list[str]:
        self._require_here()
        return conversations.idle_conversations(self._partition, to_micros(since), self._partition.now(), limit)

    def embeddings(self, ids: Sequence[str]) -> dict[str, tuple[Embedding, ...]]:
        ids_by_key = {keys.memory(key_id): id for id in ids if (key_id := canonical(id))}
        partition = self._reading
        items_by_key = partition.get(ids_by_key, items.SEARCH)
        embedded_items = [item for key, item in items_by_key.items() if key in ids_by_key and item.get("chunks")]
        searches = partition.contents(embedded_items, "search")
        embeddings = {
            ids_by_key[text(item, "k")]: items.unpacked(search, number(item, "chunks"))[1]
            for item, search in zip(embedded_items, searches, strict=True)
            if search is not None
        }
        return {id: embeddings[id] for id in ids if id in embeddings}

    def speakers(self) -> frozenset[str]:
        return self._searcher.speakers(self._reading)

    def vocabulary(self) -> None:
        return None  # an index that others write to has no list of them

    def scopes(self) -> dict[str, ScopeUse]:
        self._require_here()
        return listing.scopes(self._partition)

    def sessions(self) -> list[Session]:
        self._require_here()
        return conversations.read_sessions(self._reading)

    def add_session(self, session: Session) -> bool:
        return conversations.add_session(self._partition, session)

    def remove_session(self, id: str) -> bool:
        self._require_here()
        return conversations.remove_session(self._partition, id)

    def imports(self) -> list[Import]:
        self._require_here()
        return conversations.read_imports(self._reading)

    def put_import(self, run: Import) -> None:
        conversations.put_import(self._partition, run)

    def revisions(self, id: str, *, after: int = 0, limit: int | None = None) -> list[Revision]:
        canonical_id = canonical(id)
        return listing.revisions(self._reading, canonical_id, after, limit) if canonical_id else []

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        buffer = self._buffer()
        with buffer.settled():
            return buffer.on_top_of(usage.read_usage(self._reading, ids), ids)

    def note_access(self, ids: Sequence[str], at: datetime) -> None:
        self._buffer().add(ids, at)

    def note_review(self, id: str, *, previous: str | None, card: str) -> None:
        self._buffer().review(id, previous, card)

    def keep_review(self, id: str, *, previous: str | None, card: str) -> bool:
        self._require_here()
        usage.flush_one(self._partition, self._buffer(), id)  # `previous` may still be in the buffer
        return usage.write_review(self._partition, id, previous, card)

    def check_purge(self) -> None:
        """Whoever has the store may purge."""

    def purge(self, ids: Sequence[str]) -> list[str]:
        from . import purging

        self._buffer().drop(ids)
        try:
            return purging.purge(self._partition, ids)
        finally:
            self._searcher.forget_speakers(self._partition.key)

    def traces(self, id: str) -> list[str]:
        from . import purging

        return purging.traces(self._partition, id)

    def analysis(self) -> int:
        user = self._reading.get((), USER).get(keys.USER)
        if user is None:
            return WORDS_VERSION
        return number(user, "analysis") if "analysis" in user else 0

    def set_analysis(self, version: int) -> None:
        users.set_analysis(self._partition, version)

    def is_embedded(self) -> bool:
        user = self._reading.get((), USER).get(keys.USER)
        return user is None or "taking" not in user

    def reembed(
        self,
        make_entries: Callable[[Sequence[Memory]], list[Entry]],
        on_start: Callable[[int, int], None] = lambda count, total: None,
    ) -> int:
        from . import reembedding

        return reembedding.reembed(self._partition, make_entries)

    def statistics(self) -> Mapping[str, int]:
        self._require_here()
        return listing.statistics(self._partition)

    def _require_here(self) -> None:
        """Before reads that don't bring the user's own item along, so that none reads half of what is being moved here.

        What was here stays for longer than this is remembered, whoever moves it. Raises Unavailable for what was moved
        away.
        """
        began = self._partition.deadline.clock.monotonic()
        if began >= self._here_until:
            require_here(self._reading.user_item(USER))
            self._here_until = began + WRITE_SECONDS

    def _copies(self, partition: Partition, text: TextKey) -> int:
        places = (
            (item["scope"], item.get("agent_id"), item.get("conversation_id"))
            for item in listing.copies(partition, text.fold)
        )
        return sum(place == (text.scope, text.agent_id, text.conversation_id) for place in places)


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
