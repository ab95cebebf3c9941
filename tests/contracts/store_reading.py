"""The contract of every store for reading: by id, in pages and walks, conversations, scopes, links, history, counts."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from clock import NOON, SettableClock
from contracts.entries import (
    creation,
    delete,
    dot,
    embed,
    entry,
    found,
    ids,
    later,
    memory,
    probe,
    save,
    search,
    turn,
    update,
    vector,
)
from contracts.entries import store as commit
from spaces import in_time, space_of
from steeltrap import record
from steeltrap.engine import reading
from steeltrap.errors import AlreadyExists, Unavailable
from steeltrap.model import (
    Association,
    Filter,
    Happened,
    Import,
    Importance,
    Link,
    Memory,
    Neighbour,
    Revision,
    Session,
)
from steeltrap.ports import Close, Create, Gone, MemoryStore, OfImport, Pending, Probe, Replace, Space, TextKey
from steeltrap.text.words import text_digest, tokens

_OPERATIONS: dict[str, Callable[[Space, Memory], object]] = {
    "commit": lambda space, one: space.commit([creation("the otter")]),
    "get": lambda space, one: space.get([one.id]),
    "find": lambda space, one: space.find(Gone(NOON)),
    "completions": lambda space, one: reading.completions(space, [one.id], limit=1),
    "latest writes": lambda space, one: reading.latest_writes(space, 1),
    "copies": lambda space, one: space.copies([TextKey(text_digest(one.content), one.scope, None, None)]),
    "search": lambda space, one: search(space, "heron"),
    "look around": lambda space, one: space.look_around(
        [Probe(embeddings=embed("heron"), scope=None)], floor=0, top_k=1
    ),
    "page": lambda space, one: space.page(Filter(), limit=1),
    "walk": lambda space, one: list(space.walk()),
    "open turns": lambda space, one: reading.open_turns(space, "talk"),
    "idle conversations": lambda space, one: space.idle_conversations(NOON, limit=1),
    "pending": lambda space, one: space.find(Pending()),
    "embeddings": lambda space, one: space.embeddings([one.id]),
    "associations": lambda space, one: reading.associations(space, [one.id]),
    "scopes": lambda space, one: space.scopes(),
    "sessions": lambda space, one: space.sessions(),
    "add session": lambda space, one: space.add_session(Session(id="s", created_at=NOON)),
    "imports": lambda space, one: space.imports(),
    "put import": lambda space, one: space.put_import(Import(id="i", name="notes.md", started_at=NOON)),
    "brought by": lambda space, one: space.find(OfImport("i")),
    "remove session": lambda space, one: space.remove_session("s"),
    "revisions": lambda space, one: space.revisions(one.id),
    "usage": lambda space, one: space.usage([one.id]),
    "keep review": lambda space, one: space.keep_review(one.id, previous=None, card="card"),
    "purge": lambda space, one: space.purge([one.id]),
    "traces": lambda space, one: space.traces(one.id),
    "statistics": lambda space, one: space.statistics(),
}


class StoreReading:
    """Earned as a part of `StoreContract`."""

    # Reading

    def test_get_leaves_out_what_is_unknown_and_keeps_the_order_of_the_ids(self, space: Space) -> None:
        one, two = save(space, "one"), save(space, "two")
        unknown = ids(1)[0]
        assert list(space.get([two.id, unknown, one.id])) == [two.id, one.id]
        assert space.get([]) == {}
        assert space.get(["no uuid", "", "'; DROP TABLE memory; --"]) == {}

    def test_the_start_of_an_id_is_completed_from_what_is_stored_here(self, opened: MemoryStore, space: Space) -> None:
        same = [f"3f2b8c1e-9d4a-4f6b-8a2e-{tail}" for tail in ("1c5d7e9f0a3b", "1c5d7e9f0a3c", "ffffffffffff")]
        other = "3f2b8c1f-0000-4000-8000-000000000000"
        one = save(space, "the heron", id=same[0])
        commit(space, Create(entry=entry(turn("the otter", "talk", id=same[1]))))
        delete(space, save(space, "the stork", id=same[2]))
        save(space, "the crane", id=other)
        save(space_of(opened, "bob"), "theirs", id="3f2b8c1e-9d4a-4f6b-8a2e-000000000000")
        starts = ["3f2b8c1e", "3f2b8c1e-9d4a-4f6b-8a2e-1", same[2], "3f2b8c1f", "3f2b8c10"]
        assert reading.completions(space, starts, limit=3) == [same, same[:2], same[2:], [other], []]
        assert reading.completions(space, starts[:1], limit=2) == [same[:2]]
        space.purge([one.id])
        assert reading.completions(space, starts[:1], limit=2) == [same[1:]]

    def test_the_latest_writes_come_latest_first_deleted_ones_too(self, space: Space) -> None:
        first, second, third = (save(space, text) for text in ("the heron", "the otter", "the stork"))
        commit(space, Create(entry=entry(turn("the crane", "talk"))))
        update(space, first, content="the bittern")
        delete(space, second)
        assert [written.id for written in reading.latest_writes(space, 9)] == [second.id, first.id, third.id]
        latest, before = reading.latest_writes(space, 2)
        assert latest.deleted_at is not None
        assert before.content == "the bittern"
        assert [written.id for written in reading.latest_writes(space, 3)] == [second.id, first.id]

    def test_an_expired_memory_is_absent_everywhere(self, space: Space, clock: SettableClock) -> None:
        stays = save(space, "the heron waits")
        goes = save(
            space, "the heron fishes", expires_at=later(60), scope="soon", links=(Link(target_id=stays.id, strength=1),)
        )
        assert found(search(space, "heron")) == {stays.id, goes.id}
        clock.advance(seconds=60)
        assert space.get([goes.id]) == {}
        assert space.get([goes.id], deleted=True) == {goes.id: goes}
        matches = search(space, "heron", near=embed("heron")[0])
        assert (found(matches), matches.stored, matches.admitted) == ({stays.id}, 1, 1)
        assert space.page(Filter(), limit=9).memories == (stays,)
        assert (list(space.walk()), list(space.scopes())) == ([stays], ["user/default"])
        assert reading.associations(space, [stays.id]) == {stays.id: []}
        assert space.statistics()["memories"] == 1
        assert space.look_around([probe("the heron fishes", scope=None)], floor=0, top_k=9)[0].near == (
            Neighbour(
                stays.id, pytest.approx(dot(embed("the heron fishes")[0], embed("the heron waits")[0]), abs=1e-5)
            ),
        )

    def test_a_vocabulary_has_every_word_or_is_not_at_hand(self, opened: MemoryStore, space: Space) -> None:
        save(space_of(opened, "bob"), "the pelican")
        words: set[str] = set()
        for text in ("the heron waits", "the otter", "川魚 dawn"):
            one = save(space, text)
            commit(space, Create(entry=entry(turn(f"{text} reed", "talk"))))
            words |= {*tokens(text), "reed"}
            for _ in range(3):
                vocabulary = space.vocabulary()
                assert vocabulary is None or (vocabulary >= words and "pelican" not in vocabulary)
        update(space, one, content="the bittern")
        assert (vocabulary := space.vocabulary()) is None or "bittern" in vocabulary

    def test_copies_count_texts_of_one_place(self, space: Space) -> None:
        place = {"scope": "s", "agent_id": "a", "conversation_id": "c"}
        save(space, "One  two", **place)
        commit(space, Create(entry=entry(turn("one TWO", "c", scope="s", agent_id="a"))))
        save(space, "one two", scope="s", agent_id="b", conversation_id="c")
        fold = text_digest("one two")
        asked = [
            TextKey(fold, "s", "a", "c"),
            TextKey(fold, "s", None, "c"),
            TextKey(text_digest("two"), "s", "a", "c"),
        ]
        assert space.copies(asked) == [2, 0, 0]
        assert space.copies([]) == []

    def test_a_page_is_newest_first_then_by_id_with_the_exact_total(self, space: Space) -> None:
        names = ids(12)
        made = [
            creation(f"note {i}", id=names[i], created_at=later(i // 4), tags=("even",) if i % 2 == 0 else ())
            for i in (5, 0, 11, 3, 8, 1, 10, 7, 2, 9, 4, 6)
        ]
        space.commit(made)
        expected = [names[i] for i in (8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3)]
        assert [m.id for m in space.page(Filter(), limit=100).memories] == expected
        for offset in range(0, 14, 3):
            page = space.page(Filter(), limit=3, offset=offset)
            assert ([m.id for m in page.memories], page.total) == (expected[offset : offset + 3], 12)
        even = space.page(Filter(tags=("EVEN",)), limit=2, offset=1)
        assert ([m.id for m in even.memories], even.total) == ([names[10], names[4]], 6)

    def test_a_page_by_when_it_happened_has_the_latest_event_first_and_keeps_to_its_bounds(self, space: Space) -> None:
        midnight = datetime(2026, 5, 12, tzinfo=UTC)
        hour, saved = midnight + timedelta(hours=1), midnight + timedelta(days=1)
        names = ids(5)
        times = (None, date(2026, 5, 12), hour, midnight, date(2020, 1, 1))
        space.commit(
            [
                creation(f"note {i}", id=id, created_at=saved, occurred_at=at)
                for i, (id, at) in enumerate(zip(names, times, strict=True))
            ]
        )
        saved_one, day, at_one, at_midnight, old = names
        expected = [saved_one, at_one, *sorted((day, at_midnight)), old]
        for offset in range(0, 6, 2):
            page = space.page(Filter(), limit=2, offset=offset, happened=Happened())
            assert ([m.id for m in page.memories], page.total) == (expected[offset : offset + 2], 5)
        cases = (
            (Happened(after=saved), {saved_one}),
            (Happened(after=hour, before=saved, first_day=date(2026, 5, 12), end_day=date(2026, 5, 13)), {day, at_one}),
            (Happened(after=midnight, before=hour), {day, at_midnight}),
            (Happened(before=hour, end_day=date(2026, 5, 12)), {at_midnight, old}),
        )
        for happened, admitted in cases:
            page = space.page(Filter(), limit=9, happened=happened)
            assert ({m.id for m in page.memories}, page.total) == (admitted, len(admitted)), happened
        assert space.page(Filter(), limit=1, offset=5, happened=Happened()).memories == ()

    def test_a_walk_meets_everything_once_and_resumes_behind_an_id(self, space: Space) -> None:
        space.commit([creation(f"note {i}") for i in range(600)])
        commit(space, Create(entry=entry(turn("said", "talk"))))
        order = [m.id for m in space.walk()]
        assert len(set(order)) == len(order) == 600
        assert len(list(space.walk(turns=True))) == 601
        for at in (0, 255, 256, 599):
            assert [m.id for m in space.walk(after=order[at])] == order[at + 1 :]
        gone = space.get([order[300]])[order[300]]
        delete(space, gone)
        assert [m.id for m in space.walk(after=gone.id)] == order[301:]

    def test_the_images_are_those_of_everything_that_is_kept(self, space: Space) -> None:
        space.commit([creation(f"note {i}") for i in range(300)])
        said, first = turn("said", "talk"), next(space.walk())
        commit(space, Create(entry=entry(said)))
        for number in range(2):
            first = update(space, first, content=f"changed {number} " + "long " * 20_000)
        gone = save(space, "deleted")
        delete(space, gone)
        images = {m.id: m for m in space.images()}
        assert len(images) == 302
        assert (images[said.id], images[first.id]) == (said, first)
        assert images[gone.id].deleted_at is not None
        earlier = [m for m in space.images(earlier=True) if m.id == first.id]
        assert sorted(m.version for m in earlier) == [1, 2]
        space.purge([first.id, gone.id])
        assert len(list(space.images())) == 300
        assert not any(m.id in (first.id, gone.id) for m in space.images(earlier=True))

    def test_a_walk_goes_on_while_others_write(self, space: Space) -> None:
        space.commit([creation(f"note {i}") for i in range(300)])
        walking = space.walk()
        first = next(walking)
        save(space, "one more")
        update(space, first, content="changed")
        assert len({m.id for m in walking} | {first.id}) == 301

    def test_turns_come_in_order_and_only_of_their_conversation(self, space: Space) -> None:
        said = [turn(f"line {i}", "talk") for i in range(5)]
        space.commit([Create(entry=entry(t)) for t in said])
        commit(space, Create(entry=entry(turn("elsewhere", "other"))))
        save(space, "a note of the talk", conversation_id="talk")
        assert reading.open_turns(space, "talk") == said
        assert reading.open_turns(space, "TALK") == []

    def test_closed_turns_are_open_no_longer_and_stay_in_search(self, space: Space) -> None:
        said = [turn(f"line {i}", "talk") for i in range(5)]
        space.commit([Create(entry=entry(t)) for t in said])
        episode = creation("they talked", conversation_id="talk")
        space.commit([episode, Close(turn_ids=tuple(t.id for t in said[:3]))])
        assert reading.open_turns(space, "talk") == said[3:]
        assert found(search(space, "line", include_turns=True)) == {t.id for t in said}
        space.commit([Close(turn_ids=(said[0].id, said[3].id, *ids(1)))])
        assert reading.open_turns(space, "talk") == said[4:]

    def test_a_turn_is_not_closed_when_the_episode_can_not_be_written(self, space: Space) -> None:
        said = turn("line", "talk")
        there = save(space, "an episode")
        commit(space, Create(entry=entry(said)))
        with pytest.raises(AlreadyExists):
            space.commit([creation("again", id=there.id), Close(turn_ids=(said.id,))])
        assert reading.open_turns(space, "talk") == [said]

    def test_open_turns_leave_out_what_is_deleted_and_what_is_expired(self, space: Space, clock: SettableClock) -> None:
        stays, gone, goes = (
            turn(name, "talk", expires_at=at) for name, at in (("a", None), ("b", None), ("c", later(60)))
        )
        space.commit([Create(entry=entry(t)) for t in (stays, gone, goes)])
        delete(space, gone)
        assert reading.open_turns(space, "talk") == [stays, goes]
        clock.advance(seconds=60)
        assert reading.open_turns(space, "talk") == [stays]

    def test_an_edited_turn_stays_as_open_or_closed_as_it_was(self, space: Space) -> None:
        said = [turn(f"line {i}", "talk") for i in range(2)]
        space.commit([Create(entry=entry(t)) for t in said])
        space.commit([Close(turn_ids=(said[0].id,))])
        edited = [update(space, t, content="corrected") for t in said]
        assert reading.open_turns(space, "talk") == edited[1:]

    def test_embeddings_come_back_as_they_were_written(self, opened: MemoryStore, space: Space) -> None:
        two = (vector(1, 0), vector(0, 1))
        long, said = save(space, "long", vectors=two), commit(space, Create(entry=entry(turn("said", "talk"))))
        gone = delete(space, save(space, "gone"))
        asked = [said.id, gone.id, long.id, *ids(2)]
        assert space.embeddings(asked) == {long.id: two, said.id: embed("said")}
        assert space_of(opened, "nobody").embeddings(asked) == {}

    def test_idle_conversations_are_those_whose_last_open_turn_is_old_the_longest_idle_first(
        self, space: Space
    ) -> None:
        written = {"b": (0, 60), "a": (60,), "busy": (0, 600), "closed": (0,), "gone": (0,)}
        turns = {
            name: [turn(f"{name} {s}", name, created_at=later(s), updated_at=later(s)) for s in seconds]
            for name, seconds in written.items()
        }
        for said in turns.values():
            space.commit([Create(entry=entry(t)) for t in said])
        space.commit([Close(turn_ids=tuple(t.id for t in turns["closed"]))])
        delete(space, turns["gone"][0])
        save(space, "no turn", conversation_id="notes")
        assert space.idle_conversations(later(60), limit=9) == ["a", "b"]
        assert space.idle_conversations(later(59), limit=9) == []
        assert space.idle_conversations(later(600), limit=2) == ["a", "b"]
        space.purge([turns["a"][0].id])
        assert space.idle_conversations(later(600), limit=9) == ["b", "busy"]

    def test_turns_stay_out_of_everything_but_get_and_a_search_that_asks(self, space: Space) -> None:
        note = save(space, "the heron fishes")
        said = turn("the heron said hello", "talk", scope="spoken", links=(Link(target_id=note.id, strength=1),))
        commit(space, Create(entry=entry(said)))
        assert found(search(space, "heron", near=embed("heron")[0])) == {note.id}
        assert found(search(space, "heron", include_turns=True)) == {note.id, said.id}
        assert found(search(space, "heron", include_turns=True, turns_of="talk")) == {note.id, said.id}
        assert found(search(space, "heron", include_turns=True, turns_of="other")) == {note.id}
        assert space.get([said.id]) == {said.id: said}
        assert space.page(Filter(), limit=9).memories == (note,)
        assert list(space.scopes()) == ["user/default"]
        assert reading.associations(space, [note.id]) == {note.id: []}
        around = space.look_around([probe("the heron said hello", scope=None)], floor=0, top_k=9)[0]
        assert [n.id for n in around.near] == [note.id]
        assert (space.statistics()["memories"], space.statistics()["turns"]) == (1, 1)
        assert space.purge([said.id]) == [said.id]
        assert reading.open_turns(space, "talk") == []

    def test_scopes_count_what_lies_directly_in_them(self, space: Space) -> None:
        for scope in ("work", "work/x", "work/x", "home"):
            save(space, "note", scope=scope)
        assert {scope: use.memories for scope, use in space.scopes().items()} == {"work": 1, "work/x": 2, "home": 1}

    def test_a_scope_says_when_one_of_its_memories_was_last_written(self, space: Space) -> None:
        old = save(space, "one", scope="work", created_at=later(0), updated_at=later(0))
        save(space, "two", scope="work", created_at=later(60.000001), updated_at=later(60.000001))
        assert space.scopes()["work"].last_written_at == later(60.000001)
        update(space, old, content="one again", updated_at=later(90))
        assert space.scopes()["work"].last_written_at == later(90)

    def test_a_session_is_added_once_and_sessions_come_oldest_first(self, space: Space) -> None:
        sessions = [Session(id=id, created_at=later(s)) for id, s in (("b", 0), ("c", 0), ("a", 60.000001))]
        assert [space.add_session(session) for session in reversed(sessions)] == [True] * 3
        assert space.add_session(Session(id="a", created_at=later(900))) is False
        assert space.sessions() == sessions

    def test_imports_come_the_latest_first_and_are_written_again(self, space: Space) -> None:
        runs = [
            Import(id=id, name=f"{id} 寿司.zip", formats=("Markdown",), started_at=later(s), busy_until=later(600))
            for id, s in (("a", 60.000001), ("b", 0), ("c", 0))
        ]
        for run in reversed(runs):
            space.put_import(run)
        assert space.imports() == runs
        done = replace(runs[1], written=3, busy_until=None, finished_at=later(7), agent_id="cli")
        space.put_import(done)
        assert space.imports() == [runs[0], done, runs[2]]

    def test_what_an_import_brought_is_known_deleted_expired_and_turns_too(self, space: Space) -> None:
        mine = [save(space, f"the heron {n}", import_id="i", import_version=1) for n in range(3)]
        said = turn("the heron said", "talk", import_id="i", import_version=1)
        commit(space, Create(entry=entry(said)))
        save(space, "the otter", import_id="other", import_version=1)
        save(space, "the owl")
        update(space, mine[0], content="the heron edited")
        gone = replace(mine[1], deleted_at=NOON, updated_at=NOON, version=2)
        commit(space, Replace(entry=replace(entry(gone), embeddings=(), tokens=()), expected=1))
        assert sorted(space.find(OfImport("i"))) == sorted([said.id, *(each.id for each in mine)])
        assert space.find(OfImport("nothing")) == []
        listed = space.page(Filter(import_id="i"), limit=10)
        assert {each.id for each in listed.memories} == {mine[0].id, mine[2].id}
        space.purge([mine[0].id, said.id])
        assert sorted(space.find(OfImport("i"))) == sorted([mine[1].id, mine[2].id])

    def test_a_removed_session_is_gone_and_its_memories_are_not(self, space: Space) -> None:
        space.add_session(Session(id="s", created_at=NOON))
        note = save(space, "note", scope="session/s")
        assert space.remove_session("s") is True
        assert space.remove_session("s") is False
        assert space.sessions() == []
        assert space.get([note.id]) == {note.id: note}

    @pytest.mark.parametrize("operation", _OPERATIONS.values(), ids=_OPERATIONS)
    def test_behind_the_deadline_nothing_is_read_or_written(
        self, opened: MemoryStore, space: Space, operation: Callable[[Space, Memory], object]
    ) -> None:
        one = save(space, "the heron")
        late = space_of(opened, "ana", seconds=0)
        with pytest.raises(Unavailable):
            operation(late, one)
        assert list(space.walk()) == [one]

    def test_a_reading_is_counted_behind_the_deadline_too(self, opened: MemoryStore, space: Space) -> None:
        one = save(space, "the heron")
        late = space_of(opened, "ana", seconds=0)
        late.note_access([one.id], NOON)
        late.note_review(one.id, previous=None, card="card")
        assert space.usage([one.id])[one.id].access_count == 1

    def test_a_space_for_another_deadline_has_the_same_memories(self, opened: MemoryStore, space: Space) -> None:
        one = save(space, "the heron")
        later = space_of(opened, "ana", seconds=0).until(in_time())
        assert later.get([one.id]) == {one.id: one}

    def test_a_candidate_carries_the_importance_set_by_hand(self, space: Space) -> None:
        plain = save(space, "the heron")
        zero = save(space, "the heron", importance=Importance(score=0.0, reason="no", set_at=NOON))
        some = update(space, plain, importance=Importance(score=0.9, reason="yes", set_at=NOON))
        assert {c.id: c.importance for c in search(space, "heron").candidates} == {zero.id: 0.0, some.id: 0.9}

    def test_revisions_are_the_replaced_images_oldest_first(self, space: Space) -> None:
        images = [save(space, "one")]
        for content in ("two", "three", "four"):
            images.append(update(space, images[-1], content=content, updated_at=later(len(images))))
        kept = space.revisions(images[0].id)
        assert [r.memory for r in kept] == images[:-1]
        assert kept[1] == Revision(memory=images[1], replaced_at=later(2), replaced_by="agent")
        assert space.revisions(ids(1)[0]) == []
        assert space.revisions(images[0].id, limit=2) == kept[:2]
        assert space.revisions(images[0].id, after=1) == kept[1:]
        assert space.revisions(images[0].id, after=1, limit=1) == kept[1:2]
        assert space.revisions(images[0].id, after=3) == space.revisions(images[0].id, after=2**53) == []

    def test_a_creation_brings_its_history(self, space: Space) -> None:
        current = memory("three", version=3)
        past = tuple(
            Revision(memory=replace(current, content=text, version=v), replaced_at=later(v), replaced_by=None)
            for v, text in ((1, "one"), (2, "two"))
        )
        commit(space, Create(entry=entry(current), history=past))
        assert tuple(space.revisions(current.id)) == past

    def test_a_replacement_brings_versions_that_are_missing_and_keeps_the_search(self, space: Space) -> None:
        current = memory("three", version=3)
        past = [
            Revision(memory=replace(current, content=text, version=v), replaced_at=later(v), replaced_by=None)
            for v, text in ((1, "one"), (2, "two"))
        ]
        commit(space, Create(entry=entry(current), history=(past[0],)))
        unchanged = replace(entry(current), embeddings=None, tokens=None)
        commit(space, Replace(entry=unchanged, expected=3, history=(past[1],)))
        assert space.revisions(current.id) == past
        assert space.get([current.id])[current.id] == current

    def test_statistics_count_memories_turns_deleted_and_chunks(self, space: Space) -> None:
        save(space, "one")
        save(space, "word " * 300)
        delete(space, save(space, "three"))
        delete(space, save(space, "four", vectors=[], expires_at=later(-1)))
        save(space, "five", vectors=[], expires_at=later(-1))
        commit(space, Create(entry=entry(turn("said", "talk"))))
        statistics = dict(space.statistics())
        assert statistics.pop("bytes") > 0
        assert statistics.pop("record_bytes") > 0
        assert statistics == {
            "memories": 2,
            "superseded": 0,
            "turns": 1,
            "deleted": 3,
            "chunks": 2 + len(embed("word " * 300)),
        }

    def test_the_bytes_of_records_are_those_of_their_json_deleted_ones_included(self, space: Space) -> None:
        kept = [save(space, "高い山 one"), save(space, "two", metadata={"a": "é"})]
        kept[1] = delete(space, kept[1])
        said = turn("said", "talk")
        commit(space, Create(entry=entry(said)))
        encoded = [
            json.dumps(record.encode(memory), ensure_ascii=False, separators=(",", ":")) for memory in (*kept, said)
        ]
        assert space.statistics()["record_bytes"] == sum(len(text.encode()) for text in encoded)
        space.purge([kept[1].id])
        assert space.statistics()["record_bytes"] == sum(len(encoded[i].encode()) for i in (0, 2))

    # Associations

    def test_links_are_seen_from_both_sides_strongest_first(self, space: Space) -> None:
        a, b, c, d = (save(space, name, created_at=later(i)) for i, name in enumerate("abcd"))
        update(space, a, links=(Link(target_id=b.id, strength=0.5), Link(target_id=d.id, strength=0.7, manual=True)))
        update(space, c, links=(Link(target_id=a.id, strength=0.9), Link(target_id=b.id, strength=0.7)))
        seen = reading.associations(space, [a.id, b.id, d.id])
        assert [(x.memory_id, x.strength, x.manual) for x in seen[a.id]] == [
            (c.id, 0.9, False),
            (d.id, 0.7, True),
            (b.id, 0.5, False),
        ]
        assert [x.memory_id for x in seen[b.id]] == [c.id, a.id]
        assert seen[d.id] == [Association(memory_id=a.id, strength=0.7, manual=True)]

    def test_a_link_on_both_sides_is_one_association(self, space: Space) -> None:
        a, b = save(space, "a"), save(space, "b")
        update(space, a, links=(Link(target_id=b.id, strength=0.5, manual=True),))
        update(space, b, links=(Link(target_id=a.id, strength=0.8),))
        assert reading.associations(space, [a.id])[a.id] == [Association(memory_id=b.id, strength=0.8, manual=True)]

    def test_a_link_whose_end_is_gone_is_hidden(self, space: Space) -> None:
        target = save(space, "target")
        source = save(
            space, "source", links=(Link(target_id=target.id, strength=1), Link(target_id=ids(1)[0], strength=1))
        )
        assert [x.memory_id for x in reading.associations(space, [source.id])[source.id]] == [target.id]
        delete(space, target)
        assert reading.associations(space, [source.id])[source.id] == []
