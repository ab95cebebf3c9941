"""The engine's own ranking rules, used where nobody fixes a weight. Pure.

What people say makes sense in its place: a turn is found by words said around it, a conversation that
answers once may answer again, and a question that names a person is about what that person said. The
constants are round. `docs/ranking.md` has what each rule gains on two sets of real conversations.
"""

import re
from collections.abc import Collection, Sequence
from typing import Final

from ..model import Candidate
from .analysis import STOP_WORDS
from .fusion import Fused, calibrated

VECTOR_WEIGHT: Final = 0.7
WINDOW: Final = (0.5, 0.3, 0.2)
"""What a query term counts that was said one, two or three places away, in parts of its own score."""
NEIGHBOUR: Final = 0.1
"""Of the scores of the memories just before and just after."""
CONVERSATION: Final = 0.4
"""Of the best score in the conversation; a memory without one is a conversation by itself."""
SPEAKER: Final = 0.2
"""For what was said by someone whom the query names."""

_LABEL: Final = re.compile(r"\s*([^\W\d_][\w.'\u2019-]*(?: [\w.'\u2019-]+){0,2}):\s")
_WORD: Final = re.compile(r"\w+(?:['\u2019]s\b)?")
ROLES: Final = frozenset({"user", "human", "assistant", "ai", "system", "tool"})

Place = tuple[int, int]


def speaker_of(text: str) -> str | None:
    """The name that a text begins with, as in "Ana: I moved", in lower case; None without one or for a role."""
    found = _LABEL.match(text[:80])
    name = found[1].casefold() if found else None
    return None if name in ROLES else name


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return re.findall(r"\w+", text.casefold())


def without_names(query: str, speakers: Collection[str]) -> str:
    """The query without the names of known speakers, for embedding: they say who, not what.

    A query of names alone stays as it is.
    """
    if not speakers:
        return query
    # A speaker called Will is not taken out of "what will happen".
    names = {word for speaker in speakers for word in words(speaker)} - STOP_WORDS
    rest = _WORD.sub(lambda found: "" if words(found[0])[0] in names else found[0], query)
    return rest if words(rest) else query


def rank(query: str, candidates: Sequence[Candidate], *, unrelated: float) -> list[Fused]:
    """Every candidate with its score, 0 to 1 and a little above where rules meet, in input order."""
    places = {(c.conversation, c.position): i for i, c in enumerate(candidates) if c.conversation is not None}
    keywords = [_in_context(c, candidates, places) for c in candidates]
    best_keyword = max(keywords, default=0.0)
    ranked = []
    for c, value in zip(candidates, keywords, strict=True):
        semantic = calibrated(c.cosine, unrelated)
        keyword = value / best_keyword if best_keyword > 0 else 0.0
        ranked.append(Fused(c, semantic, keyword, VECTOR_WEIGHT * semantic + (1 - VECTOR_WEIGHT) * keyword))
    _boost(query, ranked, places)
    return ranked


def _in_context(candidate: Candidate, candidates: Sequence[Candidate], places: dict[Place, int]) -> float:
    """The BM25 score in which each query term counts at its best place around."""
    if candidate.conversation is None or not candidate.terms:
        return candidate.bm25 or 0.0
    around = [
        (share, candidates[near].terms)
        for distance, share in enumerate(WINDOW, 1)
        for step in (-distance, distance)
        if (near := places.get((candidate.conversation, candidate.position + step))) is not None
    ]
    if not around:
        return candidate.bm25 or 0.0
    return sum(max(own, *(share * terms[i] for share, terms in around)) for i, own in enumerate(candidate.terms))


def _boost(query: str, ranked: list[Fused], places: dict[Place, int]) -> None:
    fused = [f.score for f in ranked]
    best: dict[int, float] = {}
    for f in ranked:
        conversation = f.candidate.conversation
        if conversation is not None:
            best[conversation] = max(best.get(conversation, 0.0), f.score)
    asked = set(words(query))
    named = {s: not asked.isdisjoint(words(s)) for s in {f.candidate.speaker for f in ranked} if s is not None}
    for f, own in zip(ranked, fused, strict=True):
        c = f.candidate
        boosts = {"speaker": SPEAKER} if c.speaker is not None and named[c.speaker] else {}
        shared = own
        if c.conversation is not None:
            near = [places.get((c.conversation, c.position + step)) for step in (-1, 1)]
            boosts["neighbours"] = NEIGHBOUR * sum(fused[i] for i in near if i is not None)
            shared = best[c.conversation]
        boosts["conversation"] = CONVERSATION * shared
        # A memory that stands alone keeps the score of the two legs.
        f.score = (own + sum(boosts.values())) / (1 + CONVERSATION)
        f.boosts = boosts
