"""Scoring: the two legs fused into one score per memory, and the engine's own rules, used where nobody fixes a weight.

Min-max with theoretical minima: a BM25 score of 0 and the embedder's own cosine for unrelated text are worth nothing;
the best BM25 score and a cosine of 1 are worth 1. Not reciprocal ranks: they throw away by how much a memory is
better, and measured worse on every set.

What people say depends on its context: a turn is found by words said around it, a conversation that answers once may
answer again, and a question that names a person is about what that person said. The constants are round.
`docs/ranking.md` has what each rule gains on three sets, and `Weights` has a switch for each. Pure; a NumPy column per
part.
"""

import re
from collections.abc import Collection
from typing import Final

import numpy as np

from ..model import MICROS_PER_DAY, NO_TIME, Candidates
from ..ports import Scale
from ..text.words import STOP_WORDS, Trait
from .asking import asks_across, asks_for_end
from .scored import Column, Scored, has_trait, mass
from .weights import WEIGHTS, Weights


def fuse(candidates: Candidates, *, vector_weight: float, unrelated: float) -> Scored:
    """Each candidate with `vector_weight` x semantic + (1 - `vector_weight`) x keyword.

    A missing leg is worth nothing; with one leg only, pass its weight as 1 or 0.
    """
    nothing = np.zeros(len(candidates))
    semantic = nothing if candidates.cosine is None else calibrated_all(candidates.cosine, unrelated)
    bm25 = candidates.bm25
    best = 0.0 if bm25 is None else float(bm25.max(initial=0.0))
    keyword = nothing if bm25 is None or best <= 0 else bm25 / best
    fused = vector_weight * semantic + (1 - vector_weight) * keyword
    return Scored(candidates, semantic, keyword, fused, fused)


def calibrated_all(cosines: Column, unrelated: float) -> Column:
    """`vectors.calibrated` of each cosine."""
    return np.maximum(0.0, (cosines - unrelated) / (1 - unrelated))


MOST_CHUNKS: Final = 12
"""From this many chunks on, the best of them is no longer expected to be higher by chance."""
WINDOW: Final = (0.5, 0.3, 0.2)
"""The value of a query term that was said one, two or three places away, in parts of its own score."""
_AT_THE_BEST, _FAR_FROM_THE_BEST, _FAR = 1.2, 0.6, 10
"""The weight of a conversation between named people at its best message, falling to that of messages so far away."""
RELATED: Final = 0.3
"""From this semantic score on, a standing wish counts in full."""
_MICROS_PER_HOUR: Final = MICROS_PER_DAY // 24
_COMPARABLE: Final = 0.7
"""From this share of the best score on, the time decides where a query asks for the latest or the first."""
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
    rest = _WORD.sub(lambda match: "" if words(match[0])[0] in names else match[0], query)
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
    for name, boost in (
        *_by_place(query, scored, near, weights).items(),
        *_by_query(query, scored, speakers, near_days, weights).items(),
    ):
        scored.boosts[name] = boost
        scored.score = scored.score + boost
    return scored


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
    context_scores = candidates.bm25.astype(np.float64)
    for places, scores in candidates.terms if len(near.in_conversation) else ():
        own = np.zeros(len(candidates))
        own[places] = scores
        best = own
        for distance, share in enumerate(WINDOW, 1):
            for step in (-distance, distance):
                # The message at `step` from the one that says the term hears it.
                best = np.maximum(best, weights.window * share * near.at(step, own))
        context_scores += best - own
    return np.minimum(1.0, context_scores / whole)


class _Near:
    """Which candidates were said some places before and after which others, in the same conversation."""

    def __init__(self, candidates: Candidates) -> None:
        self.in_conversation = (candidates.conversation >= 0).nonzero()[0]
        if not len(self.in_conversation):
            return
        # Numbers of conversations may be as large as 2^48.
        _, talk = np.unique(candidates.conversation[self.in_conversation], return_inverse=True)
        self.talk = talk
        self._at = (talk.astype(np.int64) << 32) + candidates.position[self.in_conversation]
        self._order = np.argsort(self._at, kind="stable")
        self._sorted = self._at[self._order]
        self._steps: dict[int, tuple[Column, Column]] = {}
        self._size = len(candidates)

    def at(self, step: int, values: Column) -> Column:
        """For every candidate the value of the one that lies `step` places further on, 0 without one."""
        here, others = self.pairs(step)
        result = np.zeros(self._size)
        result[here] = values[others]
        return result

    def pairs(self, step: int) -> tuple[Column, Column]:
        """The places of candidates, and of those that lie `step` places further on."""
        if step not in self._steps:
            targets = self._at + step
            index = np.minimum(np.searchsorted(self._sorted, targets), len(self._sorted) - 1)
            matches = np.flatnonzero(self._sorted[index] == targets)
            self._steps[step] = self.in_conversation[matches], self.in_conversation[self._order[index[matches]]]
        return self._steps[step]


def _by_place(query: str, scored: Scored, near: _Near, weights: Weights) -> dict[str, Column]:
    """The score that a memory gets by its place in a conversation."""
    candidates, own = scored.candidates, scored.legs
    if not len(near.in_conversation):
        return {}
    has_name = _named(candidates)
    conversation = np.zeros(len(own))
    if not asks_across(query):
        conversation[near.in_conversation] = weights.conversation * _drawn(near, own, candidates.position, has_name)
    # Between a user and an assistant nearly every message answers a question.
    asks = has_trait(candidates, Trait.QUESTION) & has_name
    here, before = near.pairs(-1)
    answers = asks[before] & has_name[here] & (candidates.speaker[here] != candidates.speaker[before])
    reply = np.zeros(len(own))
    reply[here[answers]] = weights.reply * own[before[answers]]
    question = np.zeros(len(own))
    question_places = near.in_conversation[asks[near.in_conversation]]
    question[question_places] = -weights.question * own[question_places]
    return {
        "neighbours": weights.neighbours * (near.at(-1, own) + near.at(1, own)),
        "conversation": conversation,
        "coverage": weights.coverage * _coverage(candidates, near, scored.keyword),
        "reply": reply,
        "question": question,
    }


def _drawn(near: _Near, own: Column, position: Column, has_name: Column) -> Column:
    """By how much the best score in its conversation draws up each memory that is in one.

    Named people change the subject within minutes, so what they say is drawn more beside the best than far from it. The
    messages of a user and an assistant are long, and their subject stays.
    """
    talk, scores, at = near.talk, own[near.in_conversation], position[near.in_conversation]
    best = np.zeros(talk.max() + 1)
    np.maximum.at(best, talk, scores)
    above = best[talk] - scores
    place_of_best = np.full(len(best), np.iinfo(np.int64).max)
    np.minimum.at(place_of_best, talk[above == 0], at[above == 0])
    distance = np.minimum(1.0, np.abs(at - place_of_best[talk]) / _FAR)
    share = _AT_THE_BEST + (_FAR_FROM_THE_BEST - _AT_THE_BEST) * distance
    drawn: Column = above * np.where(has_name[near.in_conversation], share, 1.0)
    return drawn


def _coverage(candidates: Candidates, near: _Near, keyword: Column) -> Column:
    """The share of the query's words that the conversation of each candidate says, each word where it counts most; of
    one that stands alone its own share, so that it is no worse off among conversations."""
    covered = keyword.copy()
    whole = mass(candidates)
    if whole <= 0:
        return covered
    talk = np.full(len(candidates), -1)
    talk[near.in_conversation] = near.talk
    sums = np.zeros(near.talk.max() + 2)  # the last stands for what is in no conversation
    for places, scores in candidates.terms:
        best = np.zeros(len(sums))
        np.maximum.at(best, talk[places], scores)
        sums += best
    covered[near.in_conversation] = np.minimum(1.0, sums / whole)[near.talk]
    return covered


def _by_query(
    query: str, scored: Scored, speakers: Collection[str], near_days: Column | None, weights: Weights
) -> dict[str, Column]:
    """The score that a memory gets by the query's own words."""
    candidates = scored.candidates
    query_words = set(words(query))
    speaker_numbers = [
        number
        for number, name in enumerate(candidates.speakers)
        if name in speakers and not (query_words - STOP_WORDS).isdisjoint(words(name or ""))
    ]
    boosts: dict[str, Column] = {}
    # What adds to no memory is not computed: most queries and most spaces have little of this.
    if speaker_numbers:
        is_named = np.zeros(len(candidates.speakers))
        is_named[speaker_numbers] = weights.speaker
        boosts["speaker"] = is_named[candidates.speaker]
    if scored.any_has(_WISHES):
        wishes = has_trait(candidates, Trait.INSTRUCTION) + 0.5 * has_trait(candidates, Trait.PREFERENCE)
        boosts["wish"] = weights.wish * wishes * np.minimum(1.0, scored.semantic / RELATED)
    if near_days is not None:
        boosts["days"] = weights.days * near_days
    if weights.recency and (direction := asks_for_end(query)):
        boosts["recency"] = weights.recency * _towards_end(scored, direction)
    roles = (_I, Trait.BY_USER), (_YOU, Trait.BY_ASSISTANT)
    meant = [trait for pronouns, trait in roles if not query_words.isdisjoint(pronouns) and scored.any_has(trait)]
    if matches := [has_trait(candidates, trait) for trait in meant]:
        boosts["role"] = weights.role * sum(matches, np.zeros(len(candidates)))
    return boosts


def _towards_end(scored: Scored, direction: int) -> Column:
    """How late each candidate happened among those that score nearly as well as the best, 0 for the first of them to 1
    for the last; the reverse for the direction -1. What doesn't score as well gets nothing, and an hour is one time."""
    candidates = scored.candidates
    time = np.where(candidates.occurred != NO_TIME, candidates.occurred, candidates.created)
    at = direction * (time // _MICROS_PER_HOUR)
    near = np.flatnonzero(scored.legs >= _COMPARABLE * scored.legs.max())
    rank = np.unique(at[near], return_inverse=True)[1]
    lateness = np.zeros(len(candidates))
    lateness[near] = rank / max(1, int(rank.max()))
    return lateness


def _named(candidates: Candidates) -> Column:
    has_name = np.array([name is not None for name in candidates.speakers], np.bool_)
    column: Column = has_name[candidates.speaker]
    return column
