"""How new a text is against what is stored, and which memories it is linked to. Pure."""

from typing import Final

from ..model import Link, Surroundings
from .fusion import calibrated

LINK_FLOOR: Final = 0.7
SURPRISE_OF_THE_FIRST: Final = 0.5


def surprise(around: Surroundings, unrelated: float) -> float:
    """1 - similarity to the nearest memory, where `unrelated` counts as none; 0 to 1.

    In an empty space everything is new and nothing can be told: 0.5.
    """
    if around.nearest is None:
        return SURPRISE_OF_THE_FIRST
    return round(max(0.0, 1 - calibrated(around.nearest.cosine, unrelated)), 4)


def links(around: Surroundings) -> tuple[Link, ...]:
    """The automatic associations: what lies near in the same scope, strength = cosine."""
    return tuple(Link(target_id=near.id, strength=round(min(1.0, near.cosine), 4)) for near in around.near)
