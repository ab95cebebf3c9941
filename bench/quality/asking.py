"""Load a set into a store that is removed afterwards, and ask its questions by the ordinary search."""

import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from steeltrap.cli.session import CliSession
from steeltrap.cli.terminal import progress_bar
from steeltrap.engine import saving
from steeltrap.errors import IndexUnavailable
from steeltrap.model import Caller, Draft, Filter, UserRef
from steeltrap.ranking.budget import estimate_tokens
from steeltrap.ranking.weights import WEIGHTS, Weights
from steeltrap.toolsets.lines import LESS_SURE

from ..place import Place, fill, opened
from ..stores import Store
from .scoring import BUDGETS, CURVE, Answered, Recalled
from .sets import Question, QuestionSet, Space

_ID: Final = "id"
_LINE: Final = re.compile(r"^\[([0-9a-f-]+)\] ", re.MULTILINE)
CONFIDENT: Final = 0.8
"""From this confidence on, eight of ten results are to be relevant."""
_SESSIONS: Final = 10
_SAVE_SECONDS: Final = 30.0
_WIDER: Final = (100, 1000)
"""How many turns are asked for until ten distinct sessions are among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """An answer, how long the search took, how many memories it looked through, and their language."""

    answered: Answered
    seconds: float
    size: int
    language: str | None = None


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
    in_full: bool = True,
    weights: Weights = WEIGHTS,
) -> Asked:
    """Every space in a user's own, then its questions. `weights` are those of the ranking rules.

    `in_full` also looks for the best distinct sessions, the best one and the best twenty, and asks within budgets.

    Raises IndexUnavailable when a search has to go without a part: its answer says nothing about the ranking.
    """
    with (
        TemporaryDirectory(prefix="steeltrap-bench-") as folder,
        opened(Path(folder), store, embedder=embedder) as opened_place,
        progress_bar(questions.name, len(questions.spaces)) as advance,
    ):
        place = replace(
            opened_place, door=replace(opened_place.door, rules=replace(opened_place.door.rules, ranking=weights))
        )
        run = Asked(answers=[], embedder=place.door.embedder.name)
        for number, space in enumerate(questions.spaces, 1):
            by_user = CliSession(place.door, Caller(UserRef(f"space-{number}"), "default"), place.settings)
            _load(place, by_user.caller, space, run)
            run.answers += (_ask(by_user, space, question, in_full) for question in space.questions)
            advance(number, run.memories)
    return run


def _load(place: Place, caller: Caller, space: Space, run: Asked) -> None:
    began = time.perf_counter()
    count = 0
    waiting: list[Draft] = []
    for id, draft in space.memories.items():
        waiting.append(replace(draft, metadata={_ID: id}))
        if id in space.supersedes:
            count += fill(place.door, caller, waiting[:-1]) + _revise(place, caller, waiting[-1], space.supersedes[id])
            waiting.clear()
    count += fill(place.door, caller, waiting)
    run.load_seconds += time.perf_counter() - began
    run.memories += count
    run.refused += len(space.memories) - count
    place.settle()


def _revise(place: Place, caller: Caller, draft: Draft, olds: Sequence[str]) -> int:
    """Save a memory in the place of others, as far as nothing else is in their place already."""
    call = place.door.call_for(caller, seconds=_SAVE_SECONDS)
    memories = [memory for old in olds for memory in call.space.page(Filter(metadata={_ID: old}), limit=1).memories]
    saving.save(call, replace(draft, supersedes=tuple(memory.id for memory in memories)))
    return 1


def _ask(by_user: CliSession, space: Space, question: Question, in_full: bool) -> Timed:
    began = time.perf_counter()
    results, _ = _search(by_user, question)
    seconds = time.perf_counter() - began
    ids = tuple(_ids(results))
    relevant, kind = _search(by_user, question, precision="relevant")
    relevant_sessions = space.sessions(question.relevant)
    answered = Answered(
        question=question,
        found=ids,
        returned=tuple(_ids(relevant)),
        told_nothing=kind.startswith("nothing_"),
        confident=tuple(_ids(hit for hit in results if hit.get("confidence", 0.0) >= CONFIDENT)),
        tokens=sum(estimate_tokens(hit["content"]) for hit in relevant),
        relevant_sessions=frozenset(relevant_sessions),
        turns_sessions=frozenset(space.sessions(ids[:10])),
    )
    if in_full:
        answered = replace(answered, recalled=_recalled(by_user, question))
    if in_full and question.relevant:
        answered = _in_full(by_user, space, answered)
    return Timed(answered=answered, seconds=seconds, size=len(space.memories), language=space.language)


def _recalled(by_user: CliSession, question: Question) -> Recalled:
    """The answer of `recall`, whose lines begin with the first characters of an id."""
    answer = by_user.ask("agent.recall", query=question.text)
    sure, _, less_sure = answer.partition(LESS_SURE)
    ids = {hit["id"]: hit["metadata"][_ID] for hit in _search(by_user, question, limit=_WIDER[0])[0]}
    id_lists = [
        [next((own for id, own in ids.items() if id.startswith(short)), short) for short in _LINE.findall(part)]
        for part in (sure, less_sure)
    ]
    return Recalled(ids=(*id_lists[0], *id_lists[1]), sure=len(id_lists[0]), tokens=estimate_tokens(answer))


def _in_full(by_user: CliSession, space: Space, answered: Answered) -> Answered:
    question = answered.question
    ranked, _ = _search(by_user, question, limit=_WIDER[0])
    best, _ = _search(by_user, question, precision="best")
    ids = {hit["id"]: hit["metadata"][_ID] for hit in ranked}
    packed = {budget: _search(by_user, question, max_tokens=budget)[0] for budget in BUDGETS}
    whole = {budget: ranked[: _whole(ranked, budget)] for budget in BUDGETS}

    def of_evidence(results: Sequence[Any]) -> dict[str, str]:
        # A memory that is shown in part has no metadata.
        texts = {ids.get(hit["id"], ""): hit["content"] for hit in results}
        return {id: text for id, text in texts.items() if id in question.relevant}

    return replace(
        answered,
        ranked=tuple(_ids(ranked[:CURVE])),
        best=tuple(_ids(best)),
        best_sessions=_best_sessions(by_user, space, question, ranked) if answered.relevant_sessions else frozenset(),
        evidence={id: space.memories[id].content for id in question.relevant if id in space.memories},
        packed={budget: of_evidence(results) for budget, results in packed.items()},
        whole={budget: of_evidence(results) for budget, results in whole.items()},
    )


def _whole(results: Sequence[Any], budget: int) -> int:
    """How many results from the front fit whole."""
    for count, hit in enumerate(results):
        budget -= estimate_tokens(json.dumps(hit, ensure_ascii=False, separators=(",", ":")))
        if budget < 0:
            return count
    return len(results)


def _best_sessions(by_user: CliSession, space: Space, question: Question, ranked: Sequence[Any]) -> frozenset[str]:
    """The ten best distinct sessions, each as good as its best turn."""
    best: dict[str, None] = {}
    for limit in _WIDER:
        results = ranked if limit == _WIDER[0] else _search(by_user, question, limit=limit)[0]
        best = dict.fromkeys(session for id in _ids(results) for session in space.sessions([id]))
        if len(best) >= _SESSIONS or len(results) < limit:
            break
    return frozenset(list(best)[:_SESSIONS])


def _search(by_user: CliSession, question: Question, **how: Any) -> tuple[list[Any], str]:
    answer = by_user.ask("core.search", query=question.text, **how)
    outcome = answer["outcome"]
    if outcome["kind"] == "degraded":
        raise IndexUnavailable(outcome["message"], part="index")
    return answer["results"], outcome["kind"]


def _ids(results: Iterable[Any]) -> Iterator[str]:
    return (hit["metadata"][_ID] for hit in results)
