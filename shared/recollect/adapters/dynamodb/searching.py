"""Both the index and the latest writes, asked side by side; what is wrong with either is said."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from ...errors import RecollectError, Unavailable
from ...model import Matches, Query, Surroundings
from ...ports import Index, Indexed, IndexedSurroundings, Probe
from . import merging, overlay
from .overlay import Recent
from .partition import Partition
from .table import READ_SECONDS, Deadline

T = TypeVar("T")

INDEX_SECONDS: Final = 4.0
_REMEMBERED: Final = 10_000
_NOTHING: Final = Indexed(candidates=(), stored=0, admitted=0)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the index is not asked for: what was written from `since` on, and what has changed since then."""

    since: int
    changed: frozenset[str] = frozenset()


class Memories:
    """What a user's last search met, so that the next one asks the index right at once. Safe for threads."""

    def __init__(self) -> None:
        self._bounds: OrderedDict[str, Bounds] = OrderedDict()
        self._lock = threading.Lock()

    def guess(self, user: str, since: int) -> Bounds:
        with self._lock:
            last = self._bounds.get(user, Bounds(since))
        return Bounds(max(since, last.since), last.changed)

    def keep(self, user: str, bounds: Bounds) -> None:
        with self._lock:
            self._bounds[user] = bounds
            self._bounds.move_to_end(user)
            while len(self._bounds) > _REMEMBERED:
                self._bounds.popitem(last=False)


class Searcher:
    """One user's search. `window` is how far back the overlay reaches, in microseconds."""

    def __init__(self, partition: Partition, index: Index, known: Memories, window: int) -> None:
        self._partition = partition
        self._index = index
        self._known = known
        self._window = window

    def search(self, query: Query) -> Matches:
        """The best of both. Raises Unavailable when the latest writes can't be read."""
        now = self._partition.now()
        deadline = Deadline.after(READ_SECONDS)

        def ask(bounds: Bounds) -> Indexed:
            return self._index.search(
                self._partition.key,
                query,
                now=now,
                timeout=min(INDEX_SECONDS, deadline.left()),
                before=bounds.since,
                leave_out=sorted(bounds.changed),
            )

        bounds = self._known.guess(self._partition.key, now - self._window)
        last = self._partition.pool.submit(overlay.last_before, self._partition, bounds.since, deadline)
        recent, indexed, failed = self._both(ask, bounds, deadline)
        before = last.result() if recent.cut is None else recent.cut
        if not recent.is_open:
            return Matches(candidates=(), stored=0, admitted=0)
        found = merging.matches(query, _NOTHING if indexed is None else indexed, recent, now)
        return replace(found, degraded=self._why(indexed, failed, before))

    def look_around(
        self, probes: Sequence[Probe], *, floor: float, top_k: int, timeout: float = READ_SECONDS
    ) -> list[Surroundings]:
        """What lies around each probe. Raises Unavailable when the index does not answer: half of an answer would
        make what is known look new."""
        now = self._partition.now()
        deadline = Deadline.after(timeout)

        def ask(bounds: Bounds) -> list[IndexedSurroundings]:
            return self._index.look_around(
                self._partition.key,
                probes,
                now=now,
                floor=floor,
                top_k=top_k,
                timeout=min(INDEX_SECONDS, deadline.left()),
                before=bounds.since,
                leave_out=sorted(bounds.changed),
            )

        bounds = self._known.guess(self._partition.key, now - self._window)
        recent, indexed, failed = self._both(ask, bounds, deadline)
        if indexed is None:
            raise failed or Unavailable("The search index does not answer; try again.", part="index")
        if not recent.is_open:
            return [Surroundings(nearest=None) for _ in probes]
        return [
            merging.surroundings(probe, around, recent, now=now, floor=floor, top_k=top_k)
            for probe, around in zip(probes, indexed, strict=True)
        ]

    def _both(
        self, ask: Callable[[Bounds], T], asked: Bounds, deadline: Deadline
    ) -> tuple[Recent, T | None, RecollectError | None]:
        """The latest writes and the index's word on all the rest, or why it has none."""
        key = self._partition.key
        asking = self._partition.pool.submit(ask, asked)
        recent = overlay.recent(self._partition, asked.since, deadline)
        right = Bounds(recent.since, recent.changed)
        answer = _outcome(asking)
        if right != asked:
            self._known.keep(key, right)
            if answer[1] is None:
                answer = _outcome(self._partition.pool.submit(ask, right))
        return recent, *answer

    def _why(self, indexed: Indexed | None, failed: RecollectError | None, before: int) -> str | None:
        """What is wrong, or None; `before` is the version of the last write that the index alone can know."""
        if indexed is None:
            why = failed.message if failed else "The search index does not answer."
            reach = f"what was written in the last {self._window // 60_000_000} minutes"
            return f"{why} Only {reach} was searched."
        if before > (indexed.newest or 0):
            return "index_lagging: the search index is behind; what was written some minutes ago may be missing."
        return indexed.degraded


def _outcome(asking: "Future[T]") -> tuple[T | None, RecollectError | None]:
    error = asking.exception()
    if isinstance(error, RecollectError):
        return None, error
    return asking.result(), None
