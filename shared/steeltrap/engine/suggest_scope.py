"""Suggest a scope for a text: where the user files what is like it, else a common place for such texts."""

from collections import defaultdict
from collections.abc import Sequence
from math import prod
from typing import Final, Literal

from ..model import DEFAULT_SCOPE, Embedding
from ..model.frozen import frozen
from ..ports import Probe
from ..rules.limits import check_content, check_scope
from ..rules.vectors import calibrated, dot, numbers
from . import sessions
from .call import Call
from .entry import embed_chunks

Basis = Literal["stored_memories", "described_scopes", "current_scope", "default"]

ENOUGH: Final = 0.2
"""The confidence from which a scope is suggested."""
NEAREST: Final = 100
"""How many of the nearest memories have a say."""
WITNESSES: Final = 3
"""How many of them in each scope."""
FEW: Final = 4
"""Fewer scopes than this are filled up with common ones."""
CURRENT: Final = 0.05
"""Added to the current scope, so that it wins a close call and no other."""

DESCRIBED: Final = {
    "work/debugging": "fixing a bug in an implementation: error, crash, exception, stack trace, regression",
    "work/meetings": "meeting notes, standup, agenda, decisions, discussion with the team or a client",
    "work/projects": "project plan, milestone, deadline, roadmap, requirements, task, release",
    "work/infrastructure": "server deployment, build pipeline, database, network, monitoring, backup",
    "learning/api-design": "API endpoint documentation, REST interface, request and response, schema, versioning",
    "learning/programming": "programming language, code, library, algorithm, implementation details, tutorial",
    "learning/research": "article, paper, book, study, course, a concept explained",
    "personal/preferences": "what someone likes, dislikes or prefers, favourite food, colours, settings, habits",
    "personal/people": "family, friend, colleague, birthday, relationship, someone's name",
    "personal/tasks": "reminder, appointment, errand, call the dentist, buy, pay, to do",
    "personal/health": "doctor, medicine, sleep, exercise, allergy, symptoms, diet",
    "personal/travel": "trip, flight, hotel, visa, holiday, city to visit",
    "personal/finance": "money, bank account, budget, invoice, taxes, rent",
    "personal/ideas": "idea, reflection, goal, plan for the future, something to write about",
}
"""Scopes that many have use for, in the words of what is filed there: what a text is compared with while
the user has nothing like it."""


@frozen
class ScopeGuess:
    """A scope and how sure it is, 0 to 1. `similarity` is the cosine of what is nearest there, `memories`
    how many near ones were looked at; 0 for a scope that is only described."""

    scope: str
    confidence: float
    similarity: float
    memories: int = 0


@frozen
class ScopeSuggestion:
    """The scope to file a text under, others that come into question, the best first, and what it stands on."""

    scope: str
    confidence: float
    basis: Basis
    others: list[ScopeGuess]
    compared: int


def suggest_scope(call: Call, content: str, current_scope: str | None = None) -> ScopeSuggestion:
    """The scope that fits a text best.

    A stored scope's confidence is 1 - the product of (1 - similarity) over its three nearest memories,
    where a similarity of unrelated texts counts as 0. Where none is sure enough, or there are few, the text
    is compared with the descriptions of common scopes; after those come `current_scope` and the default. The scope of a
    session is suggested only when it is the current one. Does not count as access.
    """
    check_content(content)
    if current_scope is not None:
        current_scope = check_scope(current_scope)
    [embeddings] = embed_chunks(call, [content])
    guesses, compared = _stored(call, embeddings, current_scope)
    is_unsure = not guesses or guesses[0].confidence < ENOUGH
    if is_unsure or len(guesses) < FEW:
        taken = {guess.scope for guess in guesses}
        described = [guess for guess in _described(call, embeddings) if guess.scope not in taken]
        # What is known of the user goes before what is common, unless it is unsure.
        guesses = sorted(guesses + described, key=_by_confidence) if is_unsure else guesses + described
    best, basis = _best(guesses, current_scope)
    return ScopeSuggestion(
        scope=best.scope,
        confidence=best.confidence,
        basis=basis,
        others=[guess for guess in guesses if guess.scope != best.scope and guess.confidence > 0],
        compared=compared,
    )


def _best(guesses: Sequence[ScopeGuess], current_scope: str | None) -> tuple[ScopeGuess, Basis]:
    if guesses and guesses[0].confidence >= ENOUGH:
        return guesses[0], "stored_memories" if guesses[0].memories else "described_scopes"
    scope = current_scope or DEFAULT_SCOPE
    unknown = ScopeGuess(scope=scope, confidence=0.0, similarity=0.0)
    found = next((guess for guess in guesses if guess.scope == scope), unknown)
    return found, "current_scope" if current_scope else "default"


def _stored(call: Call, embeddings: tuple[Embedding, ...], current_scope: str | None) -> tuple[list[ScopeGuess], int]:
    """The scopes of the nearest memories, the surest first, and how many memories those were."""
    unrelated = call.embedder.unrelated
    probe = Probe(embeddings=embeddings, scope=None)
    [around] = call.space.look_around([probe], floor=unrelated, top_k=NEAREST)
    memories = call.space.get([near.id for near in around.near])
    cosines: dict[str, list[float]] = defaultdict(list)
    for near in around.near:
        scope = memories[near.id].scope if near.id in memories else None
        if scope is not None and (scope == current_scope or not scope.startswith(f"{sessions.SCOPE}/")):
            cosines[scope].append(near.cosine)
    guesses = [
        ScopeGuess(
            scope=scope,
            confidence=_confidence(near, unrelated, is_current=scope == current_scope),
            similarity=round(near[0], 4),
            memories=len(near),
        )
        for scope, near in cosines.items()
    ]
    return sorted(guesses, key=_by_confidence), sum(map(len, cosines.values()))


def _described(call: Call, embeddings: tuple[Embedding, ...]) -> list[ScopeGuess]:
    """The scopes of the table, compared by meaning."""
    unrelated = call.embedder.unrelated
    described = map(numbers, call.embed(list(DESCRIBED.values())))
    chunks = [numbers(embedding) for embedding in embeddings]
    nearest = {
        scope: max(dot(of_scope, chunk) for chunk in chunks)
        for scope, of_scope in zip(DESCRIBED, described, strict=True)
    }
    guesses = [
        ScopeGuess(scope=scope, confidence=round(calibrated(cosine, unrelated), 4), similarity=round(cosine, 4))
        for scope, cosine in nearest.items()
    ]
    return sorted(guesses, key=_by_confidence)


def _confidence(nearest_first: Sequence[float], unrelated: float, *, is_current: bool) -> float:
    doubt = prod(1 - min(1.0, calibrated(cosine, unrelated)) for cosine in nearest_first[:WITNESSES])
    return round(min(1.0, 1 - doubt + CURRENT * is_current), 4)


def _by_confidence(guess: ScopeGuess) -> tuple[float, str]:
    return (-guess.confidence, guess.scope)
