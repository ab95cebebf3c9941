"""A summary's preferences: sentences of 20 characters whose numbers of telling words decide."""

import pytest

from steeltrap.model import Message
from steeltrap.text.sentences import summary

TWO = "ruminations lumbers."
THREE = "romper limber totem."
FOUR = "romp limb tote sail."
FIVE = "bax dax fax gax hax."
SEVEN = "bo zu fe gi ku ja x."
FIVE_ASKED = "bax dax fax gax hax?"
FOUR_WITH_A_FIGURE = "romp limb tote 1777."
FIVE_WITH_A_FIGURE = "bax dax fax gax 777."
SIX_WITH_A_FIGURE = "wa vu ri ty kuj 777."


def _said(*said: str | tuple[str, str]) -> list[Message]:
    pairs = [("user", each) if isinstance(each, str) else each for each in said]
    return [Message(role=role, content=content) for role, content in pairs]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ((TWO, THREE), THREE),
        ((FOUR, FIVE), FIVE),
        ((TWO, FIVE_ASKED), FIVE_ASKED),
        ((THREE, FIVE_ASKED), THREE),
        ((FOUR, FIVE_WITH_A_FIGURE), FIVE_WITH_A_FIGURE),
        (("mux nux pux qux rux.", FIVE_WITH_A_FIGURE), FIVE_WITH_A_FIGURE),
        ((SEVEN, FIVE_WITH_A_FIGURE), SEVEN),
        ((FOUR_WITH_A_FIGURE, FIVE), FIVE),
        ((SEVEN, SIX_WITH_A_FIGURE), SIX_WITH_A_FIGURE),
        (("mux nux pux qux rux.", FIVE), "mux nux pux qux rux."),
    ],
    ids=[
        "words",
        "more words",
        "half a question",
        "a question",
        "a figure",
        "a fifth more",
        "no more",
        "5 to 4",
        "7 to 6",
        "the first",
    ],
)
def test_the_sentence_with_the_most_weight_of_words_is_told(said: tuple[str, ...], told: str) -> None:
    assert summary(_said(*said), 26) == f"User: {told}"


@pytest.mark.parametrize(
    ("own", "other", "told"),
    [(TWO, THREE, f"Assistant: {THREE}"), (THREE, FIVE, f"Assistant: {FIVE}"), (FIVE, SEVEN, f"User: {FIVE}")],
)
def test_an_assistants_words_count_seven_tenths(own: str, other: str, told: str) -> None:
    assert summary(_said(own, ("assistant", other)), 31) == told


@pytest.mark.parametrize(
    ("longer", "told"),
    [
        ("aba bab cac dad eae faf gag hah lalalala.", True),
        ("abababab cacacacaca dadadada efefef gugug.", False),
    ],
)
def test_room_counts_by_its_square_root(longer: str, told: bool) -> None:
    # 9 / sqrt(41) and 5 / sqrt(42) against 5 / sqrt(20).
    assert summary(_said(FIVE, longer), 48) == f"User: {longer if told else FIVE}"


def test_a_word_that_many_sentences_have_weighs_more_and_once() -> None:
    # "tea" is in three sentences: ln 4 + ln 2 is more than two words that one sentence has.
    said = _said("green herbs.", "cups of tea.", "pots of tea.", "tons of tea.")
    assert summary(said, 18) == "User: cups of tea."
    assert summary(said, 31) == "User: green herbs. cups of tea."
    # (ln 4 + ln 2) / sqrt(18) is more than 2 ln 2 / sqrt(10).
    asked = ("Was there tea in the great hall of the palace?", "Has he had tea at the wooden table by the window?")
    assert summary(_said("grey hens.", "tea extravaganzas.", *asked), 24) == "User: tea extravaganzas."


def test_a_japanese_question_counts_half_too() -> None:
    assert summary(_said("犬と海が好きですか？", "犬と海が好きです。"), 16) == "User: 犬と海が好きです。"


def test_sentences_stand_in_their_order_behind_their_speakers() -> None:
    said = _said(TWO, ("assistant", SEVEN), FIVE, ("assistant", "It is what it is, and so."))
    assert summary(said, 120) == f"User: {TWO} Assistant: {SEVEN} User: {FIVE}"
    assert summary(said, 26) == f"User: {FIVE}"


def test_where_no_sentence_fits_the_first_is_cut() -> None:
    assert summary(_said("ruminations lumbers onward", FIVE), 20) == "User: ruminations"


def test_a_sentence_without_a_telling_word_is_never_told() -> None:
    too_long = "A sentence of telling words fills far more room than there is."
    assert summary(_said(too_long, "So it is.", TWO), 40) == f"User: {TWO}"


def test_what_fits_whole_is_told_whole() -> None:
    assert summary(_said(TWO, TWO), 47) == f"User: {TWO} {TWO}"
    assert summary(_said(TWO, TWO), 46) == f"User: {TWO}"


def test_400_characters_are_a_summary() -> None:
    assert len(summary(_said("x" * 1000))) == 400
    assert len(summary(_said("x" * 394))) == 400
