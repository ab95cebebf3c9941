"""Searching: the index and the latest writes in parallel, as one answer, with failures of either.

The bound between the two is one number, the index version: the overlay has every memory written at or after it, the
index is asked for those below. So nothing is found or counted twice, whatever the clocks of the writers say.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from heapq import nsmallest
from typing import Any, Final, TypeVar

from ...errors import IndexUnavailable, SteeltrapError
from ...model import (
    NO_TERMS,
    Candidate,
    Candidates,
    Filter,
    Matches,
    Neighbour,
    Query,
    Surroundings,
    from_micros,
    to_micros,
)
from ...ports import Clock, Document, Index, Indexed, IndexedCandidate, IndexedNeighbour, IndexedSurroundings, Probe
from ...ranking import weights
from ...text.matching import admits, in_time, sees
from ...text.vectors import nearest
from ...text.words import Trait, traits
from . import keys, listing
from .documents import documents
from .items import Item, from_attributes, number, text
from .keys import WRITTEN
from .partition import USER, Partition

MOST: Final = 300
"""How many writes are looked at; scoring them takes some 10 ms. What was written before is the index's."""
REFRESH_EVERY: Final = 40
"""Writes of one user that the indexer makes findable at once. They must be fewer than a search looks at: of long notes
1 MB, which is a page, holds some hundred, and each instance of the indexer counts its own."""
_FRESH_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Recent:
    """The latest writes, from the index version `since` on.

    `removed_ids` are those that were deleted, `changed_ids` those that an index may have an older image of. `cut` is
    the version of a write below `since` that had to be left to the index, `oldest` that of the first write from there
    on.
    `is_open` is False while the user is being forgotten. `user` is the user's own item as it was before any of the
    writes was read.
    """

    since: int
    documents: dict[str, Document] = field(default_factory=dict)
    removed_ids: frozenset[str] = frozenset()
    changed_ids: frozenset[str] = frozenset()
    cut: int | None = None
    oldest: int | None = None
    is_open: bool = True
    user: Item | None = None

    def has(self, id: str) -> bool:
        """Whether the index's word on a memory doesn't count."""
        return id in self.documents or id in self.removed_ids


@dataclass(frozen=True, slots=True)
class Seen:
    """The items that a look-around saw: the user's own item, and memories that were there, unless something was purged
    since.

    `began` is when it began to look, on the clock that never jumps.
    """

    user: Item | None
    ids: frozenset[str]
    began: float

    def is_fresh(self, clock: Clock) -> bool:
        return clock.monotonic() - self.began < _FRESH_SECONDS


def recent_writes(partition: Partition, since: int) -> Recent:
    """The memories that were written since an index version, or later when that is too much.

    One request, and one more when something large is among it. Raises Conflict for another embedder.
    """
    page = next(
        iter(
            partition.tables.query(
                partition.key,
                "w >= :since",
                {":since": since},
                partition.deadline,
                IndexName=WRITTEN,
                Select="ALL_ATTRIBUTES",
                ScanIndexForward=False,
                Limit=MOST,
            )
        )
    )
    written_items = _items(page)
    user = written_items.pop(0) if written_items and written_items[0]["k"] == keys.USER else None
    is_open = partition.admit(user)
    cut = None
    if "LastEvaluatedKey" in page and written_items:
        # Of writes with the same version some may be after the cut: they are all left to the index.
        cut = _version(written_items[-1])
        since = cut + 1
        written_items = [item for item in written_items if _version(item) >= since]
    latest_documents = list(documents(partition.tables, partition.key, written_items, partition.deadline))
    by_id = {document.id: document for document in latest_documents if isinstance(document, Document)}
    items_by_id = {keys.id_of(text(item, "k")): item for item in written_items}
    return Recent(
        since=since,
        documents=by_id,
        removed_ids=frozenset(items_by_id.keys() - by_id.keys()),
        changed_ids=frozenset(id for id, item in items_by_id.items() if number(item, "made") < since),
        cut=cut,
        oldest=_version(written_items[-1]) if written_items else None,
        is_open=is_open,
        user=user,
    )


def last_before(partition: Partition, version: int) -> int:
    """The index version of the last write below one; 0 when there is none."""
    page = next(
        iter(
            partition.tables.query(
                partition.key,
                "w < :version",
                {":version": version},
                partition.deadline,
                IndexName=WRITTEN,
                ProjectionExpression="w",
                ScanIndexForward=False,
                Limit=1,
            )
        )
    )
    return max((_version(item) for item in _items(page)), default=0)


def _items(page: Any) -> list[Item]:
    return [from_attributes(item) for item in page["Items"]]


def _version(item: Item) -> int:
    return number(item, "w")


_ANYTHING: Final = Filter()


def matches(query: Query, indexed: Indexed, recent: Recent, now: int) -> Matches:
    """The best of each leg, with true scores in both by the statistics of all that the user sees."""
    tokens = tuple(dict.fromkeys(query.tokens))
    at = from_micros(now)
    visible_documents = [d for d in recent.documents.values() if sees(query.filter, d.memory, at)]
    admitted = sum(admits(query.filter, d.memory, at) for d in visible_documents)
    candidates = [d for d in recent.documents.values() if admits(query.candidates_filter, d.memory, at)]
    token_counts = {d.id: Counter(d.tokens) for d in (*visible_documents, *candidates)} if tokens else {}
    scorer = _Scorer(
        query, tokens, indexed, [(len(d.tokens), token_counts.get(d.id, Counter())) for d in visible_documents]
    )
    pool = [c for c in indexed.candidates if not recent.has(c.id) and _on_days(query.candidates_filter, c)]
    pool += [_candidate(d, query, tokens, token_counts.get(d.id, Counter())) for d in candidates]
    rows = list(_cut([scorer.scored(c) for c in pool], query))
    return Matches(
        candidates=Candidates.of(rows, documents=scorer.documents, frequencies=scorer.frequencies),
        stored=indexed.stored + len(visible_documents),
        admitted=indexed.admitted + admitted,
    )


def frequencies(query: Query, indexed: Indexed, recent: Recent, now: int) -> dict[str, int]:
    """How many of the memories that the user sees have each distinct token of a query."""
    tokens = tuple(dict.fromkeys(query.tokens))
    at = from_micros(now)
    counts = Counter(t for d in recent.documents.values() if sees(query.filter, d.memory, at) for t in set(d.tokens))
    having = indexed.frequencies or (0,) * len(tokens)
    return {token: count + counts[token] for token, count in zip(tokens, having, strict=True)}


def surroundings(
    probe: Probe, indexed: IndexedSurroundings, recent: Recent, *, now: int, floor: float, top_k: int
) -> Surroundings:
    """The nearest memory anywhere, and those near enough in the probe's scope."""
    at = from_micros(now)
    around = [
        (IndexedNeighbour(d.id, _cosine(probe, d), to_micros(d.memory.created_at), d.index_version), d.memory.scope)
        for d in recent.documents.values()
        if sees(_ANYTHING, d.memory, at) and d.id != probe.leave_out
    ]
    anywhere = [n for n in indexed.anywhere if not recent.has(n.id)] + [n for n, _ in around]
    near = [n for n in indexed.near if not recent.has(n.id)]
    near += [n for n, scope in around if n.cosine >= floor and probe.scope in (None, scope)]
    [*first] = nsmallest(1, anywhere, key=_nearest_first)
    return Surroundings(
        nearest=Neighbour(first[0].id, first[0].cosine) if first else None,
        near=tuple(Neighbour(n.id, n.cosine) for n in nsmallest(top_k, near, key=_nearest_first)),
    )


class _Scorer:
    """BM25 by the statistics of the indexed documents and of those written since."""

    def __init__(
        self, query: Query, tokens: Sequence[str], indexed: Indexed, recent: Sequence[tuple[int, Counter[str]]]
    ) -> None:
        self._by_term = query.by_term or bool(query.during)
        self.documents = documents = indexed.stored + len(recent)
        length = indexed.length + sum(length for length, _ in recent)
        having = indexed.frequencies or (0,) * len(tokens)
        self._average = max(1.0, length / max(1, documents))
        self._tokens = tokens
        self.frequencies = {
            token: count + sum(1 for _, counts in recent if token in counts)
            for token, count in zip(tokens, having, strict=True)
        }
        self._idf = [weights.idf(count, documents) for count in self.frequencies.values()]

    def scored(self, candidate: IndexedCandidate) -> Candidate:
        """A candidate with its BM25 score, and what each token adds to it where that is asked for."""
        terms = [
            float(weights.term_score(count, candidate.length, self._average, idf)) if count else 0.0
            for count, idf in zip(candidate.frequencies, self._idf, strict=True)
        ]
        return Candidate(
            id=candidate.id,
            cosine=candidate.cosine,
            bm25=sum(terms) if self._tokens else None,
            created=candidate.created,
            pinned=candidate.pinned,
            surprise=candidate.surprise,
            terms={i: score for i, score in enumerate(terms) if score} if self._by_term else NO_TERMS,
            conversation=None if candidate.conversation is None else _number(candidate.conversation),
            position=candidate.position,
            speaker=candidate.speaker,
            importance=candidate.importance,
            chunks=candidate.chunks,
            traits=candidate.traits,
            occurred=candidate.occurred,
        )


def _on_days(filter: Filter, candidate: IndexedCandidate) -> bool:
    """Whether a filter's days hold for a candidate; the index asks for wider ones."""
    if filter.first_day is filter.end_day is None or candidate.occurred is None:
        return True
    at = from_micros(candidate.occurred)
    return in_time(filter, "occurred_at", at.date() if candidate.traits & Trait.DAY else at)


def _candidate(d: Document, query: Query, tokens: Sequence[str], counts: Counter[str]) -> IndexedCandidate:
    memory = d.memory
    return IndexedCandidate(
        id=memory.id,
        index_version=d.index_version,
        created=to_micros(memory.created_at),
        cosine=None if query.embedding is None else nearest(query.embedding, d.embeddings),
        frequencies=tuple(counts[token] for token in tokens),
        length=len(d.tokens),
        pinned=memory.pinned,
        surprise=memory.surprise,
        importance=None if memory.importance is None else memory.importance.score,
        conversation=memory.conversation_id,
        position=d.position,
        speaker=d.speaker,
        chunks=max(1, len(d.embeddings)),
        traits=traits(memory),
        occurred=None if memory.occurred_at is None else to_micros(memory.occurred_at),
    )


def _cut(scored: Sequence[Candidate], query: Query) -> Iterable[Candidate]:
    """The best of each leg; of those that tie for the last place the newest, then by id."""
    by_words = [c for c in scored if c.bm25]
    if query.per_leg is not None:
        by_words = nsmallest(query.per_leg, by_words, key=lambda c: (-(c.bm25 or 0.0), -c.created, c.id))
    if query.embedding is None:
        return by_words
    by_meaning = list(scored)
    if query.per_leg is not None:
        by_meaning = nsmallest(query.per_leg, scored, key=lambda c: (-(c.cosine or 0.0), -c.created, c.id))
    return {c.id: c for c in (*by_meaning, *by_words)}.values()


def _cosine(probe: Probe, document: Document) -> float:
    return max((nearest(vector, document.embeddings) for vector in probe.embeddings), default=0.0)


def _nearest_first(neighbour: IndexedNeighbour) -> tuple[float, int, str]:
    return (-neighbour.cosine, -neighbour.created, neighbour.id)


def _number(conversation: str) -> int:
    return int.from_bytes(blake2b(conversation.encode(), digest_size=6).digest(), "big")


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
    """The index is asked only for documents written before `since`, without the `changed_ids` of later writes."""

    since: int
    changed_ids: frozenset[str] = frozenset()


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
class SpeakerNames:
    """The names of a user's speakers, and when they were read (microseconds)."""

    names: frozenset[str]
    at: int


class BoundsCache:
    """Caches the bounds seen by a user's last search, so that the next one needs fewer requests. Safe for threads."""

    def __init__(self) -> None:
        self._bounds: OrderedDict[str, tuple[Bounds, Last]] = OrderedDict()
        self._names: OrderedDict[str, SpeakerNames] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, user: str, since: int) -> tuple[Bounds, Last]:
        with self._lock:
            bounds, last = self._bounds.get(user, (Bounds(since), Last(version=0, at=0, oldest=None)))
        return Bounds(max(since, bounds.since), bounds.changed_ids), last

    def keep(self, user: str, bounds: Bounds, last: Last) -> None:
        with self._lock:
            _remember(self._bounds, user, (bounds, last))

    def names_of(self, user: str) -> SpeakerNames | None:
        with self._lock:
            return self._names.get(user)

    def keep_names(self, user: str, entry: SpeakerNames) -> None:
        with self._lock:
            _remember(self._names, user, entry)

    def forget_names(self, user: str) -> None:
        """Read them the next time: a write may have changed them."""
        with self._lock:
            self._names.pop(user, None)


def _remember(cache: OrderedDict[str, T], user: str, entry: T) -> None:
    cache[user] = entry
    cache.move_to_end(user)
    while len(cache) > _REMEMBERED:
        cache.popitem(last=False)


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
            count_query = replace(query, embedding=None, per_leg=0)
            recent, _, indexed, _ = self._both(partition, self._asking(partition, count_query, now), now)
            counts = frequencies(query, indexed or _NOTHING, recent, now)
            query = replace(query, tokens=tuple(weights.rarest(counts)))
        recent, before, indexed, failed = self._both(partition, self._asking(partition, query, now), now)
        if not recent.is_open:
            return Matches(candidates=Candidates.of([]), stored=0, admitted=0)
        if _is_being_embedded(recent) and query.embedding is not None:
            return replace(self.search(partition, replace(query, embedding=None)), degraded=_BEING_EMBEDDED)
        answer = matches(query, _NOTHING if indexed is None else indexed, recent, now)
        return replace(answer, degraded=self._why(indexed, failed, before))

    def speakers(self, partition: Partition) -> frozenset[str]:
        """Those who say at least two memories, as the user's own item says.

        Each search and look-around brings that item along. What it said is good for the next search, unless that is
        more than a window later: then the item is read by itself. Where it keeps no names yet they are counted.
        """
        now = partition.now()
        entry = self._cache.names_of(partition.key)
        if entry is not None and 0 <= now - entry.at <= self._window:
            return entry.names
        user = partition.get((), USER).get(keys.USER)
        if user is None:
            return frozenset()
        names = listing.kept_speakers(user)
        if names is None:
            names = listing.speakers(partition)
        self._cache.keep_names(partition.key, SpeakerNames(names, now))
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
                leave_out=sorted(bounds.changed_ids),
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
                leave_out=sorted(bounds.changed_ids),
            )

        began = partition.deadline.clock.monotonic()
        recent, before, indexed, failed = self._both(partition, ask, now)
        if indexed is None:
            raise failed or IndexUnavailable("The search index does not answer", advice="try again", part="index")
        if not recent.is_open:
            return [Surroundings(nearest=None) for _ in probes], None
        if _is_being_embedded(recent):
            raise IndexUnavailable(f"Nothing can be compared: {_BEING_EMBEDDED}", part="index")
        results = [
            surroundings(probe, around, recent, now=now, floor=floor, top_k=top_k)
            for probe, around in zip(probes, indexed, strict=True)
        ]
        # An index that lags may return memories that were purged long ago.
        is_right = all(before <= (around.newest or 0) for around in indexed)
        return results, Seen(recent.user, frozenset(_neighbour_ids(results)) if is_right else frozenset(), began)

    def _both(
        self, partition: Partition, ask: Callable[[Bounds], T], now: int
    ) -> tuple[Recent, int, T | None, SteeltrapError | None]:
        """The latest writes, the version of the last write that the index alone can know, and the index's word on
        all the rest, or why it has none."""
        bounds, last = self._cache.recall(partition.key, now - self._window)
        looking = None
        if not last.holds(bounds.since, now, self._window):
            looking = partition.pool.submit(last_before, partition, bounds.since)
        asking = partition.pool.submit(ask, bounds)
        recent = recent_writes(partition, bounds.since)
        right = Bounds(recent.since, recent.changed_ids)
        answer = _outcome(asking)
        if answer[1] is None and right != bounds:
            answer = _outcome(partition.pool.submit(ask, right))
        if recent.cut is not None:
            last = Last(recent.cut, now, recent.oldest)
        elif looking is not None:
            last = Last(looking.result(), now, recent.oldest)
        self._cache.keep(partition.key, right, last)
        if recent.user is not None and (names := listing.kept_speakers(recent.user)) is not None:
            self._cache.keep_names(partition.key, SpeakerNames(names, now))
        return recent, last.version, *answer

    def _why(self, indexed: Indexed | None, failed: SteeltrapError | None, before: int) -> str | None:
        """Why the search is degraded, or None; `before` is as `_both` says."""
        if indexed is None:
            why = failed.message if failed else "The search index does not answer."
            reach = f"what was written in the last {self._window // 60_000_000} minutes"
            return f"{why} Only {reach} was searched."
        if before > (indexed.newest or 0):
            return "index_lagging: the search index is behind; what was written lately may be missing."
        return indexed.degraded


def _is_being_embedded(recent: Recent) -> bool:
    """Whether some vectors are still those of another embedder."""
    return recent.user is not None and "taking" in recent.user


def _neighbour_ids(results: Iterable[Surroundings]) -> Iterator[str]:
    for around in results:
        yield from (neighbour.id for neighbour in around.near)
        if around.nearest is not None:
            yield around.nearest.id


def _outcome(asking: "Future[T]") -> tuple[T | None, SteeltrapError | None]:
    error = asking.exception()
    if isinstance(error, SteeltrapError):
        return None, error
    return asking.result(), None
