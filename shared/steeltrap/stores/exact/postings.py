"""The keyword leg: which memories have which terms, scored by BM25 over everything at once.

A word is a digest of 8 bytes, the same in every store.

Two sorted parts: one made when the index is loaded, and a short one of what came since, merged in when it has grown.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import Final

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
    # A copy takes half the time of a hash that is set up anew.
    digest = _NO_WORD.copy()
    digest.update(word.encode())
    return digest.digest()


_NO_WORD: Final = blake2b(digest_size=8)


_remembered: Final = lru_cache(maxsize=MOST_KEPT)(_digest)


def query_digests(words: Sequence[str]) -> list[bytes]:
    """The digest of each word of a search. The hundreds of spellings that a misspelt word may have would push out the
    words that people use: of so many none is remembered."""
    return list(map(word_digest, words)) if len(words) <= _MOST_WORDS else _digests(words)


def _digests(words: Sequence[str]) -> list[bytes]:
    """The digest of each word, none remembered; in a loop, which takes less than a call for each."""
    digests = []
    copy = _NO_WORD.copy
    for word in words:
        digest = copy()
        digest.update(word.encode())
        digests.append(digest.digest())
    return digests


_MOST_RECENT: Final = 4096
_MOST_PARTS: Final = 256
"""How much is added between two searches before it is sorted: each part takes room of its own."""
_MOST_WORDS: Final = 100
"""Words of one search whose digests are remembered."""
_POSTING_BYTES: Final = 8 + 4 + 2
Posting = tuple[NDArray[np.int32], NDArray[np.uint16]]
Part = tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint16]]
"""Digests, each with a slot that has the term, and how often."""
TermScores = list[tuple[NDArray[np.int32], NDArray[np.float64]]]


class Postings:
    """Terms as 64-bit digests, each with the slots that have it and how often."""

    def __init__(self) -> None:
        self._main = self._recent = _EMPTY
        self._unsorted: list[Part] = []
        self._count = 0

    def add(self, slot: int, terms: Sequence[bytes]) -> NDArray[np.int64]:
        """Add the stored terms of memories from a slot on; answers their lengths in tokens."""
        distinct = np.fromiter((len(of_one) // 10 for of_one in terms), np.int64, len(terms))
        digests = b"".join([of_one[: 8 * (len(of_one) // 10)] for of_one in terms])
        counts = np.frombuffer(b"".join([of_one[8 * (len(of_one) // 10) :] for of_one in terms]), "<u2")
        slots = np.repeat(np.arange(slot, slot + len(terms), dtype=np.int32), distinct)
        self._unsorted.append((np.frombuffer(digests, "<u8"), slots, counts))
        self._count += len(counts)
        up_to = np.concatenate(([0], counts.cumsum(dtype=np.int64)))
        ends = distinct.cumsum()
        lengths: NDArray[np.int64] = up_to[ends] - up_to[ends - distinct]
        if len(self._unsorted) > _MOST_PARTS:
            self._sort()
        return lengths

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
        self._sort()
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
        return self._count * _POSTING_BYTES

    def _sort(self) -> None:
        """Sort in what was added since the last search."""
        parts, self._unsorted = self._unsorted, []
        added = sum(len(part[0]) for part in parts)
        if len(self._recent[0]) + added > max(_MOST_RECENT, len(self._main[0]) // 4):
            self._main, self._recent = _sorted(self._main, self._recent, *parts), _EMPTY
        elif added:
            self._recent = _sorted(self._recent, *parts)

    def _find(self, tokens: Sequence[str]) -> dict[str, Posting]:
        """The slots that have each token that any has, and how often."""
        words = list(dict.fromkeys(tokens))
        digests = np.frombuffer(b"".join(query_digests(words)), "<u8")
        postings: dict[str, Posting] = {}
        for terms, slots, counts in (part for part in (self._main, self._recent) if len(part[0])):
            starts, stops = terms.searchsorted(digests), terms.searchsorted(digests, "right")
            # Of the hundreds of spellings that a misspelt word may have, hardly any is there.
            for at in (starts < stops).nonzero()[0].tolist():
                word, start, stop = words[at], starts[at], stops[at]
                posting = slots[start:stop], counts[start:stop]
                if (other := postings.get(word)) is not None:
                    posting = np.concatenate((other[0], posting[0])), np.concatenate((other[1], posting[1]))
                postings[word] = posting
        return postings


_NONE: Final[Posting] = np.empty(0, np.int32), np.empty(0, np.uint16)
_EMPTY: Final[Part] = np.empty(0, np.uint64), *_NONE


def _sorted(*parts: Part) -> Part:
    """All postings of some parts, by their terms, those of a term in the order of the parts."""
    terms, slots, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(terms, kind="stable")
    return terms[order], slots[order], counts[order]


def _admitted(posting: Posting, among: NDArray[np.bool_]) -> Posting:
    slots, counts = posting
    admitted = among[slots]
    return slots[admitted], counts[admitted]
