"""Weights: what each ranking rule counts, and BM25. Pure, and without NumPy, because settings and stores read them.

BM25 is that of Robertson and Zaragoza (2009), with the idf that Lucene uses, which is never negative. One formula for
every store, so that the same memories get the same scores everywhere. It is plain arithmetic: numbers or NumPy arrays
alike.
"""

from collections.abc import Mapping
from math import log
from typing import Any, Final

from ..model.frozen import frozen


@frozen
class Weights:
    """The weight of each rule; 0 switches a rule off.

    vector         share of the semantic leg; the keyword leg has the rest
    chunks         of the calibrated slope by which the best of many chunks is higher by chance
    window         of a term's score when a message nearby says it
    neighbours     of the scores of the messages just before and after
    conversation   of what the best score in the conversation has above a memory's own; between named people 1.14
                   of it beside the best message, 0.6 from ten messages away on
    coverage       of the share of the query's words that the conversation says, in whichever messages
    speaker        for what was said by someone whom the query names
    reply          of the score of another person's question, for the message after it
    question       of its own score, taken from a short question that a named person asks
    wish           for a standing instruction of the user's, and half of it for a preference
    days           for what happened within 14 days of a day that the query names
    superseded     of the score of what it superseded, for a memory whose own is lower
    past           for a superseded memory above what superseded it, if the query asks for the past
    role           for the user's messages if the query says "I", and for the assistant's if it says "you"
    order          for a memory with a question's words in their order, if a better one has them in another
    recency        for the last of what fits about as well, if the query asks for the latest, or the first if for that
    abbreviation   for a memory that has the long form of the query's short one, or the reverse
    name           of the score of a memory that has a name, for others with it that the query doesn't mention
    literal        for a memory that has the whole query literally; twice that for one that is the query, a fifth of it
                   for its identifiers and quotations
    """

    vector: float = 0.7
    chunks: float = 1.0
    window: float = 1.0
    neighbours: float = 0.05
    conversation: float = 0.3
    coverage: float = 0.1
    speaker: float = 0.2
    reply: float = 0.2
    question: float = 0.2
    wish: float = 0.2
    days: float = 0.1
    superseded: float = 1.0
    past: float = 0.05
    role: float = 0.05
    order: float = 0.1
    recency: float = 0.1
    abbreviation: float = 0.2
    name: float = 0.4
    literal: float = 1.0


WEIGHTS: Final = Weights()


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
    present_terms = [term for term, documents in frequencies.items() if documents]
    rare_terms = set(sorted(present_terms, key=frequencies.__getitem__)[:MOST_TERMS])
    return [term for term in present_terms if term in rare_terms]
