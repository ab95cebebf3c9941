"""Diversity: leaving out what says nearly the same as a better result. Pure."""

from math import ceil
from typing import Final

from ..model.frozen import frozen

MAX_POOL: Final = 2000
"""How many ranked results are chosen from at most, unless the limit itself is higher."""


@frozen
class Diversity:
    """How different results must be.

    Two memories say the same from a cosine of `threshold` on. The best `expansion` x limit results are
    chosen from; where those don't fill the limit, the best `max_expansion` x limit, up to 2,000.
    """

    threshold: float = 0.8
    expansion: float = 2.5
    max_expansion: float = 5.0

    def pool(self, limit: int) -> int:
        """How many ranked results are looked at in the end."""
        return max(limit, min(MAX_POOL, ceil(limit * max(self.expansion, self.max_expansion))))
