"""The figures for people: tables in Markdown."""

from collections.abc import Mapping
from typing import Any, Final

from steeltrap.cli.session import say, write_json

from .scoring import BUDGETS, COUNTS, SHARES, WITHIN_SHARES

_FACTS: Final = ("format", "store", "embedder", "memories", "refused", "questions", "unanswerable")
_SPEED: Final = {"search_p50_ms": "search, median, ms", "search_p95_ms": "search, 95th percentile, ms"}


def show(figures: Mapping[str, Any], as_json: bool) -> None:
    """JSON for programs, tables in Markdown for people."""
    if as_json:
        return write_json(dict(figures))
    for name, of_set in figures.items():
        _print(name, of_set)
    return None


def _print(name: str, figures: Mapping[str, Any]) -> None:
    columns = [column for column in (*SHARES, *COUNTS) if figures[column] is not None]
    rows = {"all": figures} | figures["by_category"]
    for group in ("by_language", "by_size"):
        if len(figures[group]) > 1:
            rows |= figures[group]
    say(f"{name}: " + ", ".join(f"{fact} {figures[fact]}" for fact in _FACTS))
    say(", ".join(f"{title} {figures[key]}" for key, title in _SPEED.items()))
    say(f"| {' | '.join(['', *columns])} |")
    say("|---" + "|--:" * len(columns) + "|")
    for title, row in rows.items():
        say(f"| {' | '.join([title, *(_cell(row, column) for column in columns)])} |")
    say("")
    _print_budgets(figures)
    if "baselines" in figures and figures["questions"]:
        _print_baselines(figures)
    if "gained_by" in figures:
        _print_gains(figures["gained_by"])


def _print_budgets(figures: Mapping[str, Any]) -> None:
    if figures["evidence_500"] is None:
        return
    say("Within a token budget, against whole memories until one doesn't fit:")
    shares = [share for share in WITHIN_SHARES if figures[f"{share}_{BUDGETS[0]}"] is not None]
    columns = [f"{share}{way}" for share in shares for way in ("", "_whole")]
    say(f"| {' | '.join(['tokens', *columns])} |")
    say("|--:" + "|--:" * len(columns) + "|")
    for budget in BUDGETS:
        names = [f"{share}_{budget}{way}" for share in shares for way in ("", "_whole")]
        say(f"| {' | '.join([f'{budget:,}', *(_cell(figures, name) for name in names)])} |")
    say("")


def _print_baselines(figures: Mapping[str, Any]) -> None:
    say("| search by | top1 | r5 | r10 |")
    say("|---|--:|--:|--:|")
    for name, row in {"steeltrap": figures, **figures["baselines"]}.items():
        say(f"| {' | '.join([name, *(f'{row[column]:.1f}' for column in ('top1', 'r5', 'r10'))])} |")
    say("")


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
