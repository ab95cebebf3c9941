"""Which sentences an extract is made of, and where a text is cut: a worked example of each rule."""

import os
import subprocess
import sys

import pytest

from steeltrap.text.sentences import cut, extract


@pytest.mark.parametrize(
    ("why", "text", "budget", "extracted"),
    [
        ("a text that fits stays as it is", "Tea.\n\n  Coffee.", 15, "Tea.\n\n  Coffee."),
        ("of equals the opening", "Ana sings. Bob dances. Eve paints.", 11, "Ana sings."),
        ("the opening before a figure", "Ana sings. Bob dances. Eve paints 5.", 14, "Ana sings."),
        # Two words of three said twice: (2 ln 3 + ln 2) / 3 is more than ln 2 and the opening's 0.2.
        ("what is said often before the opening", "Zoe naps. Ana drinks tea. Ana likes tea.", 15, "Ana drinks tea."),
        ("a figure before its equals", "Zoe sleeps all day long. Bob dances. Eve paints 5.", 14, "Eve paints 5."),
        ("a mean, no sum", "Zoe sleeps until noon. Ana tea. Ana tea, honey, milk.", 21, "Ana tea."),
        ("a sentence without words last", "Zoe sleeps all day long. ***. Bob dances.", 11, "Bob dances."),
        (
            "as many as fit with spaces",
            "Ana sings. Bob dances. Eve paints it.",
            22,
            "Ana sings. Bob dances.",
        ),
        ("one character less is one sentence less", "Ana sings. Bob dances. Eve paints it.", 21, "Ana sings."),
        ("a single one that fits exactly", "Ana sings. Bob dances. Eve paints it.", 10, "Ana sings."),
        ("a shorter one in the room that is left", "Ana sings. Bob dances. Eve.", 20, "Ana sings. Eve."),
        ("in the text's order", "Zoe naps. Ana drinks tea. Ana likes tea.", 25, "Zoe naps. Ana drinks tea."),
        (
            "the best, cut, where none fits",
            "Zoe naps all day. Ana has green tea. Ana likes green tea.",
            9,
            "Ana has",
        ),
        ("nothing of a blank text", " " * 20, 5, "    "),
    ],
)
def test_an_extract_says_most(why: str, text: str, budget: int, extracted: str) -> None:
    assert extract(text, budget) == extracted, why


def test_every_process_extracts_the_same() -> None:
    # Sets come in another order in every process, and so do the roundings of a sum over one.
    text = "Zoe naps. Ana drinks tea. Ana likes tea."
    program = f"from steeltrap.text.sentences import extract; print(extract({text!r}, 15))"
    extracts = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    ]
    assert len(set(extracts)) == 1


@pytest.mark.parametrize(
    ("text", "budget", "beginning"),
    [
        ("abcd ef", 7, "abcd ef"),
        ("abcd efgh", 7, "abcd"),
        ("abc defgh", 7, "abc def"),
        ("abcd efghij", 9, "abcd efgh"),
        ("abcde bb cc dd", 12, "abcde bb cc"),
        ("日本語の文章", 4, "日本語の"),
    ],
)
def test_a_text_is_cut_at_a_word_that_leaves_more_than_half(text: str, budget: int, beginning: str) -> None:
    assert cut(text, budget) == beginning
