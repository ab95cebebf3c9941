"""Scopes: suggesting one for a text, and sessions, which are times of work by name with the scope `session/{id}`."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from math import prod
from typing import Final, Literal
from unicodedata import normalize

from ..errors import InvalidInput, Unavailable
from ..model import DEFAULT_SCOPE, Embedding, Filter, Session
from ..model.frozen import frozen
from ..ports import Probe
from ..text.limits import check_content, check_scope, is_name
from ..text.vectors import calibrated, dot, numbers
from .call import Call
from .deleting import delete_matching
from .saving import embed_chunks
from .secrets import check_name

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
"""Common scopes, each with words of what is filed there. A text is compared with these until the user has similar
memories."""


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
        guessed = {guess.scope for guess in guesses}
        described = [guess for guess in _described(call, embeddings) if guess.scope not in guessed]
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
    own = next((guess for guess in guesses if guess.scope == scope), unknown)
    return own, "current_scope" if current_scope else "default"


def _stored(call: Call, embeddings: tuple[Embedding, ...], current_scope: str | None) -> tuple[list[ScopeGuess], int]:
    """The scopes of the nearest memories, the surest first, and how many memories those were."""
    unrelated = call.embedder.unrelated
    probe = Probe(embeddings=embeddings, scope=None)
    [around] = call.space.look_around([probe], floor=unrelated, top_k=NEAREST)
    memories = call.space.get([near.id for near in around.near])
    cosines: dict[str, list[float]] = defaultdict(list)
    for near in around.near:
        scope = memories[near.id].scope if near.id in memories else None
        if scope is not None and (scope == current_scope or not scope.startswith(f"{SCOPE}/")):
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


SCOPE: Final = "session"
MAX_ID_CHARACTERS: Final = 128
_TICK: Final = timedelta(microseconds=1)


@frozen
class SessionUse:
    """A session with what is in it.

    `memories` counts what is directly in its scope, `total` what is in the scopes below too.
    `created_at` is None for one that has memories but was never begun by name.
    """

    id: str
    created_at: datetime | None
    last_activity: datetime
    memories: int = 0
    total: int = 0

    @property
    def scope(self) -> str:
        return f"{SCOPE}/{self.id}"

    def age(self, now: datetime) -> timedelta:
        """The time since it was begun or last written in; never below 0."""
        return max(now - self.last_activity, timedelta(0))


@frozen
class CleanedUp:
    """The sessions that were cleaned up, the ids that were deleted, how many pinned memories were spared,
    and whether time ran out before all was done."""

    sessions: list[SessionUse]
    deleted: list[str]
    spared: int = 0
    more: bool = False


def create_session(call: Call, id: str | None = None) -> tuple[SessionUse, bool]:
    """Begin a session; without an id it is named by the time, in UTC.

    Answers the session, and False where one of that id is there already, which is left as it is.
    Raises InvalidInput for an id that is no part of a scope.
    """
    now = call.now()
    sessions = {session.id: session for session in list_sessions(call)}

    def add(name: str) -> bool:
        return call.space.add_session(Session(id=name, created_at=now))

    if id is None:
        id, fresh = next(name for name in _names(now) if name not in sessions and add(name)), True
    else:
        check_name(call, "session_id", id)
        id = check_session_id(id)
        fresh = add(id)
    session = sessions.get(id) or SessionUse(id=id, created_at=now, last_activity=now)
    return (replace(session, created_at=now, last_activity=now) if fresh else session), fresh


def list_sessions(call: Call) -> list[SessionUse]:
    """Every session, the last active first, then by id."""
    uses = {
        s.id: SessionUse(id=s.id, created_at=s.created_at, last_activity=s.created_at) for s in call.space.sessions()
    }
    for scope, use in call.space.scopes().items():
        root, _, below = scope.partition("/")
        if root != SCOPE or not below:
            continue
        id, _, deeper = below.partition("/")
        session_use = uses.get(id) or SessionUse(id=id, created_at=None, last_activity=use.last_written_at)
        uses[id] = replace(
            session_use,
            last_activity=max(session_use.last_activity, use.last_written_at),
            memories=session_use.memories + (0 if deeper else use.memories),
            total=session_use.total + use.memories,
        )
    return sorted(uses.values(), key=lambda session: (-session.last_activity.timestamp(), session.id))


def cleanup_sessions(call: Call, max_age: timedelta, id: str | None = None) -> CleanedUp:
    """End the sessions without activity for `max_age` or longer, or only the one of an id if it is that old.

    Their memories, those of the scopes below too, are deleted as any memory is: undo brings them back
    until the retention time. Pinned ones are spared, and a session that keeps some is kept.
    """
    cutoff = call.now() - max_age
    id = id and normalize("NFC", id)
    idle = [s for s in list_sessions(call) if s.last_activity <= cutoff and id in (None, s.id)]
    ended: list[SessionUse] = []
    deleted: list[str] = []
    pinned_count = 0
    for session in idle:
        try:
            deletion = _end(call, session, cutoff)
        except Unavailable:
            if not ended:
                raise
            return CleanedUp(sessions=ended, deleted=deleted, spared=pinned_count, more=True)
        ended.append(session)
        deleted += deletion.deleted
        pinned_count += deletion.spared
        if deletion.more:
            return CleanedUp(sessions=ended, deleted=deleted, spared=pinned_count, more=True)
    return CleanedUp(sessions=ended, deleted=deleted, spared=pinned_count)


def check_session_id(id: str) -> str:
    """One part of a scope, in NFC: 1 to 128 letters, digits, `_` and `-`. Raises InvalidInput."""
    if len(id) <= MAX_ID_CHARACTERS:
        id = normalize("NFC", id)
    if len(id) > MAX_ID_CHARACTERS or not is_name(id):
        raise InvalidInput(
            f"`session_id` must be 1 to {MAX_ID_CHARACTERS} letters, digits, '_' and '-', such as 'release-42'."
        )
    return id


def _end(call: Call, session: SessionUse, cutoff: datetime) -> CleanedUp:
    # What is saved while this runs is younger than the cutoff, and stays.
    old = Filter(scope=session.scope, include_child_scopes=True, created_before=cutoff + _TICK)
    deletion = delete_matching(call, old)
    if deletion.more:
        return CleanedUp(sessions=[session], deleted=deletion.ids, more=True)
    remaining = call.space.page(Filter(scope=session.scope, include_child_scopes=True), limit=1).total
    if not remaining:
        call.space.remove_session(session.id)
    return CleanedUp(sessions=[session], deleted=deletion.ids, spared=remaining)


def _names(now: datetime) -> Iterator[str]:
    stem = f"session-{now:%Y%m%d-%H%M%S}"
    yield stem
    for number in count(2):
        yield f"{stem}-{number}"
