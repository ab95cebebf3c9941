"""Queries for which nothing is relevant: names that nobody knows, and capitals that are no names."""

import pytest

from steeltrap.ranking.asking import asks_for_several
from steeltrap.ranking.choosing import FLOOR, UNKNOWN_NAME, floor, names
from steeltrap.text.words import is_cjk, query_tokens


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Where does Ana live?", ["Ana"]),
        ("Ana lives where?", []),
        ("Hello. Where is Ana? Is Bob there?", ["Ana", "Bob"]),
        ("where does ana live", []),
        ("Which flight goes from Oslo to Bergen", ["Oslo", "Bergen"]),
        ("What does NYE cost?", []),
        ("What should I do?", []),
        ("Do we meet Ana on Friday, or on Sundays?", ["Ana"]),
        ("Wann beginnt der Feldtest?", []),
        ("Welche Programmiersprache ist tabu?", []),
        ("\u7f8e\u54b2\u3055\u3093\u306f\u3069\u3053", []),
        ("", []),
    ],
)
def test_a_capital_is_a_name_only_inside_a_sentence_and_not_in_german(query: str, found: list[str]) -> None:
    assert names(query) == found


def test_a_name_that_no_memory_has_asks_for_a_better_match() -> None:
    assert floor("Where does Ana live?", {"ana": 0, "live": 2}, 35) == UNKNOWN_NAME > FLOOR
    assert floor("Where does Ana live?", {"ana": 1, "live": 2}, 35) == FLOOR
    assert floor("where does ana live?", {"ana": 0, "live": 2}, 35) == FLOOR
    assert floor("Where does Ana live?", {}, 35) == FLOOR


def test_among_many_memories_the_best_needs_more_since_it_is_higher_by_chance() -> None:
    words = {"ana": 1, "live": 0}
    floors = [floor("where does ana live?", words, documents) for documents in (1, 5, 35, 100, 10_000)]
    assert floors == pytest.approx([0.0716, 0.0844, 0.1, 0.1084, 0.1084], abs=1e-4)
    assert floor("where does ana live?", words, 0) == FLOOR


@pytest.mark.parametrize("word", ["qwxzv", "snake_case", "foo.bar", "\u5bff\u53f8", "\u30da\u30f3\u30ae\u30f3"])
def test_one_word_needs_as_much_among_few_memories(word: str) -> None:
    assert floor(word, dict.fromkeys(query_tokens(word), 0), 5) == FLOOR
    two = f"{word} \u732b\u597d\u304d" if is_cjk(word) else f"{word} cat"
    assert floor(two, dict.fromkeys(query_tokens(two), 0), 5) < FLOOR


@pytest.mark.parametrize(
    ("query", "is_several"),
    [
        ("What are my dietary restrictions?", True),
        ("Which guests are coming on Friday?", True),
        ("What documents do I need?", True),
        ("Tell me about the move", True),
        ("When is the wedding, and where?", True),
        ("Welche Aufgaben stehen noch an?", True),
        ("¿Qué alimentos no puedo comer?", True),
        ("Which bus goes to the airport?", False),
        ("Where are you?", False),
        ("What happens on Friday?", False),
        ("Who has the key?", False),
        ("Welche Farbe hat das Auto?", False),
    ],
)
def test_a_question_for_several_things_is_told_by_its_words(query: str, is_several: bool) -> None:
    assert asks_for_several(query) is is_several
