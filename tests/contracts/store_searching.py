"""The contract of every store for searching in both legs, and for looking around."""

from dataclasses import replace

import pytest

from clock import NOON, SettableClock
from contracts.entries import creation, delete, dot, embed, entry, found, ids, later, probe, save, search, turn, vector
from contracts.entries import store as commit
from steeltrap.engine import reading
from steeltrap.model import Filter, Neighbour, UserRef
from steeltrap.ports import Create, Gone, MemoryStore, Probe, Space
from steeltrap.ranking import weights
from steeltrap.text.words import tokens


def _bm25(asked: str, texts: list[str]) -> list[float]:
    analysed = [tokens(text) for text in texts]
    average = sum(map(len, analysed)) / len(texts)
    scores = [0.0] * len(texts)
    for term in set(tokens(asked)):
        having = [i for i, of_text in enumerate(analysed) if term in of_text]
        weight = weights.idf(len(having), len(texts))
        for i in having:
            scores[i] += weights.term_score(analysed[i].count(term), len(analysed[i]), average, weight)
    return scores


class StoreSearching:
    """Earned as a part of `StoreContract`."""

    # Searching

    def test_scores_are_true_in_both_legs_over_what_the_caller_sees(self, space: Space, clock: SettableClock) -> None:
        texts = ["red fox", "red red fox fox fox runs", "a blue whale sings", "fox and whale", "高い山 fox", "nothing"]
        made = [save(space, text) for text in texts]
        delete(space, save(space, "red fox gone"))
        save(space, "red fox soon gone", expires_at=later(1))
        commit(space, Create(entry=entry(turn("red fox said", "talk"))))
        clock.advance(seconds=1)
        near = embed("whale fox")[0]
        matches = search(space, "red red fox whale 山", near=near, per_leg=1)
        scores = _bm25("red fox whale 山", texts)
        by_content = {m.id: m.content for m in made}
        assert len(matches.candidates)
        for candidate in matches.candidates:
            content = by_content[candidate.id]
            assert candidate.bm25 == pytest.approx(scores[texts.index(content)], abs=1e-4)
            assert candidate.cosine == pytest.approx(dot(near, embed(content)[0]), abs=1e-4)

    def test_keyword_statistics_include_turns_when_the_search_does(self, space: Space) -> None:
        texts = ["red fox", "blue whale"]
        made = [save(space, text) for text in texts]
        commit(space, Create(entry=entry(turn("red fox said a lot", "talk"))))
        scores = {c.id: c.bm25 for c in search(space, "fox", include_turns=True).candidates}
        assert scores[made[0].id] == pytest.approx(_bm25("fox", [*texts, "red fox said a lot"])[0], abs=1e-4)

    def test_a_filter_does_not_move_keyword_scores(self, space: Space) -> None:
        fox = save(space, "red fox", tags=("a",))
        save(space, "red fox again", tags=("b",))
        [alone] = search(space, "fox", tags=("a",)).candidates
        everywhere = {c.id: c.bm25 for c in search(space, "fox").candidates}
        assert alone.bm25 == everywhere[fox.id]

    @pytest.mark.parametrize("legs", [("teapot", None), ("", "teapot"), ("teapot", "teapot")])
    def test_a_filter_never_starves_a_search(self, space: Space, legs: tuple[str, str | None]) -> None:
        crowd = [creation("teapot teapot teapot") for _ in range(500)]
        space.commit(crowd)
        wanted = save(space, "a teapot among words that have little to do with it", tags=("mine",))
        text, near = legs
        matches = search(space, text, near=embed(near)[0] if near else None, per_leg=10, tags=("mine",))
        assert found(matches) == {wanted.id}
        assert (matches.stored, matches.admitted) == (501, 1)

    def test_each_leg_answers_its_best(self, space: Space) -> None:
        space.commit([creation("fox " * (i + 1) + "den " * (40 - i), vectors=[vector(1, i)]) for i in range(40)])
        by_content = {m.content.count("fox") - 1: m.id for m in space.walk()}
        assert found(search(space, near=vector(1, 0), per_leg=5)) == {by_content[i] for i in range(5)}
        assert found(search(space, "fox", per_leg=5)) == {by_content[i] for i in range(35, 40)}
        both = found(search(space, "fox", near=vector(1, 0), per_leg=5))
        assert both == {by_content[i] for i in (*range(5), *range(35, 40))}
        assert len(search(space, near=vector(1, 0), per_leg=None).candidates) == 40

    def test_a_long_memory_is_listed_once_with_its_best_chunk(self, space: Space) -> None:
        long = save(space, "long", vectors=[vector(0, 1), vector(0.6, 0.8), vector(1, 0), vector(0, 0, 1)])
        short = save(space, "short", vectors=[vector(0.8, 0.6)])
        none = save(space, "none", vectors=[vector(0)])
        matches = search(space, near=vector(1, 0), per_leg=2)
        assert {c.id: round(c.cosine or 0, 4) for c in matches.candidates} == {long.id: 1.0, short.id: 0.8}
        assert found(search(space, near=vector(1, 0), per_leg=3)) == {long.id, short.id, none.id}

    def test_a_query_of_one_leg_has_no_score_in_the_other(self, space: Space) -> None:
        save(space, "red fox")
        [by_words] = search(space, "fox").candidates
        [by_meaning] = search(space, near=embed("fox")[0]).candidates
        assert (by_words.cosine, by_meaning.bm25) == (None, None)

    def test_candidates_carry_what_ranking_needs(self, space: Space) -> None:
        save(space, "red fox", created_at=later(1.5), pinned=True, surprise=0.5)
        save(space, "fox", created_at=later(2))
        by_pin = {c.pinned: c for c in search(space, "fox").candidates}
        assert (by_pin[True].surprise, by_pin[False].surprise) == (0.5, None)
        assert by_pin[False].created - by_pin[True].created == 500_000

    def test_what_each_term_adds_sums_up_to_the_keyword_score(self, space: Space) -> None:
        for text in ("red fox", "red red fox runs", "a blue whale", "red"):
            save(space, text, conversation_id="talk")
        save(space, "red fox alone")
        candidates = search(space, "red fox red unheard-of", near=embed("fox")[0], by_term=True).candidates
        assert {len(c.terms) for c in candidates} == {0, 1, 2}
        for candidate in candidates:
            assert sum(candidate.terms.values()) == pytest.approx(candidate.bm25)
        both = {frozenset(c.terms) for c in candidates if len(c.terms) == 2}
        assert both == {frozenset((0, tokens("red fox red unheard-of").index("fox")))}

    def test_what_each_term_adds_is_told_only_where_it_is_asked_for(self, space: Space) -> None:
        save(space, "red fox", conversation_id="talk")
        [candidate] = search(space, "red fox").candidates
        assert (candidate.bm25 or 0) > 0
        assert not candidate.terms

    def test_of_many_terms_the_64_that_fewest_memories_have_are_looked_for(self, space: Space) -> None:
        def said(*numbers: int) -> str:
            return " ".join(f"word{number}" for number in numbers)

        # 0 to 9 are in all of them, 10 to 79 in one each.
        changes = [creation(said(*range(10), 10 + i), conversation_id="talk") for i in range(70)]
        space.commit(changes)
        ids_ = [change.entry.memory.id for change in changes]
        scored = {c.id: c for c in search(space, said(*range(100)), by_term=True).candidates}
        assert set(scored) == set(ids_[:64])
        assert all(len(c.terms) == 1 for c in scored.values())
        assert len({round(c.bm25 or 0, 9) for c in scored.values()}) == 1
        # With one term fewer than would be too many all are looked for, the usual ones too.
        assert len(search(space, said(*range(10), *range(20, 74))).candidates) == 70
        # What was written a moment ago is counted too.
        save(space, f"{said(10)} {said(90)}")
        assert set(found(search(space, said(*range(100))))) > set(ids_[1:64])
        assert len(search(space, f"{said(*range(100, 190))} {said(90)}").candidates)

    def test_candidates_know_their_place_in_their_conversation(self, space: Space) -> None:
        talks = {"talk": 4, "walk": 2}
        said = [turn(f"fox {i}", name) for name, count in talks.items() for i in range(count)]
        for each in said:
            commit(space, Create(entry=entry(each)))
        note = save(space, "fox")
        space.purge([said[1].id])
        places = {c.id: (c.conversation, c.position) for c in search(space, "fox", include_turns=True).candidates}
        assert places[note.id][0] is None
        talk, walk = ([places[t.id] for t in said if t.id in places and t.conversation_id == name] for name in talks)
        # Neighbours stay neighbours; where something was purged a store may leave its place empty.
        first, third, fourth = (position for _, position in talk)
        assert (first < third, fourth) == (True, third + 1)
        assert walk[1][1] == walk[0][1] + 1
        assert len({conversation for conversation, _ in talk}) == 1
        assert talk[0][0] != walk[0][0]

    def test_speakers_are_those_who_say_at_least_two_memories(self, space: Space) -> None:
        assert space.speakers() == frozenset()
        said = [turn("hello", "talk") for _ in range(3)]
        for each, name in zip(said, ("ana", "ana", "bob"), strict=True):
            commit(space, Create(entry=replace(entry(each), speaker=name)))
        save(space, "said by nobody")
        assert space.speakers() == {"ana"}
        space.purge([said[0].id])
        assert space.speakers() == frozenset()

    def test_an_empty_space_answers_everything_with_nothing(self, space: Space) -> None:
        matches = search(space, "fox", near=vector(1))
        assert (list(matches.candidates), matches.stored, matches.admitted) == ([], 0, 0)
        assert space.page(Filter(), limit=9) == space.page(Filter(tags=("x",)), limit=1, offset=5)
        assert space.page(Filter(), limit=9).total == 0
        assert (list(space.walk()), reading.open_turns(space, "x"), space.scopes(), space.sessions()) == (
            [],
            [],
            {},
            [],
        )
        assert space.idle_conversations(NOON, limit=9) == []
        assert (reading.completions(space, ["3f2b8c1e"], limit=9), reading.latest_writes(space, 9)) == ([[]], [])
        assert space.remove_session("s") is False
        assert space.look_around([probe("x"), probe("y")], floor=0, top_k=3)[1].nearest is None
        assert (reading.associations(space, ids(1)), space.usage(ids(1))) == ({ids(1)[0]: []}, {})
        assert (space.revisions(ids(1)[0]), space.traces(ids(1)[0]), space.find(Gone(NOON))) == ([], [], [])
        assert space.purge(ids(2)) == []
        assert set(space.statistics().values()) == {0}

    def test_asking_and_purging_make_no_space(self, opened: MemoryStore, space: Space) -> None:
        self.test_an_empty_space_answers_everything_with_nothing(space)
        assert space.reembed(lambda texts: []) == 0
        space.note_access(ids(1), NOON)
        assert list(opened.users()) == []
        assert opened.forget_user(UserRef("ana")) is False

    # Looking around

    def test_a_look_around_finds_the_nearest_anywhere_and_the_near_of_the_scope(self, space: Space) -> None:
        here = [save(space, f"here {i}", vectors=[vector(1, i)]) for i in range(1, 6)]
        nearest = save(space, "elsewhere", vectors=[vector(1, 0)], scope="elsewhere")
        asked = Probe(embeddings=(vector(1, 0),), scope="user/default")
        [around] = space.look_around([asked], floor=0.4, top_k=10)
        assert around.nearest == Neighbour(nearest.id, pytest.approx(1, abs=1e-6))
        assert [n.id for n in around.near] == [m.id for m in here[:2]]
        assert [n.cosine for n in around.near] == pytest.approx([2**-0.5, 5**-0.5], abs=1e-5)
        [cut] = space.look_around([asked], floor=0.4, top_k=1)
        assert [n.id for n in cut.near] == [here[0].id]
        [everywhere] = space.look_around([replace(asked, scope=None)], floor=0.4, top_k=10)
        assert [n.id for n in everywhere.near] == [nearest.id, here[0].id, here[1].id]
        [without] = space.look_around([replace(asked, leave_out=nearest.id)], floor=0.4, top_k=10)
        assert without.nearest is not None
        assert without.nearest.id == here[0].id

    def test_a_look_around_breaks_ties_by_age_then_id(self, space: Space) -> None:
        names = ids(9)
        for i in (4, 2, 7, 0, 8, 1, 6, 3, 5):
            save(space, f"same {i}", id=names[i], vectors=[vector(1, 1)], created_at=later(i // 3))
        asked = Probe(embeddings=(vector(1, 1),), scope=None)
        [around] = space.look_around([asked], floor=0.5, top_k=7)
        expected = [names[i] for i in (6, 7, 8, 3, 4, 5, 0)]
        assert [n.id for n in around.near] == expected
        assert around.nearest is not None
        assert around.nearest.id == expected[0]

    def test_a_look_around_compares_the_nearest_chunks(self, space: Space) -> None:
        long = save(space, "long", vectors=[vector(0, 1), vector(0, 0, 1)])
        save(space, "short", vectors=[vector(1, 0.5)])
        asked = Probe(embeddings=(vector(1), vector(0, 0, 1)), scope=None)
        [around] = space.look_around([asked], floor=0.95, top_k=5)
        assert around.near == (Neighbour(long.id, pytest.approx(1, abs=1e-5)),)

    def test_many_probes_are_answered_each_for_itself(self, space: Space) -> None:
        made = [save(space, f"n{i}", vectors=[vector(*[0] * i, 1)], scope=f"s{i % 3}") for i in range(30)]
        probes = [Probe(embeddings=(vector(*[0] * i, 1),), scope=f"s{i % 3}", leave_out=None) for i in range(30)]
        around = space.look_around(probes, floor=0.9, top_k=3)
        assert [[n.id for n in each.near] for each in around] == [[m.id] for m in made]
