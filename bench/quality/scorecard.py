"""The figures of a set as a mapping, and what they gained or lost since an earlier run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from steeltrap.errors import InvalidInput

from ..report import milliseconds
from .asking import Asked, Timed
from .scoring import COUNTS, IN_PERCENT, Scores, changes, intervals, means, recall_curve, scores

_SMALL: Final = 10
_MIDDLE: Final = 60

Kept = Sequence[Mapping[str, Any]]
"""A run's questions in their order, each with its text and its scores, as `kept` makes them."""


def kept(run: Asked) -> list[dict[str, Any]]:
    """The figures that a later run is compared with."""
    return [{"question": one.answered.question.text, "scores": scores(one.answered)} for one in run.answers]


def scorecard(run: Asked, before: Kept | None = None) -> dict[str, Any]:
    """The figures of a set; None is what it has no question for. Raises InvalidInput when `before` asked others."""
    rows = [scores(one.answered) for one in run.answers]
    earlier = None if before is None else _scores_before(run, before)
    seconds = [one.seconds for one in run.answers]
    unanswerable = sum(one.answered.question.miss is not None for one in run.answers)
    return {
        "embedder": run.embedder,
        "memories": run.memories,
        "refused": run.refused,
        "questions": len(rows) - unanswerable,
        "unanswerable": unanswerable,
        **dict.fromkeys((*IN_PERCENT, *COUNTS)),
        **_figures(rows, earlier),
        "search_p50_ms": milliseconds(seconds, 0.5),
        "search_p95_ms": milliseconds(seconds, 0.95),
        "load_per_s": round(run.memories / run.load_seconds),
        "recall_curve": recall_curve([one.answered for one in run.answers]),
        "by_category": _by(lambda one: one.answered.question.category, run, rows, earlier),
        "by_language": _by(lambda one: one.language, run, rows, earlier),
        "by_size": _by(_size, run, rows, earlier),
    }


def _by(
    group: Callable[[Timed], str | None], run: Asked, rows: Sequence[Scores], before: Sequence[Scores] | None
) -> dict[str, Any]:
    places: dict[str, list[int]] = {}
    for place, one in enumerate(run.answers):
        if (name := group(one)) is not None:
            places.setdefault(name, []).append(place)
    return {
        name: {"asked": len(of)} | _figures([rows[n] for n in of], before and [before[n] for n in of])
        for name, of in places.items()
    }


def _figures(rows: Sequence[Scores], before: Sequence[Scores] | None) -> dict[str, Any]:
    figures = {**means(rows), "intervals": intervals(rows)}
    return figures if before is None else figures | {"change": changes(rows, before)}


def _size(one: Timed) -> str:
    if one.size <= _SMALL:
        return f"up to {_SMALL} memories"
    return f"{_SMALL + 1} to {_MIDDLE} memories" if one.size <= _MIDDLE else f"more than {_MIDDLE} memories"


def _scores_before(run: Asked, before: Kept) -> list[Scores]:
    if [one["question"] for one in before] != [one.answered.question.text for one in run.answers]:
        raise InvalidInput("The earlier run asked other questions of this set; compare runs over the same file.")
    return [one["scores"] for one in before]
