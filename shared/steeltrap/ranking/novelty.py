"""Novelty: how new a text is against what is stored, and which memories it is linked to. Pure."""

import re
from collections.abc import Collection
from itertools import pairwise
from typing import Final

from ..model import Link, Memory, Neighbour, Surroundings
from ..ports import Scale
from ..text.sentences import telling
from ..text.vectors import calibrated
from ..text.words import label_of

LINK_FLOOR: Final = 0.7
SURPRISE_OF_THE_FIRST: Final = 0.5
KEY_MOMENT: Final = 0.7
"""From this surprise on a memory is a key moment; what is just new enough has it."""
SURPRISE_OF_THE_FAMILIAR: Final = 0.3
"""A surprise below it means that the memory was said before, in the same or other words."""
FAMILIAR: Final = 0.25
"""Where the familiar begins: this share of the way from the level of the new to a cosine of 1."""
UNLABELLED: Final = 5 / 6
"""Where a text that begins with no name is new: this share of the way from the unrelated to the novel. Turns
that begin with their speakers' names have at least those in common."""
CORRECTED: Final = 0.05
"""Where what corrects a memory begins: this share of the way from the level of the new to a cosine of 1. Of 35
corrections of facts 28 lie nearer to what they correct, and of 437 other facts 24 to the fact nearest to them."""
_THE_SAME: Final = 0.9995
"""From this cosine on two texts have the same words."""
_KANA: Final = re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc]")


def surprise(text: str, around: Surroundings, scale: Scale) -> float:
    """How far the nearest memory is, 0 to 1, by the embedder's own levels of cosine.

    1 at the level of unrelated texts (of Japanese ones where this is Japanese) or below, `KEY_MOMENT` where
    this text begins to be new, 0.3 where it begins to be familiar, 0 at a cosine of 1, on straight lines between
    them. In an empty space there is nothing to compare with: 0.5.
    """
    if around.nearest is None:
        return SURPRISE_OF_THE_FIRST
    unrelated = max(scale.unrelated, scale.unrelated_japanese) if is_japanese(text) else scale.unrelated
    near = calibrated(around.nearest.cosine, unrelated)
    new = calibrated(scale.novel, scale.unrelated) * (1 if label_of(text) else UNLABELLED)
    levels = ((0.0, 1.0), (new, KEY_MOMENT), (new + FAMILIAR * (1 - new), SURPRISE_OF_THE_FAMILIAR), (1.0, 0.0))
    for (low, above), (high, below) in pairwise(levels):
        if low < near <= high:
            return round(above + (below - above) * (near - low) / (high - low), 4)
    return 1.0 if near <= 0 else 0.0


def surprise_of(memory: Memory, around: Surroundings, scale: Scale) -> float:
    """The surprise of a memory; an episode's is how new it is, and at most how telling. The first of a space is new."""
    if not memory.messages:
        return surprise(memory.content, around, scale)
    new = 1.0 if around.nearest is None else surprise(memory.content, around, scale)
    return min(new, telling(memory.messages))


def is_japanese(text: str) -> bool:
    """Whether at least a fifth of the characters are kana."""
    return not text.isascii() and 5 * len(_KANA.findall(text)) >= len(text)


def others(around: Surroundings | None, excluded_ids: Collection[str]) -> list[Neighbour]:
    """The ids of what lies near, nearest first, without these ids."""
    if around is None or around.nearest is None:
        return []
    near = {neighbour.id: neighbour for neighbour in (around.nearest, *around.near)}
    return [neighbour for neighbour in near.values() if neighbour.id not in excluded_ids]


def probably_corrects(nearest: Neighbour, scale: Scale) -> bool:
    """Whether a new memory probably corrects the one nearest to it: about the same, not in the same words.

    Of two memories that are as near only the nearest is: to name more is wrong far more often than right.
    """
    new = calibrated(scale.novel, scale.unrelated)
    near = calibrated(nearest.cosine, scale.unrelated)
    return near >= new + CORRECTED * (1 - new) and nearest.cosine < _THE_SAME


def links(around: Surroundings) -> tuple[Link, ...]:
    """The automatic associations: near memories in the same scope; the strength is the cosine."""
    return tuple(Link(target_id=near.id, strength=round(min(1.0, near.cosine), 4)) for near in around.near)
