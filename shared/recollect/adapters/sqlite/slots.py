"""What an index knows of each memory beside its text: arrays of equal length, one place a memory.

Slots are only added; a changed memory gets a new one and its old one dies.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

FOREVER: Final = np.iinfo(np.int64).max

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


class Row(NamedTuple):
    """A memory's row as the index reads it. `terms` and `vectors` are None out of search."""

    n: int
    key: bytes
    turn: int
    scope: str
    conversation: str | None
    speaker: str | None
    created: int
    expires: int | None
    pinned: int
    surprise: float | None
    terms: bytes | None
    vectors: bytes | None


class Slots:
    """Filters, places in conversations and who speaks, for every slot of an index."""

    def __init__(self) -> None:
        self.size = 0
        self.dead = 0
        fields: Any = _SLOT.fields
        self._columns: dict[str, NDArray[Any]] = {name: np.empty(0, fields[name][0]) for name in _SLOT.names or ()}
        self._slot_of = np.full(64, -1, np.int32)
        self._scopes: dict[str, int] = {}
        self._conversations: dict[str | None, int] = {None: -1}
        self._said: dict[int, int] = {}
        self._misplaced = False
        self._speakers: list[str | None] = [None]
        self._speaker_codes: dict[str | None, int] = {None: 0}

    def column(self, name: str) -> NDArray[Any]:
        """One array, as long as there are slots."""
        return self._columns[name][: self.size]

    def add(self, row: Row, *, length: int, first: int, chunks: int) -> None:
        """Give a memory a slot: `length` in tokens, `first` and `chunks` where its vectors lie."""
        if row.n >= len(self._slot_of):
            self._slot_of = np.concatenate((self._slot_of, np.full(row.n + row.n // 4, -1, np.int32)))
        if self.size == len(self._columns["n"]):
            self.reserve(max(64, self.size + self.size // 4))
        slot, columns = self.size, self._columns
        columns["n"][slot] = row.n
        columns["key"][slot] = np.void(row.key)
        columns["alive"][slot] = True
        columns["turn"][slot] = row.turn
        columns["pinned"][slot] = row.pinned
        columns["scope"][slot] = self._scopes.setdefault(row.scope, len(self._scopes))
        code = self._conversations.setdefault(row.conversation, len(self._conversations))
        columns["conversation"][slot] = code
        columns["position"][slot] = self._said[code] = self._said.get(code, -1) + 1
        columns["speaker"][slot] = self._speaker_code(row.speaker)
        columns["created"][slot] = row.created
        columns["expires"][slot] = FOREVER if row.expires is None else row.expires
        columns["surprise"][slot] = np.nan if row.surprise is None else row.surprise
        columns["length"][slot] = length
        columns["first"][slot] = first
        columns["chunks"][slot] = chunks
        self._slot_of[row.n] = slot
        self.size += 1

    def kill(self, n: int) -> None:
        """Take a memory out, if it has a slot."""
        slot = self._slot_of[n] if n < len(self._slot_of) else -1
        if slot >= 0:
            self._columns["alive"][slot] = False
            self._misplaced = self._misplaced or self._columns["conversation"][slot] >= 0
            self._slot_of[n] = -1
            self.dead += 1

    def reserve(self, wanted: int) -> None:
        """Make room for so many slots."""
        for name, column in self._columns.items():
            larger = np.empty(wanted, column.dtype)
            larger[: self.size] = column[: self.size]
            self._columns[name] = larger

    def memory(self) -> int:
        """Bytes held."""
        return sum(column.nbytes for column in self._columns.values()) + self._slot_of.nbytes

    def base(self, now: int, *, turns: bool = False, turns_of: str | None = None) -> Mask:
        """The slots that are visible at `now`, with turns (of one conversation) only on request."""
        seen: Mask = self.column("alive") & (self.column("expires") > now)
        if turns and turns_of is None:
            return seen
        admitted: Mask = ~self.column("turn")
        if turns:
            admitted |= self.column("conversation") == self._conversations.get(turns_of, -2)
        return seen & admitted

    def among(self, rows: Sequence[int]) -> Mask:
        """The slots of these row numbers."""
        mask = np.zeros(self.size, np.bool_)
        numbers = np.asarray(rows, np.int64)
        slots = self._slot_of[numbers[numbers < len(self._slot_of)]]
        mask[slots[slots >= 0]] = True
        return mask

    def in_scope(self, scope: str) -> Mask:
        """The slots that lie directly in a scope."""
        mask: Mask = self.column("scope") == self._scopes.get(scope, -1)
        return mask

    def order(self, slots: NDArray[np.intp], scores: NDArray[Any]) -> NDArray[np.intp]:
        """How to order some slots with these scores: best first, then newest, then by id."""
        if len(slots) < 2:
            return np.arange(len(slots))
        halves = self.column("key")[slots].view(">u8").reshape(-1, 2)
        return np.lexsort((halves[:, 1], halves[:, 0], -self.column("created")[slots], -scores))

    def frequent_speakers(self) -> frozenset[str]:
        """Those who say at least two of the memories."""
        times = np.bincount(self.column("speaker")[self.column("alive")], minlength=len(self._speakers))
        return frozenset(name for name, count in zip(self._speakers, times.tolist(), strict=True) if name and count > 1)

    def speakers(self, slots: NDArray[np.intp]) -> list[str | None]:
        """Who says each of the slots."""
        return [self._speakers[code] for code in self.column("speaker")[slots].tolist()]

    def positions(self, slots: NDArray[np.intp]) -> list[int]:
        """Where in its conversation each of the slots was first written, counting from 0."""
        if self._misplaced:
            self._place()
        positions: list[int] = self.column("position")[slots].tolist()
        return positions

    def _place(self) -> None:
        slots = np.flatnonzero(self.column("alive") & (self.column("conversation") >= 0))
        slots = slots[np.lexsort((self.column("n")[slots], self.column("conversation")[slots]))]
        codes, first, counts = np.unique(self.column("conversation")[slots], return_index=True, return_counts=True)
        self._columns["position"][slots] = np.arange(len(slots)) - np.repeat(first, counts)
        self._said = dict(zip(codes.tolist(), (counts - 1).tolist(), strict=True))
        self._misplaced = False

    def _speaker_code(self, name: str | None) -> int:
        if name not in self._speaker_codes:
            self._speaker_codes[name] = len(self._speakers)
            self._speakers.append(name)
        return self._speaker_codes[name]
