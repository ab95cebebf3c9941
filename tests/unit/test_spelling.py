"""Which word a misspelt one is corrected to."""

from string import ascii_lowercase, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.text.spelling import as_written, best_corrections, corrections
from steeltrap.text.words import with_tokens_in, word_tokens


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
    near = corrections(word)
    for order in (tokens, tokens[::-1]):
        [token, *_] = best_corrections(word, near, dict.fromkeys(order, 1))
        assert near[token][0] == best


def test_the_word_that_the_most_memories_have_counts() -> None:
    assert best_corrections("hous", corrections("hous"), {"hos": 1, "hour": 2, "bous": 3}) == ["hour", "hos", "bous"]


@pytest.mark.parametrize(
    ("word", "text", "meant"),
    [
        ("postgress", "We run Postgres 16.", "postgres"),
        ("deploment", "The deployment needs two people.", "deployment"),
        ("deploment", "Deployments need two people.", "deployments"),
        ("instalaton", "Its installation is due.", "installation"),
        ("arhitecture", "Its architecture is old.", "architecture"),
    ],
)
def test_a_word_is_corrected_as_it_is_written(word: str, text: str, meant: str) -> None:
    [token] = word_tokens([meant])
    assert as_written(corrections(word).get(token, ["another"]), token, text) == meant


def test_a_word_is_corrected_to_its_first_edit_where_the_text_has_no_form_of_it() -> None:
    others = corrections("deploment")["deploy"]
    assert as_written(others, "deploy", "The heron waits.") == others[0] != "deployment"


def test_a_word_that_nobody_has_is_corrected_to_nothing() -> None:
    near = corrections("pockbomstis")
    assert best_corrections("pockbomstis", near, {}) == []
    assert best_corrections("pockbomstis", near, dict.fromkeys(near, 0)) == []


_ENDINGS = """s es e y ed ied eed ing al ational tional ical ful ness ize ization ate ation ator ative ous ive er or
    ism ist ogist ogi ic able ible ant ent ement ment ance ence enci anci abli entli alli ousli fulli lessli li iti
    aliti iviti biliti iciti icate alize ion sion tion ll at bl iz gg nn st ck""".split()
_PARTS = st.tuples(
    st.text(ascii_lowercase + digits, min_size=1, max_size=6),
    st.sampled_from(_ENDINGS),
    st.sampled_from(["", *_ENDINGS]),
)


@given(st.lists(st.builds("".join, _PARTS), max_size=20))
def test_words_that_are_left_out_by_their_last_letters_are_their_own_tokens(words: list[str]) -> None:
    left_out = [word for word in words if word not in with_tokens_in(words, set())]
    assert word_tokens(left_out) == left_out


def test_every_edit_of_common_words_that_is_left_out_is_its_own_token() -> None:
    for word in ("thunder", "relational", "geologist", "happiness", "running", "went", "architecture", "skies"):
        edits = [other for others in corrections(word).values() for other in others]
        left_out = set(edits) - set(with_tokens_in(edits, set()))
        assert left_out
        assert all(word_tokens([other]) == [other] for other in left_out)


@given(st.text("abehilnost", min_size=4, max_size=9), st.sets(st.sampled_from(["hous", "hou", "hos", "boat", "bat"])))
def test_a_vocabulary_leaves_out_the_corrections_that_it_does_not_have(word: str, vocabulary: set[str]) -> None:
    every = corrections(word)
    assert corrections(word, vocabulary) == {token: other for token, other in every.items() if token in vocabulary}
    for token in set(word_tokens(["house", "boat"])) & every.keys():
        assert token in corrections(word, {token})


@pytest.mark.parametrize(
    "word", ["walkid", "wemt", "cawght", "thawght", "thundre", "mise", "archtecture", "walks", "relatins", "grde"]
)
def test_a_vocabulary_of_any_one_token_keeps_its_corrections(word: str) -> None:
    every = corrections(word)
    assert every
    for token, others in every.items():
        assert corrections(word, {token}) == {token: others}
