"""The best slots: those of the highest scores, whichever way they are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.stores.exact.columns import Row, Slots
from steeltrap.stores.exact.vectors import cosines_of

SIZE = 600


def _row(n: int) -> Row:
    return Row(
        n=n,
        key=n.to_bytes(16, "big"),
        turn=0,
        episode=0,
        scope="default",
        conversation=None,
        speaker=None,
        created=n // 3,  # so that some tie in age too
        occurred=None,
        traits=0,
        expires=None,
        superseded=None,
        pinned=0,
        surprise=None,
        importance=None,
        terms=None,
        vectors=None,
    )


@pytest.fixture(scope="module")
def slots() -> Slots:
    made = Slots()
    numbers = np.arange(SIZE)
    made.add([_row(n) for n in range(SIZE)], lengths=np.ones(SIZE), first=numbers, chunks=np.ones(SIZE))
    return made


@given(seed=st.integers(0, 2**32 - 1), levels=st.sampled_from([1, 2, 5, 1_000_000]), count=st.integers(1, SIZE))
def test_the_best_are_those_of_a_full_sort(slots: Slots, seed: int, levels: int, count: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(0, levels, SIZE) / levels
    admitted = random.random(SIZE) < random.random()
    among = admitted.nonzero()[0]
    created, key = slots.column("created"), np.arange(SIZE)
    expected = sorted(among, key=lambda at: (-scores[at], -created[at], key[at]))[:count]
    assert sorted(slots.best(scores, admitted, count)) == sorted(expected)


def test_high_scores_that_a_sample_misses_are_among_the_best(slots: Slots) -> None:
    everywhere = np.ones(SIZE, np.bool_)
    for start in range(8):
        scores = np.zeros(SIZE)
        scores[start::8] = np.arange(1, 1 + SIZE // 8)
        assert sorted(slots.best(scores, everywhere, 20)) == [*range(SIZE - 160 + start, SIZE, 8)]


@given(size=st.integers(0, 1200))
def test_gathered_rows_have_the_product_of_the_whole_matrix(size: int) -> None:
    random = np.random.default_rng(size)
    rows = random.random((1500, 7), np.float32)
    vector = random.random(7, np.float32)
    some = random.integers(0, len(rows), size)
    np.testing.assert_allclose(cosines_of(rows, some, vector), rows[some] @ vector, rtol=1e-5)
