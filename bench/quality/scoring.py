"""Scores of the answer to a question, and their means with intervals. Pure."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any, Final

import numpy as np

from steeltrap.text.words import tokens

from .sets import Question

_RESAMPLES: Final = 2_000
_SEED: Final = 20_260_131
_FORTIETHS: Final = 40
"""2.5% of what is drawn is below the first of these, and 2.5% above the last."""
SHARES: Final = (
    "top1",
    "r5",
    "r10",
    "session_r10",
    "session_r10_of_turns",
    "precision",
    "f1",
    "exact",
    "none_far_recall",
    "none_near_recall",
    "false_alarms",
    "confident",
    "outdated_returned",
    "outdated_first",
    "recalled",
    "recalled_sure",
    "none_far_lines",
)
"""The scores that are shares of 1, in the order in which they are shown."""
COUNTS: Final = ("tokens", "recall_tokens")
MODES: Final = ("precision_all", "f1_all", "precision_best", "f1_best")
"""As `precision` and `f1`, which are those of the mode `relevant`, for the other modes."""
BUDGETS: Final = (500, 1000, 2000)
"""Tokens."""
WITHIN_SHARES: Final = ("evidence", "answer_words")
WITHIN: Final = tuple(
    f"{share}_{budget}{way}" for budget in BUDGETS for share in WITHIN_SHARES for way in ("", "_whole")
)
"""The share of the evidence in an answer of so many tokens, and of the words of a good answer that the evidence says;
with `_whole` where whole memories are taken in their order until one doesn't fit."""
IN_PERCENT: Final = (*SHARES, *MODES, *WITHIN)
CURVE: Final = 20

Scores = dict[str, float]
"""One question's scores by name; what doesn't apply to the question is left out."""


Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The answer of `agent.recall`: the ids of the memories that it shows, sure ones first, how many of them are sure,
    and the tokens of the whole."""

    ids: tuple[str, ...]
    sure: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The results of a question: ids of memories, best first. `found` are the best ten, `returned` what a search
    for the relevant ones alone answers.

    `confident` are those of `found` with a confidence of 0.8 or more.

    `sessions` are those of the relevant memories, of the ten best turns, and the ten best distinct ones. `told_nothing`
    says that the outcome was that nothing is there.

    Where everything is measured, `ranked` are the best twenty, and `best` what a search for the best one answers.
    `recalled` is the answer of `recall`. `evidence` has the texts of the relevant memories by id, and `packed` what is
    shown of them by budget: in an answer within so many tokens, and with `whole` of the memories that fit whole.
    """

    question: Question
    found: tuple[str, ...]
    returned: tuple[str, ...]
    told_nothing: bool
    tokens: int
    confident: tuple[str, ...] = ()
    relevant_sessions: frozenset[str] = frozenset()
    turns_sessions: frozenset[str] = frozenset()
    best_sessions: frozenset[str] = frozenset()
    ranked: tuple[str, ...] | None = None
    best: tuple[str, ...] = ()
    evidence: Texts = field(default_factory=dict)
    packed: Mapping[int, Texts] = field(default_factory=dict)
    whole: Mapping[int, Texts] = field(default_factory=dict)
    recalled: Recalled | None = None


def scores(answered: Answered) -> Scores:
    """The scores of one question. Returned is everything that the search answers by itself."""
    silence = float(answered.told_nothing)
    exact = float(answered.question.relevant == set(answered.returned))
    spent = {"tokens": float(answered.tokens), "exact": exact} | _recall(answered)
    if answered.confident:
        sure = answered.question.relevant.intersection(answered.confident)
        spent["confident"] = len(sure) / len(answered.confident)
    if answered.question.miss is not None:
        return spent | {f"none_{answered.question.miss}_recall": silence}
    relevant = answered.question.relevant
    scored = spent | {"false_alarms": silence} | _ranking(answered) | _returned(relevant, answered.returned)
    if answered.ranked is not None:
        scored |= _returned(relevant, answered.found, "_all") | _returned(relevant, answered.best, "_best")
    return scored | _within(answered) | _outdated(answered)


def _recall(answered: Answered) -> Scores:
    recalled, question = answered.recalled, answered.question
    if recalled is None:
        return {}
    spent = {"recall_tokens": float(recalled.tokens)}
    if question.miss is not None:
        return spent | ({"none_far_lines": float(bool(recalled.ids))} if question.miss == "far" else {})
    hits, sure = (question.relevant.intersection(ids) for ids in (recalled.ids, recalled.ids[: recalled.sure]))
    count = len(question.relevant)
    return spent | {"recalled": len(hits) / count, "recalled_sure": len(sure) / count}


def ranking(relevant: Set[str], ids: Sequence[str]) -> Scores:
    """The scores of an order of memories."""
    return {
        "top1": float(bool(relevant & set(ids[:1]))),
        "r5": len(relevant & set(ids[:5])) / len(relevant),
        "r10": len(relevant & set(ids[:10])) / len(relevant),
    }


def _ranking(answered: Answered) -> Scores:
    scored = ranking(answered.question.relevant, answered.found)
    sessions = answered.relevant_sessions
    if sessions:
        scored["session_r10"] = len(sessions & answered.best_sessions) / len(sessions)
        scored["session_r10_of_turns"] = len(sessions & answered.turns_sessions) / len(sessions)
    return scored


def _returned(relevant: Set[str], returned: Sequence[str], mode: str = "") -> Scores:
    hits = len(relevant & set(returned))
    return {
        f"precision{mode}": hits / len(returned) if returned else 0.0,
        f"f1{mode}": 2 * hits / (len(relevant) + len(returned)),
    }


def _within(answered: Answered) -> Scores:
    """The share of the evidence in answers of some tokens, packed and whole."""
    question = answered.question
    evidence_words = set(tokens(" ".join(answered.evidence.values())))
    answer_words = (set(tokens(question.answer)) & evidence_words) - set(tokens(question.text))
    scored = {}
    for way, by_budget in (("", answered.packed), ("_whole", answered.whole)):
        for budget, texts in by_budget.items():
            scored[f"evidence_{budget}{way}"] = len(question.relevant & texts.keys()) / len(question.relevant)
            if answer_words:
                hits = answer_words & set(tokens(" ".join(texts.values())))
                scored[f"answer_words_{budget}{way}"] = len(hits) / len(answer_words)
    return scored


def recall_curve(answers: Sequence[Answered]) -> list[float]:
    """The mean share of the relevant memories among the first 1, 2 ... 20 results, in percent; [] if not measured."""
    ranked = [
        (one.question.relevant, one.ranked) for one in answers if one.ranked is not None and one.question.relevant
    ]
    if not ranked:
        return []
    shares = [
        [len(relevant & set(ids[:most])) / len(relevant) for most in range(1, CURVE + 1)] for relevant, ids in ranked
    ]
    return [round(100 * sum(column) / len(column), 2) for column in zip(*shares, strict=True)]


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
    columns = {name: np.array([row[name] for row in rows if name in row]) for name in (*IN_PERCENT, *COUNTS)}
    return {name: values for name, values in columns.items() if len(values)}


def _interval(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float]:
    chance = np.random.default_rng(_SEED)
    drawn = values[chance.integers(0, len(values), (_RESAMPLES, len(values)))].mean(axis=1)
    bounds = quantiles(drawn.tolist(), n=_FORTIETHS, method="inclusive")
    return [bounds[0], bounds[-1]]


def _shown(name: str, value: float) -> float:
    return round(100 * value, 2) if name in IN_PERCENT else round(value, 1)
