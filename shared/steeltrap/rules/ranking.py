"""The engine's own ranking rules, used where nobody fixes a weight. Pure.

What people say depends on its context: a turn is found by words said around it, a conversation that
answers once may answer again, and a question that names a person is about what that person said. The
constants are round. `docs/ranking.md` has what each rule gains on two sets of real conversations.
"""

import re
from collections.abc import Collection, Mapping, Sequence
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

_SCALE: Final = 1 + CONVERSATION
_STEPS: Final = tuple((sign * distance, share) for distance, share in enumerate(WINDOW, 1) for sign in (-1, 1))


def label_of(text: str) -> str | None:
    """The name or role that a text begins with, as in "Ana: I moved", in lower case; None without one."""
    found = _LABEL.match(text[:80])
    return found[1].casefold() if found else None


def speaker_of(text: str) -> str | None:
    """The name that a text begins with, in lower case; None without one or for a role."""
    label = label_of(text)
    return None if label in ROLES else label


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
    # One number for a place in a conversation is cheaper to look up than a pair, and there are thousands.
    places = [None if c.conversation is None else (c.conversation << 32) + c.position for c in candidates]
    at = {place: i for i, place in enumerate(places) if place is not None}
    keywords = _in_context(candidates, places, at)
    best_keyword = max(keywords, default=0.0) or 1.0
    ranked = []
    for c, value in zip(candidates, keywords, strict=True):
        semantic = calibrated(c.cosine, unrelated)
        keyword = value / best_keyword
        ranked.append(Fused(c, semantic, keyword, VECTOR_WEIGHT * semantic + (1 - VECTOR_WEIGHT) * keyword))
    _boost(query, ranked, places, at)
    return ranked


def _in_context(candidates: Sequence[Candidate], places: Sequence[int | None], at: Mapping[int, int]) -> list[float]:
    """The BM25 scores in which each query term counts at its best place around."""
    around: dict[int, dict[int, float]] = {}
    for c, place in zip(candidates, places, strict=True):
        if place is None or not c.terms:
            continue
        said = list(c.terms.items())
        for step, share in _STEPS:
            near = at.get(place + step)
            if near is None:
                continue
            heard = around.get(near)
            if heard is None:
                heard = around[near] = {}
            for term, score in said:
                if share * score > heard.get(term, 0.0):
                    heard[term] = share * score
    scores = [c.bm25 or 0.0 for c in candidates]
    for i, heard in around.items():
        own = candidates[i].terms
        for term, score in heard.items():
            scores[i] += max(0.0, score - own.get(term, 0.0))
    return scores


def _boost(query: str, ranked: list[Fused], places: Sequence[int | None], at: Mapping[int, int]) -> None:
    fused = [f.score for f in ranked]
    best: dict[int | None, float] = {}
    for f in ranked:
        best[f.candidate.conversation] = max(f.score, best.get(f.candidate.conversation, 0.0))
    asked = set(words(query))
    named = {s for s in {f.candidate.speaker for f in ranked} if s is not None and not asked.isdisjoint(words(s))}
    for f, place in zip(ranked, places, strict=True):
        # What is added is scaled so that a memory that stands alone keeps the score of the two legs.
        own = f.score
        if f.candidate.speaker in named:
            f.speaker = SPEAKER / _SCALE
        if place is not None:
            near = (at.get(place - 1), at.get(place + 1))
            f.neighbours = NEIGHBOUR / _SCALE * sum(fused[i] for i in near if i is not None)
            f.conversation = CONVERSATION / _SCALE * (best[f.candidate.conversation] - own)
        f.score = own + f.speaker + f.neighbours + f.conversation
