"""Which word a misspelt one is corrected to."""

import pytest

from steeltrap.text.spelling import best_correction, corrections
from steeltrap.text.words import word_tokens


@pytest.mark.parametrize(
    ("word", "stored", "best"),
    [
        ("plne", ("plane", "pane"), "pane"),  # the earlier place
        ("hous", ("hour", "hos", "huos"), "huos"),  # then swapped, left out, replaced, added
        ("hous", ("hour", "hos"), "hos"),
        ("hous", ("house", "hour"), "hour"),
        ("boat", ("coat", "beat"), "beat"),  # the first letter last
    ],
)
def test_of_words_that_as_many_memories_have_the_first_edit_counts(
    word: str, stored: tuple[str, ...], best: str
) -> None:
    tokens = word_tokens(stored)
    for order in (tokens, tokens[::-1]):
        assert best_correction(word, corrections(word), dict.fromkeys(order, 1)) == best


def test_the_word_that_the_most_memories_have_counts() -> None:
    assert best_correction("hous", corrections("hous"), {"hos": 1, "hour": 2}) == "hour"


def test_a_word_that_nobody_has_is_corrected_to_nothing() -> None:
    near = corrections("pockbomstis")
    assert best_correction("pockbomstis", near, {}) is None
    assert best_correction("pockbomstis", near, dict.fromkeys(near, 0)) is None
