"""The search index of one user, in memory: exact, rebuilt from the file, kept right by its change number.

Each visible memory has a slot, in which arrays hold what filters, ties and both legs need. Slots are
only added; a changed memory gets a new one and its old one dies. When many are dead, or the file was
emptied, the index is loaded anew.
"""

from collections.abc import Sequence
from math import isnan
from typing import Any, Final

import apsw
import numpy as np
from numpy.typing import NDArray

from ...model import Candidate, Embedding, Neighbour, Surroundings
from ...ports import Probe
from .postings import Postings, TermScores
from .rows import from_key
from .signs import SCAN_FROM, Signs

FOREVER: Final = np.iinfo(np.int64).max
_BLOCK_BYTES: Final = 32 * 1024 * 1024

_COLUMNS: Final = (
    "memory.n, id, turn, scope, conversation_id, speaker, created_at, expires_at, pinned, surprise, terms, vectors "
)
_ALL: Final = f"SELECT {_COLUMNS} FROM memory LEFT JOIN search USING (n) WHERE deleted_at IS NULL ORDER BY memory.n"
# Without the hint SQLite walks the whole table for the few rows that are new.
_NEW: Final = (
    f"SELECT deleted_at IS NOT NULL, {_COLUMNS} FROM memory INDEXED BY memory_change LEFT JOIN search USING (n) "
    "WHERE change > ?"
)

_SLOT: Final = np.dtype(
    [
        ("n", np.int64),
        ("key", "V16"),
        ("alive", np.bool_),
        ("turn", np.bool_),
        ("pinned", np.bool_),
        ("scope", np.int32),
        ("conversation", np.int32),
        ("position", np.int32),
        ("speaker", np.int32),
        ("created", np.int64),
        ("expires", np.int64),
        ("surprise", np.float32),
        ("length", np.float32),
        ("first", np.int32),
        ("chunks", np.int32),
    ]
)

Mask = NDArray[np.bool_]


class Index:
    """Not safe for threads: its owner holds a lock."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._clear()

    def _clear(self) -> None:
        self.generation: str | None = None
        self.change = 0
        self.size = 0
        self.dead = 0
        self._columns: dict[str, NDArray[Any]] = {
            name: np.empty(0, _SLOT.fields[name][0])  # type: ignore[index]
            for name in _SLOT.names or ()
        }
        self._matrix = np.empty((0, self.dimension), np.float32)
        self._chunks = 0
        self._one_chunk_each = True
        self._slot_of = np.full(64, -1, np.int32)
        self._scopes: dict[str, int] = {}
        self._conversations: dict[str | None, int] = {None: -1}
        self._said: dict[int, int] = {}
        self._misplaced = False
        self._speakers: list[str | None] = [None]
        self._speaker_codes: dict[str | None, int] = {None: 0}
        self._known: frozenset[str] | None = None
        self._postings = Postings()
        self._signs = Signs(self.dimension)

    def refresh(self, connection: apsw.Connection) -> None:
        """Take in what was written since the last time."""
        meta = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('change', 'generation')"))
        if meta.get("generation") != self.generation or self.dead > 64 + self.size // 4:
            self._clear()
            self.generation = meta.get("generation")
        change = meta.get("change", 0)
        if change == self.change:
            return
        if self.change == 0:
            self._reserve(connection)
            for row in connection.execute(_ALL):
                self._add(*row)
        else:
            for (n,) in connection.execute("SELECT n FROM purge WHERE change > ?", (self.change,)):
                self._kill(n)
            for deleted, *row in connection.execute(_NEW, (self.change,)):
                self._kill(row[0])
                if not deleted:
                    self._add(*row)
        self._postings.settle()
        self._known = None
        self.change = change

    def memory(self) -> int:
        """Memory held, about."""
        per_slot = _SLOT.itemsize + self._slot_of.itemsize
        return self._matrix.nbytes + self._signs.memory() + self.size * per_slot + self._postings.size()

    def base(self, now: int, *, turns: bool = False, turns_of: str | None = None) -> Mask:
        """The slots that are visible at `now`, with turns (of one conversation) only on request."""
        seen: Mask = self._column("alive") & (self._column("expires") > now)
        if turns and turns_of is None:
            return seen
        admitted: Mask = ~self._column("turn")
        if turns:
            admitted |= self._column("conversation") == self._conversations.get(turns_of, -2)
        return seen & admitted

    def among(self, rows: Sequence[int]) -> Mask:
        """The slots of these row numbers."""
        mask = np.zeros(self.size, np.bool_)
        numbers = np.asarray(rows, np.int64)
        slots = self._slot_of[numbers[numbers < len(self._slot_of)]]
        mask[slots[slots >= 0]] = True
        return mask

    def cosines(self, embedding: Embedding) -> NDArray[np.float32]:
        """The best chunk's cosine of every slot; dead ones and all."""
        query = np.frombuffer(embedding, "<f4")
        return self._best_chunk(self._matrix[: self._chunks] @ query)

    def bm25(self, tokens: Sequence[str], among: Mask) -> tuple[NDArray[np.float64], TermScores]:
        """The BM25 score of every slot, by the statistics of `among`, and what each term adds where."""
        return self._postings.scores(tokens, self._column("length"), among)

    def speakers(self) -> frozenset[str]:
        """Those who say at least two of the memories."""
        if self._known is None:
            times = np.bincount(self._column("speaker")[self._column("alive")], minlength=len(self._speakers))
            self._known = frozenset(
                name for name, count in zip(self._speakers, times.tolist(), strict=True) if name and count > 1
            )
        return self._known

    def candidates(
        self,
        admitted: Mask,
        cosine: NDArray[np.float32] | None,
        keyword: tuple[NDArray[np.float64], TermScores] | None,
        per_leg: int | None,
    ) -> list[Candidate]:
        """The best admitted slots of each leg, with both scores. Only a keyword leg score above 0 counts."""
        chosen = np.zeros(self.size, np.bool_)
        if cosine is not None:
            chosen[_best(cosine, admitted, per_leg)] = True
        if keyword is not None:
            chosen[_best(keyword[0], admitted & (keyword[0] > 0), per_leg)] = True
        slots = np.flatnonzero(chosen)
        self._place()
        keys = self._column("key")[slots].tobytes()
        nothing: list[None] = [None] * len(slots)
        surprise, conversation = self._column("surprise")[slots], self._column("conversation")[slots]
        return list(
            map(
                Candidate,
                [from_key(keys[at : at + 16]) for at in range(0, len(keys), 16)],
                nothing if cosine is None else cosine[slots].tolist(),
                nothing if keyword is None else keyword[0][slots].tolist(),
                self._column("created")[slots].tolist(),
                self._column("pinned")[slots].tolist(),
                [None if isnan(s) else s for s in surprise.tolist()],
                [()] * len(slots) if keyword is None else _terms_at(slots, keyword[1], self.size),
                [None if c < 0 else c for c in conversation.tolist()],
                self._column("position")[slots].tolist(),
                [self._speakers[code] for code in self._column("speaker")[slots].tolist()],
            )
        )

    def look_around(
        self, probes: Sequence[Probe], now: int, floor: float, top_k: int, *, exact: bool = False
    ) -> list[Surroundings]:
        """The nearest slot, and those of the probe's scope that reach the floor, turns left out.

        In a large space only the probably nearest are compared, unless it must be `exact`.
        """
        base = self.base(now)
        if self._chunks > SCAN_FROM and not exact:
            self._signs.take_in(self._matrix[: self._chunks])
            return [self._surroundings(p, self._probable(p), base, floor, top_k) for p in probes]
        per_block = max(1, _BLOCK_BYTES // (4 * max(1, self._chunks)))
        found: list[Surroundings] = []
        block: list[Probe] = []
        for probe in probes:
            if block and sum(len(p.embeddings) for p in block) + len(probe.embeddings) > per_block:
                found += self._around(block, base, floor, top_k)
                block = []
            block.append(probe)
        return found + (self._around(block, base, floor, top_k) if block else [])

    def _probable(self, probe: Probe) -> NDArray[np.float32]:
        """The cosine of every slot whose signs say that it is near, -2 for the others."""
        cosine = np.full(self._chunks, -2, np.float32)
        for embedding in probe.embeddings:
            vector = np.frombuffer(embedding, "<f4")
            rows = self._signs.probably_near(vector)
            cosine[rows] = np.maximum(cosine[rows], self._matrix[rows] @ vector)
        return self._best_chunk(cosine)

    def _around(self, probes: Sequence[Probe], base: Mask, floor: float, top_k: int) -> list[Surroundings]:
        vectors = np.frombuffer(b"".join(v for p in probes for v in p.embeddings), "<f4")
        rows = self._matrix[: self._chunks]
        # One vector takes the path that is bound by memory only; it is twice as fast as a thin product.
        one = len(vectors) == self.dimension
        similar = (rows @ vectors)[np.newaxis] if one else vectors.reshape(-1, self.dimension) @ rows.T
        found = []
        first = 0
        for probe in probes:
            of_probe = similar[first : first + len(probe.embeddings)]
            first += len(probe.embeddings)
            nearest_chunk = of_probe[0] if len(of_probe) == 1 else of_probe.max(axis=0)
            found.append(self._surroundings(probe, self._best_chunk(nearest_chunk), base, floor, top_k))
        return found

    def _surroundings(
        self, probe: Probe, cosine: NDArray[np.float32], base: Mask, floor: float, top_k: int
    ) -> Surroundings:
        if probe.leave_out is not None:
            base = base & (self._column("key") != np.void(bytes.fromhex(probe.leave_out.replace("-", ""))))
        if not base.any():
            return Surroundings(nearest=None)
        everywhere = np.where(base, cosine, np.float32(-2))
        nearest = self._neighbour(
            int(self._ranked(np.flatnonzero(everywhere == everywhere.max()), everywhere)[0]), everywhere
        )
        near = everywhere >= floor
        if probe.scope is not None:
            near &= self._column("scope") == self._scopes.get(probe.scope, -1)
        slots = self._ranked(np.flatnonzero(near), everywhere)[:top_k]
        return Surroundings(nearest=nearest, near=tuple(self._neighbour(int(s), everywhere) for s in slots))

    def _ranked(self, slots: NDArray[np.intp], cosine: NDArray[np.float32]) -> NDArray[np.intp]:
        """Nearest first, then newest, then by id."""
        if len(slots) < 2:
            return slots
        halves = self._column("key")[slots].view(">u8").reshape(-1, 2)
        return slots[np.lexsort((halves[:, 1], halves[:, 0], -self._column("created")[slots], -cosine[slots]))]

    def _neighbour(self, slot: int, cosine: NDArray[np.float32]) -> Neighbour:
        return Neighbour(from_key(self._column("key")[slot].tobytes()), float(cosine[slot]))

    def _best_chunk(self, cosine: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._one_chunk_each:
            return cosine
        best = np.zeros(self.size, np.float32)
        having = np.flatnonzero(self._column("chunks"))
        if len(having):
            best[having] = np.maximum.reduceat(cosine, self._column("first")[having])
        return best

    def _place(self) -> None:
        """Number the memories of each conversation anew, in the order in which they were first written."""
        if not self._misplaced:
            return
        slots = np.flatnonzero(self._column("alive") & (self._column("conversation") >= 0))
        slots = slots[np.lexsort((self._column("n")[slots], self._column("conversation")[slots]))]
        codes, first, counts = np.unique(self._column("conversation")[slots], return_index=True, return_counts=True)
        self._columns["position"][slots] = np.arange(len(slots)) - np.repeat(first, counts)
        self._said = dict(zip(codes.tolist(), (counts - 1).tolist(), strict=True))
        self._misplaced = False

    def _speaker_code(self, name: str | None) -> int:
        if name not in self._speaker_codes:
            self._speaker_codes[name] = len(self._speakers)
            self._speakers.append(name)
        return self._speaker_codes[name]

    def _column(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self.size]

    def _reserve(self, connection: apsw.Connection) -> None:
        [(slots, bytes_)] = connection.execute(
            "SELECT count(*), total(length(vectors)) FROM memory JOIN search USING (n) WHERE deleted_at IS NULL"
        )
        self._grow_slots(slots)
        self._grow_matrix(int(bytes_) // (4 * self.dimension))

    def _grow_slots(self, wanted: int) -> None:
        for name, column in self._columns.items():
            larger = np.empty(wanted, column.dtype)
            larger[: self.size] = column[: self.size]
            self._columns[name] = larger

    def _grow_matrix(self, wanted: int) -> None:
        larger = np.empty((wanted, self.dimension), np.float32)
        larger[: self._chunks] = self._matrix[: self._chunks]
        self._matrix = larger

    def _kill(self, n: int) -> None:
        slot = self._slot_of[n] if n < len(self._slot_of) else -1
        if slot >= 0:
            self._columns["alive"][slot] = False
            self._misplaced = self._misplaced or self._columns["conversation"][slot] >= 0
            self._slot_of[n] = -1
            self.dead += 1

    def _add(
        self,
        n: int,
        key: bytes,
        turn: int,
        scope: str,
        conversation: str | None,
        speaker: str | None,
        created: int,
        expires: int | None,
        pinned: int,
        surprise: float | None,
        terms: bytes | None,
        vectors: bytes | None,
    ) -> None:
        if n >= len(self._slot_of):
            self._slot_of = np.concatenate((self._slot_of, np.full(n + n // 4, -1, np.int32)))
        if self.size == len(self._columns["n"]):
            self._grow_slots(max(64, self.size + self.size // 4))
        chunks = len(vectors or b"") // (4 * self.dimension)
        if self._chunks + chunks > len(self._matrix):
            self._grow_matrix(max(64, self._chunks + chunks + self._chunks // 4))
        self._matrix[self._chunks : self._chunks + chunks] = np.frombuffer(vectors or b"", "<f4").reshape(
            chunks, self.dimension
        )
        slot, columns = self.size, self._columns
        columns["n"][slot] = n
        columns["key"][slot] = np.void(key)
        columns["alive"][slot] = True
        columns["turn"][slot] = turn
        columns["pinned"][slot] = pinned
        columns["scope"][slot] = self._scopes.setdefault(scope, len(self._scopes))
        code = self._conversations.setdefault(conversation, len(self._conversations))
        columns["conversation"][slot] = code
        columns["position"][slot] = self._said[code] = self._said.get(code, -1) + 1
        columns["speaker"][slot] = self._speaker_code(speaker)
        columns["created"][slot] = created
        columns["expires"][slot] = FOREVER if expires is None else expires
        columns["surprise"][slot] = np.nan if surprise is None else surprise
        columns["length"][slot] = self._postings.add(slot, terms or b"")
        columns["first"][slot] = self._chunks
        columns["chunks"][slot] = chunks
        self._slot_of[n] = slot
        self._chunks += chunks
        self._one_chunk_each = self._one_chunk_each and chunks == 1
        self.size += 1


def _terms_at(slots: NDArray[np.intp], terms: TermScores, size: int) -> list[list[float]]:
    """What each term adds at each of the slots."""
    table = np.zeros((len(terms), len(slots)))
    everywhere = np.zeros(size)
    for row, (found, scores) in enumerate(terms):
        everywhere[found] = scores
        table[row] = everywhere[slots]
        everywhere[found] = 0
    return table.T.tolist()


def _best(scores: NDArray[Any], admitted: Mask, count: int | None) -> NDArray[np.intp]:
    """The slots of the `count` best admitted scores; those that tie with the last are all in."""
    slots = np.flatnonzero(admitted)
    if count is None or len(slots) <= count:
        return slots
    values = scores[slots]
    least = np.partition(values, len(values) - count)[len(values) - count]
    best: NDArray[np.intp] = slots[values >= least]
    return best
