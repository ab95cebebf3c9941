"""The command: read the sets, ask them one after the other, keep and show what came out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from steeltrap.errors import InvalidInput, NotFound
from steeltrap.rules.weights import WEIGHTS, Weights
from steeltrap.surfaces.cli.output import say, write_json

from ..stores import Store
from .asking import ask
from .formats import read
from .reading import parsed
from .scorecard import Kept, kept, scorecard
from .scoring import SHARES, changes, scores
from .sets import QuestionSet


def measure(
    paths: Sequence[Path],
    store: Store = Store.SQLITE,
    *,
    embedder: str | None = None,
    keep: Path | None = None,
    against: Path | None = None,
    ablate: bool = False,
) -> dict[str, Any]:
    """The figures by the set's name. Every file is read before the first question.

    With `ablate` each ranking rule is switched off in turn. `keep` is written with every question's scores, and
    `against` is such a file of an earlier run. Raises NotFound or InvalidInput for a file that can't be read, and what
    the store raises.
    """
    sets = [read(path.expanduser()) for path in paths]
    names = [questions.name for questions in sets]
    if again := next((name for name in names if names.count(name) > 1), None):
        raise InvalidInput(f"Two sets are called {again}; give one of the files another name.")
    before = {} if against is None else _before(against.expanduser(), names)
    figures: dict[str, Any] = {}
    rows: dict[str, Kept] = {}
    for questions in sets:
        asked = ask(questions, store, embedder=embedder)
        rows[questions.name] = kept(asked)
        figures[questions.name] = {"format": questions.form, "store": store.value} | scorecard(
            asked, before.get(questions.name)
        )
        if ablate:
            figures[questions.name]["gained_by"] = _gained(questions, store, embedder, rows[questions.name])
    if keep is not None:
        _write(keep.expanduser(), rows)
    return figures


def _gained(questions: QuestionSet, store: Store, embedder: str | None, rows: Kept) -> dict[str, Any]:
    """By ranking rule what each score is higher with it than without it."""
    gained = {}
    for rule in RULES:
        without = ask(questions, store, embedder=embedder, by_session=False, weights=replace(WEIGHTS, **{rule: 0.0}))
        gained[rule] = changes([row["scores"] for row in rows], [scores(one.answered) for one in without.answers])
    return gained


def show(figures: Mapping[str, Any], as_json: bool) -> None:
    """JSON for programs, tables in Markdown for people."""
    if as_json:
        return write_json(dict(figures))
    for name, of_set in figures.items():
        _print(name, of_set)
    return None


RULES: Final = tuple(field.name for field in fields(Weights) if field.name != "vector")
"""The ranking rules that can be switched off."""
_COUNTS: Final = ("tokens",)
_FACTS: Final = ("format", "store", "embedder", "memories", "refused", "questions", "unanswerable")
_SPEED: Final = {"search_p50_ms": "search, median, ms", "search_p95_ms": "search, 95th percentile, ms"}


def _print(name: str, figures: Mapping[str, Any]) -> None:
    columns = [column for column in (*SHARES, *_COUNTS) if figures[column] is not None]
    rows = {"all": figures} | figures["by_category"]
    if len(figures["by_size"]) > 1:
        rows |= figures["by_size"]
    say(f"{name}: " + ", ".join(f"{fact} {figures[fact]}" for fact in _FACTS))
    say(", ".join(f"{title} {figures[key]}" for key, title in _SPEED.items()))
    say(f"| {' | '.join(['', *columns])} |")
    say("|---" + "|--:" * len(columns) + "|")
    for title, row in rows.items():
        say(f"| {' | '.join([title, *(_cell(row, column) for column in columns)])} |")
    say("")
    if "gained_by" in figures:
        _print_gains(figures["gained_by"])


def _print_gains(gained: Mapping[str, Any]) -> None:
    say("What each ranking rule gains, in points:")
    columns = [column for column in SHARES if any(column in of for of in gained.values())]
    say(f"| {' | '.join(['', *columns])} |")
    say("|---" + "|--:" * len(columns) + "|")
    for rule, of_rule in gained.items():
        moved = [f"{of_rule[column]['by']:+.1f}" if column in of_rule else "" for column in columns]
        say(f"| {' | '.join([rule, *moved])} |")
    say("")


def _cell(row: Mapping[str, Any], column: str) -> str:
    """A figure with its interval, and behind it how it moved and the interval of that."""
    if row.get(column) is None:
        return ""
    low, high = row["intervals"][column]
    cell = f"{row[column]:.1f} ({low:.1f} to {high:.1f})"
    moved = row.get("change", {}).get(column)
    if moved is None:
        return cell
    low, high = moved["interval"]
    return f"{cell}, {moved['by']:+.1f} ({low:+.1f} to {high:+.1f})"


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
