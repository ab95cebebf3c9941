"""Search, save and import over a log, each beside SQLite alone in the same moments of the same run.

door --> a file of SQLite alone
door --> replica --> log in a folder
door --> replica --> log in a folder, with a pause before each request as a bucket in the same region has

A busy machine ends a pause late. Where requests follow one another, a pause counts with the time that it should take.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from steeltrap.importers.running import BLOCK_ITEMS
from steeltrap.invoke import Door
from steeltrap.model import Caller, Draft, UserRef
from steeltrap.ports import BaseName, Log, Marker
from steeltrap.runtime import SystemClock
from steeltrap.servers.process.server import raise_descriptor_limit
from steeltrap.stores.logs.bucket import read_in_waves
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore

from .corpus import Corpus
from .place import fill, opened
from .report import milliseconds
from .speed import alternate, save, search
from .stores import Store

TITLES: Final = {
    "size": "memories",
    "sqlite_search_p50_ms": "search, SQLite alone, median, ms",
    "search_ratio": "search_ratio, over a folder / SQLite alone (<= 1.2 is good)",
    "sqlite_save_p50_ms": "durable save, SQLite alone, median, ms",
    "save_ratio": "save_ratio, over a folder / SQLite alone (<= 1.6 is good)",
    "sqlite_import_per_s": "bulk import, SQLite alone, per second",
    "import_ratio": "import_ratio, over a folder / SQLite (>= 0.8 is good)",
    "far_search_p50_ms": "search over a far log, median, ms (<= 30 is good)",
    "far_search_adds_ms": "more than SQLite alone after the same pause, ms",
    "far_save_p50_ms": "save over a far log, median, ms (<= 75 is good)",
    "far_cold_ms": "first search over an empty cache, ms (<= 300, <= 900)",
    "users": "users of 50 memories, in a cache for a tenth",
    "users_cold_percent": "searches of those not in the cache, percent",
    "users_cached_p50_ms": "search of a cached one, median, ms",
    "users_p50_ratio": "users_p50_ratio, all / cached (<= 1.5 is good)",
    "users_p95_ratio": "users_p95_ratio, 95th of all / cached (<= 5 is good)",
}
GET_SECONDS: Final = 0.025
PUT_SECONDS: Final = 0.035
_CALLER: Final = Caller(UserRef("bench"), "default")
_SMALL: Final = 1000
_STARTS: Final = 7
_EACH: Final = 50
_ZIPF: Final = 1.1


class FarLogs(FolderLogs):
    """Logs in a folder that answer as late as a bucket does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._pool = ThreadPoolExecutor(32)
        self.late = 0.0

    def of(self, user: UserRef) -> "FarLog":  # type: ignore[override]
        return FarLog(super().of(user), self._pool, self.pause)

    def pause(self, seconds: float) -> None:
        """Wait as for an answer."""
        began = time.perf_counter()
        time.sleep(seconds)
        self.late += time.perf_counter() - began - seconds

    def close(self) -> None:
        self._pool.shutdown()


class FarLog(Log):
    """One user's log, with a pause before each request."""

    def __init__(self, log: Log, pool: ThreadPoolExecutor, pause: Callable[[float], None]) -> None:
        self._log = log
        self._pool = pool
        self.pause = pause

    def create(self, n: int, entry: bytes) -> bool:
        self.pause(PUT_SECONDS)
        return self._log.create(n, entry)

    def read(self, numbers: Sequence[int]) -> list[bytes | None]:
        return [self._get(numbers[0])] if len(numbers) == 1 else list(self._pool.map(self._get, numbers))

    def read_on(self, n: int, *, are_many: bool = False) -> list[bytes]:
        return read_in_waves(self.read, n, are_many=are_many)

    def overwrite(self, stubs: Mapping[int, bytes]) -> None:
        self.pause(PUT_SECONDS)
        self._log.overwrite(stubs)

    def bases(self) -> list[BaseName]:
        self.pause(GET_SECONDS)
        return self._log.bases()

    def put_base(self, name: BaseName, base: bytes) -> None:
        self.pause(PUT_SECONDS)
        self._log.put_base(name, base)

    def read_base(self, name: BaseName) -> bytes | None:
        self.pause(GET_SECONDS)
        return self._log.read_base(name)

    def delete_base(self, name: BaseName) -> None:
        self.pause(PUT_SECONDS)
        self._log.delete_base(name)

    def may_delete(self) -> bool:
        self.pause(PUT_SECONDS)
        return self._log.may_delete()

    def list_user(self) -> None:
        self.pause(PUT_SECONDS)
        self._log.list_user()

    def unlist_user(self) -> None:
        self.pause(PUT_SECONDS)
        self._log.unlist_user()

    def mark(self, marker: Marker) -> None:
        self.pause(PUT_SECONDS)
        self._log.mark(marker)

    def unmark(self, marker: Marker) -> None:
        self.pause(PUT_SECONDS)
        self._log.unmark(marker)

    def _get(self, n: int) -> bytes | None:
        self.pause(GET_SECONDS)
        return self._log.read([n])[0]


def measure(size: int, users: int, searches: int) -> dict[str, Any]:
    """The figures, for so many memories of one user, and so many users through a cache for a tenth of them."""
    raise_descriptor_limit()
    corpus = Corpus()
    texts = list(corpus.texts(size))
    questions = corpus.questions(texts, searches)
    new = list(corpus.texts(searches, part=1))
    with TemporaryDirectory(prefix="steeltrap-bench-") as name:
        folder = Path(name)
        with opened(folder / "sqlite", Store.SQLITE) as place:
            place.door.embedder.embed(["so that the model is loaded"], purpose="document", timeout=60)
            figures = _beside_sqlite(folder, place.door, texts, questions, new)
            figures |= _far(folder, place.door, texts, questions, new)
            figures |= _many_users(folder, place.door, corpus, users, searches)
    return {"size": size, **figures}


def _beside_sqlite(
    folder: Path, sqlite: Door, texts: list[str], questions: list[str], new: list[str]
) -> dict[str, Any]:
    with _over(sqlite, folder / "cache", FolderLogs(folder / "log")) as near:
        alone, over = 0.0, 0.0
        for block in _blocks(texts):
            alone += _seconds(partial(fill, sqlite, _CALLER, block))
            over += _seconds(partial(fill, near, _CALLER, block))
        searches = alternate(partial(search, sqlite), partial(search, near), [_CALLER], questions)
        saves = alternate(partial(save, sqlite), partial(save, near), [_CALLER], new)
    sqlite_search, sqlite_save = milliseconds(searches.ours, 0.5), milliseconds(saves.ours, 0.5)
    return {
        "sqlite_search_p50_ms": sqlite_search,
        "search_ratio": round(milliseconds(searches.peers, 0.5) / sqlite_search, 3),
        "sqlite_save_p50_ms": sqlite_save,
        "save_ratio": round(milliseconds(saves.peers, 0.5) / sqlite_save, 3),
        "sqlite_import_per_s": round(len(texts) / alone),
        "import_ratio": round(alone / over, 3),
    }


def _far(folder: Path, sqlite: Door, texts: list[str], questions: list[str], new: list[str]) -> dict[str, Any]:
    """Search and save of a warm replica of a thousand memories, and the first search over an empty cache."""
    log = folder / "far"
    sizes = sorted({min(_SMALL, len(texts)), len(texts)})
    callers = {size: Caller(UserRef(f"far-{size}"), "default") for size in sizes}
    logs = FarLogs(log)
    with _over(sqlite, folder / "far-cache", logs) as far:
        for size, caller in callers.items():
            for block in _blocks(texts[:size]):
                fill(far, caller, block)
        far.store.flush(just_read=True)  # the bases, which would else be made beside the first searches
        warm = callers[sizes[0]]
        for block in _blocks(texts[: sizes[0]]):
            fill(sqlite, warm, block)
        searches: list[float] = []
        bare: list[float] = []
        for question in questions:
            searches.append(_seconds(partial(search, far, warm, question), logs))
            bare.append(_seconds(partial(_search_after_pause, sqlite, logs, warm, question), logs))
        saves = [_seconds(partial(save, far, warm, text), logs) for text in new]
        far.store.flush(just_read=True)
    cold: dict[int, list[float]] = {size: [] for size in sizes}
    for start, question in enumerate(questions[:_STARTS]):
        for size, caller in callers.items():
            with _over(sqlite, folder / f"cold-{start}-{size}", FarLogs(log)) as empty:
                cold[size].append(_seconds(partial(search, empty, caller, question)))
    return {
        "far_search_p50_ms": milliseconds(searches, 0.5),
        "far_search_adds_ms": round(milliseconds(searches, 0.5) - milliseconds(bare, 0.5), 3),
        "far_save_p50_ms": milliseconds(saves, 0.5),
        "far_cold_ms": {f"{size} memories": {"median": milliseconds(each, 0.5)} for size, each in cold.items()},
    }


def _many_users(folder: Path, sqlite: Door, corpus: Corpus, users: int, searches: int) -> dict[str, Any]:
    """Searches of users who are drawn by Zipf's law, through a cache that has room for a tenth of them."""
    log = folder / "users"
    texts = list(corpus.texts(_EACH, part=2))
    callers = [Caller(UserRef(f"user-{number}"), "default") for number in range(users)]
    with _over(sqlite, folder / "users-filled", FolderLogs(log)) as near:
        for caller in callers:
            fill(near, caller, [Draft(content=text) for text in texts])
    size = max(path.stat().st_size for path in (folder / "users-filled").glob("users/*/*.db"))
    drawn = random.Random(_ZIPF).choices(
        callers, [1 / rank**_ZIPF for rank in range(1, users + 1)], k=users // 2 + 5 * searches
    )
    cached: list[float] = []
    cold: list[float] = []
    with _over(sqlite, folder / "users-cache", FarLogs(log), disk_bytes=users // 10 * size) as far:
        assert isinstance(far.store, ReplicaStore)
        questions = corpus.questions(texts, len(drawn))
        for turn, caller, question in zip(count(), drawn, questions, strict=False):
            was_there = far.store.path(caller.user).exists()
            seconds = _seconds(partial(search, far, caller, question))
            if turn >= users // 2:  # before, the cache is being filled
                (cached if was_there else cold).append(seconds)
    p50 = milliseconds(cached, 0.5)
    return {
        "users": users,
        "users_cold_percent": round(100 * len(cold) / len(cached + cold)),
        "users_cached_p50_ms": p50,
        "users_p50_ratio": round(milliseconds(cached + cold, 0.5) / p50, 3),
        "users_p95_ratio": round(milliseconds(cached + cold, 0.95) / p50, 3),
    }


@contextmanager
def _over(sqlite: Door, cache: Path, logs: FolderLogs, *, disk_bytes: float = inf) -> Iterator[Door]:
    """The same tools and embedder over a replica."""
    store = ReplicaStore(cache, logs, sqlite.embedder, SystemClock(), disk_bytes=disk_bytes)
    try:
        yield replace(sqlite, store=store)
    finally:
        store.close()


def _search_after_pause(sqlite: Door, logs: FarLogs, caller: Caller, question: str) -> None:
    logs.pause(GET_SECONDS)
    search(sqlite, caller, question)


def _blocks(texts: list[str]) -> Iterator[list[Draft]]:
    for start in range(0, len(texts), BLOCK_ITEMS):
        yield [Draft(content=text) for text in texts[start : start + BLOCK_ITEMS]]


def _seconds(work: Callable[[], object], logs: FarLogs | None = None) -> float:
    late = 0.0 if logs is None else logs.late
    began = time.perf_counter()
    work()
    return time.perf_counter() - began - (0.0 if logs is None else logs.late - late)
