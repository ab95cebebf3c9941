"""Which memories say nearly the same, by the vectors of the table."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from ....model import Embedding
from ....ports import Deadline, Pair
from ....text.vectors import nearest

Vectors = Mapping[str, Sequence[Embedding]]
"""The vectors of visible memories by id; what has none is left out."""

Read = Callable[[Sequence[str]], Vectors]

_BLOCK: Final = 100


def alike(pairs: Collection[Pair], read: Read, floor: float, deadline: Deadline) -> frozenset[Pair]:
    """Those pairs whose nearest chunks reach the floor."""
    vectors = read(list({id for pair in pairs for id in pair}))
    return frozenset(pair for pair in pairs if _reach(vectors.get(pair[0]), vectors.get(pair[1]), floor, deadline))


def distinct(ids: Sequence[str], read: Read, floor: float, limit: int, deadline: Deadline) -> list[str]:
    """The first ids that are alike to none chosen before them. Reads no further than the limit needs."""
    chosen: list[str] = []
    known: list[Sequence[Embedding]] = []
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        vectors = read(block) if len(chosen) < limit else {}
        for id in block:
            if len(chosen) == limit:
                return chosen
            own = vectors.get(id)
            if not any(_reach(own, other, floor, deadline) for other in known):
                chosen.append(id)
                if own:
                    known.append(own)
    return chosen


def _reach(
    ones: Sequence[Embedding] | None, others: Sequence[Embedding] | None, floor: float, deadline: Deadline
) -> bool:
    if not ones or not others:
        return False
    deadline.left()
    return max(nearest(one, others) for one in ones) >= floor
