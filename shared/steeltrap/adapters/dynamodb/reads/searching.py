"""Searches the index and the latest writes in parallel, and reports failures of either."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from ....errors import IndexUnavailable, SteeltrapError
from ....model import Candidates, Matches, Query, Surroundings
from ....ports import Index, Indexed, IndexedSurroundings, Probe
from ....ranking import weights
from ..layout import keys
from . import counting, merging, overlay
from .overlay import Recent, Seen
from .partition import USER, Partition

T = TypeVar("T")

INDEX_SECONDS: Final = 4.0
_REMEMBERED: Final = 10_000
_LOOKS: Final = 5
"""Number of times per window that the last write before it is looked up."""
_BEING_EMBEDDED: Final = (
    "the vectors are being rebuilt for another embedder, so only words were compared. If `steeltrap reembed` is not "
    "running, run it to continue."
)
_NOTHING: Final = Indexed(candidates=(), stored=0, admitted=0)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The index is asked only for documents written before `since` and not `changed` after it."""

    since: int
    changed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Last:
    """The version of the last write that the index alone can know, when it was looked for (microseconds), and the
    oldest of the writes after it."""

    version: int
    at: int
    oldest: int | None

    def holds(self, since: int, now: int, window: int) -> bool:
        """Whether it still is the last one below `since`: what others write is younger than that for most of the
        window, if their clocks are."""
        return 0 <= now - self.at < window // _LOOKS and (self.oldest is None or self.oldest >= since)


@dataclass(frozen=True, slots=True)
class Named:
    """The names of a user's speakers, and when they were read (microseconds)."""

    names: frozenset[str]
    at: int


class BoundsCache:
    """Caches the bounds seen by a user's last search, so that the next one needs fewer requests. Safe for threads."""

    def __init__(self) -> None:
        self._met: OrderedDict[str, tuple[Bounds, Last]] = OrderedDict()
        self._named: OrderedDict[str, Named] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, user: str, since: int) -> tuple[Bounds, Last]:
        with self._lock:
            bounds, last = self._met.get(user, (Bounds(since), Last(version=0, at=0, oldest=None)))
        return Bounds(max(since, bounds.since), bounds.changed), last

    def keep(self, user: str, bounds: Bounds, last: Last) -> None:
        with self._lock:
            _remember(self._met, user, (bounds, last))

    def named(self, user: str) -> Named | None:
        with self._lock:
            return self._named.get(user)

    def keep_names(self, user: str, named: Named) -> None:
        with self._lock:
            _remember(self._named, user, named)

    def forget_names(self, user: str) -> None:
        """Read them the next time: a write may have changed them."""
        with self._lock:
            self._named.pop(user, None)


def _remember(met: OrderedDict[str, T], user: str, what: T) -> None:
    met[user] = what
    met.move_to_end(user)
    while len(met) > _REMEMBERED:
        met.popitem(last=False)


class Searcher:
    """Searches partitions. `window` is how far back the latest writes are read from the table, in microseconds."""

    def __init__(self, index: Index, window: int) -> None:
        self._index = index
        self._cache = BoundsCache()
        self._window = window

    def search(self, partition: Partition, query: Query) -> Matches:
        """The best of both. Raises Unavailable when the latest writes can't be read."""
        now = partition.now()
        if len(set(query.tokens)) > weights.MOST_TERMS:
            # Which tokens are rare, both have to say before either is asked for them.
            counted = replace(query, embedding=None, per_leg=0)
            recent, _, indexed, _ = self._both(partition, self._asking(partition, counted, now), now)
            counts = merging.frequencies(query, indexed or _NOTHING, recent, now)
            query = replace(query, tokens=tuple(weights.rarest(counts)))
        recent, before, indexed, failed = self._both(partition, self._asking(partition, query, now), now)
        if not recent.is_open:
            return Matches(candidates=Candidates.of([]), stored=0, admitted=0)
        if _is_being_embedded(recent) and query.embedding is not None:
            return replace(self.search(partition, replace(query, embedding=None)), degraded=_BEING_EMBEDDED)
        found = merging.matches(query, _NOTHING if indexed is None else indexed, recent, now)
        return replace(found, degraded=self._why(indexed, failed, before))

    def speakers(self, partition: Partition) -> frozenset[str]:
        """Those who say at least two memories, as the user's own item says.

        Each search and look-around brings that item along. What it said is good for the next search, unless that is
        more than a window later: then the item is read by itself. Where it keeps no names yet they are counted.
        """
        now = partition.now()
        named = self._cache.named(partition.key)
        if named is not None and 0 <= now - named.at <= self._window:
            return named.names
        user = partition.get((), USER).get(keys.USER)
        if user is None:
            return frozenset()
        names = counting.kept_speakers(user)
        if names is None:
            names = counting.speakers(partition)
        self._cache.keep_names(partition.key, Named(names, now))
        return names

    def forget_speakers(self, user: str) -> None:
        """Read them the next time: a write may have changed them."""
        self._cache.forget_names(user)

    def _asking(self, partition: Partition, query: Query, now: int) -> Callable[[Bounds], Indexed]:
        def ask(bounds: Bounds) -> Indexed:
            return self._index.search(
                partition.key,
                query,
                now=now,
                deadline=partition.deadline.within(INDEX_SECONDS),
                before=bounds.since,
                leave_out=sorted(bounds.changed),
            )

        return ask

    def look_around(
        self, partition: Partition, probes: Sequence[Probe], *, floor: float, top_k: int
    ) -> tuple[list[Surroundings], Seen | None]:
        """The neighbours of each probe, and the memories seen (None while the user is being forgotten).

        Raises one of INDEX_FAILURES when the index does not answer: half of an answer would make what is known look
        new.
        """
        now = partition.now()

        def ask(bounds: Bounds) -> list[IndexedSurroundings]:
            return self._index.look_around(
                partition.key,
                probes,
                now=now,
                floor=floor,
                top_k=top_k,
                deadline=partition.deadline.within(INDEX_SECONDS),
                before=bounds.since,
                leave_out=sorted(bounds.changed),
            )

        began = partition.deadline.clock.monotonic()
        recent, before, indexed, failed = self._both(partition, ask, now)
        if indexed is None:
            raise failed or IndexUnavailable("The search index does not answer", advice="try again", part="index")
        if not recent.is_open:
            return [Surroundings(nearest=None) for _ in probes], None
        if _is_being_embedded(recent):
            raise IndexUnavailable(f"Nothing can be compared: {_BEING_EMBEDDED}", part="index")
        found = [
            merging.surroundings(probe, around, recent, now=now, floor=floor, top_k=top_k)
            for probe, around in zip(probes, indexed, strict=True)
        ]
        # An index that lags may return memories that were purged long ago.
        is_right = all(before <= (around.newest or 0) for around in indexed)
        return found, Seen(recent.user, frozenset(_told_of(found)) if is_right else frozenset(), began)

    def _both(
        self, partition: Partition, ask: Callable[[Bounds], T], now: int
    ) -> tuple[Recent, int, T | None, SteeltrapError | None]:
        """The latest writes, the version of the last write that the index alone can know, and the index's word on
        all the rest, or why it has none."""
        asked, last = self._cache.recall(partition.key, now - self._window)
        looking = None
        if not last.holds(asked.since, now, self._window):
            looking = partition.pool.submit(overlay.last_before, partition, asked.since)
        asking = partition.pool.submit(ask, asked)
        recent = overlay.recent(partition, asked.since)
        right = Bounds(recent.since, recent.changed)
        answer = _outcome(asking)
        if answer[1] is None and right != asked:
            answer = _outcome(partition.pool.submit(ask, right))
        if recent.cut is not None:
            last = Last(recent.cut, now, recent.oldest)
        elif looking is not None:
            last = Last(looking.result(), now, recent.oldest)
        self._cache.keep(partition.key, right, last)
        if recent.user is not None and (names := counting.kept_speakers(recent.user)) is not None:
            self._cache.keep_names(partition.key, Named(names, now))
        return recent, last.version, *answer

    def _why(self, indexed: Indexed | None, failed: SteeltrapError | None, before: int) -> str | None:
        """What is wrong, or None; `before` is as `_both` says."""
        if indexed is None:
            why = failed.message if failed else "The search index does not answer."
            reach = f"what was written in the last {self._window // 60_000_000} minutes"
            return f"{why} Only {reach} was searched."
        if before > (indexed.newest or 0):
            return "index_lagging: the search index is behind; what was written some minutes ago may be missing."
        return indexed.degraded


def _is_being_embedded(recent: Recent) -> bool:
    """Whether some vectors are still those of another embedder."""
    return recent.user is not None and "taking" in recent.user


def _told_of(found: Iterable[Surroundings]) -> Iterator[str]:
    for around in found:
        yield from (neighbour.id for neighbour in around.near)
        if around.nearest is not None:
            yield around.nearest.id


def _outcome(asking: "Future[T]") -> tuple[T | None, SteeltrapError | None]:
    error = asking.exception()
    if isinstance(error, SteeltrapError):
        return None, error
    return asking.result(), None
