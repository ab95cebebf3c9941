"""Showing what was measured: JSON for programs, a table for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from steeltrap.cli.session import say, write_json


def show(figures: Mapping[str, Any], as_json: bool, titles: Mapping[str, str]) -> None:
    """The figures by name; a table shows those that have a title and a value."""
    if as_json:
        return write_json(dict(figures))
    for name, title in titles.items():
        value = figures.get(name)
        if isinstance(value, Mapping):
            say(title)
            for key, inner in value.items():
                say(f"    {key:24} " + "  ".join(f"{k} {v:,}" for k, v in inner.items()))
        elif value is not None:
            say(f"{title:48} {value:>12,}")
    return None


def percentile(values: Sequence[float], share: float) -> float:
    """The percentile of the values at a share of 0 to 1, by nearest rank."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def milliseconds(values: Sequence[float], share: float) -> float:
    """A percentile of seconds in milliseconds."""
    return round(percentile(values, share) * 1000, 3)
