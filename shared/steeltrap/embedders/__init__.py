"""Embedders, which make vectors: `static` in the process, offline; `onnx` from a folder; `small`, which is these two
together; `endpoint` over HTTP; `bedrock` at AWS.

Here: models, their files and servers, how near unrelated and new texts lie (`calibration`), and what all embedders do
alike: which texts have a vector, and where it belongs among the answers. Not here: chunking, searching, storing.
Only `runtime` imports it; each library is imported at first use.
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
