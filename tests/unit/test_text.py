"""Analysis, chunking, sentences, budget: pure rules over any text."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clock import NOON
from steeltrap.model import Memory
from steeltrap.ranking.budget import count_whole, estimate_tokens
from steeltrap.text.sentences import CHUNK_CHARACTERS, OVERLAP_CHARACTERS, chunks, cut, extract, sentences
from steeltrap.text.words import (
    FORMS,
    STOP_WORDS,
    WORDS_VERSION,
    fold_case,
    fold_letters,
    is_analysed_otherwise,
    query_tokens,
    text_digest,
    tokens,
)

ANY_TEXT = st.text(st.characters(codec=None), max_size=200)
"""Any characters that Python can hold, halves of surrogate pairs included."""
UNICODE = st.text(max_size=200)


# Analysis


@given(ANY_TEXT)
def test_any_text_has_tokens_and_they_hold_no_space(text: str) -> None:
    assert not any(token != "".join(token.split()) or not token for token in tokens(text))


@given(UNICODE)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold_case(fold_case(text)) == fold_case(text)


def test_no_character_folds_into_one_that_folds_further() -> None:
    characters = [chr(code) for code in range(0x20000) if not 0xD800 <= code <= 0xDFFF]
    assert [c for c in characters if fold_case(fold_case(c)) != fold_case(c)] == []


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("Łódź", "Lodz"),
        ("København", "Kobenhavn"),
        ("Smørrebrød", "Smorrebrod"),
        ("Đà Nẵng", "Da Nang"),
        ("Þórr", "Thorr"),
        ("Sjálfstæði", "Sjalfstaedi"),
        ("œuvre", "oeuvre"),
        ("STRAẞE straße", "strasse strasse"),
        ("Ħamrun", "Hamrun"),
        ("ışık", "isik"),
        ("Sámi ŋ ŧ", "sami n t"),
    ],
)
def test_a_latin_letter_is_found_by_its_plain_one(written: str, plain: str) -> None:
    assert tokens(written) == tokens(plain)
    assert query_tokens(written.upper()) == query_tokens(plain)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Where do we eat?", "We ate there, and have eaten well."),
        ("Which child wears them?", "Children wore it; a child has worn it."),
        ("my favorite color", "MY FAVOURITE COLOURS"),
        ("What did the organisation organise?", "The organization organized it."),
    ],
)
def test_irregular_and_british_forms_of_an_english_word_are_one_word(asked: str, said: str) -> None:
    assert set(tokens(asked)) <= set(tokens(said))


def test_no_irregular_form_is_a_base_of_others_or_has_two() -> None:
    assert FORMS.keys().isdisjoint(FORMS.values())
    assert [form for form, base in FORMS.items() if tokens(form) != tokens(base)] == []


@pytest.mark.parametrize(("content", "is_changed"), [("We ATE at Carlo's.", True), ("We eat at Carlo's.", False)])
def test_a_text_with_an_irregular_form_has_other_words_since_version_3(content: str, is_changed: bool) -> None:
    memory = Memory(id="m", content=content, created_at=NOON, updated_at=NOON)
    assert is_analysed_otherwise(memory, 2) is is_changed
    assert not is_analysed_otherwise(memory, WORDS_VERSION)


def test_latin_letters_fold_once_and_other_scripts_stay() -> None:
    letters = [chr(code) for code in range(0x80, 0x3000)]
    folded = {char: fold_letters(char) for char in letters}
    assert all(fold_letters(plain) == plain for plain in folded.values())
    assert all("LATIN" in unicodedata.name(char) for char, plain in folded.items() if plain != char)
    assert all(re.fullmatch("[a-z]{1,2}", plain) for char, plain in folded.items() if plain != char)


@given(UNICODE)
def test_a_text_in_another_case_or_form_is_found_by_the_same_tokens(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert fold_case(unicodedata.normalize(form, text)) == fold_case(text)
    assert fold_case(text.casefold()) == fold_case(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CAFÉ", "cafe"),
        ("Ｃａｆé", "cafe"),
        ("naïve", "NAIVE"),
        ("Straße", "STRASSE"),
        ("™", "tm"),
        ("ﬁne", "fine"),
        ("mañana", "manana"),
        ("running", "runs"),
        ("the user's theme", "user theme"),
        ("ガ", "ｶﾞ"),
        ("パソコン", "ﾊﾟｿｺﾝ"),
        ("ＰＣ１２３", "pc123"),
        ("ジョン・スミス", "ジョン スミス"),
        ("¿Qué año?", "ano"),
        ("canciones", "canción"),
    ],
)
def test_texts_that_differ_in_form_only_have_the_same_tokens(one: str, other: str) -> None:
    assert tokens(one) == tokens(other)


def test_japanese_voicing_marks_tell_words_apart() -> None:
    assert tokens("か") != tokens("が")


def test_japanese_becomes_single_characters_and_pairs() -> None:
    assert tokens("日本語") == ["日", "本", "語", "日本", "本語"]
    assert set(tokens("本")) <= set(tokens("私は日本語を話します"))


@pytest.mark.parametrize(
    ("text", "pair"), [("人々", "人々"), ("佐々木", "佐々"), ("〆切", "〆切"), ("サーバー", "バー")]
)
def test_marks_that_stand_for_a_character_or_lengthen_one_make_pairs(text: str, pair: str) -> None:
    assert pair in tokens(text)


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("日本語", ["日", "本", "語", "日本", "本語"]),
        ("京", ["京"]),
        ("が", ["が"]),
        ("そばの店", ["店", "そば", "ばの", "の店"]),
        ("カレー", ["カレ", "レー"]),
        ("明日は晴れです", ["明", "日", "晴", "明日", "日は", "は晴", "晴れ", "れで"]),
        ("です", tokens("です")),
        ("who likes tea", ["like", "tea"]),
        ("", []),
    ],
)
def test_a_query_leaves_out_what_nearly_every_japanese_sentence_has(query: str, asked: list[str]) -> None:
    assert query_tokens(query) == asked


@given(UNICODE)
def test_a_query_asks_for_tokens_of_its_text_and_for_some_if_there_are_any(text: str) -> None:
    assert set(query_tokens(text)) <= set(tokens(text))
    assert bool(query_tokens(text)) == bool(tokens(text))


def test_runs_of_two_scripts_are_taken_apart() -> None:
    assert tokens("私はPythonが好き") == ["python", *tokens("私は"), *tokens("が好き")]


def test_stop_words_go_unless_there_is_nothing_else() -> None:
    assert tokens("where is the cat") == ["cat"]
    assert tokens("The Who") == ["the", "who"]
    assert tokens("¿Dónde está el gato?") == ["esta", "gato"] or tokens("¿Dónde está el gato?") == ["gato"]
    assert "" not in STOP_WORDS


@pytest.mark.parametrize("text", ["", "   ", "!?…", "🫖", "___", '" * - ( ) ^'])
def test_a_text_without_words_has_no_tokens(text: str) -> None:
    assert tokens(text) == []


def test_digests_are_equal_for_texts_equal_but_for_case_and_space() -> None:
    assert text_digest(" Café \n au  LAIT ") == text_digest("café au lait")
    assert text_digest("cafe au lait") != text_digest("café au lait")
    assert text_digest("at most 10\u00b2") != text_digest("at most 102")
    assert len(text_digest("")) == 16


# Chunking


@given(st.text(st.sampled_from("ab \n語"), max_size=4000))
def test_chunks_cover_the_text_in_overlapping_spans(text: str) -> None:
    spans = chunks(text)
    assert all(len(span) <= CHUNK_CHARACTERS for span in spans)
    whole = spans[0]
    for span in spans[1:]:
        assert whole[-OVERLAP_CHARACTERS:] == span[:OVERLAP_CHARACTERS]
        assert len(span) > OVERLAP_CHARACTERS
        whole += span[OVERLAP_CHARACTERS:]
    assert whole == text
    assert len(spans) <= 1 + len(text) // (CHUNK_CHARACTERS - 2 * OVERLAP_CHARACTERS)


def test_a_text_that_fits_is_one_chunk() -> None:
    assert chunks("") == [""]
    assert chunks("x" * 640) == ["x" * 640]
    assert [len(span) for span in chunks("x" * 641)] == [640, 97]


def test_chunks_end_at_words() -> None:
    for span in chunks("letters " * 300)[:-1]:
        assert span.endswith(" ")


# Sentences


_PROSE = st.lists(
    st.sampled_from(
        [
            "Ana moved.",
            "Why?",
            "会議は金曜日です。",
            "「はい。」",
            "no full stop",
            "\n",
            "Tea! ",
            "x" * 300,
            " ",
        ]
    ),
    max_size=40,
).map(" ".join)


@given(_PROSE, st.integers(1, 500))
def test_an_extract_fits_and_keeps_the_order(text: str, budget: int) -> None:
    extracted = extract(text, budget)
    assert len(extracted) <= budget
    if len(text) <= budget:
        assert extracted == text
        return
    at = 0
    for part in [part for part in dict.fromkeys(sentences(text)) if part in extracted]:
        found = extracted.find(part, at)
        at = found if found >= 0 else at
    assert extracted.strip() == "" or any(part.startswith(extracted[:5].strip()) for part in sentences(text))


@given(_PROSE)
def test_sentences_are_trimmed_and_lose_no_word(text: str) -> None:
    parts = sentences(text)
    assert all(part == part.strip() and part for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_an_extract_is_made_of_whole_sentences_said_once() -> None:
    text = "Ana likes tea. " * 30 + "Bob lives in Porto. The sky was grey over the roofs. Ana drinks tea at 5."
    extracted = extract(text, 80)
    assert set(sentences(extracted)) <= set(sentences(text))
    assert len(sentences(extracted)) == len(set(sentences(extracted)))


@pytest.mark.parametrize(
    "parts",
    [
        ["会議は金曜日です。", "資料は田中さんが作ります。"],
        ["すごい！！", "もう帰る？", "うん。"],
        ["本当ですか?", "はい!", "そうです。"],
        ["ﾊﾝｶｸです｡", "次です｡"],
        ["値は３．１４です．", "次に進む．"],
        ["「はい。」と言った。", "それから帰った。"],
        ["彼は「行く。すぐに。」と言った。", "次の日、雨だった。"],
        ["「はい。」", "「そうですか。」"],
        ["『走れ！』", "彼は叫んだ。"],
        ["本（新品です。）を買いました。", "（笑）そうです。"],
        ["「閉じない。", "次。"],
        ["El Sr. García vive en Lima.", " ¿Y tú?", "¡Yo no!"],
        ["Llegó el Dr. Soto.", " Los EE. UU. ganaron."],
        ['He said "Go."', " Then he left."],
        ["See http://x.y/?q=1, v1.2 by J. Smith of the U.S. army.", " Yes."],
        ["¡Hola!", " ¿Qué tal?", " Bien."],
    ],
    ids="".join,
)
def test_a_text_is_split_where_a_reader_would_stop(parts: list[str]) -> None:
    assert sentences("".join(parts)) == [part.strip() for part in parts]


def test_a_long_speech_is_split_inside_its_quotation() -> None:
    assert sentences("「" + "長い話です。" * 50 + "」") == [
        "「長い話です。",
        *["長い話です。"] * 48,
        "長い話です。」",
    ]


def test_an_extract_of_japanese_has_no_spaces_between_sentences() -> None:
    assert extract("猫が好き。犬も好き。" * 3, 20) == "猫が好き。犬も好き。"


def test_japanese_sentences_are_extracted_whole() -> None:
    text = "会議は金曜日です。" * 3 + "資料は田中さんが作ります。" + "天気は晴れでした。" * 5
    extracted = extract(text, 30)
    assert 0 < len(extracted) <= 30
    assert extracted.endswith("。")


@given(ANY_TEXT, st.integers(1, 50))
def test_a_cut_text_is_a_beginning(text: str, budget: int) -> None:
    beginning = cut(text, budget)
    assert text.startswith(beginning)
    assert len(beginning) <= budget
    assert beginning or not text


# Budget


@given(st.lists(st.text(max_size=60), max_size=20), st.integers(1, 100))
def test_what_fits_is_within_the_budget_but_for_the_first(texts: list[str], budget: int) -> None:
    count = count_whole(texts, budget)
    assert min(1, len(texts)) <= count <= len(texts)
    if count > 1:
        assert sum(map(estimate_tokens, texts[:count])) <= budget
    if count < len(texts):
        assert sum(map(estimate_tokens, texts[: count + 1])) > budget


def test_tokens_are_estimated_by_script() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("four" * 10) == 10
    assert estimate_tokens("日本語") == 3
