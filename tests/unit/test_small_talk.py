"""Messages that ask a question beside other things: which part of them is the question, and how much it counts."""

import pytest

from steeltrap.ranking.asking import MOST_SENTENCES_APART, question_and_others, with_question
from steeltrap.text.vectors import cosine, unit_vector


@pytest.mark.parametrize(
    ("message", "question", "others"),
    [
        (
            "Hey, hope you're well! By the way, when is my sister's birthday?",
            "By the way, when is my sister's birthday?",
            ["Hey, hope you're well!"],
        ),
        (
            "When does the Oslo flight leave? Thanks a lot. Which gate is used?",
            "When does the Oslo flight leave? Which gate is used?",
            ["Thanks a lot."],
        ),
        ("\u304a\u306f\u3088\u3046\u3002\u59b9\u306e\u8a95\u751f\u65e5\u306f\u3044\u3064\uff1f", None, None),
    ],
)
def test_the_question_of_a_message_and_its_other_sentences(
    message: str, question: str | None, others: list[str] | None
) -> None:
    assert question_and_others(message) == (None if question is None else (question, others))


@pytest.mark.parametrize(
    "message",
    [
        "When is my sister's birthday?",
        "When is my sister's birthday",
        "I booked the classic loop in New Zealand. What is the next step?",
        "Ana moved to Porto. Where did she live before the summer?",
        "We went to the lake. Why?",
        "It rained. " * MOST_SENTENCES_APART + "When is my sister's birthday?",
        "",
        "?",
    ],
)
def test_a_message_of_one_sentence_or_whose_question_needs_the_rest_is_one(message: str) -> None:
    assert question_and_others(message) is None


def test_the_question_counts_twice_where_another_sentence_has_nothing_to_do_with_it() -> None:
    whole, question = unit_vector([1.0, 0.0]), unit_vector([0.0, 1.0])
    near, far = unit_vector([0.1, 1.0]), unit_vector([1.0, 0.1])
    mixed = with_question(whole, question, [near, far], 0.1)
    assert 2 * cosine(mixed, whole) == pytest.approx(cosine(mixed, question), abs=1e-6)
    assert with_question(whole, question, [near], 0.1) == whole


def test_a_question_without_a_known_word_changes_nothing() -> None:
    whole, nothing = unit_vector([1.0, 0.0]), unit_vector([0.0, 0.0])
    assert with_question(whole, nothing, [whole], 0.1) == whole
    assert with_question(nothing, whole, [whole], 0.1) == nothing
