"""Postings: what was added in several parts, with searches in between, is scored as what was added at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.stores.exact.postings import Postings
from steeltrap.stores.sqlite.records import to_terms

WORDS = ("heron", "otter", "frog", "river")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6)


def scored(postings: Postings, lengths: list[int]) -> tuple[list[float], dict[str, int]]:
    every = np.ones(len(lengths), np.bool_)
    scores, _, frequencies = postings.scores(WORDS, np.array(lengths, np.float32), every, every)
    return scores.tolist(), frequencies


@given(st.lists(st.lists(TEXTS, max_size=5), max_size=6), st.lists(TEXTS, max_size=900).map(lambda texts: 3 * texts))
def test_parts_are_scored_as_the_whole(parts: list[list[list[str]]], first: list[list[str]]) -> None:
    by_parts, at_once = Postings(), Postings()
    lengths: list[int] = []
    for texts in (first, *parts):
        terms = [to_terms(text) for text in texts]
        lengths += by_parts.add(len(lengths), terms).tolist()
        scored(by_parts, lengths)
    at_once.add(0, [to_terms(text) for text in [*first, *(text for texts in parts for text in texts)]])
    assert scored(by_parts, lengths) == scored(at_once, lengths)
    assert by_parts.size() == at_once.size()


def test_a_word_is_found_in_what_was_sorted_long_ago_and_in_what_came_since() -> None:
    postings = Postings()
    old = [["heron", f"w{i}", f"x{i}"] for i in range(2000)]
    postings.add(0, [to_terms(text) for text in old])
    lengths = [3] * 2000
    assert scored(postings, lengths)[1]["heron"] == 2000
    postings.add(2000, [to_terms(["heron", "otter"])])
    scores, frequencies = scored(postings, [*lengths, 2])
    assert (frequencies["heron"], frequencies["otter"]) == (2001, 1)
    assert np.argmax(scores) == 2000
