"""BM25 (Robertson and Zaragoza 2009), with the idf that Lucene uses, which is never negative.

One formula for every store, so that the same memories get the same scores everywhere. It is plain
arithmetic: numbers or numpy arrays alike.
"""

from collections.abc import Mapping
from math import log
from typing import Any, Final

K1: Final = 1.2
B: Final = 0.75
MOST_TERMS: Final = 64
"""How many terms of a query are scored at most."""

Number = Any
"""A number, or an array of them."""


def idf(document_frequency: int, documents: int) -> float:
    """The weight of a term: ln(1 + (N - n + 0.5) / (n + 0.5)), more than 0 for n <= N."""
    return log(1 + (documents - document_frequency + 0.5) / (document_frequency + 0.5))


def term_score(term_frequency: Number, length: Number, average_length: float, idf: Number) -> Number:
    """One term's part of a document's score; a document's score is the sum over the query's terms.

    `length` and `average_length` count tokens. 0 at least, below idf * (K1 + 1).
    """
    norm = K1 * (1 - B + B * length / average_length)
    return idf * term_frequency * (K1 + 1) / (term_frequency + norm)


def rarest(frequencies: Mapping[str, int]) -> list[str]:
    """The terms that a query is scored by, in its order, from how many documents have each of its terms.

    Of more than 64 it is those that the fewest documents have, the first in the query on a tie; what no document
    has tells nothing.
    """
    if len(frequencies) <= MOST_TERMS:
        return list(frequencies)
    known = [term for term, documents in frequencies.items() if documents]
    kept = set(sorted(known, key=frequencies.__getitem__)[:MOST_TERMS])
    return [term for term in known if term in kept]
