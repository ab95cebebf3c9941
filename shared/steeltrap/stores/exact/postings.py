"""The keyword leg: which memories have which terms, scored by BM25 over everything at once.

A word is a digest of 8 bytes, the same in every store.

Two parts: sorted arrays made when the index is loaded, and a short unsorted tail for what came since,
merged in when it has grown.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...ranking import weights as bm25

LONGEST_KEPT: Final = 64
"""Characters of the longest word whose digest is remembered; nobody types a longer one twice."""
MOST_KEPT: Final = 65_536
"""How many digests a process remembers: about 10 MB of ordinary words, 36 MB at the very most."""


def word_digest(word: str) -> bytes:
    """8 bytes that stand for a word: among a billion different words two meet with a chance of 3%."""
    return _remembered(word) if len(word) <= LONGEST_KEPT else _digest(word)


def _digest(word: str) -> bytes:
    return blake2b(word.encode(), digest_size=8).digest()


_remembered: Final = lru_cache(maxsize=MOST_KEPT)(_digest)


_TAIL: Final = 4096
_ROOM: Final = 256
_POSTING_BYTES: Final = 8 + 4 + 2
Posting = tuple[NDArray[np.int32], NDArray[np.uint16]]
TermScores = list[tuple[NDArray[np.int32], NDArray[np.float64]]]


class Postings:
    """Terms as 64-bit digests, each with the slots that have it and how often."""

    def __init__(self) -> None:
        self._terms: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._slots: NDArray[np.int32] = np.empty(0, np.int32)
        self._counts: NDArray[np.uint16] = np.empty(0, np.uint16)
        self._tail = _empty_tail(_ROOM)
        self._tail_size = 0

    def add(self, slot: int, terms: Sequence[bytes]) -> NDArray[np.int64]:
        """Add the stored terms of memories from a slot on; answers their lengths in tokens."""
        distinct = np.fromiter((len(of_one) // 10 for of_one in terms), np.int64, len(terms))
        start, stop = self._tail_size, self._tail_size + int(distinct.sum())
        if stop > len(self._tail[0]):
            larger = _empty_tail(2 * stop)
            for i, part in enumerate(self._tail):
                larger[i][:start] = part[:start]
            self._tail = larger
        digests = b"".join([of_one[: 8 * (len(of_one) // 10)] for of_one in terms])
        counts = np.frombuffer(b"".join([of_one[8 * (len(of_one) // 10) :] for of_one in terms]), "<u2")
        self._tail[0][start:stop] = np.frombuffer(digests, "<u8")
        self._tail[1][start:stop] = np.repeat(np.arange(slot, slot + len(terms)), distinct)
        self._tail[2][start:stop] = counts
        self._tail_size = stop
        up_to = np.concatenate(([0], counts.cumsum(dtype=np.int64)))
        ends = distinct.cumsum()
        lengths: NDArray[np.int64] = up_to[ends] - up_to[ends - distinct]
        return lengths

    def merge_tail(self) -> None:
        """Merge the tail in when it has grown to a quarter of the rest."""
        if self._tail_size <= max(_TAIL, len(self._terms) // 4):
            return
        size = self._tail_size
        terms = np.concatenate((self._terms, self._tail[0][:size]))
        order = np.argsort(terms, kind="stable")
        self._terms = terms[order]
        self._slots = np.concatenate((self._slots, self._tail[1][:size]))[order]
        self._counts = np.concatenate((self._counts, self._tail[2][:size]))[order]
        self._tail, self._tail_size = _empty_tail(_ROOM), 0

    def scores(
        self,
        tokens: Sequence[str],
        lengths: NDArray[np.float32],
        counted: NDArray[np.bool_],
        among: NDArray[np.bool_],
    ) -> tuple[NDArray[np.float64], TermScores, dict[str, int]]:
        """The BM25 score of every slot, by the statistics of the slots in `counted`, 0 outside `among`. For each scored
        token also the slots in `among` that have it, with its part of their scores, and how many of `counted` have
        it."""
        documents = int(np.count_nonzero(counted))
        average = max(1.0, float(lengths @ counted) / max(1, documents))
        postings = self._find(tokens)
        if documents < len(among):
            postings = {token: _admitted(posting, among) for token, posting in postings.items()}
        frequencies = dict.fromkeys(tokens, 0)
        for token, (slots, _) in postings.items():
            frequencies[token] = len(slots) if among is counted else int(np.count_nonzero(counted[slots]))
        scored = {token: frequencies[token] for token in bm25.rarest(frequencies)}
        if not scored:
            return np.zeros(len(lengths)), [], {}
        # All terms at once: a call of numpy takes longer than the few slots of most terms.
        by_token = [postings.get(token, _NONE) for token in scored]
        sizes = [len(slots) for slots, _ in by_token]
        slots = np.concatenate([slots for slots, _ in by_token])
        counts = np.concatenate([counts for _, counts in by_token]).astype(np.float64)
        weights = np.repeat([bm25.idf(frequency, documents) for frequency in scored.values()], sizes)
        gains = bm25.term_score(counts, lengths[slots], average, weights)
        scores = np.bincount(slots, gains, len(lengths)).astype(np.float64, copy=False)
        ends = list(accumulate(sizes))
        terms = [(slots[end - size : end], gains[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
        return scores, terms, scored

    def size(self) -> int:
        """Bytes held, about."""
        return (len(self._terms) + self._tail_size) * _POSTING_BYTES

    def _find(self, tokens: Sequence[str]) -> dict[str, Posting]:
        """The slots that have each token that any has, and how often."""
        words = list(dict.fromkeys(tokens))
        digests = np.frombuffer(b"".join(map(word_digest, words)), "<u8")
        starts, stops = self._terms.searchsorted(digests).tolist(), self._terms.searchsorted(digests, "right").tolist()
        tail, slots, counts = (part[: self._tail_size] for part in self._tail)
        # The hundreds of spellings that a word may have are not looked for one by one.
        ordered = np.sort(digests)
        recent = set(tail[ordered[ordered.searchsorted(tail, "right") - 1] == tail].tolist()) if len(tail) else ()
        postings: dict[str, Posting] = {}
        for token, digest, start, stop in zip(words, digests.tolist(), starts, stops, strict=True):
            if start == stop and digest not in recent:
                continue
            posting = self._slots[start:stop], self._counts[start:stop]
            if digest in recent:
                at = (tail == digest).nonzero()[0]
                posting = np.concatenate((posting[0], slots[at])), np.concatenate((posting[1], counts[at]))
            postings[token] = posting
        return postings


_NONE: Final[Posting] = np.empty(0, np.int32), np.empty(0, np.uint16)


def _admitted(posting: Posting, among: NDArray[np.bool_]) -> Posting:
    slots, counts = posting
    admitted = among[slots]
    return slots[admitted], counts[admitted]


def _empty_tail(size: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    return np.empty(size, np.uint64), np.empty(size, np.int32), np.empty(size, np.uint16)
