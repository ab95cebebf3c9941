"""Cosines of unit vectors in plain arithmetic: a function that imports no numpy starts in half the time."""

from collections.abc import Sequence
from operator import mul

from ....model import Embedding


def nearest(vector: Embedding, chunks: Sequence[Embedding]) -> float:
    """The highest cosine between a vector and the chunks of a memory; 0 where it has none of the same size."""
    asked = memoryview(vector).cast("f")
    return max(
        (sum(map(mul, asked, memoryview(chunk).cast("f"))) for chunk in chunks if len(chunk) == len(vector)),
        default=0.0,
    )
