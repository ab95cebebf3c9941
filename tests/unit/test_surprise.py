"""Surprise: its levels, whatever the embedder's scale."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.engine.novelty import KEY_MOMENT, surprise
from recollect.model import Neighbour, Surroundings

LEVEL = st.floats(0, 0.99)


def by(cosine: float, unrelated: float = 0.1, novel: float = 0.4, text: str = "Ana: I moved to Oslo.") -> float:
    return surprise(text, Surroundings(nearest=Neighbour("a", cosine)), unrelated=unrelated, novel=novel)


@given(LEVEL, LEVEL, st.floats(-1, 1), st.floats(-1, 1))
def test_surprise_is_between_0_and_1_and_never_rises_with_similarity(
    unrelated: float, novel: float, one: float, other: float
) -> None:
    near, far = max(one, other), min(one, other)
    assert 0 <= by(near, unrelated, novel) <= by(far, unrelated, novel) <= 1


@given(LEVEL, LEVEL)
def test_unrelated_is_all_surprise_and_the_same_is_none(unrelated: float, novel: float) -> None:
    assert by(-1.0, unrelated, novel) == by(unrelated, unrelated, novel) == 1
    assert by(1.0, unrelated, novel) == by(1.0000002, unrelated, novel) == 0


@pytest.mark.parametrize(
    ("cosine", "expected"),
    [(0.1, 1), (0.25, 0.85), (0.4, KEY_MOMENT), (0.475, 0.5), (0.55, 0.3), (0.775, 0.15), (0.99, 0.0067)],
)
def test_surprise_lies_on_straight_lines_between_the_levels(cosine: float, expected: float) -> None:
    assert by(cosine) == expected


@given(st.floats(-1, 1), st.floats(0, 0.95))
def test_a_model_that_crowds_its_cosines_gives_the_same_surprise(cosine: float, floor: float) -> None:
    def crowded(value: float) -> float:
        return floor + (1 - floor) * value

    assert by(crowded(cosine), crowded(0.1), crowded(0.4)) == pytest.approx(by(cosine), abs=1.5e-4)


def test_a_given_unrelated_level_above_the_novel_one_leaves_only_the_upper_lines() -> None:
    assert by(0.5, unrelated=0.5, novel=0.2) == 1
    assert by(0.50001, unrelated=0.5, novel=0.2) == pytest.approx(KEY_MOMENT, abs=1e-3)


@pytest.mark.parametrize("text", ["Ana moved to Oslo.", "オスロに引っ越しました。", "At 10:30 she moved."])
def test_a_text_without_a_speaker_is_new_further_off(text: str) -> None:
    assert by(0.35, text=text) == by(0.4, text="user: I moved to Oslo.") == KEY_MOMENT
    assert (by(0.1, text=text), by(1.0, text=text)) == (1, 0)


def test_the_first_memory_is_half_a_surprise() -> None:
    assert surprise("Ana moved to Oslo.", Surroundings(nearest=None), unrelated=0.1, novel=0.4) == 0.5
