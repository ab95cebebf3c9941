"""The common part of all embedders: which texts have a vector, where it belongs among the answers, and what is said
when they take too long.
"""

from collections.abc import Iterable, Sequence

from ..errors import InvalidInput, Unavailable
from ..model import Embedding


def nonblank_positions(texts: Sequence[str]) -> list[int]:
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


def restore_positions(
    vectors: Iterable[Embedding], positions: Iterable[int], count: int, dimension: int
) -> list[Embedding]:
    """`count` embeddings: the vectors at their positions, zeros elsewhere."""
    embeddings = [bytes(4 * dimension)] * count
    for position, vector in zip(positions, vectors, strict=True):
        embeddings[position] = vector
    return embeddings


def out_of_time(count: int, timeout: float) -> Unavailable:
    """The error of texts that take longer than they may."""
    seconds = round(timeout, 2) or timeout
    return Unavailable(
        f"Embedding {count:,} texts takes longer than {seconds:g} s; send fewer at a time.", part="embedder"
    )
