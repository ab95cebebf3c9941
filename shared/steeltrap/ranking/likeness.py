"""Which memories say nearly the same: the pairs whose nearest chunks are alike, and the results that differ. Pure.

Only what compares results imports it: it needs NumPy.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import Unavailable
from ..model import Embedding
from ..ports import Deadline

Pair = tuple[str, str]
"""The ids of two memories."""

TILE: Final = 64
"""How many memories are compared with how many at once: 60 MB of cosines where all have the most text."""

Chunks = NDArray[np.float32]
Near = NDArray[np.bool_]


def to_chunks(embeddings: Mapping[str, Sequence[Embedding]]) -> dict[str, Chunks]:
    """The vectors of each memory, a row each; one without vectors is left out, and so is alike to none."""
    rows = {id: np.frombuffer(b"".join(vectors), "<f4") for id, vectors in embeddings.items() if vectors}
    return {id: numbers.reshape(len(embeddings[id]), -1) for id, numbers in rows.items()}


def alike(pairs: Collection[Pair], vectors: Mapping[str, Chunks], floor: float, deadline: Deadline) -> frozenset[Pair]:
    """Those pairs whose nearest chunks reach the floor. Raises Unavailable if comparing takes too long."""
    comparable_pairs = [(one, other) for one, other in pairs if one in vectors and other in vectors]
    return frozenset(
        (one, other)
        for one, other in comparable_pairs
        if _near([vectors[one]], [vectors[other]], floor, deadline)[0, 0]
    )


def distinct(
    ids: Sequence[str], vectors: Mapping[str, Chunks], floor: float, limit: int, deadline: Deadline
) -> list[str]:
    """Go through the ids in order and choose up to `limit` that are alike to none chosen before.

    Only chosen memories are compared with the rest. Raises Unavailable if that takes too long.
    """
    picks: list[str] = []
    pick_vectors: list[Chunks] = []
    for start in range(0, len(ids), TILE):
        if len(picks) == limit:
            break
        block = ids[start : start + TILE]
        fresh = _unlike({id: vectors[id] for id in block if id in vectors}, pick_vectors, floor, deadline)
        place = {id: i for i, id in enumerate(fresh)}
        near = _near(list(fresh.values()), list(fresh.values()), floor, deadline)
        left_out = np.zeros(len(fresh), np.bool_)
        for id in block:
            if id in vectors and (id not in fresh or left_out[place[id]]):
                continue
            if len(picks) == limit:
                break
            picks.append(id)
            if id in fresh:
                pick_vectors.append(fresh[id])
                left_out |= near[place[id]]
    return picks


def _unlike(block: dict[str, Chunks], others: Sequence[Chunks], floor: float, deadline: Deadline) -> dict[str, Chunks]:
    """Those of a block that are alike to none of the others."""
    for start in range(0, len(others), TILE):
        near = _near(list(block.values()), others[start : start + TILE], floor, deadline)
        block = {id: chunks for (id, chunks), of_id in zip(block.items(), near, strict=True) if not of_id.any()}
    return block


def _near(ones: Sequence[Chunks], others: Sequence[Chunks], floor: float, deadline: Deadline) -> Near:
    """Which of some memories are alike to which of others. Raises Unavailable when the time is over."""
    if not deadline.before():
        raise Unavailable("Comparing the results took too long; ask for fewer of them.", part="deadline")
    if not ones or not others:
        return np.zeros((len(ones), len(others)), np.bool_)
    cosines = np.concatenate(ones) @ np.concatenate(others).T
    by_one = np.maximum.reduceat(cosines, _starts(ones), axis=0)
    near: Near = np.maximum.reduceat(by_one, _starts(others), axis=1) >= floor
    return near


def _starts(some: Sequence[Chunks]) -> NDArray[np.intp]:
    return np.cumsum([0, *map(len, some)])[:-1]
