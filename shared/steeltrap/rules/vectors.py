"""Embeddings as numbers, where the engine itself compares a few. Pure."""

from collections.abc import Sequence
from operator import mul
from struct import unpack

from ..model import Embedding

Vector = tuple[float, ...]


def numbers(embedding: Embedding) -> Vector:
    """The numbers of an embedding."""
    return unpack(f"<{len(embedding) // 4}f", embedding)


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    """The dot product, which of unit vectors is the cosine."""
    return float(sum(map(mul, one, other)))
