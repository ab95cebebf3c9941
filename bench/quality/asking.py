"""Load a set into a store that is removed afterwards, and ask its questions by the ordinary search."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from steeltrap.engine import save as saving
from steeltrap.engine.save import Draft
from steeltrap.errors import IndexUnavailable
from steeltrap.model import Caller, Filter, UserRef
from steeltrap.rules.budget import estimate_tokens
from steeltrap.rules.weights import WEIGHTS, Weights
from steeltrap.surfaces.cli.opening import Opened
from steeltrap.surfaces.cli.progress import shown

from ..place import Place, fill, opened
from ..stores import Store
from .scoring import Answered
from .sets import Question, QuestionSet, Space

_ID: Final = "id"
_SESSIONS: Final = 10
_SAVE_SECONDS: Final = 30.0
_WIDER: Final = (100, 1000)
"""How many turns are asked for until ten distinct sessions are among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """An answer, how long the search took, and how many memories it looked through."""

    answered: Answered
    seconds: float
    size: int


@dataclass(slots=True, kw_only=True)
class Asked:
    """Every question of a set in its order, and what the loading was."""

    answers: list[Timed]
    embedder: str
    memories: int = 0
    refused: int = 0
    load_seconds: float = 0.0


def ask(
    questions: QuestionSet,
    store: Store,
    *,
    embedder: str | None = None,
    by_session: bool = True,
    weights: Weights = WEIGHTS,
) -> Asked:
    """Every space in a user's own, then its questions. `by_session` also looks for the best distinct sessions, and
    `weights` are those of the ranking rules.

    Raises IndexUnavailable when a search has to go without a part: its answer says nothing about the ranking.
    """
    with (
        TemporaryDirectory(prefix="steeltrap-bench-") as folder,
        opened(Path(folder), store, embedder=embedder) as there,
        shown(questions.name, len(questions.spaces)) as advance,
    ):
        place = replace(there, door=replace(there.door, rules=replace(there.door.rules, ranking=weights)))
        asked = Asked(answers=[], embedder=place.door.embedder.name)
        for number, space in enumerate(questions.spaces, 1):
            by_user = Opened(place.door, Caller(UserRef(f"space-{number}"), "default"), place.settings)
            _load(place, by_user.caller, space, asked)
            asked.answers += (_ask(by_user, space, question, by_session) for question in space.questions)
            advance(number, asked.memories)
    return asked


def _load(place: Place, caller: Caller, space: Space, asked: Asked) -> None:
    began = time.perf_counter()
    written = 0
    waiting: list[Draft] = []
    for id, draft in space.memories.items():
        waiting.append(replace(draft, metadata={_ID: id}))
        if id in space.supersedes:
            written += fill(place.door, caller, waiting[:-1]) + _revise(
                place, caller, waiting[-1], space.supersedes[id]
            )
            waiting.clear()
    written += fill(place.door, caller, waiting)
    asked.load_seconds += time.perf_counter() - began
    asked.memories += written
    asked.refused += len(space.memories) - written
    place.settle()


def _revise(place: Place, caller: Caller, draft: Draft, olds: Sequence[str]) -> int:
    """Save a memory in the place of others, as far as nothing else is in their place already."""
    call = place.door.call_for(caller, seconds=_SAVE_SECONDS)
    found = [memory for old in olds for memory in call.space.page(Filter(metadata={_ID: old}), limit=1).memories]
    saving.save(call, replace(draft, supersedes=tuple(memory.id for memory in found)))
    return 1


def _ask(by_user: Opened, space: Space, question: Question, by_session: bool) -> Timed:
    began = time.perf_counter()
    results, _ = _search(by_user, question)
    seconds = time.perf_counter() - began
    found = tuple(_ids(results))
    relevant, kind = _search(by_user, question, precision="relevant")
    relevant_sessions = space.sessions(question.relevant)
    answered = Answered(
        question=question,
        found=found,
        returned=tuple(_ids(relevant)),
        told_nothing=kind.startswith("nothing_"),
        tokens=sum(estimate_tokens(hit["content"]) for hit in relevant),
        relevant_sessions=frozenset(relevant_sessions),
        turns_sessions=frozenset(space.sessions(found[:10])),
        best_sessions=_best_sessions(by_user, space, question) if by_session and relevant_sessions else frozenset(),
    )
    return Timed(answered=answered, seconds=seconds, size=len(space.memories))


def _best_sessions(by_user: Opened, space: Space, question: Question) -> frozenset[str]:
    """The ten best distinct sessions, each as good as its best turn."""
    best: dict[str, None] = {}
    for limit in _WIDER:
        results, _ = _search(by_user, question, limit=limit)
        best = dict.fromkeys(session for id in _ids(results) for session in space.sessions([id]))
        if len(best) >= _SESSIONS or len(results) < limit:
            break
    return frozenset(list(best)[:_SESSIONS])


def _search(by_user: Opened, question: Question, **how: Any) -> tuple[list[Any], str]:
    answer = by_user.ask("core.search", query=question.text, **how)
    outcome = answer["outcome"]
    if outcome["kind"] == "degraded":
        raise IndexUnavailable(outcome["message"], part="index")
    return answer["results"], outcome["kind"]


def _ids(results: Iterable[Any]) -> Iterator[str]:
    return (hit["metadata"][_ID] for hit in results)
