"""The command: read the sets, ask them one after the other, and keep what came out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from steeltrap.errors import InvalidInput, NotFound
from steeltrap.ranking.weights import WEIGHTS, Weights

from ..locomo import corrected
from ..stores import Store
from .asking import ask
from .baselines import measure as baselines_of
from .formats import read
from .scorecard import Kept, kept, scorecard
from .scoring import changes, scores
from .sets import QuestionSet, parsed

RULES: Final = tuple(field.name for field in fields(Weights) if field.name != "vector")
"""The ranking rules that can be switched off."""


def measure(
    paths: Sequence[Path],
    store: Store = Store.SQLITE,
    *,
    embedder: str | None = None,
    keep: Path | None = None,
    against: Path | None = None,
    ablate: bool = False,
    baselines: bool = False,
    labels: Path | None = None,
) -> dict[str, Any]:
    """The figures by the set's name. Every file is read before the first question.

    With `ablate` each ranking rule is switched off in turn, and with `baselines` a search by words alone and one by
    vectors alone are measured too. `keep` is written with every question's scores, and
    `against` is such a file of an earlier run. With `labels`, LoCoMo's sets are measured once more with the corrected
    ones. Raises NotFound or InvalidInput for a file that can't be read, and what
    the store raises.
    """
    sets = _read([path.expanduser() for path in paths], labels and labels.expanduser())
    names = [questions.name for questions in sets]
    if again := next((name for name in names if names.count(name) > 1), None):
        raise InvalidInput(f"Two sets are called {again}; give one of the files another name.")
    before = {} if against is None else _before(against.expanduser(), names)
    figures: dict[str, Any] = {}
    rows: dict[str, Kept] = {}
    for questions in sets:
        run = ask(questions, store, embedder=embedder)
        rows[questions.name] = kept(run)
        figures[questions.name] = {"format": questions.form, "store": store.value} | scorecard(
            run, before.get(questions.name)
        )
        if ablate:
            figures[questions.name]["gained_by"] = _gained(questions, store, embedder, rows[questions.name])
        if baselines:
            figures[questions.name]["baselines"] = baselines_of(questions, embedder)
    if keep is not None:
        _write(keep.expanduser(), rows)
    return figures


def _read(paths: Sequence[Path], labels: Path | None) -> list[QuestionSet]:
    sets = []
    for path in paths:
        sets.append(read(path))
        if labels is not None and sets[-1].form == "LoCoMo":
            sets.append(corrected(path, labels))
    if labels is not None and not any(one.form == "LoCoMo" for one in sets):
        raise InvalidInput("`--labels` corrects LoCoMo's questions; none of the sets is LoCoMo.")
    return sets


def _gained(questions: QuestionSet, store: Store, embedder: str | None, rows: Kept) -> dict[str, Any]:
    """By ranking rule what each score is higher with it than without it."""
    gained = {}
    for rule in RULES:
        without = ask(questions, store, embedder=embedder, in_full=False, weights=replace(WEIGHTS, **{rule: 0.0}))
        gained[rule] = changes([row["scores"] for row in rows], [scores(one.answered) for one in without.answers])
    return gained


def _before(path: Path, names: Sequence[str]) -> dict[str, Kept]:
    """The scores of an earlier run by set. Raises NotFound or InvalidInput."""
    runs: Any = parsed(path)
    fits = isinstance(runs, dict) and all(
        isinstance(rows, list) and all(isinstance(row, dict) and {"question", "scores"} <= row.keys() for row in rows)
        for rows in runs.values()
    )
    if not fits:
        raise InvalidInput(f"{path.name} was not written by --keep.")
    if missing := next((name for name in names if name not in runs), None):
        raise InvalidInput(f"{path.name} has no earlier run over {missing}.")
    return dict(runs)


def _write(path: Path, rows: Mapping[str, Kept]) -> None:
    try:
        path.write_text(json.dumps(rows, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise NotFound(f"{path} can't be written ({error.strerror}).") from None
