"""The engine's own ranking rules, used where nobody fixes a weight. Pure.

What people say depends on its context: a turn is found by words said around it, a conversation that answers once may
answer again, and a question that names a person is about what that person said. The constants are round.
`docs/ranking.md` has what each rule gains on three sets, and `Weights` has a switch for each.
"""

import re
from collections.abc import Collection
from typing import Final

import numpy as np

from ..model import Candidates
from ..ports import Scale
from . import bm25
from .analysis import STOP_WORDS
from .fusion import Column, Scored, calibrated_all, has_trait
from .traits import Trait
from .weights import WEIGHTS, Weights

MOST_CHUNKS: Final = 12
"""From this many chunks on, the best of them is no longer expected to be higher by chance."""
WINDOW: Final = (0.5, 0.3, 0.2)
"""What a query term counts that was said one, two or three places away, in parts of its own score."""
COMMON: Final = 0.5
"""A word that more than this share of the memories has says nothing about which of them is meant."""
RELATED: Final = 0.3
"""From this semantic score on, a standing wish counts in full."""
_WISHES: Final = Trait.INSTRUCTION | Trait.PREFERENCE

_WORD: Final = re.compile(r"\w+(?:['\u2019]s\b)?")
_I: Final = frozenset({"i", "me", "my", "mine", "yo", "mi", "ich", "mein", "meine"})
_YOU: Final = frozenset({"you", "your", "yours", "du", "dein", "deine", "tu", "usted"})


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


def rank(
    query: str,
    candidates: Candidates,
    scale: Scale,
    *,
    speakers: Collection[str] = (),
    near_days: Column | None = None,
    weights: Weights = WEIGHTS,
) -> Scored:
    """Every candidate with its score, from 0 to 1 where it stands alone and above where rules add to it.

    `near_days` are those that happened near the days that the query names. `speakers` are the names of those who say at
    least two of the user's memories, in lower case.
    """
    semantic = _semantic(candidates, scale, weights)
    near = _Near(candidates)
    keyword = _keyword(candidates, near, weights)
    own = weights.vector * semantic + (1 - weights.vector) * keyword
    scored = Scored(candidates, semantic, keyword, own, own)
    if not len(candidates):
        return scored
    for name, added in (
        *_by_place(candidates, near, own, weights).items(),
        *_by_query(query, scored, speakers, near_days, weights).items(),
    ):
        scored.boosts[name] = added
        scored.score = scored.score + added
    return scored


def mass(candidates: Candidates) -> float:
    """The sum of the idf of the query's words, those left out that most memories have: what a memory of average length
    reaches in BM25 that says each of them once."""
    documents = candidates.documents
    telling = [count for count in candidates.frequencies.values() if count <= COMMON * documents]
    return sum(bm25.idf(count, documents) for count in telling or candidates.frequencies.values())


def _semantic(candidates: Candidates, scale: Scale, weights: Weights) -> Column:
    if candidates.cosine is None:
        return np.zeros(len(candidates))
    cosine = candidates.cosine.astype(np.float64)
    if candidates.chunks.max(initial=1) > 1:
        cosine -= weights.chunks * scale.slope * np.log(np.clip(candidates.chunks, 1, MOST_CHUNKS))
    return calibrated_all(cosine, scale.unrelated)


def _keyword(candidates: Candidates, near: "_Near", weights: Weights) -> Column:
    """The share of the query's words that a memory and those near it say, by how much each word tells."""
    whole = mass(candidates)
    if candidates.bm25 is None or whole <= 0:
        return np.zeros(len(candidates))
    heard = candidates.bm25.astype(np.float64)
    for places, scores in candidates.terms if len(near.told) else ():
        own = np.zeros(len(candidates))
        own[places] = scores
        best = own
        for distance, share in enumerate(WINDOW, 1):
            for step in (-distance, distance):
                # The message at `step` from the one that says the term hears it.
                best = np.maximum(best, weights.window * share * near.at(step, own))
        heard += best - own
    return np.minimum(1.0, heard / whole)


class _Near:
    """Which candidates were said some places before and after which others, in the same conversation."""

    def __init__(self, candidates: Candidates) -> None:
        self.told = (candidates.conversation >= 0).nonzero()[0]
        if not len(self.told):
            return
        # Numbers of conversations may be as large as 2^48.
        _, talk = np.unique(candidates.conversation[self.told], return_inverse=True)
        self.talk = talk
        self._at = (talk.astype(np.int64) << 32) + candidates.position[self.told]
        self._order = np.argsort(self._at, kind="stable")
        self._sorted = self._at[self._order]
        self._steps: dict[int, tuple[Column, Column]] = {}
        self._size = len(candidates)

    def at(self, step: int, values: Column) -> Column:
        """For every candidate the value of the one that lies `step` places further on, 0 without one."""
        here, there = self.pairs(step)
        found = np.zeros(self._size)
        found[here] = values[there]
        return found

    def pairs(self, step: int) -> tuple[Column, Column]:
        """The places of candidates, and of those that lie `step` places further on."""
        if step not in self._steps:
            wanted = self._at + step
            index = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
            there = np.flatnonzero(self._sorted[index] == wanted)
            self._steps[step] = self.told[there], self.told[self._order[index[there]]]
        return self._steps[step]


def _by_place(candidates: Candidates, near: _Near, own: Column, weights: Weights) -> dict[str, Column]:
    """What its place in a conversation adds to a memory."""
    if not len(near.told):
        return {}
    best = np.zeros(near.talk.max() + 1)
    np.maximum.at(best, near.talk, own[near.told])
    conversation = np.zeros(len(own))
    conversation[near.told] = weights.conversation * (best[near.talk] - own[near.told])
    # Between a user and an assistant nearly every message answers a question.
    named = _named(candidates)
    asks = has_trait(candidates, Trait.QUESTION) & named
    here, before = near.pairs(-1)
    answers = asks[before] & named[here] & (candidates.speaker[here] != candidates.speaker[before])
    reply = np.zeros(len(own))
    reply[here[answers]] = weights.reply * own[before[answers]]
    question = np.zeros(len(own))
    asked = near.told[asks[near.told]]
    question[asked] = -weights.question * own[asked]
    return {
        "neighbours": weights.neighbours * (near.at(-1, own) + near.at(1, own)),
        "conversation": conversation,
        "reply": reply,
        "question": question,
    }


def _by_query(
    query: str, scored: Scored, speakers: Collection[str], near_days: Column | None, weights: Weights
) -> dict[str, Column]:
    """What the query's own words add to a memory."""
    candidates = scored.candidates
    asked = set(words(query))
    named = [
        number
        for number, name in enumerate(candidates.speakers)
        if name in speakers and not (asked - STOP_WORDS).isdisjoint(words(name or ""))
    ]
    added: dict[str, Column] = {}
    # What adds to no memory is not computed: most queries and most spaces have little of this.
    if named:
        added["speaker"] = weights.speaker * np.isin(candidates.speaker, named)
    if has_trait(candidates, _WISHES).any():
        wishes = has_trait(candidates, Trait.INSTRUCTION) + 0.5 * has_trait(candidates, Trait.PREFERENCE)
        added["wish"] = weights.wish * wishes * np.minimum(1.0, scored.semantic / RELATED)
    if near_days is not None:
        added["days"] = weights.days * near_days
    roles = (_I, Trait.BY_USER), (_YOU, Trait.BY_ASSISTANT)
    if meant := [has_trait(candidates, trait) for said, trait in roles if not asked.isdisjoint(said)]:
        added["role"] = weights.role * sum(meant, np.zeros(len(candidates)))
    return added


def _named(candidates: Candidates) -> Column:
    has_name = np.array([name is not None for name in candidates.speakers], np.bool_)
    named: Column = has_name[candidates.speaker]
    return named
