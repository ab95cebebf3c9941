"""Results that differ from each other: who stays, and how far down is looked."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.engine.diversity import Diversity, diversified, spread

Alike = Mapping[str, set[str]]

IDS = [str(i) for i in range(40)]


class Looks:
    """Says who is alike, and remembers how many were looked at each time."""

    def __init__(self, alike: Alike) -> None:
        self.alike = alike
        self.sizes: list[int] = []

    def __call__(self, ids: Sequence[str]) -> Alike:
        self.sizes.append(len(ids))
        return {id: self.alike.get(id, set()) & set(ids) for id in ids}


def _one_topic(ids: Sequence[str]) -> Alike:
    return {id: set(ids) - {id} for id in ids}


@pytest.mark.parametrize(
    ("alike", "limit", "chosen"),
    [
        ({}, 3, ["a", "b", "c"]),
        ({"a": {"b"}}, 3, ["a", "c", "d"]),
        ({"b": {"a"}}, 3, ["a", "b", "c"]),
        ({"a": {"b"}, "b": {"c", "d"}, "c": {"d"}}, 4, ["a", "c"]),
        ({"a": {"b", "c", "d"}}, 4, ["a"]),
        ({"a": {"d"}, "b": {"c"}}, 4, ["a", "b"]),
        ({}, 9, ["a", "b", "c", "d"]),
        ({}, 0, []),
    ],
)
def test_the_best_stays_and_what_is_like_it_goes(alike: Alike, limit: int, chosen: list[str]) -> None:
    assert spread(["a", "b", "c", "d"], alike, limit) == chosen


@pytest.mark.parametrize(("limit", "looked_at"), [(8, [20]), (4, [10]), (3, [8]), (1, [3])])
def test_two_and_a_half_times_the_limit_are_looked_at_first(limit: int, looked_at: list[int]) -> None:
    looks = Looks({})
    assert diversified(IDS, looks, limit, Diversity()) == IDS[:limit]
    assert looks.sizes == looked_at


def test_five_times_the_limit_are_looked_at_where_those_say_the_same() -> None:
    looks = Looks(_one_topic(IDS[:13]))
    assert diversified(IDS, looks, 4, Diversity()) == ["0", "13", "14", "15"]
    assert looks.sizes == [10, 20]


def test_there_may_be_fewer_than_the_limit_and_never_a_third_look() -> None:
    looks = Looks(_one_topic(IDS))
    assert diversified(IDS, looks, 4, Diversity()) == ["0"]
    assert looks.sizes == [10, 20]


def test_all_there_is_is_looked_at_once() -> None:
    looks = Looks(_one_topic(IDS[:10]))
    assert diversified(IDS[:10], looks, 4, Diversity()) == ["0"]
    assert looks.sizes == [10]


@pytest.mark.parametrize(
    ("diversity", "pool"),
    [(Diversity(), 15), (Diversity(max_expansion=2.6), 8), (Diversity(expansion=6.1, max_expansion=2), 19)],
)
def test_the_pool_is_the_larger_expansion_rounded_up(diversity: Diversity, pool: int) -> None:
    assert diversity.pool(3) == pool


def test_the_pool_is_five_times_the_limit() -> None:
    assert Diversity().pool(20) == 100


def test_two_memories_say_the_same_from_a_cosine_of_0_8() -> None:
    assert Diversity().threshold == 0.8


@given(
    st.dictionaries(st.sampled_from(IDS), st.sets(st.sampled_from(IDS)), max_size=20),
    st.integers(1, 8),
)
def test_no_result_is_like_a_better_one_and_none_is_missing(alike: Alike, limit: int) -> None:
    chosen = diversified(IDS, Looks(alike), limit, Diversity())
    assert chosen == sorted(chosen, key=int)
    assert chosen[:1] == ["0"]
    for i, id in enumerate(chosen):
        assert not any(id in alike.get(better, set()) for better in chosen[:i])
    left_out = [id for id in IDS[: 5 * limit] if id not in chosen]
    if len(chosen) < limit:
        assert all(any(id in alike.get(better, set()) for better in chosen) for id in left_out)
