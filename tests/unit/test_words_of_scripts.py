"""The analysis of words in Cyrillic, Arabic and India's scripts: forms of a word are found by each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.text.spelling import ALPHABETS
from steeltrap.text.words import fold_case, tokens, word_tokens


@pytest.mark.parametrize(
    ("forms", "stem"),
    [
        ("дача дачу дачи дачей", "дач"),
        ("больница больницы больнице", "больниц"),
        ("зелёный зелёная зеленые", "зелен"),
        ("горіхи горіхів горіхами", "горіх"),
        ("лікарня лікарні лікарнею", "лікарн"),
        ("سيارة السيارة سيارتي بالسيارات والسيارة", "سيار"),
        ("مكتبة المكتبة مكتبتي للمكتبة", "مكتب"),
        ("وثيقة الوثيقة وثيقتي والوثيقة", "ثيق"),
        ("أخت أُخْت اخت الأخت", "اخت"),
        ("लड़का लड़के लड़कियाँ", "लड़क"),
        ("किताब किताबें किताबों", "किताब"),
        ("שָׁלוֹם שלום", "לומ"),
        ("משפחה המשפחה ומשפחות", "שפח"),
        ("מחשב המחשב למחשב מחשבים", "חשב"),
        ("רופא הרופאה לרופאים", "רופא"),
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str, stem: str) -> None:
    assert set(tokens(forms)) == {stem}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("मुझे हिन्दी पसंद है।", ["मुझ", "हिन्द", "पसंद", "है"]),
        ("எனக்கு காபி பிடிக்கும்", ["எனக்கு", "காபி", "பிடிக்கும்"]),
        ("আমি বাংলা বলি॥", ["আমি", "বাংলা", "বলি"]),
    ],
)
def test_vowel_signs_belong_to_words_and_marks_at_the_end_of_a_sentence_do_not(text: str, words: list[str]) -> None:
    assert tokens(text) == words


def test_short_i_is_a_letter_of_its_own_and_io_is_found_without_its_dots() -> None:
    assert (fold_case("Йогурт"), fold_case("Ёлка")) == ("йогурт", "елка")


def test_short_words_of_other_scripts_keep_their_letters() -> None:
    assert tokens("بيت дом घर בית") == ["بيت", "дом", "घर", "בית"]


@given(st.one_of(*(st.text(alphabet=letters, min_size=1, max_size=20) for letters in ALPHABETS)))
def test_the_token_of_a_folded_word_is_that_of_a_text_of_it_alone(word: str) -> None:
    assert word_tokens([word]) == tokens(word)
