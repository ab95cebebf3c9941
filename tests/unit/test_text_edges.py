"""Where the rules over texts begin and end: characters at the edge of a script, spans at the edge of a word."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from steeltrap.ranking.budget import count_whole, estimate_tokens
from steeltrap.ranking.novelty import is_japanese
from steeltrap.text.sentences import chunks
from steeltrap.text.words import fold_case, query_tokens, text_digest, tokens

# Analysis


@pytest.mark.parametrize(
    ("text", "found_by"),
    [
        ("the user\u2019s theme", ["user", "theme"]),
        ("Ana's we've they'll you'd I'm it's don't they're", ["ana"]),
        ("'quoted'", ["quot"]),
        ("voila\u0300", ["voila"]),
        # Yi and Deseret lie behind the first CJK character and are words for all that.
        ("ꀀꀁ", ["ꀀꀁ"]),
        ("\U00010400\U00010401", ["\U00010428\U00010429"]),
        ("ゟ", ["よ", "り", "より"]),
        ("한국", ["한", "국", "한국"]),
        ("々木", ["々", "木", "々木"]),
        ("京都へ行く", ["京", "都", "へ", "行", "く", "京都", "都へ", "へ行", "行く"]),
    ],
)
def test_a_text_is_found_by_these_tokens(text: str, found_by: list[str]) -> None:
    assert tokens(text) == found_by


def test_a_query_keeps_a_kana_that_stands_alone_and_leaves_out_one_that_a_pair_says() -> None:
    assert query_tokens("が 猫") == ["が", "猫"]
    assert query_tokens("を ペンを") == ["ペン", "ンを"]


@pytest.mark.parametrize(("text", "answer"), [("か1234", True), ("か12345", False), ("漢字", False), ("kana", False)])
def test_a_text_is_japanese_from_a_fifth_of_kana_on(text: str, answer: bool) -> None:
    assert is_japanese(text) is answer


def test_marks_are_dropped_from_the_first_to_the_last() -> None:
    assert fold_case("x".join(["", "\u0300", "\u0301", "\u036e", "\u036f", ""])) == "xxxxx"


def test_every_thread_finds_the_same_tokens() -> None:
    with ThreadPoolExecutor(1) as other:
        assert other.submit(tokens, "running horses").result() == ["run", "hors"]
        assert other.submit(tokens, "runs a horse").result() == ["run", "hors"]


def test_digests_are_equal_for_every_form_of_a_character() -> None:
    assert text_digest("Straße") == text_digest("STRASSE")
    assert text_digest("Ａｎａ") == text_digest("ana") == text_digest("ANA")
    assert text_digest("e\u0301") == text_digest("É")


def test_stored_digests_keep_their_value() -> None:
    assert text_digest("Ana likes\ttea").hex() == "c73a84519cbce4c19c10c9dffcc036d7"


# Chunking


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        # A space among the last 96 characters ends a span; the one nearest its end, if there are several.
        ("x" * 544 + " " + "x" * 200, [545, 296]),
        ("x" * 543 + " " + "x" * 200, [640, 200]),
        ("x" * 638 + " " + "x" * 61, [639, 157]),
        ("x" * 639 + " " + "x" * 60, [640, 156]),
        ("x" * 600 + " " + "x" * 20 + "\n" + "x" * 78, [622, 174]),
        ("x" * 640 + " " + "x" * 59, [640, 156]),
        ("seven7 " * 100, [637, 159]),
    ],
)
def test_a_span_ends_behind_the_last_space_that_is_near(text: str, lengths: list[int]) -> None:
    assert [len(span) for span in chunks(text)] == lengths


# Budget


@pytest.mark.parametrize(
    ("text", "count"),
    [("a", 1), ("four", 1), ("fours", 2), ("\x7f" * 4, 1), ("\x80" * 4, 4), ("日本 go", 3), ("é", 1), ("x" * 401, 101)],
)
def test_four_ascii_characters_or_one_other_are_a_token(text: str, count: int) -> None:
    assert estimate_tokens(text) == count


@pytest.mark.parametrize(("budget", "count"), [(0, 1), (2, 1), (3, 2), (5, 2), (6, 3), (99, 3)])
def test_texts_fit_to_the_last_token(budget: int, count: int) -> None:
    assert count_whole(["one", "two two", "threeeeeeeee"], budget) == count
    assert count_whole([], budget) == 0
