"""Plots as SVG in text, coloured by the page's style sheet. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH: Final = 720
_LABEL: Final = 190
_RIGHT: Final = 120
_BAR: Final = 13
_GAP: Final = 12
_TICKS: Final = (0, 20, 40, 60, 80, 100)


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure in percent and the bounds of its interval; without a figure the bar is left out."""

    value: float | None
    low: float = 0.0
    high: float = 0.0


def legend(names: Sequence[str]) -> str:
    """The meaning of the colours of bars or lines."""
    keys = (f'<span><i class="c{n}"></i>{escape(name)}</span>' for n, name in enumerate(names))
    return f'<p class="legend">{"".join(keys)}</p>'


def bars(title: str, groups: Mapping[str, Sequence[Bar]]) -> str:
    """Horizontal bars from 0 to 100, one per figure, in groups; a thin line is the interval."""
    rows = {label: [(n, bar) for n, bar in enumerate(of) if bar.value is not None] for label, of in groups.items()}
    parts: list[str] = []
    top = 4.0
    for label, of_group in rows.items():
        height = len(of_group) * _BAR
        parts.append(_text(_LABEL - 10, top + height / 2 + 4, label, "end"))
        for line, (n, bar) in enumerate(of_group):
            parts.append(_bar(n, bar, top + line * _BAR))
        top += height + _GAP
    axis = [_tick(_x(tick), f"{tick}", top) for tick in _TICKS]
    return _svg(title, top + 18, [*axis, *parts])


def curve(title: str, lines: Mapping[str, Sequence[float]]) -> str:
    """Lines over 1, 2, 3 ... from 0 to 100 percent."""
    height, margin, bottom = 260.0, 46.0, 26.0
    room = height - bottom - 10
    most = max(len(values) for values in lines.values())
    step = (WIDTH - margin - 60) / max(1, most - 1)
    parts = []
    for tick in _TICKS:
        y = 10 + room * (1 - tick / 100)
        parts.append(f'<line class="grid" x1="{margin}" x2="{WIDTH - 60}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(margin - 8, y + 4, f"{tick}", "end", "tick"))
    for place in range(0, most):
        if place == 0 or (place + 1) % 5 == 0:
            parts.append(_text(margin + place * step, height - 6, f"{place + 1}", "middle", "tick"))
    for n, values in enumerate(lines.values()):
        points = [(margin + place * step, 10 + room * (1 - value / 100)) for place, value in enumerate(values)]
        parts.append(f'<polyline class="l{n}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
        parts += (
            f'<circle class="c{n}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{place}: {value:.1f}</title></circle>'
            for place, ((x, y), value) in enumerate(zip(points, values, strict=True), 1)
        )
        parts.append(_text(points[-1][0] + 9, points[-1][1] + 4, f"{values[-1]:.1f}", "start", "value"))
    return _svg(title, height, parts)


def moves(title: str, rows: Mapping[str, Bar]) -> str:
    """Points gained (to the right) and lost (to the left), on a scale that fits them."""
    reach = max([1.0, *(max(abs(bar.low), abs(bar.high)) for bar in rows.values())])
    middle = _LABEL + (WIDTH - _LABEL - _RIGHT) / 2
    scale = (WIDTH - _LABEL - _RIGHT) / 2 / reach
    height = len(rows) * 22 + 8.0
    parts = [f'<line class="axis" x1="{middle}" x2="{middle}" y1="0" y2="{height}"/>']
    for place, (label, bar) in enumerate(rows.items()):
        value, y = bar.value or 0.0, 4 + place * 22
        start, width = middle + min(0, value) * scale, abs(value) * scale
        kind = "gain" if value >= 0 else "loss"
        parts += (
            _text(_LABEL - 10, y + 12, label, "end"),
            f'<rect class="{kind}" x="{start:.1f}" y="{y}" width="{width:.1f}" height="15" rx="2"/>',
            _whisker(middle + bar.low * scale, middle + bar.high * scale, y + 7.5),
            _text(WIDTH - _RIGHT + 12, y + 12, f"{value:+.1f}", "start", "value"),
        )
    return _svg(title, height, parts)


def _bar(n: int, bar: Bar, y: float) -> str:
    value = bar.value or 0.0
    width = max(1.0, _x(value) - _x(0))
    return (
        f'<rect class="c{n}" x="{_x(0)}" y="{y:.1f}" width="{width:.1f}" height="{_BAR - 2}" rx="2"/>'
        + _whisker(_x(bar.low), _x(bar.high), y + (_BAR - 2) / 2)
        + _text(_x(max(value, bar.high)) + 8, y + _BAR - 3, f"{value:.1f}", "start", "value")
    )


def _whisker(low: float, high: float, y: float) -> str:
    return f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>' if high > low else ""


def _x(percent: float) -> float:
    return round(_LABEL + (WIDTH - _LABEL - _RIGHT / 2) * percent / 100, 1)


def _tick(x: float, label: str, bottom: float) -> str:
    line = f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{bottom - 4:.1f}"/>'
    return line + _text(x, bottom + 12, label, "middle", "tick")


def _text(x: float, y: float, text: str, anchor: str, kind: str = "label") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    inner = "\n".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">\n'
        f"<title>{escape(title)}</title>\n{inner}\n</svg>"
    )
