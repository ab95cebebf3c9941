"""The ranking rules: worked examples with the numbers of `docs/ranking.md`, and what holds for any candidates."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from math import log
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from steeltrap.model import Candidate, Candidates, Memory, Message, to_micros
from steeltrap.ranking import weights as bm25
from steeltrap.ranking.on_days import on_days
from steeltrap.ranking.scored import Fused, mass
from steeltrap.ranking.scoring import fuse, rank, without_names, words
from steeltrap.ranking.weights import WEIGHTS, Weights
from steeltrap.text.words import Trait, speaker_of, traits

DOCUMENTS = 10
WORD = bm25.idf(1, DOCUMENTS)
"""The BM25 of a word that one of ten memories says once, at average length."""


@dataclass(frozen=True)
class Levels:
    unrelated: float = 0.0
    slope: float = 0.0
    unrelated_japanese: float = 0.0
    novel: float = 0.0


def _told(shares: Sequence[float]) -> dict[int, float]:
    return {term: share * WORD for term, share in enumerate(shares) if share}


def _turn(position: int, cosine: float | None = 0.0, *shares: float, conversation: int = 1, **more: Any) -> Candidate:
    more |= {"conversation": conversation, "position": position}
    return _alone(f"{conversation}/{position}", cosine, *shares, **more)


def _alone(id: str, cosine: float | None = 0.0, *shares: float, **more: Any) -> Candidate:
    terms = _told(shares)
    return Candidate(id, cosine, sum(terms.values()), 0, terms=terms, **more)


def _ranked(
    candidates: Sequence[Candidate],
    query: str = "",
    scale: Levels = Levels(),
    *,
    speakers: Collection[str] = ("ana", "bob smith"),
    frequencies: Mapping[str, int] | None = None,
    weights: Weights = WEIGHTS,
) -> list[Fused]:
    columns = Candidates.of(candidates, documents=DOCUMENTS, frequencies=frequencies or {"heron": 1})
    days = on_days(query, columns, date(2026, 5, 13), UTC)
    near = None if days is None else days.near
    scored = rank(query, columns, scale, speakers=speakers, near_days=near, weights=weights)
    return scored.rows(range(len(columns)))


# Plain fusion


def test_fused_scores_are_those_of_the_formula_by_hand() -> None:
    rows = [Candidate("a", 0.6, 0.8, 0), Candidate("b", 0.0, 0.4, 0), Candidate("c", 1.0, 0.0, 0)]
    scored = fuse(Candidates.of([*rows, Candidate("d", -0.3, 0.0, 0)]), vector_weight=0.6, unrelated=0.2)
    assert scored.semantic.tolist() == pytest.approx([0.5, 0, 1, 0])
    assert scored.keyword.tolist() == pytest.approx([1, 0.5, 0, 0])
    assert scored.score.tolist() == pytest.approx([0.6 * 0.5 + 0.4, 0.4 * 0.5, 0.6, 0])
    assert scored.boosts == {}


def test_ties_go_to_the_newest_then_to_the_smallest_id() -> None:
    rows = [Candidate(id, 0.5, None, created) for id, created in (("b", 1), ("a", 1), ("d", 2), ("c", 0))]
    scored = fuse(Candidates.of([*rows, Candidate("e", 0.9, None, 0)]), vector_weight=1.0, unrelated=0.0)
    places = scored.candidates.created >= 0
    assert [f.id for f in scored.best_first(places.nonzero()[0])] == ["e", "d", "a", "b", "c"]


def test_ten_thousand_equal_memories_rank_by_id() -> None:
    rows = [_alone(f"{n:05}", 0.5, 1.0) for n in reversed(range(10_000))]
    scored = rank("heron", Candidates.of(rows, documents=10_000, frequencies={"heron": 10_000}), Levels())
    best = scored.best_first(scored.above(-1.0, related_only=False))
    assert [next(best).id for _ in range(3)] == ["00000", "00001", "00002"]


# The two legs


def test_a_memory_that_stands_alone_has_seven_tenths_of_meaning_and_three_of_words() -> None:
    candidates = [_alone("a", 0.6, 1.0), _alone("b", 0.0, 0.5), _alone("c", 1.0), _alone("d", -1.0)]
    ranked = _ranked(candidates, scale=Levels(unrelated=0.2))
    assert [f.id for f in ranked] == ["a", "b", "c", "d"]
    assert [f.semantic for f in ranked] == pytest.approx([0.5, 0, 1, 0])
    assert [f.keyword for f in ranked] == pytest.approx([1, 0.5, 0, 0])
    assert [f.score for f in ranked] == pytest.approx([0.35 + 0.3, 0.15, 0.7, 0])
    assert all(f.boosts == {} for f in ranked)


def test_without_a_word_in_common_meaning_alone_counts() -> None:
    assert [f.score for f in _ranked([_alone("a", 0.5), _alone("b", 0.25)])] == pytest.approx([0.35, 0.175])
    assert _ranked([]) == []


def test_words_count_by_the_share_of_the_query_that_a_memory_says_and_not_by_the_best() -> None:
    asked = {"heron": 1, "pond": 1, "dawn": 0}
    [one] = _ranked([_alone("a", None, 1.0)], frequencies=asked)
    unheard = bm25.idf(0, DOCUMENTS)
    assert one.keyword == pytest.approx(WORD / (2 * WORD + unheard))


def test_a_word_that_most_memories_have_is_no_part_of_what_is_asked() -> None:
    asked = {"ana": 6, "heron": 1}
    assert mass(Candidates.of([], documents=DOCUMENTS, frequencies=asked)) == pytest.approx(WORD)
    only = {"ana": 6}
    assert mass(Candidates.of([], documents=DOCUMENTS, frequencies=only)) == pytest.approx(bm25.idf(6, DOCUMENTS))


def test_the_best_of_many_chunks_is_lowered_by_what_chance_adds() -> None:
    ranked = _ranked([_alone(str(n), 0.5, chunks=n) for n in (1, 3, 12, 200)], scale=Levels(slope=0.1))
    of_three, of_twelve = 0.5 - 0.1 * log(3), 0.5 - 0.1 * log(12)
    assert [f.semantic for f in ranked] == pytest.approx([0.5, of_three, of_twelve, of_twelve])


# Words in their place


def test_a_word_counts_half_three_and_two_tenths_one_to_three_places_away() -> None:
    ranked = _ranked([_turn(p, None, 1.0) if p == 4 else _turn(p, None) for p in range(9)])
    assert [f.keyword for f in ranked] == pytest.approx([0, 0.2, 0.3, 0.5, 1, 0.5, 0.3, 0.2, 0])


def test_each_word_counts_at_its_best_place_once() -> None:
    # The first word is said at both ends, the second in the middle and, less tellingly, before.
    said = [(0.4, 0.0), (0.0, 0.1), (0.0, 0.4), (0.3, 0.0)]
    ranked = _ranked([_turn(position, None, *shares) for position, shares in enumerate(said)])
    own_and_around = [0.4 + 0.3 * 0.4, 0.5 * 0.4 + 0.5 * 0.4, 0.4 + 0.5 * 0.3, 0.3 + 0.5 * 0.4]
    assert [f.keyword for f in ranked] == pytest.approx(own_and_around)


def test_a_word_of_ones_own_is_never_worth_less_for_being_said_around() -> None:
    ranked = _ranked([_turn(0, None, 0.2), _turn(1, None, 0.15)])
    assert [f.keyword for f in ranked] == pytest.approx([0.2, 0.15])


def test_what_is_said_in_another_conversation_is_not_around() -> None:
    ranked = _ranked([_turn(0, 0.8, 1.0), _turn(1, 0.5, conversation=2), _alone("a", 0.5)])
    assert [f.keyword for f in ranked] == [1, 0, 0]
    assert [f.score for f in ranked] == pytest.approx([0.56 + 0.3 + 0.1, 0.35, 0.35])


# Neighbours and conversation


def test_neighbours_and_the_best_of_the_conversation_add_a_twentieth_and_three_tenths() -> None:
    ranked = _ranked([_turn(1, 0.5), _turn(2, 1.0), _turn(3, 0.1), _turn(5, 0.2), _turn(9, 0.9, conversation=2)])
    near = [f.boosts.get("neighbours", 0) for f in ranked]
    assert near == pytest.approx([0.05 * 0.7, 0.05 * (0.35 + 0.07), 0.05 * 0.7, 0, 0])
    talk = [f.boosts.get("conversation", 0) for f in ranked]
    assert talk == pytest.approx([0.3 * 0.35, 0, 0.3 * (0.7 - 0.07), 0.3 * (0.7 - 0.14), 0])
    assert [f.score for f in ranked] == pytest.approx([0.35 + 0.035 + 0.105, 0.721, 0.07 + 0.035 + 0.189, 0.308, 0.63])


def test_between_named_people_a_conversation_draws_twice_as_much_beside_its_best_message_as_far_from_it() -> None:
    said = [(2, 0.5), (7, 1.0), (8, 0.5), (12, 0.5), (17, 0.5), (40, 0.5)]
    ranked = _ranked([_turn(position, cosine, speaker="ana") for position, cosine in said])
    talk = [f.boosts.get("conversation", 0) for f in ranked]
    assert talk == pytest.approx([0.3 * 0.35 * share for share in (0.9, 0, 1.14, 0.9, 0.6, 0.6)])


def test_a_question_across_conversations_is_not_drawn_to_one_of_them() -> None:
    rows = [_turn(1, 1.0), _turn(9, 0.3), _turn(1, 0.4, conversation=2)]
    assert [f.id for f in sorted(_ranked(rows, "the garden"), key=lambda f: -f.score)] == ["1/1", "1/9", "2/1"]
    across = _ranked(rows, "a summary of the garden in all our conversations")
    assert [f.id for f in sorted(across, key=lambda f: -f.score)] == ["1/1", "2/1", "1/9"]
    assert not any("conversation" in f.boosts for f in across)


def test_a_conversation_that_says_more_of_the_querys_words_in_whichever_messages_gains() -> None:
    asked = {"heron": 1, "pond": 1}
    rows = [_turn(0, 0.5, 1.0), _turn(9, 0.5, 0.0, 1.0), _turn(18, 0.5), _turn(0, 0.5, 1.0, conversation=2)]
    ranked = _ranked([*rows, _turn(9, 0.5, conversation=2), _alone("a", 0.5, 1.0)], frequencies=asked)
    assert [f.boosts.get("coverage", 0) for f in ranked] == pytest.approx([0.1, 0.1, 0.1, 0.05, 0.05, 0.05])
    assert ranked[0].score > ranked[3].score > ranked[4].score


def test_the_words_of_a_conversation_count_for_nobody_where_there_is_none() -> None:
    assert [f.boosts for f in _ranked([_alone("a", 0.5, 1.0), _alone("b", 0.5)])] == [{}, {}]


def test_the_reply_to_another_persons_question_gains_and_the_question_loses() -> None:
    asks = {"traits": Trait.QUESTION}
    said = [("ana", asks), ("bob smith", {}), ("ana", asks), ("ana", {}), (None, asks), (None, {})]
    ranked = _ranked([_turn(p, 0.5, speaker=who, **more) for p, (who, more) in enumerate(said)])
    assert [round(f.boosts.get("reply", 0), 9) for f in ranked] == [0, 0.07, 0, 0, 0, 0]
    assert [round(f.boosts.get("question", 0), 9) for f in ranked] == [-0.07, 0, -0.07, 0, 0, 0]


# Wishes, days and roles


def test_standing_wishes_gain_by_how_near_they_are() -> None:
    kinds = [Trait.INSTRUCTION, Trait.PREFERENCE, Trait(0)]
    ranked = _ranked([_alone(str(k), cosine, traits=k) for cosine in (0.9, 0.15) for k in kinds])
    assert [round(f.boosts.get("wish", 0), 9) for f in ranked] == [0.2, 0.1, 0, 0.1, 0.05, 0]


def test_what_happened_around_a_day_that_the_query_names_gains() -> None:
    days = ["2023-04-23", "2023-04-24", "2023-05-08", "2023-05-22", "2023-05-23"]
    rows = [_alone(day, 0.5, occurred=to_micros(datetime.fromisoformat(day).replace(tzinfo=UTC))) for day in days]
    ranked = _ranked([*rows, _alone("never", 0.5)], "What did we do on 8 May 2023?")
    assert [f.boosts.get("days", 0) for f in ranked] == [0, 0.1, 0.1, 0.1, 0, 0]


def test_i_is_the_user_and_you_the_assistant() -> None:
    rows = [_alone("u", 0.5, traits=Trait.BY_USER), _alone("a", 0.5, traits=Trait.BY_ASSISTANT), _alone("n", 0.5)]
    for query, added in (("what did I say", [0.05, 0, 0]), ("what did you say", [0, 0.05, 0]), ("what", [0, 0, 0])):
        assert [f.boosts.get("role", 0) for f in _ranked(rows, query)] == added


@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        ("user: Always use metric units.", Trait.INSTRUCTION | Trait.BY_USER),
        ("Please never mention my sister.", Trait.INSTRUCTION),
        ("Answer in Spanish when I ask about food.", Trait.INSTRUCTION),
        ("Nunca uses tablas.", Trait.INSTRUCTION),
        ("Antworte immer kurz.", Trait(0)),
        ("The user prefers tabs.", Trait.PREFERENCE),
        ("User: I really prefer trains.", Trait.PREFERENCE | Trait.BY_USER),
        ("assistant: I prefer trains. Always do.", Trait.BY_ASSISTANT),
        ("Ana: shall we go?", Trait.QUESTION),
        ("行きますか？", Trait.QUESTION),
        (f"Ana: {'so ' * 45} shall we go?", Trait(0)),
        ("He always forgets it.", Trait(0)),
    ],
)
def test_what_a_text_is_can_be_read_off_it(content: str, kinds: Trait) -> None:
    assert traits(_memory(content)) == kinds


def test_a_turn_has_the_role_of_its_message() -> None:
    turn = _memory(
        "Always be brief.", source="conversation", messages=(Message(role="user", content="Always be brief."),)
    )
    assert traits(turn) == Trait.BY_USER | Trait.INSTRUCTION


def _memory(content: str, **more: Any) -> Memory:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Memory(id="m", content=content, created_at=at, updated_at=at, **more)


@pytest.mark.parametrize(
    "rule", ["neighbours", "conversation", "coverage", "reply", "question", "wish", "days", "role", "speaker"]
)
def test_each_rule_can_be_switched_off(rule: str) -> None:
    on = to_micros(datetime(2023, 5, 8, tzinfo=UTC))
    rows = [
        _turn(0, 0.8, 1.0, speaker="ana", traits=Trait.QUESTION | Trait.BY_USER | Trait.INSTRUCTION, occurred=on),
        _turn(1, 0.5, speaker="bob smith"),
    ]
    asked = "What did I ask Ana on 8 May 2023?"
    assert any(rule in f.boosts for f in _ranked(rows, asked))
    assert not any(rule in f.boosts for f in _ranked(rows, asked, weights=Weights(**{rule: 0.0})))


# What was superseded


def test_a_memory_takes_over_a_better_score_of_what_it_superseded() -> None:
    rows = [_alone("old", 0.9, 1.0, traits=Trait.SUPERSEDED), _alone("new", 0.5), _alone("other", 0.6)]
    scored = rank("heron", Candidates.of(rows, documents=DOCUMENTS, frequencies={"heron": 1}), Levels())
    old, own, other = scored.score.tolist()
    scored.inherit({0: 1}, 1.0, scored)
    assert scored.score.tolist() == [old, old, other]
    assert scored.legs.tolist() == [old, old, other]
    assert scored.rows([1])[0].boosts == {"superseded": pytest.approx(old - own)}
    scored.inherit({2: 1}, 0.5, scored)
    assert scored.score.tolist() == [old, old, other]


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
def test_who_is_named_gets_two_tenths(query: str, named: set[str]) -> None:
    speakers = ["ana", "bob smith", None]
    ranked = _ranked([_alone(str(who), 0.5, speaker=who) for who in speakers], query)
    added = [0.2 if who in named else 0.0 for who in speakers]
    assert [f.boosts.get("speaker", 0) for f in ranked] == pytest.approx(added)
    assert [f.score for f in ranked] == pytest.approx([0.35 + more for more in added])


def test_a_label_that_one_memory_has_names_nobody() -> None:
    """ "Ana's lunch boxes: lentils" isn't what Ana says."""
    [one] = _ranked([_alone("a", 0.5, speaker="ana's lunch boxes")], "What does Ana do?", speakers={"ana"})
    assert one.boosts == {}


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


_SHARES = st.lists(st.just(0.0) | st.floats(0.01, 1), min_size=2, max_size=2)
_SPEAKERS = st.sampled_from([None, "ana", "bob"])
_KINDS = st.sampled_from([Trait(0), Trait.QUESTION, Trait.INSTRUCTION, Trait.PREFERENCE | Trait.BY_USER])
CONVERSATIONS = st.lists(
    st.tuples(st.floats(-1, 1), _SHARES, st.sampled_from([None, 1, 2]), _SPEAKERS, _KINDS), min_size=1, max_size=12
).map(
    lambda rows: [
        _alone(str(i), cosine, *shares, conversation=talk, position=i if talk else 0, speaker=speaker, traits=kind)
        for i, (cosine, shares, talk, speaker, kind) in enumerate(rows)
    ]
)


def _ranked_at_large(candidates: Sequence[Candidate]) -> list[Fused]:
    asked = {"heron": 1, "pond": 2}
    return _ranked(candidates, "What did Ana say to me?", Levels(0.1, 0.05), frequencies=asked)


def _scores(candidates: Sequence[Candidate]) -> dict[str, float]:
    return {f.id: f.score for f in _ranked_at_large(candidates)}


@given(CONVERSATIONS, st.randoms(use_true_random=False))
def test_the_order_in_which_candidates_come_is_of_no_account(candidates: list[Candidate], random: Any) -> None:
    shuffled = random.sample(candidates, len(candidates))
    assert _scores(shuffled) == pytest.approx(_scores(candidates))


@given(CONVERSATIONS)
def test_scores_are_made_of_their_parts(candidates: list[Candidate]) -> None:
    for f in _ranked_at_large(candidates):
        assert 0 <= f.semantic <= 1 + 1e-9
        assert 0 <= f.keyword <= 1 + 1e-9
        assert f.score == pytest.approx(0.7 * f.semantic + 0.3 * f.keyword + sum(f.boosts.values()))
        assert f.score >= -1e-9


@given(CONVERSATIONS, st.integers(0, 11), st.floats(0, 1), st.floats(0, 1))
def test_a_memory_never_loses_by_a_better_leg(candidates: list[Candidate], at: int, nearer: float, more: float) -> None:
    assume(at < len(candidates))
    one = candidates[at]
    terms = {term: score + more * WORD for term, score in (one.terms or {0: 0.0}).items()}
    better = one._replace(cosine=min(1.0, (one.cosine or 0) + nearer), terms=terms, bm25=sum(terms.values()))
    changed = [*candidates[:at], better, *candidates[at + 1 :]]
    assert _scores(changed)[one.id] >= _scores(candidates)[one.id] - 1e-9
