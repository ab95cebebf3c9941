"""Surprise: its levels, whatever the embedder's scale."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.embedders.static import StaticEmbedder
from steeltrap.model import Neighbour, Surroundings
from steeltrap.ranking.novelty import KEY_MOMENT, is_japanese, probably_corrects, surprise
from steeltrap.text.vectors import cosine

LEVEL = st.floats(0, 0.99)
COSINE = st.floats(-1, 1)
NAMED = "Ana: I moved to Oslo."
BARE = "She moved to Oslo."
JAPANESE = "妹は去年から高校で数学を教えています。"
TEXT = st.sampled_from([NAMED, BARE, JAPANESE, f"Ana: {JAPANESE}"])


@dataclass(frozen=True)
class Marks:
    unrelated: float = 0.1
    unrelated_japanese: float = 0.6
    novel: float = 0.4


SCALE = st.builds(Marks, LEVEL, LEVEL, LEVEL)


def by(cosine: float, scale: Marks = Marks(), text: str = NAMED) -> float:
    return surprise(text, Surroundings(nearest=Neighbour("a", cosine)), scale)


@given(TEXT, SCALE, COSINE, COSINE)
def test_surprise_is_between_0_and_1_and_never_rises_with_similarity(
    text: str, scale: Marks, one: float, other: float
) -> None:
    near, far = max(one, other), min(one, other)
    assert 0 <= by(near, scale, text) <= by(far, scale, text) <= 1


@given(TEXT, SCALE)
def test_unrelated_is_all_surprise_and_the_same_is_none(text: str, scale: Marks) -> None:
    unrelated = scale.unrelated_japanese if is_japanese(text) else scale.unrelated
    assert by(-1.0, scale, text) == 1
    assert by(unrelated - 1e-6, scale, text) == 1
    assert by(1.0, scale, text) == by(1.0000002, scale, text) == 0


@pytest.mark.parametrize(
    ("cosine", "expected"),
    [(0.1, 1), (0.25, 0.85), (0.4, KEY_MOMENT), (0.475, 0.5), (0.55, 0.3), (0.775, 0.15), (0.99, 0.0067)],
)
def test_surprise_lies_on_straight_lines_between_the_levels(cosine: float, expected: float) -> None:
    assert by(cosine) == expected


@given(TEXT, COSINE, st.floats(0, 0.95))
def test_a_model_that_crowds_its_cosines_gives_the_same_surprise(text: str, cosine: float, floor: float) -> None:
    def crowded(value: float) -> float:
        return floor + (1 - floor) * value

    scale = Marks(crowded(0.1), crowded(0.6), crowded(0.4))
    assert by(crowded(cosine), scale, text) == pytest.approx(by(cosine, text=text), abs=1.5e-4)


def test_a_given_unrelated_level_above_the_novel_one_leaves_only_the_upper_lines() -> None:
    scale = Marks(unrelated=0.5, novel=0.2)
    assert by(0.5, scale) == 1
    assert by(0.50001, scale) == pytest.approx(KEY_MOMENT, abs=1e-3)


def test_a_text_without_a_name_in_front_is_new_further_off() -> None:
    assert by(0.35, text=BARE) == by(0.4, text=NAMED) == by(0.4, text="user: I moved.") == KEY_MOMENT
    assert by(0.35, text="At 10:30 she moved.") == KEY_MOMENT
    assert (by(0.1, text=BARE), by(1.0, text=BARE)) == (1, 0)


def test_japanese_is_measured_from_a_level_of_its_own() -> None:
    assert by(0.6, text=JAPANESE) == 1
    assert by(0.8, text=JAPANESE) == by(0.55, text=BARE)
    assert by(0.3, text=JAPANESE) == 1


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (JAPANESE, True),
        ("API のキーは月末に切れます。", True),
        (NAMED, False),
        ("用户对虾过敏。", False),
        ("Café ー", False),
    ],
)
def test_a_text_is_japanese_by_its_kana(text: str, answer: bool) -> None:
    assert is_japanese(text) is answer


def test_the_first_memory_is_half_a_surprise() -> None:
    assert surprise(BARE, Surroundings(nearest=None), Marks()) == 0.5


@pytest.mark.parametrize(
    ("stored", "new", "reworded"),
    [
        (
            "The user prefers tea to coffee.",
            "The nightly backup runs at two.",
            "Rather than coffee the user prefers tea.",
        ),
        (
            "ユーザーはコーヒーより紅茶が好きです。",
            "父は定年後に陶芸を始めました。",
            "ユーザーの好みはコーヒーではなく紅茶です。",
        ),
        (
            "El usuario prefiere el té al café.",
            "La copia de seguridad se hace a las dos.",
            "Antes que el café, el usuario prefiere el té.",
        ),
    ],
    ids=["English", "Japanese", "Spanish"],
)
def test_the_default_embedder_tells_news_from_other_words_in_each_language(
    stored: str, new: str, reworded: str
) -> None:
    embedder = StaticEmbedder()
    known, *texts = embedder.embed([stored, new, reworded], purpose="document", timeout=30)
    news, again = [
        surprise(text, Surroundings(nearest=Neighbour("a", cosine(known, vector))), embedder)
        for text, vector in zip((new, reworded), texts, strict=True)
    ]
    assert news >= KEY_MOMENT
    assert again < 0.3


@pytest.mark.parametrize(
    ("cosine", "expected"), [(-0.5, False), (0.4, False), (0.429, False), (0.431, True), (0.99, True), (1.0, False)]
)
def test_a_memory_is_probably_corrected_by_what_is_a_little_nearer_than_the_new_and_not_the_same(
    cosine: float, expected: bool
) -> None:
    assert probably_corrects(Neighbour("a", cosine), Marks()) == expected
