"""A token budget shows as many of the best results as fit, the long ones by the part that answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.model import Sized
from steeltrap.ranking.budget import PREVIEW_TOKENS, _scores, estimate_tokens, pack, preview

TEA = "Bob likes tea and long walks on the beach. "
PASSWORD = "The password of the router is heron-42. "
LONG = TEA * 30 + PASSWORD + TEA * 30

texts = st.one_of(
    st.text(max_size=40), st.lists(st.sampled_from([TEA, PASSWORD, "東京は晴れ。", "x" * 90, "\n"])).map("".join)
)
results = st.lists(
    st.builds(Sized, text=texts, beside=st.integers(0, 40), rest=st.sampled_from([0, 0, 30, 900])), max_size=12
)
queries = st.sampled_from(["router password", "東京", "", "tea"])


@given(results, queries, st.integers(0, 1_500))
def test_what_is_shown_is_never_above_the_budget(results: list[Sized], query: str, budget: int) -> None:
    shown = pack(results, query, budget)
    used = sum(
        result.beside + estimate_tokens(text) + (0 if left_out else result.rest)
        for result, (text, left_out) in zip(results, shown, strict=False)
    )
    assert used <= budget


@given(results, queries, st.integers(0, 1_500), st.integers(0, 500))
def test_a_larger_budget_shows_the_same_results_or_more(
    results: list[Sized], query: str, budget: int, more: int
) -> None:
    assert len(pack(results, query, budget)) <= len(pack(results, query, budget + more))


@given(results, queries, st.integers(0, 1_500))
def test_a_result_is_whole_or_says_how_much_is_left_out(results: list[Sized], query: str, budget: int) -> None:
    for result, (text, left_out) in zip(results, pack(results, query, budget), strict=False):
        if left_out:
            assert left_out == result.rest + estimate_tokens(result.text) - estimate_tokens(text)
            assert text.removeprefix("… ").removesuffix(" …") in result.text
        else:
            assert text == result.text


@given(results, queries)
def test_with_room_for_everything_everything_is_whole(results: list[Sized], query: str) -> None:
    budget = sum(result.beside + result.rest + estimate_tokens(result.text) for result in results)
    assert pack(results, query, budget) == [(result.text, 0) for result in results]


def test_the_room_that_previews_leave_goes_to_the_best_result() -> None:
    long = Sized(text=TEA * 20)
    first, second = pack([long, long], "tea", estimate_tokens(long.text) + PREVIEW_TOKENS)
    assert first == (long.text, 0)
    assert second.left_out


def test_a_long_result_leaves_room_for_the_short_ones_behind_it() -> None:
    shown = pack([Sized(text=LONG), Sized(text=PASSWORD), Sized(text=TEA)], "router password", 100)
    assert len(shown) == 3
    assert shown[0].left_out
    assert [text for text, _ in shown[1:]] == [PASSWORD, TEA]


def test_a_result_whose_text_fits_without_the_rest_shows_all_of_its_text() -> None:
    assert pack([Sized(text=TEA, rest=900)], "tea", 200) == [(TEA, 900)]


def test_results_end_where_the_next_does_not_fit() -> None:
    assert pack([Sized(text=TEA, beside=500), Sized(text=TEA)], "tea", 100) == []


def test_a_preview_shows_the_part_that_answers() -> None:
    shown = preview(LONG, "what is the password of the router?", 64)
    assert PASSWORD.strip() in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert preview(TEA * 30 + PASSWORD, "the router's password", 64).endswith("heron-42.")


def test_a_preview_finds_its_part_in_a_text_without_sentences() -> None:
    log = "tick " * 300 + "timeout of the gateway " + "tick " * 300
    assert "timeout of the gateway" in preview(log, "gateway timeout", 64)


@pytest.mark.parametrize("query", ["", "what does Bob drink?", "tea"])
def test_a_preview_is_the_opening_unless_another_part_is_clearly_nearer(query: str) -> None:
    assert preview(LONG, query, 64).startswith(TEA)


def test_a_preview_prefers_the_rare_words_of_the_query() -> None:
    text = "Notes on the router. " * 20 + PASSWORD + "The router again. " * 20
    assert "heron-42" in preview(text, "router password", 64)


@given(texts, queries, st.integers(0, 80))
def test_a_preview_is_a_part_of_the_text_within_its_size(text: str, query: str, size: int) -> None:
    shown = preview(text, query, size)
    assert estimate_tokens(shown) <= size
    assert shown == text or shown.removeprefix("… ").removesuffix(" …") in text


PARTS = st.lists(st.tuples(st.frozensets(st.sampled_from("abc")), st.integers(1, 9)), max_size=12)


@given(PARTS, st.integers(-3, 30))
def test_each_part_is_counted_once_for_all_previews_that_hold_it(
    parts: list[tuple[frozenset[str], int]], room: int
) -> None:
    said, sizes = [words for words, _ in parts], [size for _, size in parts]
    worth = {"a": 0.3, "b": 1.1, "c": 0.7}

    def score(first: int) -> float:
        """By the parts from one on, as many as fit, and at least that one."""
        words, left = set(said[first]), room - sizes[first]
        for place in range(first + 1, len(parts)):
            left -= sizes[place]
            if left < 0:
                break
            words |= said[place]
        return sum(worth[word] for word in sorted(words))

    assert list(_scores(said, sizes, room, worth)) == [score(first) for first in range(len(parts))]
