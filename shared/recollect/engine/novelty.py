"""How new a text is against what is stored, and which memories it is linked to. Pure."""

from itertools import pairwise
from typing import Final

from ..model import Link, Surroundings

LINK_FLOOR: Final = 0.7
SURPRISE_OF_THE_FIRST: Final = 0.5

KEY_MOMENT: Final = 0.7
"""From this surprise on a memory is a key moment; what is just new enough has it."""

SURPRISE_OF_THE_FAMILIAR: Final = 0.3
"""Below it lies what was said before, in the same or in other words."""

FAMILIAR: Final = 0.25
"""Where the familiar begins: this share of the way from the level of the new to a cosine of 1."""


def surprise(around: Surroundings, *, unrelated: float, novel: float) -> float:
    """How far the nearest memory is, 0 to 1, by the embedder's own levels of cosine.

    1 at `unrelated` or below, `KEY_MOMENT` at `novel`, 0.3 where the familiar begins, 0 at a cosine of 1,
    on straight lines between them. In an empty space everything is new and nothing can be told: 0.5.
    """
    if around.nearest is None:
        return SURPRISE_OF_THE_FIRST
    cosine = around.nearest.cosine
    novel = max(unrelated, novel)
    levels = (
        (unrelated, 1.0),
        (novel, KEY_MOMENT),
        (novel + FAMILIAR * (1 - novel), SURPRISE_OF_THE_FAMILIAR),
        (1.0, 0.0),
    )
    if cosine <= unrelated:
        return 1.0
    for (low, above), (high, below) in pairwise(levels):
        if cosine <= high:
            return round(above + (below - above) * ((cosine - low) / (high - low)), 4)
    return 0.0


def links(around: Surroundings) -> tuple[Link, ...]:
    """The automatic associations: what lies near in the same scope, strength = cosine."""
    return tuple(Link(target_id=near.id, strength=round(min(1.0, near.cosine), 4)) for near in around.near)
