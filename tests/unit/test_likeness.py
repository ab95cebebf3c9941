"""Which memories say nearly the same, by their vectors alone."""

import random
from collections.abc import Sequence

import pytest

from contracts.entries import dot, vector
from steeltrap.errors import Unavailable
from steeltrap.model import Embedding
from steeltrap.ports import Deadline
from steeltrap.ranking.likeness import alike, distinct, to_chunks
from steeltrap.runtime import SystemClock

Vectors = dict[str, Sequence[Embedding]]
VECTORS: Vectors = {
    "one": [vector(1), vector(0, 0, 1)],
    "near": [vector(4, 3)],
    "far": [vector(0, 1)],
    "spare": [vector(1)],
    "bare": [],
}


def deadline(seconds: float = 30) -> Deadline:
    return Deadline.after(seconds, SystemClock())


def pairs_alike(pairs: Sequence[tuple[str, str]], floor: float, vectors: Vectors = VECTORS) -> set[tuple[str, str]]:
    return set(alike(pairs, to_chunks(vectors), floor, deadline()))


def chosen(*ids: str, floor: float = 0.75, limit: int = 9) -> list[str]:
    return distinct(ids, to_chunks(VECTORS), floor, limit, deadline())


def test_memories_are_alike_whose_nearest_chunks_reach_the_floor() -> None:
    pairs = [("one", "near"), ("near", "one"), ("one", "far"), ("near", "far"), ("one", "unknown"), ("one", "bare")]
    assert pairs_alike(pairs, 0.75) == {("one", "near"), ("near", "one")}
    assert pairs_alike(pairs, 0.59) == {pairs[0], pairs[1], pairs[3]}
    assert pairs_alike([("spare", "one")], 1 - 1e-6) == {("spare", "one")}
    assert pairs_alike([], 0) == set()


def test_of_memories_that_are_alike_the_first_is_chosen() -> None:
    assert chosen("one", "near", "far") == ["one", "far"]
    assert chosen("near", "far", "one") == ["near", "far"]
    assert chosen("far", "near", "one", floor=0.59) == ["far", "one"]
    assert chosen("unknown", "one", "bare", "near", "far", floor=0) == ["unknown", "one", "bare"]
    assert chosen("one", "near", "far", limit=1) == ["one"]
    assert chosen("one", "near", limit=0) == []
    assert chosen() == []


@pytest.mark.parametrize(("floor", "limit"), [(0.95, 200), (0.9, 30), (0.0, 200), (1.1, 150)])
def test_memories_are_chosen_as_if_each_were_compared_with_all_chosen_before(floor: float, limit: int) -> None:
    pick = random.Random(5)
    vectors = {f"{i}": [vector(*(pick.gauss(0, 1) for _ in range(4))) for _ in range(i % 4)] for i in range(170)}
    ranked = list(vectors)
    pick.shuffle(ranked)
    expected: list[str] = []
    for id in ranked:
        near = (dot(a, b) >= floor for other in expected for a in vectors[id] for b in vectors[other])
        if len(expected) < limit and not any(near):
            expected.append(id)
    assert distinct(ranked, to_chunks(vectors), floor, limit, deadline()) == expected


def test_comparing_memories_ends_with_its_time() -> None:
    with pytest.raises(Unavailable):
        distinct(["one", "near"], to_chunks(VECTORS), 0.9, 2, deadline(0))
    with pytest.raises(Unavailable):
        alike([("one", "near")], to_chunks(VECTORS), 0.9, deadline(0))
