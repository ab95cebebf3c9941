"""How different results must be, and how far down is looked for them."""

import pytest

from steeltrap.model import Diversity


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


@pytest.mark.parametrize(("limit", "pool"), [(400, 2000), (500, 2000), (1000, 2000), (3000, 3000)])
def test_the_pool_of_a_large_limit_ends_at_2_000(limit: int, pool: int) -> None:
    assert Diversity().pool(limit) == pool
