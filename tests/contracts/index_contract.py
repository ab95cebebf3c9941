"""The contract of every index."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from clock import NOON
from contracts.entries import EMBEDDER, SECONDS, dot, embed, ids, later, memory, probe, query, vector
from spaces import in_time
from steeltrap.model import Importance, Message, UserRef, from_micros, to_micros
from steeltrap.ports import Document, Index, Indexed, IndexedCandidate, IndexedSurroundings, Tombstone
from steeltrap.ranking import weights
from steeltrap.text.words import tokens

Settle = Callable[[], None]

ANA = UserRef("ana").key

BOB = UserRef("bob").key

NOW = to_micros(NOON)

HERON, OTTER, FROG, *OTHERS = ids(200)

_BESIDE = ("position", "speaker", "tokens", "embeddings")


def document(content: str, id: str = HERON, *, user: str = ANA, index_version: int = 1, **fields: Any) -> Document:
    """The document of a memory with these fields, times in microseconds, or with these tokens or embeddings."""
    beside = {name: fields.pop(name) for name in _BESIDE if name in fields}
    times = {
        name: from_micros(fields[name]) for name in ("created_at", "occurred_at", "expires_at") if fields.get(name)
    }
    fields |= times
    if fields.pop("turn", False):
        fields["source"] = "conversation"
    if fields.pop("episode", False):
        fields["messages"] = (Message(role="user", content=content),)
    if "importance" in fields:
        fields["importance"] = Importance(score=fields["importance"], reason="", set_at=NOON)
    given = {"tokens": tuple(tokens(content)), "embeddings": embed(content), **beside}
    told = memory(content, id=id, **fields)
    return Document(user=user, index_version=index_version, memory=told, **given)


def gone(id: str = HERON, *, user: str = ANA, index_version: int = 1) -> Tombstone:
    return Tombstone(user=user, id=id, index_version=index_version)


def write(index: Index, settle: Settle, *documents: Document | Tombstone) -> None:
    assert index.write(documents, deadline=in_time(SECONDS)) == {}
    settle()


def search(
    index: Index,
    text: str = "",
    *,
    user: str = ANA,
    before: int | None = None,
    leave_out: Sequence[str] = (),
    **asked: Any,
) -> Indexed:
    return index.search(
        user, query(text, **asked), now=NOW, deadline=in_time(SECONDS), before=before, leave_out=leave_out
    )


def look_around(index: Index, *texts: str, user: str = ANA, floor: float = 0.5, top_k: int = 5, **of_probe: Any) -> Any:
    """The surroundings of one text, or of each."""
    probes = [probe(text, **of_probe) for text in texts]
    found = index.look_around(user, probes, now=NOW, floor=floor, top_k=top_k, deadline=in_time(SECONDS))
    return found[0] if len(found) == 1 else found


def found(indexed: Indexed) -> set[str]:
    return {candidate.id for candidate in indexed.candidates}


def only(indexed: Indexed) -> IndexedCandidate:
    [candidate] = indexed.candidates
    return candidate


def score(indexed: Indexed, candidate: IndexedCandidate) -> float:
    """BM25 by what an index tells."""
    average = max(1.0, indexed.length / max(1, indexed.stored))
    return sum(
        weights.term_score(often, candidate.length, average, weights.idf(having, indexed.stored))
        for often, having in zip(candidate.frequencies, indexed.frequencies, strict=True)
        if often
    )


def near_ids(surroundings: IndexedSurroundings) -> list[str]:
    return [neighbour.id for neighbour in surroundings.near]


_BIRD = document(
    "heron",
    tags=("Birds ", "TAG"),
    tier="working",
    category="observation",
    content_type="code",
    scope="team/birds/herons",
    agent_id="agent",
    agent_label="label",
    conversation_id="talk",
    untrusted=True,
    created_at=NOW,
    occurred_at=NOW,
    metadata={"n": 1, "x": 1.5, "yes": True, "name": "a", "none": None, "list": [1], "object": {"n": 1}},
)


class IndexContract:
    """A test file earns it by two fixtures and a class that inherits this one.

    `index` is an empty `Index` for vectors of `EMBEDDER.dimension`, `settle` makes what was written findable.
    """

    # Search

    def test_an_empty_index_answers_that_nothing_is_stored(self, index: Index) -> None:
        asked = search(index, "heron", near=embed("heron")[0])
        assert asked == Indexed(candidates=(), stored=0, admitted=0, frequencies=(0,))

    def test_a_document_is_found_by_a_word_and_by_a_vector_with_both_scores(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("the heron saw a heron"), document("an otter", OTTER))
        near = embed("an otter swims")[0]
        asked = search(index, "heron", near=near)
        by_id = {candidate.id: candidate for candidate in asked.candidates}
        assert by_id.keys() == {HERON, OTTER}
        assert by_id[HERON].frequencies == (2,)
        assert by_id[OTTER].frequencies == (0,)
        assert by_id[HERON].cosine == pytest.approx(dot(near, embed("the heron saw a heron")[0]), abs=1e-5)
        assert by_id[OTTER].cosine == pytest.approx(dot(near, embed("an otter")[0]), abs=1e-5)

    def test_a_search_by_words_finds_only_what_has_one_and_has_no_cosine(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("the heron"), document("an otter", OTTER))
        candidate = only(search(index, "heron zebra"))
        assert (candidate.id, candidate.cosine, candidate.frequencies) == (HERON, None, (1, 0))

    def test_a_search_by_a_vector_alone_has_no_frequencies(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("the heron"))
        candidate = only(search(index, near=embed("heron")[0]))
        assert candidate.frequencies == ()
        assert candidate.cosine == pytest.approx(1, abs=1e-5)

    def test_a_candidate_brings_what_ranking_needs(self, index: Index, settle: Settle) -> None:
        told = {
            "pinned": True,
            "surprise": 0.25,
            "importance": 0.5,
            "conversation_id": "talk",
            "speaker": "ána",
            "position": 7,
        }
        write(index, settle, document("the heron", index_version=NOW + 5, created_at=NOW - 3, **told))
        candidate = only(search(index, "heron"))
        assert candidate == IndexedCandidate(
            id=HERON,
            index_version=NOW + 5,
            created=NOW - 3,
            frequencies=(1,),
            length=1,
            pinned=True,
            surprise=0.25,
            importance=0.5,
            conversation="talk",
            position=7,
            speaker="ána",
        )

    def test_a_candidate_of_a_plain_memory_has_none_where_nothing_is_known(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("the heron"))
        candidate = only(search(index, "heron"))
        assert (candidate.surprise, candidate.importance, candidate.conversation, candidate.speaker) == (None,) * 4

    def test_an_empty_name_is_not_none(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("the heron", conversation_id="", speaker=""))
        candidate = only(search(index, "heron"))
        assert (candidate.conversation, candidate.speaker) == ("", "")

    def test_the_best_chunk_counts(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("x", embeddings=(vector(0, 1), vector(1, 0), vector(1, 1))))
        assert only(search(index, near=vector(1, 0))).cosine == pytest.approx(1, abs=1e-5)

    def test_a_long_memory_takes_one_place_of_a_leg(self, index: Index, settle: Settle) -> None:
        long = document("x", embeddings=tuple(vector(1, 0.001 * i) for i in range(60)))
        short = [document("x", id, embeddings=(vector(1, 1 + i),)) for i, id in enumerate(OTHERS[:5])]
        write(index, settle, long, *short)
        assert found(search(index, near=vector(1), per_leg=6)) == {HERON, *OTHERS[:5]}

    def test_a_vector_far_away_has_its_true_cosine(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("heron", embeddings=(vector(-1, 1),)))
        for text in ("", "heron"):
            assert only(search(index, text, near=vector(1))).cosine == pytest.approx(-(0.5**0.5), abs=1e-5)

    def test_a_memory_without_a_vector_is_found_with_the_cosine_0(self, index: Index, settle: Settle) -> None:
        nowhere = bytes(4 * EMBEDDER.dimension)
        write(index, settle, document("heron", embeddings=(nowhere,)), document("otter", OTTER, embeddings=()))
        for text in ("", "heron otter"):
            asked = search(index, text, near=vector(1))
            assert [c.cosine for c in asked.candidates] == [0.0, 0.0]

    def test_a_query_without_a_direction_is_equally_far_from_all(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("heron"), document("otter", OTTER))
        for text in ("", "heron"):
            asked = search(index, text, near=bytes(4 * EMBEDDER.dimension))
            assert found(asked) == {HERON, OTTER}
            assert [c.cosine for c in asked.candidates] == [0.0, 0.0]

    @pytest.mark.parametrize(
        "text", ["heron heron pond", "zebra", "the of and", "川魚 山", "ñandú", "w" * 300, f"heron {'y' * 40_000}"]
    )
    def test_any_text_can_be_searched_for(self, index: Index, settle: Settle, text: str) -> None:
        write(index, settle, document(text))
        asked = search(index, text)
        assert only(asked).frequencies == tuple(tokens(text).count(token) for token in dict.fromkeys(tokens(text)))
        assert asked.frequencies == (1,) * len(set(tokens(text)))

    @pytest.mark.parametrize("per_leg", [100, None])
    def test_a_query_may_have_thousands_of_words(self, index: Index, settle: Settle, per_leg: int | None) -> None:
        words = " ".join(f"word{i}" for i in range(2500))
        write(index, settle, document("heron word2499"), document("word7", OTTER), document("frog", FROG))
        asked = search(index, f"{words} heron", per_leg=per_leg)
        assert found(asked) == {HERON, OTTER}
        assert sum(asked.frequencies) == 3

    def test_a_query_for_no_memories_only_counts(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("heron"), document("heron otter", OTTER))
        asked = search(index, "heron otter frog", per_leg=0)
        assert (asked.candidates, asked.frequencies, asked.stored, asked.admitted) == ((), (2, 1, 0), 2, 2)

    def test_per_leg_keeps_the_best_of_each_leg_by_the_users_own_numbers(self, index: Index, settle: Settle) -> None:
        # "heron" is rare here and "pond" is not: by count of words the ponds would win.
        ponds = [document(f"pond pond water {i}", id) for i, id in enumerate(OTHERS[:150])]
        write(index, settle, document("heron among many other things at dawn"), *ponds)
        assert HERON in found(search(index, "heron pond water", per_leg=1))

    def test_every_match_comes_when_no_number_is_given(self, index: Index, settle: Settle) -> None:
        many = [document(f"pond {i}", id) for i, id in enumerate(OTHERS)]
        write(index, settle, document("the heron"), *many)
        assert found(search(index, "pond", per_leg=None)) == set(OTHERS)
        everything = search(index, "heron", near=embed("heron")[0], per_leg=None)
        assert found(everything) == {HERON, *OTHERS}
        [heron] = [c for c in everything.candidates if c.id == HERON]
        assert (heron.cosine, heron.frequencies) == (pytest.approx(1, abs=1e-5), (1,))

    @pytest.mark.parametrize("per_leg", [100, None])
    def test_a_query_of_nothing_finds_nothing_and_counts(
        self, index: Index, settle: Settle, per_leg: int | None
    ) -> None:
        write(index, settle, document("heron"))
        asked = search(index, "", per_leg=per_leg)
        assert (asked.candidates, asked.stored, asked.admitted, asked.frequencies) == ((), 1, 1, ())

    # Statistics

    def test_statistics_count_what_the_user_sees(self, index: Index, settle: Settle) -> None:
        write(
            index,
            settle,
            document("heron pond"),
            document("heron heron dawn", OTTER, category="birds"),
            document("heron turn", FROG, turn=True, conversation_id="talk"),
            document("heron expired", OTHERS[0], expires_at=NOW),
            gone(OTHERS[1]),
        )
        asked = search(index, "heron dawn zebra", category="birds")
        assert (asked.stored, asked.admitted, asked.length, asked.frequencies) == (2, 1, 5, (2, 1, 0))
        with_turns = search(index, "heron dawn zebra", include_turns=True)
        assert (with_turns.stored, with_turns.admitted, with_turns.length, with_turns.frequencies) == (
            3,
            3,
            7,
            (3, 1, 0),
        )

    def test_nothing_that_another_user_writes_moves_an_answer(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("heron pond"), document("heron dawn", OTTER))
        asked = [{"text": "heron dawn", "near": embed("dawn")[0]}, {"text": "heron", "per_leg": 1}]
        before = [search(index, **each) for each in asked]
        around = look_around(index, "heron dawn")
        others = [
            document("heron heron dawn", id, user=BOB, index_version=NOW + 9) for id in (HERON, OTTER, *OTHERS[:60])
        ]
        write(index, settle, *others)
        assert [search(index, **each) for each in asked] == before
        assert look_around(index, "heron dawn") == around

    def test_two_users_hold_memories_of_one_id(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("heron of ana"), document("heron of bob", user=BOB))
        write(index, settle, gone(user=BOB, index_version=2))
        assert found(search(index, "heron")) == {HERON}
        assert found(search(index, "heron", user=BOB)) == set()

    def test_a_document_that_was_replaced_is_counted_once(self, index: Index, settle: Settle) -> None:
        for version in range(1, 6):
            write(index, settle, document(f"heron {version}", index_version=version))
        asked = search(index, "heron")
        assert (asked.stored, asked.length, asked.frequencies) == (1, 2, (1,))

    @pytest.mark.parametrize(
        ("conditions", "passes"),
        [
            ({"tags": ("birds",)}, True),
            ({"tags": (" BIRDS", "tag")}, True),
            ({"tags": ("birds", "frogs")}, False),
            ({"tier": "working"}, True),
            ({"tier": "long_term"}, False),
            ({"category": "observation"}, True),
            ({"category": "Observation"}, False),
            ({"categories": ("x", "observation")}, True),
            ({"categories": ("x", "y")}, False),
            ({"content_type": "code"}, True),
            ({"content_type": "text"}, False),
            ({"scope": "team/birds/herons"}, True),
            ({"scope": "team/birds"}, False),
            ({"scope": "team/birds", "include_child_scopes": True}, True),
            ({"scope": "team", "include_child_scopes": True}, True),
            ({"scope": "team/birds/herons", "include_child_scopes": True}, True),
            ({"scope": "team/bird", "include_child_scopes": True}, False),
            ({"scope": "team/", "include_child_scopes": True}, False),
            ({"project": "git/widgets"}, True),
            ({"agent_id": "agent"}, True),
            ({"agent_id": "other"}, False),
            ({"agent_label": "label"}, True),
            ({"agent_label": "other"}, False),
            ({"conversation_id": "talk"}, True),
            ({"conversation_id": "walk"}, False),
            ({"untrusted": True}, True),
            ({"untrusted": False}, False),
            ({"created_after": NOON}, True),
            ({"created_after": later(0.000001)}, False),
            ({"created_before": later(0.000001)}, True),
            ({"created_before": NOON}, False),
            ({"occurred_after": NOON, "occurred_before": later(1)}, True),
            ({"occurred_before": NOON}, False),
            ({"metadata": {"n": 1, "name": "a"}}, True),
            ({"metadata": {"n": 1.0}}, True),
            ({"metadata": {"n": True}}, False),
            ({"metadata": {"n": "1"}}, False),
            ({"metadata": {"x": 1.5}}, True),
            ({"metadata": {"yes": True}}, True),
            ({"metadata": {"yes": 1}}, False),
            ({"metadata": {"none": None}}, True),
            ({"metadata": {"name": None}}, False),
            ({"metadata": {"missing": None}}, False),
            ({"metadata": {"name": "b"}}, False),
            ({"turns_of": "walk"}, True),
        ],
    )
    def test_a_filter_stands_in_both_legs_and_in_what_is_admitted(
        self, index: Index, settle: Settle, conditions: dict[str, Any], passes: bool
    ) -> None:
        write(index, settle, _BIRD)
        for asked in (
            search(index, "heron", **conditions),
            search(index, near=embed("heron")[0], **conditions),
            search(index, "heron", near=embed("heron")[0], per_leg=None, **conditions),
        ):
            assert found(asked) == ({HERON} if passes else set())
            assert (asked.stored, asked.admitted) == (1, int(passes))

    def test_a_project_hides_the_scopes_of_others_and_nothing_else(self, index: Index, settle: Settle) -> None:
        seen = ("user/default", "git/widgets", "git/widgets/api", "gitlab", "g", "work/git/gadgets")
        hidden = ("git", "git/gadgets", "git/widgets-2", "git/widget")
        names = dict(zip((*seen, *hidden), ids(len(seen) + len(hidden)), strict=True))
        write(index, settle, *(document("heron", id, scope=scope) for scope, id in names.items()))
        asked = search(index, "heron", project="git/widgets")
        assert found(asked) == {names[scope] for scope in seen}
        assert (asked.stored, asked.admitted) == (len(seen) + len(hidden), len(seen))
        below = search(index, "heron", project="git/widgets", scope="git", include_child_scopes=True)
        assert found(below) == {names["git/widgets"], names["git/widgets/api"]}

    def test_what_is_not_given_passes_no_condition_on_it(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("heron"))
        for conditions in ({"occurred_after": later(-9)}, {"category": ""}, {"conversation_id": ""}, {"agent_id": ""}):
            assert search(index, "heron", **conditions).admitted == 0

    def test_values_of_any_length_are_told_apart(self, index: Index, settle: Settle) -> None:
        long = "é" * 20_000
        told = {
            "category": long,
            "scope": f"team/{long}",
            "tags": (long,),
            "agent_label": long,
            "metadata": {long: long},
        }
        write(index, settle, document("heron", **told))
        exact = {"category": long, "tags": (long,), "agent_label": long, "metadata": {long: long}}
        assert found(search(index, "heron", scope="team", include_child_scopes=True, **exact)) == {HERON}
        assert found(search(index, "heron", scope=f"team/{long}")) == {HERON}
        assert found(search(index, "heron", category=long + "é")) == set()

    def test_turns_are_seen_on_request_and_of_one_conversation_where_one_is_given(
        self, index: Index, settle: Settle
    ) -> None:
        write(
            index,
            settle,
            document("heron"),
            document("heron talk", OTTER, turn=True, conversation_id="talk"),
            document("heron walk", FROG, turn=True, conversation_id="walk"),
        )
        near = embed("heron")[0]
        assert found(search(index, "heron", near=near)) == {HERON}
        assert found(search(index, "heron", near=near, include_turns=True)) == {HERON, OTTER, FROG}
        assert found(search(index, "heron", near=near, include_turns=True, turns_of="talk")) == {HERON, OTTER}

    def test_episodes_are_left_out_on_request_but_for_those_of_the_conversation_whose_turns_are_seen(
        self, index: Index, settle: Settle
    ) -> None:
        write(
            index,
            settle,
            document("heron"),
            document("heron talk", OTTER, episode=True, conversation_id="talk"),
            document("heron walk", FROG, episode=True, conversation_id="walk"),
        )
        near = embed("heron")[0]
        asked = search(index, "heron", near=near, episodes=False)
        assert (found(asked), asked.stored, asked.admitted) == ({HERON}, 3, 1)
        assert found(search(index, "heron", near=near, episodes=False, include_turns=True)) == {HERON, OTTER, FROG}
        of_talk = {"episodes": False, "include_turns": True, "turns_of": "talk"}
        assert found(search(index, "heron", near=near, **of_talk)) == {HERON, OTTER}

    def test_a_narrow_filter_among_many_still_fills_its_leg(self, index: Index, settle: Settle) -> None:
        many = [document(f"heron {i}", id, embeddings=(vector(1, 0.001 * i),)) for i, id in enumerate(OTHERS)]
        few = [
            replace(each, memory=replace(each.memory, category="rare"), embeddings=(vector(0, 1),)) for each in many[:5]
        ]
        write(index, settle, *many[5:], *few)
        assert found(search(index, near=vector(1), category="rare", per_leg=5)) == set(OTHERS[:5])
        assert found(search(index, "heron", category="rare", per_leg=5)) == set(OTHERS[:5])

    # What is absent, and what changes

    @pytest.mark.parametrize("expires", [NOW, NOW - 1])
    def test_what_has_expired_is_absent(self, index: Index, settle: Settle, expires: int) -> None:
        write(index, settle, document("heron", expires_at=expires), document("heron", OTTER, expires_at=NOW + 1))
        asked = search(index, "heron", near=embed("heron")[0])
        assert (found(asked), asked.stored, asked.frequencies) == ({OTTER}, 1, (1,))
        assert look_around(index, "heron").anywhere[0].id == OTTER

    def test_a_tombstone_takes_a_memory_out_of_everything(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("heron"))
        write(index, settle, gone(index_version=2))
        for filter in ({}, {"include_turns": True}):
            asked = search(index, "heron", near=embed("heron")[0], **filter)
            assert (asked.candidates, asked.stored, asked.length, asked.frequencies) == ((), 0, 0, (0,))
        assert look_around(index, "heron") == IndexedSurroundings(newest=2)

    @pytest.mark.parametrize("late", [document("heron", index_version=1), document("heron", index_version=2)])
    @pytest.mark.parametrize("stored", [gone(index_version=2), document("otter", index_version=2)])
    def test_a_late_write_is_a_success_and_changes_nothing(
        self, index: Index, settle: Settle, late: Document, stored: Document | Tombstone
    ) -> None:
        write(index, settle, stored)
        before = search(index, "heron otter", near=embed("heron")[0])
        write(index, settle, late)
        assert search(index, "heron otter", near=embed("heron")[0]) == before
        assert search(index, "heron").candidates == ()

    def test_an_id_that_was_forgotten_can_be_used_again(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("heron"))
        write(index, settle, gone(index_version=2))
        write(index, settle, document("otter", index_version=3))
        assert found(search(index, "otter")) == {HERON}

    @pytest.mark.parametrize("seed", range(4))
    def test_a_stream_in_any_order_and_doubled_ends_the_same(self, index: Index, settle: Settle, seed: int) -> None:
        pick = random.Random(seed)
        places = OTHERS[:8]
        stream: list[Document | Tombstone] = []
        for version in range(1, 6):
            for id in places:
                kind = pick.choice(["write", "write", "delete"])
                stream.append(
                    document(f"heron {version}", id, index_version=version)
                    if kind == "write"
                    else gone(id, index_version=version)
                )
        last = {each.id: each for each in stream}
        shuffled = stream * 2
        pick.shuffle(shuffled)
        for start in range(0, len(shuffled), 9):
            write(index, settle, *shuffled[start : start + 9])
        alive = {id for id, each in last.items() if isinstance(each, Document)}
        asked = search(index, "heron")
        assert found(asked) == alive
        assert (asked.stored, asked.frequencies) == (len(alive), (len(alive),))

    def test_before_bounds_what_is_looked_at_and_counted(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("heron", index_version=10), document("heron dawn", OTTER, index_version=20))
        asked = search(index, "heron dawn", near=embed("dawn")[0], before=20)
        assert (found(asked), asked.stored, asked.length, asked.frequencies) == ({HERON}, 1, 1, (1, 0))
        around = index.look_around(
            ANA, [probe("heron dawn")], now=NOW, floor=0.1, top_k=5, deadline=in_time(SECONDS), before=20
        )
        assert [n.id for n in around[0].anywhere] == near_ids(around[0]) == [HERON]

    def test_what_is_left_out_is_neither_found_nor_counted(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("heron"), document("heron dawn", OTTER), document("heron", user=BOB))
        asked = search(index, "heron dawn", near=embed("dawn")[0], leave_out=[OTTER, FROG])
        assert (found(asked), asked.stored, asked.admitted, asked.frequencies) == ({HERON}, 1, 1, (1, 0))
        around = index.look_around(
            ANA, [probe("heron")], now=NOW, floor=0.1, top_k=5, deadline=in_time(SECONDS), leave_out=[HERON]
        )
        assert [n.id for n in around[0].anywhere] == near_ids(around[0]) == [OTTER]

    def test_newest_is_the_highest_version_below_the_bound_tombstones_too(self, index: Index, settle: Settle) -> None:
        write(
            index, settle, document("heron", index_version=NOW), document("x", FROG, user=BOB, index_version=NOW + 90)
        )
        assert search(index, "heron").newest == NOW
        write(index, settle, gone(OTTER, index_version=NOW + 7))
        assert search(index, "heron").newest == NOW + 7
        assert search(index, "heron", before=NOW + 7).newest == NOW
        assert search(index, "heron", before=NOW).newest is None
        for before, newest in ((None, NOW + 7), (NOW + 7, NOW), (NOW, None)):
            around = index.look_around(
                ANA,
                [probe("heron"), probe("dawn")],
                now=NOW,
                floor=0.1,
                top_k=5,
                deadline=in_time(SECONDS),
                before=before,
            )
            assert [each.newest for each in around] == [newest] * 2

    def test_what_can_not_be_written_is_told_by_position_and_the_rest_is_written(
        self, index: Index, settle: Settle
    ) -> None:
        misfit = document("heron", OTTER, embeddings=(vector(1)[:-4],))
        refused = index.write([document("heron"), misfit, document("heron", FROG)], deadline=in_time(SECONDS))
        settle()
        assert list(refused) == [1]
        assert not refused[1].can_retry
        assert found(search(index, "heron")) == {HERON, FROG}

    def test_writing_nothing_is_no_error(self, index: Index) -> None:
        assert index.write([], deadline=in_time(SECONDS)) == {}

    # Looking around

    def test_the_nearest_comes_from_anywhere_and_the_near_ones_from_the_scope(
        self, index: Index, settle: Settle
    ) -> None:
        write(
            index,
            settle,
            document("a", embeddings=(vector(1, 0.1),), scope="other"),
            document("b", OTTER, embeddings=(vector(1, 0.2),)),
            document("c", FROG, embeddings=(vector(1, 0.5),)),
            document("d", OTHERS[0], embeddings=(vector(0, 1),)),
            document("e", OTHERS[1], embeddings=(vector(1, 0.3),), scope="user/default/child"),
        )
        asked = replace(probe("x"), embeddings=(vector(1),))
        [around] = index.look_around(ANA, [asked], now=NOW, floor=0.5, top_k=5, deadline=in_time(SECONDS))
        assert around.anywhere[0].id == HERON
        assert around.anywhere[0].cosine == pytest.approx(dot(vector(1), vector(1, 0.1)), abs=1e-5)
        assert near_ids(around) == [OTTER, FROG]
        [anywhere] = index.look_around(
            ANA, [replace(asked, scope=None)], now=NOW, floor=0.5, top_k=5, deadline=in_time(SECONDS)
        )
        assert near_ids(anywhere) == [HERON, OTTER, OTHERS[1], FROG]

    def test_a_look_around_leaves_out_itself_turns_and_other_users(self, index: Index, settle: Settle) -> None:
        write(
            index,
            settle,
            document("heron"),
            document("heron", OTTER, turn=True, conversation_id="talk"),
            document("heron", FROG, user=BOB),
        )
        assert near_ids(look_around(index, "heron")) == [HERON]
        alone = look_around(index, "heron", leave_out=HERON)
        assert alone == look_around(index, "heron", scope=None, leave_out=HERON) == IndexedSurroundings(newest=1)

    def test_near_ones_that_tie_come_newest_first_then_by_id(self, index: Index, settle: Settle) -> None:
        write(
            index,
            settle,
            *(document("heron", id, created_at=NOW - (id == OTTER), index_version=4) for id in (HERON, OTTER, FROG)),
        )
        assert near_ids(look_around(index, "heron")) == [HERON, FROG, OTTER]
        assert {n.index_version for n in look_around(index, "heron").near} == {4}

    def test_the_nearest_of_all_chunks_counts_on_both_sides(self, index: Index, settle: Settle) -> None:
        write(
            index,
            settle,
            document("x", embeddings=(vector(0, 1), vector(0, 0, 1))),
            document("y", OTTER, embeddings=(vector(1, 1),)),
        )
        asked = replace(probe("x"), embeddings=(vector(1), vector(0, 0, 1)))
        [around] = index.look_around(ANA, [asked], now=NOW, floor=0.5, top_k=5, deadline=in_time(SECONDS))
        assert [(n.id, round(n.cosine, 4)) for n in around.near] == [(HERON, 1.0), (OTTER, 0.7071)]

    def test_a_text_without_a_direction_is_equally_far_from_all(self, index: Index, settle: Settle) -> None:
        write(index, settle, document("heron"), document("otter", OTTER, embeddings=()))
        nowhere = replace(probe("x"), embeddings=(bytes(4 * EMBEDDER.dimension),))
        [around] = index.look_around(ANA, [nowhere], now=NOW, floor=0.1, top_k=5, deadline=in_time(SECONDS))
        assert {n.id: n.cosine for n in around.anywhere} == {HERON: 0.0, OTTER: 0.0}
        assert around.near == ()

    def test_many_probes_are_answered_in_their_order(self, index: Index, settle: Settle) -> None:
        write(
            index, settle, *(document("x", id, embeddings=(vector(*([0] * i), 1),)) for i, id in enumerate(OTHERS[:60]))
        )
        probes = [replace(probe("x"), embeddings=(vector(*([0] * i), 1),)) for i in range(60)] * 2
        around = index.look_around(ANA, probes, now=NOW, floor=0.9, top_k=3, deadline=in_time(SECONDS))
        assert [near_ids(each) for each in around] == [[id] for id in OTHERS[:60] * 2]

    def test_no_probe_is_no_question(self, index: Index) -> None:
        assert index.look_around(ANA, [], now=NOW, floor=0.5, top_k=3, deadline=in_time(SECONDS)) == []

    def test_an_index_that_serves_passes_its_check(self, index: Index) -> None:
        index.check()
