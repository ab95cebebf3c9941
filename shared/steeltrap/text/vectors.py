"""Embeddings as numbers, where a few are made or compared. Pure.

Plain arithmetic: a function that imports no numpy starts in half the time.
"""

import math
from collections.abc import Iterable, Sequence
from operator import mul
from struct import pack, unpack

from ..model import Embedding

Vector = tuple[float, ...]


def numbers(embedding: Embedding) -> Vector:
    return unpack(f"<{len(embedding) // 4}f", embedding)


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    """The dot product, which of unit vectors is the cosine."""
    return float(sum(map(mul, one, other)))


def has_direction(embeddings: Iterable[Embedding]) -> bool:
    """Whether one of them isn't all zeros. To a text without a known word nothing is near, and nothing far."""
    return any(map(any, embeddings))


def nearest(vector: Embedding, chunks: Sequence[Embedding]) -> float:
    """The highest cosine between a vector and the chunks of a memory; 0 where it has none of the same size."""
    query_numbers = memoryview(vector).cast("f")
    return max(
        (sum(map(mul, query_numbers, memoryview(chunk).cast("f"))) for chunk in chunks if len(chunk) == len(vector)),
        default=0.0,
    )


def unit_vector(coordinates: Iterable[float]) -> Embedding:
    """The vector of length 1 in the direction of `coordinates`; zeros stay zeros.

    Raises TypeError, ValueError or OverflowError where one isn't a finite number, or where there is none.
    """
    values = [float(number) for number in coordinates]
    length = math.hypot(*values)
    if not values or not math.isfinite(length):
        raise ValueError("no numbers, or some that aren't finite")
    return pack(f"<{len(values)}f", *(value / length for value in values) if length else values)


def mean_vector(vectors: Sequence[Embedding], weights: Sequence[float]) -> Embedding:
    """The unit vector in the direction of the weighted mean; zeros where they cancel out."""
    columns = zip(*map(numbers, vectors), strict=True)
    return unit_vector(sum(weight * n for weight, n in zip(weights, column, strict=True)) for column in columns)


def cosine(one: Embedding, other: Embedding) -> float:
    """The cosine between two unit vectors."""
    return sum(a * b for a, b in zip(numbers(one), numbers(other), strict=True))


def calibrated(cosine: float | None, unrelated: float) -> float:
    """A cosine as 0 (no nearer than unrelated texts are) to 1 (the same); None is 0."""
    return max(0.0, (cosine - unrelated) / (1 - unrelated)) if cosine is not None else 0.0
