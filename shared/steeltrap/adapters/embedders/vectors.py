"""What every embedder does alike: which texts have a vector, and how numbers become one."""

import math
import struct
from collections.abc import Iterable, Sequence

from ...errors import InvalidInput
from ...model import Embedding


def worded(texts: Sequence[str]) -> list[int]:
    """The positions of the texts that aren't blank; a blank one has no vector.

    Raises InvalidInput for half of a surrogate pair: JSON can carry one, UTF-8 can't.
    """
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            "The text holds half of a surrogate pair, such as \\ud83d alone; send whole Unicode characters."
        ) from None
    return [position for position, text in enumerate(texts) if text.strip()]


def placed(vectors: Iterable[Embedding], positions: Iterable[int], count: int, dimension: int) -> list[Embedding]:
    """`count` embeddings: the vectors at their positions, zeros elsewhere."""
    embeddings = [bytes(4 * dimension)] * count
    for position, vector in zip(positions, vectors, strict=True):
        embeddings[position] = vector
    return embeddings


def unit_vector(numbers: Iterable[float]) -> Embedding:
    """The vector of length 1 in the direction of `numbers`; zeros stay zeros.

    Raises TypeError, ValueError or OverflowError where one isn't a finite number, or where there is none.
    """
    values = [float(number) for number in numbers]
    length = math.hypot(*values)
    if not values or not math.isfinite(length):
        raise ValueError("no numbers, or some that aren't finite")
    return struct.pack(f"<{len(values)}f", *(value / length for value in values) if length else values)


def mean_vector(vectors: Sequence[Embedding], weights: Sequence[float]) -> Embedding:
    """The unit vector in the direction of the weighted mean; zeros where they cancel out."""
    columns = zip(*map(_numbers, vectors), strict=True)
    return unit_vector(sum(weight * n for weight, n in zip(weights, column, strict=True)) for column in columns)


def cosine(one: Embedding, other: Embedding) -> float:
    """The cosine between two unit vectors."""
    return sum(a * b for a, b in zip(_numbers(one), _numbers(other), strict=True))


def _numbers(vector: Embedding) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)
