"""Numbers as bars: SVG with attributes alone, as the content security policy wants it."""

from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup

_WIDTH: Final = 100


def bar(share: float, kind: str, most: float = 1.0) -> Markup:
    """A bar that is filled to a share of `most`. What it says is written beside it, so it is hidden from readers."""
    width = round(_WIDTH * max(0.0, min(1.0, share / most if most else 0.0)), 1)
    return Markup(
        '<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<rect class="bar-track" width="100" height="6" rx="3"/><rect class="bar-{}" width="{}" height="6" rx="3"/>'
        "</svg>"
    ).format(kind, width)


def why(hit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts of a hit's score: meaning and words from 0 to 1, then what ranking rules added or took."""
    told = hit["why"]
    parts = [
        {"name": "Meaning", "kind": "meaning", "share": told["semantic"], "value": f"{told['semantic']:.2f}"},
        {"name": "Words", "kind": "words", "share": told["keyword"], "value": f"{told['keyword']:.2f}"},
    ]
    for name, added in sorted((told.get("boosts") or {}).items(), key=lambda pair: -abs(pair[1])):
        if abs(added) >= 0.005:
            shown = name.replace("_", " ").capitalize()
            kind = "gain" if added > 0 else "loss"
            parts.append({"name": shown, "kind": kind, "share": abs(added), "value": f"{added:+.2f}"})
    return parts
