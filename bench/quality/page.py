"""The figures as one HTML page with plots: no scripts, nothing from elsewhere, in light and dark."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from steeltrap.errors import NotFound

from .plots import Bar, bars, curve, legend, moves
from .scoring import BUDGETS, COUNTS, SHARES, WITHIN_SHARES

_STYLE: Final = Path(__file__).with_name("page.css")
_TILES: Final = {
    "top1": "first result is right, %",
    "r5": "recall of the best 5, %",
    "r10": "recall of the best 10, %",
    "tokens": "tokens per search (relevant)",
    "recall_tokens": "tokens per answer of recall",
    "search_p50_ms": "ms per search, median",
    "search_p95_ms": "ms, 95th percentile",
}
_RANKING: Final = ("top1", "r5", "r10")
_MODES: Final = {"all": "_all", "relevant": "", "best": "_best"}
_WITHIN: Final = {
    "evidence": "Share of the memories that answer, whole or in part, in an answer of so many tokens.",
    "answer_words": "Share of a good answer's words that the shown text of these memories has.",
}

Figures = Mapping[str, Any]


def write(path: Path, figures: Mapping[str, Figures]) -> None:
    """Write the page. Raises NotFound where that fails."""
    try:
        path.write_text(page(figures), "utf-8")
    except OSError as error:
        raise NotFound(f"{path} can't be written ({error.strerror}).") from None


def page(figures: Mapping[str, Figures]) -> str:
    links = "".join(f'<a href="#set-{n}">{escape(name)}</a>' for n, name in enumerate(figures))
    sets = "\n".join(f'<section id="set-{n}">\n{_set(*one)}\n</section>' for n, one in enumerate(figures.items()))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Search quality</title>
<style>
{_STYLE.read_text("utf-8")}</style>
</head>
<body>
<h1>Search quality</h1>
<p>How well the search tool finds the memories that answer questions. Thin lines are 95% intervals.</p>
<nav>{links}</nav>
{sets}
<footer>Written by <code>steeltrap bench quality --html</code>. docs/ranking.md explains every figure.</footer>
</body>
</html>
"""


def _set(name: str, figures: Figures) -> str:
    return "\n".join([f"<h2>{escape(name)}</h2>", _facts(figures), _tiles(figures), *_sections(figures)])


def _sections(figures: Figures) -> Iterator[str]:
    yield _titled("All figures", "", _table(figures))
    if figures["recall_curve"]:
        caption = "Share of the memories that answer among the first 1 to 20 results, in percent."
        yield _titled("Recall", caption, curve("recall by number of results", {"recall": figures["recall_curve"]}))
    for key, title in (("by_category", "By category"), ("by_language", "By language"), ("by_size", "By size")):
        answerable = {label: row for label, row in figures[key].items() if row.get("r5") is not None}
        if len(answerable) > 1:
            groups = {f"{label} ({row['asked']})": _bars(row, _RANKING) for label, row in answerable.items()}
            yield _titled(
                title, "In percent; the number of questions in brackets.", legend(_RANKING), bars(title, groups)
            )
    if figures["precision_all"] is not None:
        groups = {mode: _bars(figures, (f"precision{way}", f"f1{way}")) for mode, way in _MODES.items()}
        caption = "Of what a search returns with each value of precision, in percent."
        yield _titled("Precision and F1", caption, legend(("precision", "F1")), bars("precision and F1", groups))
    yield from _budgets(figures)
    if figures.get("gained_by"):
        rows = {rule: _gain(of) for rule, of in figures["gained_by"].items()}
        caption = "By how many points r5 is higher with each ranking rule than without it."
        yield _titled("What each rule gains", caption, moves("points of r5 gained", rows))


def _budgets(figures: Figures) -> Iterator[str]:
    for share, caption in _WITHIN.items():
        if figures[f"{share}_{BUDGETS[0]}"] is None:
            continue
        groups = {
            f"{budget:,} tokens": _bars(figures, (f"{share}_{budget}", f"{share}_{budget}_whole")) for budget in BUDGETS
        }
        title = "Evidence within a token budget" if share == WITHIN_SHARES[0] else "Answers within a token budget"
        keys = legend(("with previews", "whole memories until one doesn't fit"))
        yield _titled(title, caption, keys, bars(title, groups))


def _titled(title: str, caption: str, *parts: str) -> str:
    return "\n".join([f"<h3>{escape(title)}</h3>", *([f"<p>{escape(caption)}</p>"] if caption else []), *parts])


def _facts(figures: Figures) -> str:
    return (
        f"<p>{escape(figures['format'])} on {escape(figures['store'])} with the embedder "
        f"{escape(figures['embedder'])}: {figures['memories']:,} memories, {figures['questions']:,} questions with an "
        f"answer, {figures['unanswerable']:,} without.</p>"
    )


def _tiles(figures: Figures) -> str:
    tiles = (
        f'<div class="tile"><b>{figures[key]:,.1f}</b><span>{escape(title)}</span></div>'
        for key, title in _TILES.items()
        if figures.get(key) is not None
    )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _table(figures: Figures) -> str:
    moved = figures.get("change", {})
    rows = []
    for name in (*SHARES, *COUNTS):
        if figures.get(name) is not None:
            low, high = figures["intervals"][name]
            cells = [f"<code>{name}</code>", f"{figures[name]:.1f}", f"{low:.1f} to {high:.1f}"]
            if moved:
                cells.append(_moved(moved.get(name)))
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    heads = ["figure", "value", "95% interval", *(["change"] if moved else [])]
    head = "".join(f"<th>{title}</th>" for title in heads)
    return f'<div class="wide"><table><tr>{head}</tr>\n{"".join(rows)}</table></div>'


def _moved(change: Mapping[str, Any] | None) -> str:
    if change is None:
        return ""
    low, high = change["interval"]
    return f"{change['by']:+.1f} ({low:+.1f} to {high:+.1f})"


def _bars(row: Figures, names: Sequence[str]) -> list[Bar]:
    return [
        Bar(None) if row.get(name) is None else Bar(row[name], *row["intervals"].get(name, (row[name], row[name])))
        for name in names
    ]


def _gain(of_rule: Mapping[str, Any]) -> Bar:
    gained = of_rule.get("r5")
    return Bar(0.0) if gained is None else Bar(gained["by"], *gained["interval"])
