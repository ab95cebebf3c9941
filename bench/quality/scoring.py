"""What the answer to a question is worth, and means of it with intervals. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from .sets import Question

_RESAMPLES: Final = 2_000
_SEED: Final = 20_260_131
_BOUNDS: Final = (2.5, 97.5)
SHARES: Final = (
    "top1",
    "r5",
    "r10",
    "session_r10",
    "session_r10_of_turns",
    "precision",
    "f1",
    "none_far_recall",
    "none_near_recall",
    "false_alarms",
    "outdated_returned",
    "outdated_first",
)
"""The scores that are shares of 1, in the order in which they are shown. `tokens` is a count."""

Scores = dict[str, float]
"""One question's scores by name; what doesn't apply to the question is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What came back for a question: ids of memories, best first. `found` are the best ten, `returned` what a search
    for the relevant ones alone answers.

    `sessions` are those of the relevant memories, of the ten best turns, and the ten best distinct ones. `told_nothing`
    says that the outcome was that nothing is there.
    """

    question: Question
    found: tuple[str, ...]
    returned: tuple[str, ...]
    told_nothing: bool
    tokens: int
    relevant_sessions: frozenset[str] = frozenset()
    turns_sessions: frozenset[str] = frozenset()
    best_sessions: frozenset[str] = frozenset()


def scores(answered: Answered) -> Scores:
    """The scores of one question. Returned is everything that the search answers by itself."""
    told = float(answered.told_nothing)
    spent = {"tokens": float(answered.tokens)}
    if answered.question.miss is not None:
        return spent | {f"none_{answered.question.miss}_recall": told}
    return spent | {"false_alarms": told} | _ranking(answered) | _returned(answered) | _outdated(answered)


def _ranking(answered: Answered) -> Scores:
    relevant, found = answered.question.relevant, answered.found
    scored = {
        "top1": float(bool(relevant & set(found[:1]))),
        "r5": len(relevant & set(found[:5])) / len(relevant),
        "r10": len(relevant & set(found[:10])) / len(relevant),
    }
    sessions = answered.relevant_sessions
    if sessions:
        scored["session_r10"] = len(sessions & answered.best_sessions) / len(sessions)
        scored["session_r10_of_turns"] = len(sessions & answered.turns_sessions) / len(sessions)
    return scored


def _returned(answered: Answered) -> Scores:
    relevant = answered.question.relevant
    hits = len(relevant & set(answered.returned))
    return {
        "precision": hits / len(answered.returned) if answered.returned else 0.0,
        "f1": 2 * hits / (len(relevant) + len(answered.returned)),
    }


def _outdated(answered: Answered) -> Scores:
    outdated = answered.question.outdated
    if not outdated:
        return {}
    expected = answered.question.relevant | outdated
    first = next((id for id in answered.found if id in expected), None)
    return {
        "outdated_returned": float(bool(outdated & set(answered.found))),
        "outdated_first": float(first in outdated),
    }


def means(rows: Sequence[Scores]) -> dict[str, float]:
    """The mean of each score over the questions that have it; shares in percent."""
    return {name: _shown(name, float(values.mean())) for name, values in _columns(rows).items()}


def intervals(rows: Sequence[Scores]) -> dict[str, list[float]]:
    """The 95% confidence interval of the mean, by drawing the questions with replacement; the same at every run."""
    return {name: [_shown(name, bound) for bound in _interval(values)] for name, values in _columns(rows).items()}


def changes(now: Sequence[Scores], before: Sequence[Scores]) -> dict[str, dict[str, Any]]:
    """How each mean moved between two runs over the same questions in the same order, with the interval of the move.

    Question by question, so that what makes a question hard is in both and falls out.
    """
    pairs = [{name: a[name] - b[name] for name in a if name in b} for a, b in zip(now, before, strict=True)]
    moved = means(pairs)
    return {name: {"by": moved[name], "interval": bounds} for name, bounds in intervals(pairs).items()}


def _columns(rows: Sequence[Scores]) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    found = {name: np.array([row[name] for row in rows if name in row]) for name in (*SHARES, "tokens")}
    return {name: values for name, values in found.items() if len(values)}


def _interval(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float]:
    chance = np.random.default_rng(_SEED)
    drawn = [values[chance.integers(0, len(values), len(values))].mean() for _ in range(_RESAMPLES)]
    return [float(bound) for bound in np.percentile(drawn, _BOUNDS)]


def _shown(name: str, value: float) -> float:
    return round(100 * value, 2) if name in SHARES else round(value, 1)
