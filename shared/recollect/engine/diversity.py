"""Diversity: leaving out what says nearly the same as a better result. Pure."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import ceil

Alike = Callable[[Sequence[str]], Mapping[str, AbstractSet[str]]]
"""Answers for each id the others among them that say nearly the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity:
    """How different results must be.

    Two memories say the same from a cosine of `threshold` on. The best `expansion` x limit results are
    chosen from; where those don't fill the limit, the best `max_expansion` x limit.
    """

    threshold: float = 0.8
    expansion: float = 2.5
    max_expansion: float = 5.0

    def pool(self, limit: int) -> int:
        """How many ranked results are looked at in the end."""
        return ceil(limit * max(self.expansion, self.max_expansion))


def diversified(ranked: Sequence[str], alike: Alike, limit: int, diversity: Diversity) -> list[str]:
    """Up to `limit` of the ranked ids in their order, none of which says the same as one before it."""
    chosen: list[str] = []
    for size in (ceil(limit * diversity.expansion), diversity.pool(limit)):
        pool = ranked[:size]
        chosen = spread(pool, alike(pool), limit)
        if len(chosen) == limit or len(pool) == len(ranked):
            break
    return chosen


def spread(ranked: Sequence[str], alike: Mapping[str, AbstractSet[str]], limit: int) -> list[str]:
    """Greedily the best, then the best that is like none chosen, and so on."""
    chosen: list[str] = []
    left_out: set[str] = set()
    for id in ranked:
        if len(chosen) == limit:
            break
        if id not in left_out:
            chosen.append(id)
            left_out |= alike.get(id, frozenset())
    return chosen
