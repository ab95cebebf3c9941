"""The columns of an index, all that it knows of each memory beside its text: arrays of equal length, one slot a memory;
and what a search compares, read off them.

Slots are only added; a changed memory gets a new one and its old one dies.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ...model import NO_TIME, Candidates, Filter, Query, to_micros
from ...text.limits import from_key, to_key
from ...text.matching import in_scopes
from ...text.words import Trait
from .postings import TermScores

FOREVER: Final = np.iinfo(np.int64).max
_SAMPLED: Final = 8
"""One score in this number is sampled to estimate how high the best are."""
_ANY: Final = Filter()
_SUPERSEDED: Final = np.uint8(Trait.SUPERSEDED)

_SLOT: Final = np.dtype(
    [
        ("n", np.int64),
        ("key", "V16"),
        ("alive", np.bool_),
        ("turn", np.bool_),
        ("episode", np.bool_),
        ("pinned", np.bool_),
        ("scope", np.int32),
        ("conversation", np.int32),
        ("position", np.int32),
        ("speaker", np.int32),
        ("created", np.int64),
        ("occurred", np.int64),
        ("traits", np.uint8),
        ("expires", np.int64),
        ("superseded", np.int64),
        ("surprise", np.float32),
        ("importance", np.float64),
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
    episode: int
    scope: str
    conversation: str | None
    speaker: str | None
    created: int
    occurred: int | None
    traits: int
    expires: int | None
    superseded: int | None
    pinned: int
    surprise: float | None
    importance: float | None
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
        self._last_positions: dict[int, int] = {}
        self.has_superseded = False
        self._misplaced = False
        self._speakers: list[str | None] = [None]
        self._speaker_codes: dict[str | None, int] = {None: 0}

    def column(self, name: str) -> NDArray[Any]:
        """One array, as long as there are slots."""
        return self._columns[name][: self.size]

    def add(self, rows: Sequence[Row], *, lengths: NDArray[Any], first: NDArray[Any], chunks: NDArray[Any]) -> None:
        """Give memories slots: `lengths` in tokens, `first` and `chunks` where their vectors lie."""
        start, stop = self.size, self.size + len(rows)
        if stop > len(self._columns["n"]):
            self.reserve(max(64, stop + self.size // 4))
        by_name = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))
        conversations = [self._conversations.setdefault(c, len(self._conversations)) for c in by_name["conversation"]]
        values: dict[str, Any] = {
            "n": by_name["n"],
            "key": np.frombuffer(b"".join(by_name["key"]), "V16"),
            "alive": True,
            "turn": by_name["turn"],
            "episode": by_name["episode"],
            "pinned": by_name["pinned"],
            "scope": [self._scopes.setdefault(scope, len(self._scopes)) for scope in by_name["scope"]],
            "conversation": conversations,
            "position": [self._next_position(code) for code in conversations],
            "speaker": [self._speaker_code(name) for name in by_name["speaker"]],
            "created": by_name["created"],
            "occurred": [NO_TIME if at is None else at for at in by_name["occurred"]],
            "traits": by_name["traits"],
            "expires": [FOREVER if expires is None else expires for expires in by_name["expires"]],
            "superseded": [FOREVER if superseded is None else superseded for superseded in by_name["superseded"]],
            "surprise": [np.nan if surprise is None else surprise for surprise in by_name["surprise"]],
            "importance": [np.nan if score is None else score for score in by_name["importance"]],
            "length": lengths,
            "first": first,
            "chunks": chunks,
        }
        for name, column in self._columns.items():
            column[start:stop] = values[name]
        superseded = self._columns["superseded"][start:stop] < FOREVER
        # The file's own bit may be older than the column.
        traits = self._columns["traits"][start:stop]
        traits &= ~_SUPERSEDED
        traits[superseded] |= _SUPERSEDED
        self.has_superseded = self.has_superseded or bool(superseded.any())
        numbers = self._columns["n"][start:stop]
        highest = int(numbers.max())
        if highest >= len(self._slot_of):
            self._slot_of = np.concatenate((self._slot_of, np.full(highest + highest // 4, -1, np.int32)))
        self._slot_of[numbers] = np.arange(start, stop)
        self.size = stop

    def kill(self, n: int) -> None:
        """Take a memory out, if it has a slot."""
        slot = self._slot_of[n] if n < len(self._slot_of) else -1
        if slot >= 0:
            self._columns["alive"][slot] = False
            self._misplaced = self._misplaced or self._columns["conversation"][slot] >= 0
            self._slot_of[n] = -1
            self.dead += 1

    def reserve(self, size: int) -> None:
        """Make room for so many slots."""
        for name, column in self._columns.items():
            larger = np.empty(size, column.dtype)
            larger[: self.size] = column[: self.size]
            self._columns[name] = larger

    def memory(self) -> int:
        """Bytes held."""
        return len(self._columns["n"]) * _SLOT.itemsize + self._slot_of.nbytes

    def base(self, now: int, filter: Filter = _ANY) -> Mask:
        """The slots that are visible at `now`, with turns and what was superseded where the filter includes them."""
        mask: Mask = self.column("alive") & (self.column("expires") > now)
        if self.has_superseded and not filter.include_superseded:
            mask &= self.column("superseded") > (FOREVER - 1 if filter.as_of is None else to_micros(filter.as_of))
        if filter.include_turns and filter.turns_of is None:
            return mask
        return mask & self._without("turn", filter.include_turns, filter.turns_of)

    def bases(self, query: Query, now: int) -> tuple[Mask, Mask, Filter]:
        """The slots that a query sees, those that its candidates are from, and the filter of these."""
        visible_slots = self.base(now, query.filter)
        if not self.has_superseded or query.candidates_filter is query.filter:
            return visible_slots, visible_slots, query.filter
        return visible_slots, self.base(now, query.candidates_filter), query.candidates_filter

    def without_episodes(self, *, turns: bool = False, turns_of: str | None = None) -> Mask:
        """The slots that are no episodes; with turns those too, of one conversation where it is given."""
        if turns and turns_of is None:
            return np.ones(self.size, np.bool_)
        return self._without("episode", turns, turns_of)

    def _without(self, kind: str, turns: bool, turns_of: str | None) -> Mask:
        admitted: Mask = ~self.column(kind)
        if turns:
            admitted |= self.column("conversation") == self._conversations.get(turns_of, -2)
        return admitted

    def among(self, rows: Sequence[int]) -> Mask:
        """The slots of these row numbers."""
        mask = np.zeros(self.size, np.bool_)
        mask[self.of_rows(rows)] = True
        return mask

    def of_rows(self, rows: Sequence[int]) -> NDArray[np.int32]:
        """The slots of these row numbers that have one, in their order."""
        numbers = np.asarray(rows, np.int64)
        slots: NDArray[np.int32] = self._slot_of[numbers[numbers < len(self._slot_of)]]
        return slots[slots >= 0]

    def in_scope(self, scope: str) -> Mask:
        """The slots that lie directly in a scope."""
        mask: Mask = self.column("scope") == self._scopes.get(scope, -1)
        return mask

    def in_scopes(self, filter: Filter) -> Mask:
        """The slots whose scope the filter admits."""
        admitted = np.fromiter((in_scopes(filter, scope) for scope in self._scopes), np.bool_, len(self._scopes))
        mask: Mask = admitted[self.column("scope")]
        return mask

    def order(self, slots: NDArray[np.intp], scores: NDArray[Any]) -> NDArray[np.intp]:
        """How to order some slots with these scores: best first, then newest, then by id."""
        if len(slots) < 2:
            return np.arange(len(slots))
        halves = self.column("key")[slots].view(">u8").reshape(-1, 2)
        return np.lexsort((halves[:, 1], halves[:, 0], -self.column("created")[slots], -scores))

    def best(self, scores: NDArray[Any], admitted: Mask, count: int | None) -> NDArray[np.intp]:
        """The slots of the `count` best admitted scores; of those that tie for the last place the newest."""
        if count is None or np.count_nonzero(admitted) <= count:
            slots: NDArray[np.intp] = admitted.nonzero()[0]
            return slots
        slots = _maybe_best(scores, admitted, count)
        values = scores[slots]
        least = _at_rank(values, count)
        is_best = values >= least
        slots, values = slots[is_best], values[is_best]
        if len(slots) == count:
            return slots
        better, ties = slots[values > least], slots[values == least]
        newest = ties[self.order(ties, scores[ties])]
        return np.concatenate((better, newest[: count - len(better)]))

    def during(self, stretches: Sequence[tuple[int, int]], admitted: Mask, count: int | None) -> Mask:
        """The newest admitted slots, `count` at most, of what happened in some stretches of time, or was saved then and
        has no other time."""
        occurred = self.column("occurred")
        at = np.where(occurred == NO_TIME, self.column("created"), occurred)
        matches = np.zeros(self.size, np.bool_)
        for start, end in stretches:
            matches |= (at >= start) & (at < end)
        slots = self.best(self.column("created"), matches & admitted, count)
        mask: Mask = np.zeros(self.size, np.bool_)
        mask[slots] = True
        return mask

    def frequent_speakers(self) -> frozenset[str]:
        """Those who say at least two of the memories."""
        times = np.bincount(self.column("speaker")[self.column("alive")], minlength=len(self._speakers))
        return frozenset(name for name, count in zip(self._speakers, times.tolist(), strict=True) if name and count > 1)

    @property
    def speakers(self) -> Sequence[str | None]:
        """The speaker, by the number that the column `speaker` has."""
        return self._speakers

    def positions(self) -> NDArray[np.int32]:
        """Where in its conversation each slot was first written, counting from 0."""
        if self._misplaced:
            self._place()
        return self.column("position")

    def _next_position(self, conversation: int) -> int:
        self._last_positions[conversation] = self._last_positions.get(conversation, -1) + 1
        return self._last_positions[conversation]

    def _place(self) -> None:
        slots = np.flatnonzero(self.column("alive") & (self.column("conversation") >= 0))
        slots = slots[np.lexsort((self.column("n")[slots], self.column("conversation")[slots]))]
        codes, first, counts = np.unique(self.column("conversation")[slots], return_index=True, return_counts=True)
        self._columns["position"][slots] = np.arange(len(slots)) - np.repeat(first, counts)
        self._last_positions = dict(zip(codes.tolist(), (counts - 1).tolist(), strict=True))
        self._misplaced = False

    def _speaker_code(self, name: str | None) -> int:
        if name not in self._speaker_codes:
            self._speaker_codes[name] = len(self._speakers)
            self._speakers.append(name)
        return self._speaker_codes[name]


def _maybe_best(scores: NDArray[Any], admitted: Mask, count: int) -> NDArray[np.intp]:
    """Admitted slots that include the `count` best. To sort all would take longer than to leave out what a sample shows
    to be too low."""
    sample = scores[::_SAMPLED][admitted[::_SAMPLED]]
    likely = -(-2 * count // _SAMPLED)
    high = admitted & (scores >= _at_rank(sample, likely)) if likely < len(sample) // 2 else admitted
    slots: NDArray[np.intp] = (high if np.count_nonzero(high) >= count else admitted).nonzero()[0]
    return slots


def _at_rank(values: NDArray[Any], rank: int) -> Any:
    """The lowest of the `rank` highest values."""
    return np.partition(values, len(values) - rank)[len(values) - rank]


class KeywordLeg(NamedTuple):
    """The keyword leg's scores of every slot, what each term adds where, and the statistics behind them."""

    scores: NDArray[np.float64]
    terms: TermScores
    frequencies: Mapping[str, int]
    documents: int


class Ids(Sequence[str]):
    """The ids of some keys, each made when it is read: a search reads a few of many."""

    def __init__(self, keys: NDArray[Any]) -> None:
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> "Ids": ...
    def __getitem__(self, at: int | slice) -> "str | Ids":
        return Ids(self._keys[at]) if isinstance(at, slice) else from_key(self._keys.item(at))

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """As a list's, without making the ids."""
        try:
            [at, *_] = start + np.flatnonzero(self._keys[start:stop] == np.void(to_key(value)))
        except ValueError:
            raise ValueError(f"{value!r} is not there") from None
        return int(at)


def columns(
    slots: Slots,
    slot_numbers: NDArray[np.intp],
    cosine: NDArray[np.float32] | None,
    keyword: KeywordLeg | None,
    *,
    by_term: bool,
    dated: bool = False,
) -> Candidates:
    """The chosen slots with both scores. What each term adds is there if `dated`, or if `by_term` and one of them was
    said in a conversation: only there do memories count for each other."""
    # All of a small space, dead slots aside: what is read of it needs no copy.
    at = slice(None) if len(slot_numbers) == slots.size else slot_numbers
    conversation = slots.column("conversation")[at]
    needs_terms = dated or (by_term and bool((conversation >= 0).any()))
    return Candidates(
        ids=Ids(slots.column("key")[at]),
        created=slots.column("created")[at],
        cosine=None if cosine is None else cosine[at],
        bm25=None if keyword is None else keyword.scores[at],
        chunks=slots.column("chunks")[at],
        traits=slots.column("traits")[at],
        occurred=slots.column("occurred")[at],
        conversation=conversation,
        position=slots.positions()[slot_numbers],
        speaker=slots.column("speaker")[at],
        speakers=slots.speakers,
        pinned=slots.column("pinned")[at],
        surprise=slots.column("surprise")[at],
        importance=slots.column("importance")[at],
        terms=_terms_at(slot_numbers, keyword.terms, slots.size) if keyword is not None and needs_terms else (),
        documents=0 if keyword is None else keyword.documents,
        frequencies={} if keyword is None else keyword.frequencies,
    )


def _terms_at(slot_numbers: NDArray[np.intp], terms: TermScores, size: int) -> TermScores:
    """The score that each term adds at which of the chosen slots."""
    if len(slot_numbers) == size:
        return terms
    place = np.full(size, -1, np.int32)
    place[slot_numbers] = np.arange(len(slot_numbers), dtype=np.int32)
    at = [(place[slots], scores) for slots, scores in terms]
    return [(places[places >= 0], scores[places >= 0]) for places, scores in at]
