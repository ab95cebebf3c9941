"""The search index of one user, in memory: rebuilt from its source, kept right by the number of the last change.

Each visible memory has a slot; a matrix holds the vectors of all chunks, postings the terms. When many
slots are dead, or the source was emptied, the index is loaded again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import islice
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ...model import Candidates, Embedding, Filter, Neighbour, Query, Surroundings
from ...ports import Probe
from ...text.limits import from_key
from .columns import KeywordLeg, Mask, Row, Slots, columns
from .postings import Postings
from .vectors import SCAN_FROM, Leading, Matrix, Signs, cosines, cosines_of

_BLOCK_BYTES: Final = 32 * 1024 * 1024
_LOAD_ROWS: Final = 1024

POOL: Final = 4000
"""Up to this number of memories all are ranked, else the best 1,000 of each leg. Ranking 4,000 takes about 2 ms."""
LARGE_POOL: Final = 1000
_ESTIMATED: Final = 3
"""Exact cosines are computed for 3 times as many memories as were asked for, those with the highest estimates."""
MOST_SPELT: Final = 10_000
"""Slots of an index whose words are kept as such. With more, a search takes so long that these would hardly shorten
it."""
READ_AT_ONCE: Final = 100
"""Memories whose words one call reads, which takes some 3 ms. A search without the words takes 0.7 ms more."""
_WORD_BYTES: Final = 90
_FEW: Final = 4
"""Up to a quarter of the slots are compared one by one; beyond that it is faster to compare all at once."""


class Source(Protocol):
    """Where the visible memories are stored, read within one transaction."""

    def state(self) -> tuple[str | None, int]:
        """The generation, which is another one after the file was emptied or got new vectors, and the number of the
        last change."""
        ...

    def size(self) -> tuple[int, int]:
        """How many rows there are, and how many bytes their vectors have."""
        ...

    def rows(self) -> Iterator[Row]:
        """All rows, by their numbers."""
        ...

    def changes(self, since: int) -> Iterator[tuple[int, Row | None]]:
        """The numbers of the rows that were written after a change, each with its row; None for one that is gone."""
        ...


class Index:
    """Not safe for threads: its owner holds a lock."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.degraded: str | None = None
        self._clear()

    def _clear(self) -> None:
        self.generation: str | None = None
        self.change = 0
        self._slots = Slots()
        self._matrix = Matrix(self.dimension)
        self._one_chunk_each = True
        self._speakers: frozenset[str] | None = None
        self._words: set[str] = set()
        self._slots_read = 0
        self._postings = Postings()
        self._signs = Signs(self.dimension)
        self._leading = Leading(self.dimension)

    def refresh(self, source: Source, degraded: str | None = None) -> None:
        """Take in what was written since the last time; only words where it is told why there are no vectors."""
        if (degraded is None) != (self.degraded is None):
            self._clear()
        self.degraded = degraded
        generation, change = source.state()
        if generation != self.generation or self._slots.dead > 64 + self._slots.size // 4:
            self._clear()
            self.generation = generation
        if change == self.change:
            return
        if self.change == 0:
            self._reserve(*source.size())
            source_rows = source.rows()
            while rows := list(islice(source_rows, _LOAD_ROWS)):
                self._add(rows)
        else:
            fresh = []
            for n, row in source.changes(self.change):
                self._slots.kill(n)
                if row is not None:
                    fresh.append(row)
            self._add(fresh)
        self._speakers = None
        self.change = change

    def memory(self) -> int:
        """Bytes held, about."""
        approximate = self._signs.memory() + self._leading.memory()
        words = self._postings.size() + _WORD_BYTES * len(self._words)
        return self._matrix.memory() + approximate + self._slots.memory() + words

    def base(self, filter: Filter, now: int) -> Mask:
        """The slots that a filter sees at `now`, whatever its conditions are."""
        return self._slots.base(now, filter)

    def bases(self, query: Query, now: int) -> tuple[Mask, Mask, Filter]:
        """The slots that a query sees, those that its candidates are from, and the filter of these."""
        return self._slots.bases(query, now)

    def without_episodes(self, filter: Filter) -> Mask:
        """The slots that are no episodes, and those of the conversation that the filter includes."""
        return self._slots.without_episodes(turns=filter.include_turns, turns_of=filter.turns_of)

    def in_scopes(self, filter: Filter) -> Mask:
        """The slots whose scope the filter admits."""
        return self._slots.in_scopes(filter)

    def among(self, rows: Sequence[int]) -> Mask:
        """The slots of these row numbers."""
        return self._slots.among(rows)

    def bm25(self, tokens: Sequence[str], counted: Mask, among: Mask) -> KeywordLeg:
        """The BM25 score of every slot of `among`, by the statistics of `counted`, and what each term adds where."""
        scores, terms, frequencies = self._postings.scores(tokens, self._slots.column("length"), counted, among)
        return KeywordLeg(scores, terms, frequencies, int(np.count_nonzero(counted)))

    def speakers(self) -> frozenset[str]:
        """Those who say at least two of the memories."""
        if self._speakers is None:
            self._speakers = self._slots.frequent_speakers()
        return self._speakers

    @property
    def keeps_words(self) -> bool:
        """Whether there are few enough memories for their words to be kept."""
        return self._slots.size <= MOST_SPELT

    @property
    def vocabulary(self) -> Set[str] | None:
        """The words of all memories, and of some that are gone; None where not all are read yet, or there are too many
        memories."""
        return self._words if self.keeps_words and self._slots_read == self._slots.size else None

    def read_words(self, words_of: Callable[[Sequence[str]], Iterable[Sequence[str]]]) -> Set[str] | None:
        """Read the words of some more memories, unless there are too many; the vocabulary then. `words_of` has those of
        each of the memories with some ids."""
        if not self.keeps_words:
            return None
        keys = self._slots.column("key")[self._slots_read : self._slots_read + READ_AT_ONCE]
        if len(keys):
            self._words.update(*words_of([from_key(key) for key in keys.tolist()]))
            self._slots_read += len(keys)
        return self.vocabulary

    def candidates(
        self,
        admitted: Mask,
        embedding: Embedding | None,
        keyword: KeywordLeg | None,
        per_leg: int | None,
        *,
        by_term: bool,
        during: Sequence[tuple[int, int]] = (),
    ) -> Candidates:
        """The best admitted slots of each leg, with both scores. Only a keyword leg score above 0 counts. The newest of
        what happened `during` some stretches of time are among them.

        What is ranked by its terms is ranked among all that are admitted, as long as those are no more than `POOL`. In
        a large space the best cosines are those of the highest estimates.
        """
        if by_term and per_leg is not None:
            per_leg = None if np.count_nonzero(admitted) <= POOL else max(per_leg, LARGE_POOL)
        selection = np.zeros(self._slots.size, np.bool_)
        if during:
            selection |= self._slots.during(during, admitted, per_leg)
        # Of the leg of meaning without a limit all are chosen.
        if keyword is not None and (per_leg is not None or embedding is None):
            selection[self._slots.best(keyword.scores, admitted & (keyword.scores > 0), per_leg)] = True
        cosine = None
        if embedding is not None:
            query = np.frombuffer(embedding, "<f4")
            if by_term and per_leg is not None and self._matrix.size > SCAN_FROM:
                near = self._probably_best(query, admitted, _ESTIMATED * per_leg)
                admitted = selection.copy()
                admitted[near] = True
            cosine = self._cosines(query, admitted)
            selection[self._slots.best(cosine, admitted, per_leg)] = True
        return columns(self._slots, selection.nonzero()[0], cosine, keyword, by_term=by_term, dated=bool(during))

    def look_around(
        self, probes: Sequence[Probe], now: int, floor: float, top_k: int, *, exact: bool = False
    ) -> list[Surroundings]:
        """The nearest slot, and those of the probe's scope that reach the floor, turns left out.

        In a large space only the probably nearest are compared, unless it must be `exact`.
        """
        base = self._slots.base(now)
        if self._matrix.size > SCAN_FROM and not exact:
            self._signs.extend(self._matrix.rows)
            return [self._surroundings(probe, *self._probable(probe), base, floor, top_k) for probe in probes]
        per_block = max(1, _BLOCK_BYTES // (4 * max(1, self._matrix.size)))
        surroundings: list[Surroundings] = []
        block: list[Probe] = []
        for probe in probes:
            if block and sum(len(p.embeddings) for p in block) + len(probe.embeddings) > per_block:
                surroundings += self._around(block, base, floor, top_k)
                block = []
            block.append(probe)
        return surroundings + (self._around(block, base, floor, top_k) if block else [])

    def _probable(self, probe: Probe) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The slots whose signs say that they are near, with their cosines."""
        vectors = [np.frombuffer(embedding, "<f4") for embedding in probe.embeddings]
        near = np.zeros(len(self._matrix.rows), np.bool_)
        for vector in vectors:
            near[self._signs.probably_near(vector)] = True
        rows = np.flatnonzero(near)
        chunks = self._matrix.rows[rows]
        cosine: NDArray[np.float32] = np.maximum.reduce([cosines(chunks, vector) for vector in vectors])
        if self._one_chunk_each:
            return rows, cosine
        having = np.flatnonzero(self._slots.column("chunks"))
        owners = having[self._slots.column("first")[having].searchsorted(rows, "right") - 1]
        slots, first = np.unique(owners, return_index=True)
        return slots, np.maximum.reduceat(cosine, first)

    def _around(self, probes: Sequence[Probe], base: Mask, floor: float, top_k: int) -> list[Surroundings]:
        vectors = np.frombuffer(b"".join(v for p in probes for v in p.embeddings), "<f4")
        rows = self._matrix.rows
        # One vector takes the path that is bound by memory only; it is faster than a thin product.
        one = len(vectors) == self.dimension
        similar = cosines(rows, vectors)[np.newaxis] if one else vectors.reshape(-1, self.dimension) @ rows.T
        everywhere = np.arange(self._slots.size)
        surroundings = []
        first = 0
        for probe in probes:
            of_probe = similar[first : first + len(probe.embeddings)]
            first += len(probe.embeddings)
            nearest_chunk = of_probe[0] if len(of_probe) == 1 else of_probe.max(axis=0)
            cosine = self._best_chunk(nearest_chunk)
            surroundings.append(self._surroundings(probe, everywhere, cosine, base, floor, top_k))
        return surroundings

    def _surroundings(
        self,
        probe: Probe,
        slots: NDArray[np.intp],
        cosine: NDArray[np.float32],
        base: Mask,
        floor: float,
        top_k: int,
    ) -> Surroundings:
        mask = base[slots]
        if probe.leave_out is not None:
            mask &= self._slots.column("key")[slots] != np.void(bytes.fromhex(probe.leave_out.replace("-", "")))
        slots, cosine = slots[mask], cosine[mask]
        if not len(slots):
            return Surroundings(nearest=None)
        top = cosine == cosine.max()
        [nearest, *_] = self._neighbours(slots[top], cosine[top])
        near = cosine >= floor
        if probe.scope is not None:
            near &= self._slots.in_scope(probe.scope)[slots]
        return Surroundings(nearest=nearest, near=tuple(self._neighbours(slots[near], cosine[near])[:top_k]))

    def _neighbours(self, slots: NDArray[np.intp], cosine: NDArray[np.float32]) -> list[Neighbour]:
        order = self._slots.order(slots, cosine)
        keys = self._slots.column("key")[slots]
        return [Neighbour(from_key(keys.item(i)), float(cosine[i])) for i in order]

    def _probably_best(self, query: NDArray[np.float32], admitted: Mask, count: int) -> NDArray[np.intp]:
        """The admitted slots whose estimated cosines are the highest, `count` of them."""
        self._leading.extend(self._matrix.rows)
        return self._slots.best(self._best_chunk(self._leading.estimates(query)), admitted, count)

    def _cosines(self, query: NDArray[np.float32], admitted: Mask) -> NDArray[np.float32]:
        """The best chunk's cosine of the admitted slots; any number at the others."""
        if np.count_nonzero(admitted) > self._slots.size // _FEW:
            return self._best_chunk(cosines(self._matrix.rows, query))
        slots = np.flatnonzero(admitted)
        cosine = np.zeros(self._slots.size, np.float32)
        if self._one_chunk_each:
            cosine[slots] = cosines_of(self._matrix.rows, slots, query)
            return cosine
        chunks = self._slots.column("chunks")[slots]
        slots, chunks = slots[chunks > 0], chunks[chunks > 0]
        if len(slots):
            before = chunks.cumsum() - chunks
            rows = np.repeat(self._slots.column("first")[slots] - before, chunks) + np.arange(chunks.sum())
            cosine[slots] = np.maximum.reduceat(cosines_of(self._matrix.rows, rows, query), before)
        return cosine

    def _best_chunk(self, cosine: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._one_chunk_each:
            return cosine
        best = np.zeros(self._slots.size, np.float32)
        having = np.flatnonzero(self._slots.column("chunks"))
        if len(having):
            best[having] = np.maximum.reduceat(cosine, self._slots.column("first")[having])
        return best

    def _reserve(self, memories: int, vector_bytes: int) -> None:
        self._slots.reserve(memories)
        self._matrix.reserve(vector_bytes // (4 * self.dimension))

    def _add(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        blobs = [row.vectors or b"" if self.degraded is None else b"" for row in rows]
        vectors = np.frombuffer(b"".join(blobs), "<f4").reshape(-1, self.dimension)
        size = 4 * self.dimension
        chunks = np.fromiter((len(of_row) // size for of_row in blobs), np.int64, len(rows))
        lengths = self._postings.add(self._slots.size, [row.terms or b"" for row in rows])
        first = self._matrix.append(vectors) + chunks.cumsum() - chunks
        self._slots.add(rows, lengths=lengths, first=first, chunks=chunks)
        self._one_chunk_each = self._one_chunk_each and bool((chunks == 1).all())
