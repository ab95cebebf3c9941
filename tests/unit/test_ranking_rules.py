"""The ranking rules: worked examples with the numbers of `docs/ranking.md`, and what holds for any candidates."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.model import Candidate
from steeltrap.rules.fusion import Fused, fuse
from steeltrap.rules.ranking import rank, speaker_of, without_names, words


def _told(terms: Sequence[float]) -> dict[int, float]:
    return {term: score for term, score in enumerate(terms) if score}


def _turn(position: int, cosine: float | None = None, *terms: float, conversation: int = 1, **more: Any) -> Candidate:
    bm25 = sum(terms) if terms else None
    more |= {"terms": _told(terms), "conversation": conversation, "position": position}
    return Candidate(f"{conversation}/{position}", cosine, bm25, 0, **more)


def _alone(id: str, cosine: float | None, *terms: float, **more: Any) -> Candidate:
    return Candidate(id, cosine, sum(terms) if terms else None, 0, terms=_told(terms), **more)


def _ranked(candidates: Sequence[Candidate], query: str = "", unrelated: float = 0.0) -> list[Fused]:
    return rank(query, candidates, unrelated=unrelated)


# Plain fusion


def test_fused_scores_are_those_of_the_formula_by_hand() -> None:
    candidates = [_alone("a", 0.6, 0.8), _alone("b", None, 0.4), _alone("c", 1.0), _alone("d", -0.3, 0.0)]
    fused = fuse(candidates, vector_weight=0.6, unrelated=0.2)
    assert [f.semantic for f in fused] == pytest.approx([0.5, 0, 1, 0])
    assert [f.keyword for f in fused] == pytest.approx([1, 0.5, 0, 0])
    assert [f.score for f in fused] == pytest.approx([0.6 * 0.5 + 0.4, 0.4 * 0.5, 0.6, 0])
    assert all((f.speaker, f.neighbours, f.conversation) == (0, 0, 0) for f in fused)


# The two legs


def test_a_memory_that_stands_alone_has_seven_tenths_of_meaning_and_three_of_words() -> None:
    candidates = [_alone("a", 0.6, 2.0), _alone("b", None, 1.0), _alone("c", 1.0), _alone("d", -1.0, 0.0)]
    ranked = _ranked(candidates, unrelated=0.2)
    assert [f.candidate for f in ranked] == candidates
    assert [f.semantic for f in ranked] == pytest.approx([0.5, 0, 1, 0])
    assert [f.keyword for f in ranked] == pytest.approx([1, 0.5, 0, 0])
    assert [f.score for f in ranked] == pytest.approx([0.35 + 0.3, 0.15, 0.7, 0])
    assert all((f.speaker, f.neighbours, f.conversation) == (0, 0, 0) for f in ranked)


def test_without_a_word_in_common_meaning_alone_counts() -> None:
    assert [f.score for f in _ranked([_alone("a", 0.5, 0.0), _alone("b", 0.25)])] == pytest.approx([0.35, 0.175])
    assert _ranked([]) == []


# Words in their place


def test_a_word_counts_half_three_and_two_tenths_one_to_three_places_away() -> None:
    ranked = _ranked([_turn(p, None, 4.0) if p == 4 else _turn(p) for p in range(9)])
    assert [f.keyword for f in ranked] == pytest.approx([0, 0.2, 0.3, 0.5, 1, 0.5, 0.3, 0.2, 0])


def test_each_word_counts_at_its_best_place_once() -> None:
    # The first word is said at both ends, the second in the middle and, less tellingly, before.
    said = [(4.0, 0.0), (0.0, 1.0), (0.0, 4.0), (3.0, 0.0)]
    ranked = _ranked([_turn(position, None, *terms) for position, terms in enumerate(said)])
    own_and_around = [4 + 0.3 * 4, 0.5 * 4 + 0.5 * 4, 4 + 0.5 * 3, 3 + 0.5 * 4]
    assert [f.keyword * 5.5 for f in ranked] == pytest.approx(own_and_around)


def test_a_word_of_ones_own_is_never_worth_less_for_being_said_around() -> None:
    ranked = _ranked([_turn(0, None, 2.0), _turn(1, None, 1.5)])
    assert [f.keyword for f in ranked] == pytest.approx([1, 0.75])


def test_what_is_said_in_another_conversation_is_not_around() -> None:
    ranked = _ranked([_turn(0, 0.8, 4.0), _turn(1, 0.5, conversation=2), _alone("a", 0.5)])
    assert [f.keyword for f in ranked] == [1, 0, 0]
    assert [f.score for f in ranked] == pytest.approx([0.56 + 0.3, 0.35, 0.35])


# Neighbours and conversation


def test_neighbours_and_the_best_of_the_conversation_add_a_tenth_and_four_of_fourteen() -> None:
    ranked = _ranked([_turn(1, 0.5), _turn(2, 1.0), _turn(3, 0.1), _turn(5, 0.2), _turn(9, 0.9, conversation=2)])
    assert [f.neighbours for f in ranked] == pytest.approx(
        [0.1 / 1.4 * 0.7, 0.1 / 1.4 * (0.35 + 0.07), 0.1 / 1.4 * 0.7, 0, 0]
    )
    assert [f.conversation for f in ranked] == pytest.approx(
        [0.4 / 1.4 * 0.35, 0, 0.4 / 1.4 * (0.7 - 0.07), 0.4 / 1.4 * (0.7 - 0.14), 0]
    )
    assert [f.score for f in ranked] == pytest.approx([0.5, 0.73, 0.3, 0.3, 0.63])


# Speakers


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("What did Ana say?", {"ana"}),
        ("what did ANA and bob say", {"ana", "bob smith"}),
        ("Mr Smith's dog", {"bob smith"}),
        ("Banana bread", set()),
        ("", set()),
    ],
)
def test_who_is_named_gets_two_of_fourteen(query: str, named: set[str]) -> None:
    speakers = ["ana", "bob smith", None]
    ranked = _ranked([_alone(str(who), 0.5, speaker=who) for who in speakers], query)
    added = [0.2 / 1.4 if who in named else 0.0 for who in speakers]
    assert [f.speaker for f in ranked] == pytest.approx(added)
    assert [f.score for f in ranked] == pytest.approx([0.35 + more for more in added])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Ana: I moved", "ana"),
        ("  Ana:\nI moved", "ana"),
        ("Mary-Ann O'Neil Jr.: hello", "mary-ann o'neil jr."),
        ("One Two Three Four: hello", None),
        ("Ünal: merhaba", "ünal"),
        ("Ana said: I moved", "ana said"),
        ("I moved, says Ana: yes", None),
        ("https://example.org", None),
        ("12: twelve", None),
        ("no label", None),
        ("User: hello", None),
        ("assistant: hello", None),
        ("x" * 78 + ": hello", "x" * 78),
        ("x" * 79 + ": hello", None),
        ("", None),
    ],
)
def test_a_short_label_that_is_no_role_names_the_speaker(text: str, name: str | None) -> None:
    assert speaker_of(text) == name


@pytest.mark.parametrize("role", ["user", "Human", "ASSISTANT", "AI", "system", "tool"])
def test_a_role_is_nobodys_name(role: str) -> None:
    assert speaker_of(f"{role}: hello") is None


def test_words_come_in_lower_case_and_in_order() -> None:
    assert words("It's 5, Ana! STRASSE straße") == ["it", "s", "5", "ana", "strasse", "strasse"]


@pytest.mark.parametrize(
    ("query", "speakers", "rest"),
    [
        ("Where did Ana move?", {"ana"}, "Where did  move?"),
        ("Ana's dog and Bob\u2019s cat", {"ana", "bob"}, " dog and  cat"),
        ("Did ANN call?", {"mary ann"}, "Did  call?"),
        ("Where did Anastasia move?", {"ana"}, "Where did Anastasia move?"),
        ("What will happen?", {"will"}, "What will happen?"),
        ("Ana?", {"ana"}, "Ana?"),
        ("Ana and Bob", {"ana", "bob"}, " and "),
        ("Where did Ana move?", set(), "Where did Ana move?"),
    ],
)
def test_names_of_speakers_leave_the_query_unless_nothing_else_is_asked(
    query: str, speakers: set[str], rest: str
) -> None:
    assert without_names(query, speakers) == rest


# Any candidates


_TERMS = st.lists(st.just(0.0) | st.floats(0.01, 20), min_size=2, max_size=2)
_COSINES = st.none() | st.floats(-1, 1)
_SPEAKERS = st.sampled_from([None, "ana", "bob"])
CONVERSATIONS = st.lists(
    st.tuples(_COSINES, _TERMS, st.sampled_from([None, 1, 2]), _SPEAKERS), min_size=1, max_size=12
).map(
    lambda rows: [
        Candidate(str(i), cosine, sum(terms), i, False, None, _told(terms), talk, i if talk else 0, speaker)
        for i, (cosine, terms, talk, speaker) in enumerate(rows)
    ]
)


def _scores(candidates: Sequence[Candidate]) -> dict[str, float]:
    return {f.candidate.id: f.score for f in _ranked(candidates, "What did Ana say?", 0.1)}


@given(CONVERSATIONS, st.randoms(use_true_random=False))
def test_the_order_in_which_candidates_come_is_of_no_account(candidates: list[Candidate], random: Any) -> None:
    shuffled = random.sample(candidates, len(candidates))
    assert _scores(shuffled) == pytest.approx(_scores(candidates))


@given(CONVERSATIONS)
def test_scores_are_made_of_their_parts_and_rules_only_add(candidates: list[Candidate]) -> None:
    for f in _ranked(candidates, "What did Ana say?", 0.1):
        parts = (f.semantic, f.keyword, f.speaker, f.neighbours, f.conversation)
        assert all(0 <= part <= 1 + 1e-9 for part in parts)
        added = f.speaker + f.neighbours + f.conversation
        assert f.score == pytest.approx(0.7 * f.semantic + 0.3 * f.keyword + added)


@given(CONVERSATIONS, st.floats(0.5, 8))
def test_only_proportions_of_bm25_count(candidates: list[Candidate], factor: float) -> None:
    def scaled(c: Candidate) -> Candidate:
        terms = {term: score * factor for term, score in c.terms.items()}
        return c._replace(bm25=(c.bm25 or 0) * factor, terms=terms)

    assert _scores(list(map(scaled, candidates))) == pytest.approx(_scores(candidates))
