"""The contract of every store. A test file earns it by a fixture `store` and a star import of this.

`store(clock, embedder)` opens a store; called again, it opens the same data anew.
"""

import itertools
import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clock import NOON, SettableClock
from contracts.entries import (
    EMBEDDER,
    SECONDS,
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
    query,
    replacement,
    save,
    search,
    turn,
    update,
    vector,
)
from contracts.entries import store as commit
from contracts.superseding_contract import *  # noqa: F403 - a part of the suite
from embedding import HashedWords
from spaces import in_time, space_of
from steeltrap import record
from steeltrap.engine import reading
from steeltrap.errors import AlreadyExists, Conflict, Duplicate, MemoryNotFound, Unavailable, VersionConflict
from steeltrap.model import (
    Association,
    Filter,
    Happened,
    Import,
    Importance,
    Link,
    Memory,
    Message,
    Neighbour,
    Revision,
    Session,
    UserRef,
)
from steeltrap.ports import (
    Clock,
    Close,
    Create,
    Embedder,
    Entry,
    Gone,
    Guard,
    MemoryStore,
    OfImport,
    Pending,
    Probe,
    Replace,
    Space,
    TextKey,
)
from steeltrap.ranking import weights
from steeltrap.text.words import text_digest, tokens

Opening = Callable[[Clock, Embedder], MemoryStore]


@pytest.fixture
def opened(store: Opening, clock: SettableClock) -> MemoryStore:
    return store(clock, EMBEDDER)


@pytest.fixture
def space(opened: MemoryStore) -> Space:
    return space_of(opened, "ana")


@pytest.fixture
def examples() -> int:
    """How many filters are tried: fewer where each takes long."""
    return settings().max_examples * 5 // 2


# Writing


def test_every_field_of_a_memory_comes_back_as_it_was_given(space: Space) -> None:
    given_ = memory(
        "The user's café is in 東京 🫖.",
        messages=(Message(role="user", content="hello", time=NOON, speaker="Ana"), Message(role="tool", content="{}")),
        content_type="json",
        tier="working",
        category="fact",
        context="said at lunch",
        confidence=0.25,
        tags=("UI", "Straße"),
        metadata={"deep": {"list": [1, 2.5, None, True, "x"]}, 'quo"te': "it's", "": 0},
        scope="work/project-x",
        agent_id="agent",
        agent_label="label",
        updated_by="other agent",
        imported_by="third agent",
        imported_at=later(-0.000001),
        conversation_id="talk",
        occurred_at=later(-86_400),
        occurred_until=later(-3600),
        created_at=later(-1.000001),
        updated_at=later(0.999999),
        expires_at=later(60),
        surprise=0.75,
        importance=Importance(score=0.5, reason="asked", set_at=NOON),
        pinned=True,
        untrusted=True,
        links=(Link(target_id=ids(1)[0], strength=0.875, manual=True),),
        version=7,
        restored_version=3,
    )
    commit(space, Create(entry=entry(given_), links_ahead=True))
    assert space.get([given_.id]) == {given_.id: given_}
    assert space.page(Filter(), limit=1).memories == (given_,)
    assert list(space.walk()) == [given_]


def test_a_text_of_100_kb_is_stored_found_and_kept_in_history(space: Space) -> None:
    words = [f"word{number}" for number in range(12_000)]
    long = " ".join(words)[:100_000]
    old = save(space, long, id=ids(1)[0])
    assert space.get([old.id])[old.id].content == long
    assert found(search(space, "word77")) == {old.id}
    new = update(space, old, content=long[1:] + "!")
    assert space.page(Filter(), limit=1).memories == (new,)
    assert [revision.memory.content for revision in space.revisions(old.id)] == [long]


def test_a_commit_writes_all_of_its_changes(space: Space) -> None:
    old = save(space, "one")
    new = creation("two")
    space.commit([new, replacement(old, content="one more")])
    assert [m.content for m in space.get([old.id, new.entry.memory.id]).values()] == ["one more", "two"]


def test_a_commit_of_nothing_does_nothing(opened: MemoryStore, space: Space) -> None:
    space.commit([])
    assert list(opened.users()) == []


@pytest.mark.parametrize("at", [0, 25, 49])
@pytest.mark.parametrize("failing", ["same id", "version", "unknown id", "same text", "too near"])
def test_a_commit_with_one_change_that_fails_writes_none(space: Space, failing: str, at: int) -> None:
    there = save(space, "the cat sleeps", tags=("there",))
    changes: list[Any] = [creation(f"note {i} about teapots") for i in range(50)]
    changes[at] = {
        "same id": creation("anything", id=there.id),
        "version": replacement(replace(there, version=3), content="changed"),
        "unknown id": replacement(memory("never saved"), content="changed"),
        "same text": creation("The  CAT sleeps", guard=Guard(same_text=True)),
        "too near": creation("the cat sleeps", guard=Guard(threshold=0.9)),
    }[failing]
    refusal = {
        "same id": AlreadyExists,
        "version": VersionConflict,
        "unknown id": MemoryNotFound,
        "same text": Duplicate,
        "too near": Duplicate,
    }[failing]
    with pytest.raises(refusal):
        space.commit(changes)
    assert list(space.walk()) == [there]
    assert space.revisions(there.id) == []
    matches = search(space, "teapots cat", near=embed("teapots")[0])
    assert (matches.stored, found(matches)) == (1, {there.id})
    assert space.look_around([probe("note 1 about teapots")], floor=0.0, top_k=100)[0].nearest == Neighbour(
        there.id, pytest.approx(dot(embed("note 1 about teapots")[0], embed("the cat sleeps")[0]), abs=1e-5)
    )


def test_creating_an_id_that_is_there_conflicts_and_names_it(space: Space) -> None:
    there = save(space, "one")
    with pytest.raises(AlreadyExists) as conflict:
        save(space, "two", id=there.id)
    assert conflict.value.details["id"] == there.id
    assert space.get([there.id])[there.id].content == "one"


def test_creating_the_id_of_a_deleted_memory_conflicts(space: Space) -> None:
    gone = delete(space, save(space, "one"))
    with pytest.raises(AlreadyExists) as conflict:
        save(space, "two", id=gone.id)
    assert conflict.value.details["id"] == gone.id


def test_a_purged_id_is_free_again(space: Space) -> None:
    old = save(space, "one")
    space.purge([old.id])
    save(space, "two", id=old.id)
    assert space.get([old.id])[old.id].content == "two"
    assert space.revisions(old.id) == []


def test_replacing_another_version_conflicts_and_tells_the_stored_one(space: Space) -> None:
    old = save(space, "one")
    newer = update(space, old, content="two")
    with pytest.raises(VersionConflict) as conflict:
        update(space, old, content="three")
    assert (conflict.value.details["version"], conflict.value.details["id"]) == (2, old.id)
    assert space.get([old.id])[old.id] == newer
    assert [r.memory for r in space.revisions(old.id)] == [old]


def test_replacing_an_unknown_id_is_not_found(space: Space) -> None:
    save(space, "one")
    with pytest.raises(MemoryNotFound):
        update(space, memory("never saved"), content="two")


def test_a_replacement_without_text_keeps_vectors_and_tokens(space: Space) -> None:
    old = save(space, "the heron fishes at dawn")
    new = replace(old, version=2, tags=("birds",))
    commit(space, Replace(entry=Entry(memory=new, fold=text_digest(new.content)), expected=1))
    assert found(search(space, "heron", tags=("birds",))) == {old.id}
    [candidate] = search(space, near=embed("the heron fishes at dawn")[0]).candidates
    assert candidate.cosine == pytest.approx(1, abs=1e-5)


def test_a_replaced_text_is_found_by_its_new_words_only(space: Space) -> None:
    old = save(space, "the heron fishes at dawn")
    update(space, old, content="the otter sleeps")
    assert found(search(space, "heron")) == set()
    assert found(search(space, "otter")) == {old.id}


def test_a_delete_hides_the_memory_everywhere_and_keeps_the_image(space: Space) -> None:
    old = save(space, "the heron fishes", scope="birds")
    other = save(space, "the heron waits", scope="birds", links=(Link(target_id=old.id, strength=0.5),))
    gone = delete(space, old)
    assert space.get([old.id]) == {}
    assert space.get([old.id], deleted=True) == {old.id: gone}
    assert found(search(space, "heron", near=embed("heron")[0])) == {other.id}
    assert space.page(Filter(), limit=10).total == 1
    assert space.scopes().keys() == {"birds"}
    assert space.scopes()["birds"].memories == 1
    assert list(space.walk()) == [other]
    assert reading.associations(space, [other.id]) == {other.id: []}
    assert space.copies([TextKey(text_digest("the heron fishes"), "birds", None, None)]) == [0]
    assert space.look_around([probe("the heron fishes", scope="birds")], floor=0.1, top_k=9)[0].near[0].id == other.id


def test_a_deleted_memory_comes_back_by_a_replacement(space: Space) -> None:
    gone = delete(space, save(space, "the heron fishes"))
    back = replace(gone, deleted_at=None, version=3)
    commit(space, Replace(entry=entry(back), expected=2))
    assert space.get([gone.id]) == {gone.id: back}
    assert found(search(space, "heron")) == {gone.id}


# Guards


def test_a_guard_refuses_equal_normalised_text_of_the_same_scope(space: Space) -> None:
    there = save(space, "Café au  lait", scope="drinks")
    with pytest.raises(Duplicate) as conflict:
        save(space, " CAFÉ au lait\n", scope="drinks", guard=Guard(same_text=True))
    assert conflict.value.details["id"] == conflict.value.id == there.id
    assert conflict.value.similarity == 1
    save(space, "Café au lait", scope="food", guard=Guard(same_text=True))
    save(space, "Cafe au lait!", scope="drinks", guard=Guard(same_text=True))


def test_a_guard_ignores_turns_and_what_is_deleted_or_expired(space: Space, clock: SettableClock) -> None:
    commit(space, Create(entry=entry(turn("the heron fishes", "talk"))))
    delete(space, save(space, "the heron fishes"))
    save(space, "the heron fishes", expires_at=later(60))
    clock.advance(seconds=60)
    one = save(space, "the heron fishes", guard=Guard(same_text=True, threshold=0.99))
    assert list(space.walk()) == [one]


def test_a_guard_refuses_what_is_as_near_as_its_threshold(space: Space) -> None:
    there = save(space, "a", vectors=[vector(1, 0)])
    far = creation("b", vectors=[vector(0.6, 0.8)], guard=Guard(threshold=0.61))
    near = creation("c", vectors=[vector(0.8, 0.6)], guard=Guard(threshold=0.79))
    elsewhere = creation("d", vectors=[vector(1, 0)], guard=Guard(threshold=0.79), scope="other")
    space.commit([elsewhere])
    with pytest.raises(Duplicate) as conflict:
        space.commit([near])
    assert conflict.value.details["id"] == there.id
    assert conflict.value.details["similarity"] == pytest.approx(0.8, abs=1e-3)
    space.commit([far])


def test_a_guard_sees_what_was_written_a_moment_before(space: Space) -> None:
    guard = Guard(threshold=0.99)
    save(space, "the heron fishes", guard=guard)
    for _ in range(3):
        with pytest.raises(Duplicate):
            save(space, "the heron fishes", guard=guard)
    assert search(space, "heron").stored == 1


# Reading


def test_get_leaves_out_what_is_unknown_and_keeps_the_order_of_the_ids(space: Space) -> None:
    one, two = save(space, "one"), save(space, "two")
    unknown = ids(1)[0]
    assert list(space.get([two.id, unknown, one.id])) == [two.id, one.id]
    assert space.get([]) == {}
    assert space.get(["no uuid", "", "'; DROP TABLE memory; --"]) == {}


def test_the_start_of_an_id_is_completed_from_what_is_stored_here(opened: MemoryStore, space: Space) -> None:
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


def test_the_latest_writes_come_latest_first_deleted_ones_too(space: Space) -> None:
    first, second, third = (save(space, text) for text in ("the heron", "the otter", "the stork"))
    commit(space, Create(entry=entry(turn("the crane", "talk"))))
    update(space, first, content="the bittern")
    delete(space, second)
    assert [written.id for written in reading.latest_writes(space, 9)] == [second.id, first.id, third.id]
    latest, before = reading.latest_writes(space, 2)
    assert latest.deleted_at is not None
    assert before.content == "the bittern"
    assert [written.id for written in reading.latest_writes(space, 3)] == [second.id, first.id]


def test_an_expired_memory_is_absent_everywhere(space: Space, clock: SettableClock) -> None:
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
        Neighbour(stays.id, pytest.approx(dot(embed("the heron fishes")[0], embed("the heron waits")[0]), abs=1e-5)),
    )


def test_copies_count_texts_of_one_place(space: Space) -> None:
    place = {"scope": "s", "agent_id": "a", "conversation_id": "c"}
    save(space, "One  two", **place)
    commit(space, Create(entry=entry(turn("one TWO", "c", scope="s", agent_id="a"))))
    save(space, "one two", scope="s", agent_id="b", conversation_id="c")
    fold = text_digest("one two")
    asked = [TextKey(fold, "s", "a", "c"), TextKey(fold, "s", None, "c"), TextKey(text_digest("two"), "s", "a", "c")]
    assert space.copies(asked) == [2, 0, 0]
    assert space.copies([]) == []


def test_a_page_is_newest_first_then_by_id_with_the_exact_total(space: Space) -> None:
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


def test_a_page_by_when_it_happened_has_the_latest_event_first_and_keeps_to_its_bounds(space: Space) -> None:
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


def test_a_walk_meets_everything_once_and_resumes_behind_an_id(space: Space) -> None:
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


def test_the_images_are_those_of_everything_that_is_kept(space: Space) -> None:
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


def test_a_walk_goes_on_while_others_write(space: Space) -> None:
    space.commit([creation(f"note {i}") for i in range(300)])
    walking = space.walk()
    first = next(walking)
    save(space, "one more")
    update(space, first, content="changed")
    assert len({m.id for m in walking} | {first.id}) == 301


def test_turns_come_in_order_and_only_of_their_conversation(space: Space) -> None:
    said = [turn(f"line {i}", "talk") for i in range(5)]
    space.commit([Create(entry=entry(t)) for t in said])
    commit(space, Create(entry=entry(turn("elsewhere", "other"))))
    save(space, "a note of the talk", conversation_id="talk")
    assert reading.open_turns(space, "talk") == said
    assert reading.open_turns(space, "TALK") == []


def test_closed_turns_are_open_no_longer_and_stay_in_search(space: Space) -> None:
    said = [turn(f"line {i}", "talk") for i in range(5)]
    space.commit([Create(entry=entry(t)) for t in said])
    episode = creation("they talked", conversation_id="talk")
    space.commit([episode, Close(turn_ids=tuple(t.id for t in said[:3]))])
    assert reading.open_turns(space, "talk") == said[3:]
    assert found(search(space, "line", include_turns=True)) == {t.id for t in said}
    space.commit([Close(turn_ids=(said[0].id, said[3].id, *ids(1)))])
    assert reading.open_turns(space, "talk") == said[4:]


def test_a_turn_is_not_closed_when_the_episode_can_not_be_written(space: Space) -> None:
    said = turn("line", "talk")
    there = save(space, "an episode")
    commit(space, Create(entry=entry(said)))
    with pytest.raises(AlreadyExists):
        space.commit([creation("again", id=there.id), Close(turn_ids=(said.id,))])
    assert reading.open_turns(space, "talk") == [said]


def test_open_turns_leave_out_what_is_deleted_and_what_is_expired(space: Space, clock: SettableClock) -> None:
    stays, gone, goes = (turn(name, "talk", expires_at=at) for name, at in (("a", None), ("b", None), ("c", later(60))))
    space.commit([Create(entry=entry(t)) for t in (stays, gone, goes)])
    delete(space, gone)
    assert reading.open_turns(space, "talk") == [stays, goes]
    clock.advance(seconds=60)
    assert reading.open_turns(space, "talk") == [stays]


def test_an_edited_turn_stays_as_open_or_closed_as_it_was(space: Space) -> None:
    said = [turn(f"line {i}", "talk") for i in range(2)]
    space.commit([Create(entry=entry(t)) for t in said])
    space.commit([Close(turn_ids=(said[0].id,))])
    edited = [update(space, t, content="corrected") for t in said]
    assert reading.open_turns(space, "talk") == edited[1:]


def test_embeddings_come_back_as_they_were_written(opened: MemoryStore, space: Space) -> None:
    two = (vector(1, 0), vector(0, 1))
    long, said = save(space, "long", vectors=two), commit(space, Create(entry=entry(turn("said", "talk"))))
    gone = delete(space, save(space, "gone"))
    asked = [said.id, gone.id, long.id, *ids(2)]
    assert space.embeddings(asked) == {long.id: two, said.id: embed("said")}
    assert space_of(opened, "nobody").embeddings(asked) == {}


def test_idle_conversations_are_those_whose_last_open_turn_is_old_the_longest_idle_first(space: Space) -> None:
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


def test_turns_stay_out_of_everything_but_get_and_a_search_that_asks(space: Space) -> None:
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


def test_scopes_count_what_lies_directly_in_them(space: Space) -> None:
    for scope in ("work", "work/x", "work/x", "home"):
        save(space, "note", scope=scope)
    assert {scope: use.memories for scope, use in space.scopes().items()} == {"work": 1, "work/x": 2, "home": 1}


def test_a_scope_says_when_one_of_its_memories_was_last_written(space: Space) -> None:
    old = save(space, "one", scope="work", created_at=later(0), updated_at=later(0))
    save(space, "two", scope="work", created_at=later(60.000001), updated_at=later(60.000001))
    assert space.scopes()["work"].last_written_at == later(60.000001)
    update(space, old, content="one again", updated_at=later(90))
    assert space.scopes()["work"].last_written_at == later(90)


def test_a_session_is_added_once_and_sessions_come_oldest_first(space: Space) -> None:
    sessions = [Session(id=id, created_at=later(s)) for id, s in (("b", 0), ("c", 0), ("a", 60.000001))]
    assert [space.add_session(session) for session in reversed(sessions)] == [True] * 3
    assert space.add_session(Session(id="a", created_at=later(900))) is False
    assert space.sessions() == sessions


def test_imports_come_the_latest_first_and_are_written_again(space: Space) -> None:
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


def test_what_an_import_brought_is_known_deleted_expired_and_turns_too(space: Space) -> None:
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


def test_a_removed_session_is_gone_and_its_memories_are_not(space: Space) -> None:
    space.add_session(Session(id="s", created_at=NOON))
    note = save(space, "note", scope="session/s")
    assert space.remove_session("s") is True
    assert space.remove_session("s") is False
    assert space.sessions() == []
    assert space.get([note.id]) == {note.id: note}


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


@pytest.mark.parametrize("operation", _OPERATIONS.values(), ids=_OPERATIONS)
def test_behind_the_deadline_nothing_is_read_or_written(
    opened: MemoryStore, space: Space, operation: Callable[[Space, Memory], object]
) -> None:
    one = save(space, "the heron")
    late = space_of(opened, "ana", seconds=0)
    with pytest.raises(Unavailable):
        operation(late, one)
    assert list(space.walk()) == [one]


def test_a_reading_is_counted_behind_the_deadline_too(opened: MemoryStore, space: Space) -> None:
    one = save(space, "the heron")
    late = space_of(opened, "ana", seconds=0)
    late.note_access([one.id], NOON)
    late.note_review(one.id, previous=None, card="card")
    assert space.usage([one.id])[one.id].access_count == 1


def test_a_space_for_another_deadline_has_the_same_memories(opened: MemoryStore, space: Space) -> None:
    one = save(space, "the heron")
    later = space_of(opened, "ana", seconds=0).until(in_time())
    assert later.get([one.id]) == {one.id: one}


def test_a_candidate_carries_the_importance_set_by_hand(space: Space) -> None:
    plain = save(space, "the heron")
    zero = save(space, "the heron", importance=Importance(score=0.0, reason="no", set_at=NOON))
    some = update(space, plain, importance=Importance(score=0.9, reason="yes", set_at=NOON))
    assert {c.id: c.importance for c in search(space, "heron").candidates} == {zero.id: 0.0, some.id: 0.9}


def test_revisions_are_the_replaced_images_oldest_first(space: Space) -> None:
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


def test_a_creation_brings_its_history(space: Space) -> None:
    current = memory("three", version=3)
    past = tuple(
        Revision(memory=replace(current, content=text, version=v), replaced_at=later(v), replaced_by=None)
        for v, text in ((1, "one"), (2, "two"))
    )
    commit(space, Create(entry=entry(current), history=past))
    assert tuple(space.revisions(current.id)) == past


def test_a_replacement_brings_versions_that_are_missing_and_keeps_the_search(space: Space) -> None:
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


def test_statistics_count_memories_turns_deleted_and_chunks(space: Space) -> None:
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


def test_the_bytes_of_records_are_those_of_their_json_deleted_ones_included(space: Space) -> None:
    kept = [save(space, "高い山 one"), save(space, "two", metadata={"a": "é"})]
    kept[1] = delete(space, kept[1])
    said = turn("said", "talk")
    commit(space, Create(entry=entry(said)))
    encoded = [json.dumps(record.encode(memory), ensure_ascii=False, separators=(",", ":")) for memory in (*kept, said)]
    assert space.statistics()["record_bytes"] == sum(len(text.encode()) for text in encoded)
    space.purge([kept[1].id])
    assert space.statistics()["record_bytes"] == sum(len(encoded[i].encode()) for i in (0, 2))


# Searching


def test_scores_are_true_in_both_legs_over_what_the_caller_sees(space: Space, clock: SettableClock) -> None:
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


def test_keyword_statistics_include_turns_when_the_search_does(space: Space) -> None:
    texts = ["red fox", "blue whale"]
    made = [save(space, text) for text in texts]
    commit(space, Create(entry=entry(turn("red fox said a lot", "talk"))))
    scores = {c.id: c.bm25 for c in search(space, "fox", include_turns=True).candidates}
    assert scores[made[0].id] == pytest.approx(_bm25("fox", [*texts, "red fox said a lot"])[0], abs=1e-4)


def test_a_filter_does_not_move_keyword_scores(space: Space) -> None:
    fox = save(space, "red fox", tags=("a",))
    save(space, "red fox again", tags=("b",))
    [alone] = search(space, "fox", tags=("a",)).candidates
    everywhere = {c.id: c.bm25 for c in search(space, "fox").candidates}
    assert alone.bm25 == everywhere[fox.id]


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


@pytest.mark.parametrize("legs", [("teapot", None), ("", "teapot"), ("teapot", "teapot")])
def test_a_filter_never_starves_a_search(space: Space, legs: tuple[str, str | None]) -> None:
    crowd = [creation("teapot teapot teapot") for _ in range(500)]
    space.commit(crowd)
    wanted = save(space, "a teapot among words that have little to do with it", tags=("mine",))
    text, near = legs
    matches = search(space, text, near=embed(near)[0] if near else None, per_leg=10, tags=("mine",))
    assert found(matches) == {wanted.id}
    assert (matches.stored, matches.admitted) == (501, 1)


def test_each_leg_answers_its_best(space: Space) -> None:
    space.commit([creation("fox " * (i + 1) + "den " * (40 - i), vectors=[vector(1, i)]) for i in range(40)])
    by_content = {m.content.count("fox") - 1: m.id for m in space.walk()}
    assert found(search(space, near=vector(1, 0), per_leg=5)) == {by_content[i] for i in range(5)}
    assert found(search(space, "fox", per_leg=5)) == {by_content[i] for i in range(35, 40)}
    both = found(search(space, "fox", near=vector(1, 0), per_leg=5))
    assert both == {by_content[i] for i in (*range(5), *range(35, 40))}
    assert len(search(space, near=vector(1, 0), per_leg=None).candidates) == 40


def test_a_long_memory_is_listed_once_with_its_best_chunk(space: Space) -> None:
    long = save(space, "long", vectors=[vector(0, 1), vector(0.6, 0.8), vector(1, 0), vector(0, 0, 1)])
    short = save(space, "short", vectors=[vector(0.8, 0.6)])
    none = save(space, "none", vectors=[vector(0)])
    matches = search(space, near=vector(1, 0), per_leg=2)
    assert {c.id: round(c.cosine or 0, 4) for c in matches.candidates} == {long.id: 1.0, short.id: 0.8}
    assert found(search(space, near=vector(1, 0), per_leg=3)) == {long.id, short.id, none.id}


def test_a_query_of_one_leg_has_no_score_in_the_other(space: Space) -> None:
    save(space, "red fox")
    [by_words] = search(space, "fox").candidates
    [by_meaning] = search(space, near=embed("fox")[0]).candidates
    assert (by_words.cosine, by_meaning.bm25) == (None, None)


def test_candidates_carry_what_ranking_needs(space: Space) -> None:
    save(space, "red fox", created_at=later(1.5), pinned=True, surprise=0.5)
    save(space, "fox", created_at=later(2))
    by_pin = {c.pinned: c for c in search(space, "fox").candidates}
    assert (by_pin[True].surprise, by_pin[False].surprise) == (0.5, None)
    assert by_pin[False].created - by_pin[True].created == 500_000


def test_what_each_term_adds_sums_up_to_the_keyword_score(space: Space) -> None:
    for text in ("red fox", "red red fox runs", "a blue whale", "red"):
        save(space, text, conversation_id="talk")
    save(space, "red fox alone")
    candidates = search(space, "red fox red unheard-of", near=embed("fox")[0], by_term=True).candidates
    assert {len(c.terms) for c in candidates} == {0, 1, 2}
    for candidate in candidates:
        assert sum(candidate.terms.values()) == pytest.approx(candidate.bm25)
    both = {frozenset(c.terms) for c in candidates if len(c.terms) == 2}
    assert both == {frozenset((0, tokens("red fox red unheard-of").index("fox")))}


def test_what_each_term_adds_is_told_only_where_it_is_asked_for(space: Space) -> None:
    save(space, "red fox", conversation_id="talk")
    [candidate] = search(space, "red fox").candidates
    assert (candidate.bm25 or 0) > 0
    assert not candidate.terms


def test_of_many_terms_the_64_that_fewest_memories_have_are_looked_for(space: Space) -> None:
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


def test_candidates_know_their_place_in_their_conversation(space: Space) -> None:
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


def test_speakers_are_those_who_say_at_least_two_memories(space: Space) -> None:
    assert space.speakers() == frozenset()
    said = [turn("hello", "talk") for _ in range(3)]
    for each, name in zip(said, ("ana", "ana", "bob"), strict=True):
        commit(space, Create(entry=replace(entry(each), speaker=name)))
    save(space, "said by nobody")
    assert space.speakers() == {"ana"}
    space.purge([said[0].id])
    assert space.speakers() == frozenset()


def test_an_empty_space_answers_everything_with_nothing(space: Space) -> None:
    matches = search(space, "fox", near=vector(1))
    assert (list(matches.candidates), matches.stored, matches.admitted) == ([], 0, 0)
    assert space.page(Filter(), limit=9) == space.page(Filter(tags=("x",)), limit=1, offset=5)
    assert space.page(Filter(), limit=9).total == 0
    assert (list(space.walk()), reading.open_turns(space, "x"), space.scopes(), space.sessions()) == ([], [], {}, [])
    assert space.idle_conversations(NOON, limit=9) == []
    assert (reading.completions(space, ["3f2b8c1e"], limit=9), reading.latest_writes(space, 9)) == ([[]], [])
    assert space.remove_session("s") is False
    assert space.look_around([probe("x"), probe("y")], floor=0, top_k=3)[1].nearest is None
    assert (reading.associations(space, ids(1)), space.usage(ids(1))) == ({ids(1)[0]: []}, {})
    assert (space.revisions(ids(1)[0]), space.traces(ids(1)[0]), space.find(Gone(NOON))) == ([], [], [])
    assert space.purge(ids(2)) == []
    assert set(space.statistics().values()) == {0}


def test_asking_and_purging_make_no_space(opened: MemoryStore, space: Space) -> None:
    test_an_empty_space_answers_everything_with_nothing(space)
    assert space.reembed(lambda texts: []) == 0
    space.note_access(ids(1), NOON)
    assert list(opened.users()) == []
    assert opened.forget_user(UserRef("ana")) is False


# Filters, against a plain reading of what they say

_SCOPES = ["a", "a/b", "a/b/c", "a-b", "ab", "a0", "A", "b", "git", "git/a", "git/a/b", "git/a-b", "gitlab"]
_TAGS = ["ui", "UI", "Straße", "STRASSE", "%", "_", "*", "work", "日本"]
_VALUES: list[Any] = [None, True, False, 0, 1, 1.5, "1", "", "true", "null", "[1]", [1], {"x": 1}, "日本"]
_KEYS = ["k", "K", 'quo"te', "a.b", "$", "", "é"]
_LABELS = [None, "x", "X", "%"]
_TIMES = [later(seconds) for seconds in (-60, 0, 0.000001, 60)]


def _population() -> list[Memory]:
    pick = random.Random(4)
    return [
        memory(
            f"fox {i}",
            id=id,
            tags=tuple(pick.sample(_TAGS, pick.randrange(4))),
            metadata={key: pick.choice(_VALUES) for key in pick.sample(_KEYS, pick.randrange(4))},
            scope=pick.choice(_SCOPES),
            tier=pick.choice(["short_term", "long_term", "working"]),
            category=pick.choice(_LABELS),
            content_type=pick.choice(["text", "code"]),
            agent_id=pick.choice(_LABELS),
            agent_label=pick.choice(_LABELS),
            conversation_id=pick.choice(_LABELS),
            untrusted=pick.choice([False, True]),
            created_at=pick.choice(_TIMES),
            occurred_at=pick.choice([None, *_TIMES]),
            expires_at=pick.choice([None, None, later(1), later(-1)]),
            source=pick.choice(["user_memory", "user_memory", "conversation"]),
            messages=pick.choice([(), (Message(role="user", content="a fox"),)]),
        )
        for i, id in enumerate(ids(150))
    ]


_PLAIN = [value for value in _VALUES if not isinstance(value, list | dict)]
_ONE_CONDITION = st.one_of(
    st.fixed_dictionaries({"tags": st.lists(st.sampled_from(_TAGS), max_size=2).map(tuple)}),
    st.fixed_dictionaries({"metadata": st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_PLAIN), max_size=2)}),
    st.fixed_dictionaries({"scope": st.sampled_from([*_SCOPES, "c"]), "include_child_scopes": st.booleans()}),
    st.fixed_dictionaries({"project": st.sampled_from(["git/a", "git/a/b", "git/c"])}),
    st.fixed_dictionaries({"categories": st.lists(st.sampled_from(["x", "X", "%", "y"]), max_size=3).map(tuple)}),
    st.fixed_dictionaries({"tier": st.sampled_from(["short_term", "long_term", "working"])}),
    st.fixed_dictionaries({"content_type": st.sampled_from(["text", "code", "json"])}),
    *(
        st.fixed_dictionaries({name: st.sampled_from(["x", "X", "%", "y"])})
        for name in ("category", "agent_id", "agent_label", "conversation_id")
    ),
    st.fixed_dictionaries({"untrusted": st.booleans()}),
    *(
        st.fixed_dictionaries({name: st.sampled_from(_TIMES)})
        for name in ("created_after", "created_before", "occurred_after", "occurred_before")
    ),
)
_TURNS = st.sampled_from([{}, {"include_turns": True}, {"include_turns": True, "turns_of": "x"}])
_EPISODES = st.sampled_from([{}, {"episodes": False}])
_FILTERS = st.tuples(st.lists(_ONE_CONDITION, max_size=3), _TURNS, _EPISODES).map(
    lambda parts: Filter(**{name: value for part in (*parts[0], *parts[1:]) for name, value in part.items()})
)


def _seen(filter: Filter, m: Memory) -> bool:
    if not m.is_visible(NOON):
        return False
    return m.source != "conversation" or _includes_said(filter, m)


def _includes_said(filter: Filter, m: Memory) -> bool:
    return filter.include_turns and filter.turns_of in (None, m.conversation_id)


def _admits(filter: Filter, m: Memory) -> bool:
    plain = ("tier", "category", "content_type", "agent_id", "agent_label", "conversation_id", "untrusted")
    return (
        _seen(filter, m)
        and (filter.episodes or not m.is_episode or _includes_said(filter, m))
        and all(getattr(filter, name) in (None, getattr(m, name)) for name in plain)
        and (not filter.categories or m.category in filter.categories)
        and {tag.casefold() for tag in filter.tags} <= {tag.casefold() for tag in m.tags}
        and all(key in m.metadata and _same(m.metadata[key], value) for key, value in filter.metadata.items())
        and (
            filter.project is None
            or (m.scope != "git" and not m.scope.startswith("git/"))
            or m.scope == filter.project
            or m.scope.startswith(f"{filter.project}/")
        )
        and (
            filter.scope in (None, m.scope) or (filter.include_child_scopes and m.scope.startswith(f"{filter.scope}/"))
        )
        and (filter.created_after is None or m.created_at >= filter.created_after)
        and (filter.created_before is None or m.created_at < filter.created_before)
        and (filter.occurred_after is None or (m.occurred_at is not None and m.occurred_at >= filter.occurred_after))
        and (filter.occurred_before is None or (m.occurred_at is not None and m.occurred_at < filter.occurred_before))
    )


def _same(stored: Any, asked: Any) -> bool:
    return isinstance(stored, bool) == isinstance(asked, bool) and stored == asked


def test_a_day_without_a_time_has_bounds_of_its_own(space: Space) -> None:
    midnight = datetime(2026, 5, 12, tzinfo=UTC)
    day = save(space, "fox", occurred_at=date(2026, 5, 12)).id
    moment = save(space, "fox", occurred_at=midnight).id
    west, east = midnight + timedelta(hours=7), midnight - timedelta(hours=9)
    cases = (
        ({"occurred_after": west, "first_day": date(2026, 5, 12)}, {day}),
        ({"occurred_before": west, "end_day": date(2026, 5, 12)}, {moment}),
        ({"occurred_after": east, "first_day": date(2026, 5, 13)}, {moment}),
        ({"occurred_before": east, "end_day": date(2026, 5, 13)}, {day}),
    )
    for bounds, admitted in cases:
        assert found(search(space, "fox", **bounds)) == admitted, bounds
        page = space.page(Filter(**bounds), limit=9)
        assert ({memory.id for memory in page.memories}, page.total) == (admitted, 1), bounds


def test_a_text_is_not_the_list_that_it_spells(space: Space) -> None:
    save(space, "fox", metadata={"k": [1], "o": {"x": 1}})
    assert found(search(space, "fox", metadata={"k": "[1]"})) == set()
    assert found(search(space, "fox", metadata={"o": '{"x":1}'})) == set()


def test_a_tag_and_a_category_are_one_however_their_accents_are_encoded(space: Space) -> None:
    composed, decomposed = "Caf\u00e9", "Cafe\u0301"
    one = save(space, "fox one", tags=(composed,), category=composed)
    two = save(space, "fox two", tags=(decomposed,), category=decomposed)
    for asked in (composed, decomposed):
        for filter in (Filter(tags=(asked.upper(),)), Filter(category=asked), Filter(categories=(asked, "other"))):
            page = space.page(filter, limit=9)
            assert ({m.id for m in page.memories}, page.total) == ({one.id, two.id}, 2)
            assert found(space.search(replace(query("fox"), filter=filter))) == {one.id, two.id}
    assert [(m.tags, m.category) for m in space.get([two.id]).values()] == [((decomposed,), decomposed)]


def test_filters_admit_what_they_say_in_pages_and_in_both_legs(space: Space, examples: int) -> None:
    population = _population()
    space.commit([Create(entry=entry(m)) for m in population])
    near = embed("fox")[0]

    @given(_FILTERS)
    @settings(max_examples=examples)
    def agrees(filter: Filter) -> None:
        expected = {m.id for m in population if _admits(filter, m)}
        seen = sum(_seen(filter, m) for m in population)
        for text, vector_ in (("fox", None), ("", near), ("fox", near)):
            matches = space.search(replace(query(text, near=vector_, per_leg=None), filter=filter))
            assert found(matches) == expected
            assert (matches.stored, matches.admitted) == (seen, len(expected))
        if not filter.include_turns:
            page = space.page(filter, limit=1000)
            assert ({m.id for m in page.memories}, page.total) == (expected, len(expected))

    agrees()


def test_what_waits_for_its_look_around_is_told_until_it_has_it(space: Space, clock: SettableClock) -> None:
    waits = save(space, "the heron", lookaround_pending=True)
    changed = save(space, "the otter", lookaround_pending=True)
    save(space, "the egret")
    gone = save(space, "the kite", lookaround_pending=True)
    save(space, "the swift", lookaround_pending=True, expires_at=later(60))
    said = store_turn(space)
    clock.advance(seconds=61)
    update(space, changed, lookaround_pending=False)
    delete(space, gone, clock.now())
    assert space.find(Pending()) == [waits.id]
    update(space, waits, category="bird", lookaround_pending=True)
    assert space.find(Pending()) == [waits.id]
    assert [turn.id for turn in reading.open_turns(space, "talk")] == [said]
    assert space.idle_conversations(clock.now(), limit=5) == ["talk"]
    space.commit([Close(turn_ids=(said, waits.id))])
    assert (reading.open_turns(space, "talk"), space.find(Pending())) == ([], [waits.id])


def store_turn(space: Space) -> str:
    """An open turn that was changed since it was said."""
    said = turn("good morning", "talk")
    space.commit([Create(entry=entry(said))])
    return update(space, said, category="greeting").id


# Looking around


def test_a_look_around_finds_the_nearest_anywhere_and_the_near_of_the_scope(space: Space) -> None:
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


def test_a_look_around_breaks_ties_by_age_then_id(space: Space) -> None:
    names = ids(9)
    for i in (4, 2, 7, 0, 8, 1, 6, 3, 5):
        save(space, f"same {i}", id=names[i], vectors=[vector(1, 1)], created_at=later(i // 3))
    asked = Probe(embeddings=(vector(1, 1),), scope=None)
    [around] = space.look_around([asked], floor=0.5, top_k=7)
    expected = [names[i] for i in (6, 7, 8, 3, 4, 5, 0)]
    assert [n.id for n in around.near] == expected
    assert around.nearest is not None
    assert around.nearest.id == expected[0]


def test_a_look_around_compares_the_nearest_chunks(space: Space) -> None:
    long = save(space, "long", vectors=[vector(0, 1), vector(0, 0, 1)])
    save(space, "short", vectors=[vector(1, 0.5)])
    asked = Probe(embeddings=(vector(1), vector(0, 0, 1)), scope=None)
    [around] = space.look_around([asked], floor=0.95, top_k=5)
    assert around.near == (Neighbour(long.id, pytest.approx(1, abs=1e-5)),)


def test_many_probes_are_answered_each_for_itself(space: Space) -> None:
    made = [save(space, f"n{i}", vectors=[vector(*[0] * i, 1)], scope=f"s{i % 3}") for i in range(30)]
    probes = [Probe(embeddings=(vector(*[0] * i, 1),), scope=f"s{i % 3}", leave_out=None) for i in range(30)]
    around = space.look_around(probes, floor=0.9, top_k=3)
    assert [[n.id for n in each.near] for each in around] == [[m.id] for m in made]


# Associations


def test_links_are_seen_from_both_sides_strongest_first(space: Space) -> None:
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


def test_a_link_on_both_sides_is_one_association(space: Space) -> None:
    a, b = save(space, "a"), save(space, "b")
    update(space, a, links=(Link(target_id=b.id, strength=0.5, manual=True),))
    update(space, b, links=(Link(target_id=a.id, strength=0.8),))
    assert reading.associations(space, [a.id])[a.id] == [Association(memory_id=b.id, strength=0.8, manual=True)]


def test_a_link_whose_end_is_gone_is_hidden(space: Space) -> None:
    target = save(space, "target")
    source = save(space, "source", links=(Link(target_id=target.id, strength=1), Link(target_id=ids(1)[0], strength=1)))
    assert [x.memory_id for x in reading.associations(space, [source.id])[source.id]] == [target.id]
    delete(space, target)
    assert reading.associations(space, [source.id])[source.id] == []


# Usage


def test_readings_are_counted_and_the_last_one_is_kept(space: Space) -> None:
    one, two, never = (save(space, name) for name in ("one", "two", "never"))
    space.note_access([one.id, two.id], NOON)
    space.note_access([one.id], later(5))
    usage = space.usage([one.id, two.id, never.id, ids(1)[0]])
    assert set(usage) == {one.id, two.id}
    assert (usage[one.id].access_count, usage[one.id].last_accessed_at) == (2, later(5))
    assert (usage[two.id].access_count, usage[two.id].card) == (1, None)


def test_a_card_replaces_only_the_one_it_began_from(space: Space) -> None:
    one = save(space, "one")
    space.note_review(one.id, previous=None, card="first")
    space.note_review(one.id, previous=None, card="lost")
    space.note_review(one.id, previous="first", card="second")
    space.note_review(one.id, previous="first", card="lost too")
    assert space.usage([one.id])[one.id].card == "second"


def test_a_review_is_kept_unless_another_came_first(
    store: Opening, opened: MemoryStore, space: Space, clock: SettableClock
) -> None:
    one = save(space, "one")
    space.note_review(one.id, previous=None, card="noted")
    assert not space.keep_review(one.id, previous=None, card="lost")
    assert space.keep_review(one.id, previous="noted", card="kept")
    assert space.usage([one.id])[one.id].card == "kept"
    # Durable as soon as it is answered: another handle sees it before this one closes.
    assert space_of(store(clock, EMBEDDER), "ana").usage([one.id])[one.id].card == "kept"
    assert not space.keep_review(ids(1)[0], previous=None, card="of nobody")
    assert not space_of(opened, "nobody").keep_review(one.id, previous=None, card="anothers")
    assert [user.user_id for user in opened.users()] == ["ana"]


def test_usage_is_told_of_however_many_ids(space: Space) -> None:
    one = save(space, "one")
    space.note_access([one.id], NOON)
    assert list(space.usage([*ids(40_000), one.id])) == [one.id]


def test_usage_outlives_a_close_and_is_added_up_between_handles(store: Opening, clock: SettableClock) -> None:
    first = store(clock, EMBEDDER)
    one = save(space_of(first, "ana"), "one")
    other = store(clock, EMBEDDER)
    for handle in (first, other):
        space_of(handle, "ana").note_access([one.id], NOON)
        space_of(handle, "ana").note_review(one.id, previous=None, card=f"of {handle is first}")
        handle.close()
    usage = space_of(store(clock, EMBEDDER), "ana").usage([one.id])[one.id]
    assert (usage.access_count, usage.last_accessed_at, usage.card) == (2, NOON, "of True")


def test_what_was_read_is_seen_by_another_handle_after_a_flush(store: Opening, clock: SettableClock) -> None:
    first = store(clock, EMBEDDER)
    one = save(space_of(first, "ana"), "one")
    space_of(first, "ana").note_access([one.id], NOON)
    first.flush()
    other = space_of(store(clock, EMBEDDER), "ana")
    assert other.usage([one.id])[one.id].access_count == 1
    first.flush()
    assert other.usage([one.id])[one.id].access_count == 1


def test_reading_changes_no_memory_and_survives_its_end(opened: MemoryStore, space: Space) -> None:
    one = save(space, "one")
    space.note_access([one.id, ids(1)[0]], NOON)
    space.note_review(ids(1)[0], previous=None, card="of nobody")
    assert space.get([one.id]) == {one.id: one}
    space.purge([one.id])
    assert space.usage([one.id]) == {}
    opened.close()
    assert space.usage([one.id, ids(1)[0]]) == {}


# Purging


def test_a_purge_leaves_no_trace(space: Space) -> None:
    one = update(space, save(space, "the heron fishes"), content="the heron sleeps")
    gone = delete(space, save(space, "the heron drinks"))
    said = commit(space, Create(entry=entry(turn("the heron said", "talk"))))
    other = save(space, "the otter", links=(Link(target_id=one.id, strength=1), Link(target_id=gone.id, strength=1)))
    other = update(space, other, content="the otter swims", links=(other.links[1],))
    space.note_access([one.id], NOON)
    assert space.traces(one.id)
    answered = space.purge([one.id, ids(1)[0], gone.id, said.id])
    assert sorted(answered) == sorted([one.id, gone.id, said.id])
    for id in answered:
        assert space.traces(id) == []
        assert space.get([id], deleted=True) == {}
        assert space.revisions(id) == []
    assert space.usage([one.id]) == {}
    assert found(search(space, "heron", near=embed("heron")[0], include_turns=True)) == {other.id}
    assert space.get([other.id])[other.id] == replace(other, links=())
    assert [r.memory.links for r in space.revisions(other.id)] == [()]
    assert space.purge([one.id]) == []


def test_no_write_brings_back_the_id_of_a_purged_memory(space: Space) -> None:
    purged, deleted, other = save(space, "the heron"), delete(space, save(space, "the egret")), save(space, "the otter")
    to_purged, to_deleted = Link(target_id=purged.id, strength=1, manual=True), Link(target_id=deleted.id, strength=0.5)
    other = update(space, other, links=(to_purged, to_deleted))
    space.purge([purged.id])
    other = update(space, other, content="the otter swims")  # as it was read before the purge
    made = creation("the stork", links=(to_purged, to_deleted))
    past = Revision(memory=replace(made.entry.memory, content="a stork"), replaced_at=NOON)
    commit(space, Create(entry=replace(made.entry, memory=replace(made.entry.memory, version=2)), history=(past,)))
    for id in (other.id, made.entry.memory.id):
        assert space.get([id])[id].links == (to_deleted,)
        assert space.revisions(id)[-1].memory.links == (to_deleted,)
    assert space.traces(purged.id) == []


def test_a_link_between_memories_of_one_commit_stays(space: Space) -> None:
    b = creation("b")
    a = creation("a", links=(Link(target_id=b.entry.memory.id, strength=1),))
    space.commit([a, b])
    assert space.get([a.entry.memory.id]) == {a.entry.memory.id: a.entry.memory}
    [seen] = reading.associations(space, [b.entry.memory.id])[b.entry.memory.id]
    assert seen.memory_id == a.entry.memory.id


def test_a_purge_of_what_is_not_there_mends_the_links_to_it(space: Space) -> None:
    [absent] = ids(1)
    for spelling in (absent, absent.upper()):
        pointing = creation("a", links=(Link(target_id=spelling, strength=1),))
        commit(space, replace(pointing, links_ahead=True))
        id = pointing.entry.memory.id
        update(space, replace(pointing.entry.memory, links=()), metadata={"consolidated_from": [absent]})
        commit(space, Create(entry=entry(memory("b", links=pointing.entry.memory.links)), links_ahead=True))
        assert space.traces(absent)
        assert space.purge([absent]) == []
        assert space.traces(absent) == []
        assert space.get([id])[id].metadata == {"consolidated_from": [absent]}
        assert not any(m.links for m in space.walk())
        assert not any(r.memory.links for r in space.revisions(id))


def test_links_in_earlier_images_are_traces(space: Space) -> None:
    made = creation("a")
    past = Revision(memory=replace(made.entry.memory, links=(Link(target_id=ids(1)[0], strength=1),)), replaced_at=NOON)
    now = replace(made.entry, memory=replace(made.entry.memory, version=2))
    commit(space, Create(entry=now, history=(past,), links_ahead=True))
    assert space.traces(ids(1)[0])
    space.purge(ids(1))
    assert space.traces(ids(1)[0]) == []
    assert [r.memory.links for r in space.revisions(now.memory.id)] == [()]


def test_a_sweep_is_told_what_is_stale(space: Space, clock: SettableClock) -> None:
    early = delete(space, save(space, "early"), at=later(-10))
    delete(space, save(space, "late"), at=later(10))
    expired = save(space, "expired", expires_at=later(-1))
    pinned = save(space, "pinned", expires_at=later(-1), pinned=True)
    save(space, "alive", expires_at=later(1))
    assert set(space.find(Gone(NOON))) == {early.id, expired.id, pinned.id}


# Users


_NAMES = [
    "a/b",
    "../../etc/passwd",
    "..",
    ".",
    "a.db",
    "x" * 1000,
    "🫖",
    "Ana",
    "ANA",
    "ana ",
    "é",
    "e\u0301",
    "C:\\con",
    "%",
    "'; DROP TABLE memory; --",
    "line\nbreak",
]


def test_any_user_id_has_its_own_space(store: Opening, opened: MemoryStore, clock: SettableClock) -> None:
    pairs = [("", name) for name in _NAMES]
    # Joined without care, these would meet.
    pairs += [
        ("a", "b/c"),
        ("a/b", "c"),
        ("a", "bc"),
        ("ab", "c"),
        ('a","b', "c"),
        ("a", 'b","c'),
        ("a", ""),
        ("", "a"),
    ]
    pairs += [("Ana", "ana"), ("ana", "Ana")]
    for tenant, name in pairs:
        save(space_of(opened, name, tenant=tenant), f"of {tenant}|{name}")
    for handle in (opened, store(clock, EMBEDDER)):
        for tenant, name in pairs:
            assert [m.content for m in space_of(handle, name, tenant=tenant).walk()] == [f"of {tenant}|{name}"]
        everyone = list(handle.users())
        assert sorted((u.tenant, u.user_id) for u in everyone) == sorted(pairs)


def test_a_user_has_a_space_from_the_first_write_on(opened: MemoryStore) -> None:
    bob = space_of(opened, "bob")
    search(bob, "x")
    assert list(opened.users()) == []
    save(bob, "one")
    assert list(opened.users()) == [UserRef("bob")]


def test_nothing_of_one_user_is_reached_through_anothers_space(opened: MemoryStore, space: Space) -> None:
    secret = save(space, "the heron fishes", tags=("secret",), conversation_id="talk")
    bob = space_of(opened, "bob")
    mine = save(bob, "the otter", links=(Link(target_id=secret.id, strength=1),))
    assert bob.get([secret.id], deleted=True) == {}
    assert found(search(bob, "heron otter", near=embed("heron")[0])) == {mine.id}
    assert reading.associations(bob, [mine.id]) == {mine.id: []}
    assert bob.purge([secret.id]) == []
    with pytest.raises(MemoryNotFound):
        update(bob, secret, content="changed")
    save(bob, "mine by the same id", id=secret.id)
    assert space.get([secret.id]) == {secret.id: secret}


def test_forgetting_a_user_leaves_nothing_and_nobody_else_behind(opened: MemoryStore, space: Space) -> None:
    mine = save(space, "the heron fishes")
    space.note_access([mine.id], NOON)
    commit(space, Create(entry=entry(turn("the heron", "talk"))))
    space.add_session(Session(id="s", created_at=NOON))
    space.put_import(Import(id="i", name="notes.md", started_at=NOON))
    other = save(space_of(opened, "bob"), "the otter")
    assert opened.forget_user(UserRef("ana")) is True
    assert (space.sessions(), reading.open_turns(space, "talk"), space.imports()) == ([], [], [])
    assert list(opened.users()) == [UserRef("bob")]
    matches = search(space, "heron", near=vector(1))
    assert (list(matches.candidates), matches.stored, list(space.walk()), space.scopes()) == ([], 0, [], {})
    assert {name for name, count in space.statistics().items() if count} <= {"bytes"}
    assert opened.forget_user(UserRef("ana")) is False
    assert list(space_of(opened, "bob").walk()) == [other]
    again = save(space, "a fresh start", id=mine.id)
    assert list(space.walk()) == [again]
    assert space.usage([mine.id]) == {}
    assert set(opened.users()) == {UserRef("ana"), UserRef(user_id="bob")}


def test_a_forgotten_user_can_be_written_through_every_old_handle(store: Opening, clock: SettableClock) -> None:
    handles = [store(clock, EMBEDDER) for _ in range(3)]
    for i, handle in enumerate(handles):
        save(space_of(handle, "ana"), f"before {i}")
        assert search(space_of(handle, "ana"), "before").stored == i + 1
    handles[1].forget_user(UserRef("ana"))
    for i, handle in enumerate(handles):
        assert search(space_of(handle, "ana"), "before").stored == i
        save(space_of(handle, "ana"), f"after {i}")
    for handle in (*handles, store(clock, EMBEDDER)):
        assert {m.content for m in space_of(handle, "ana").walk()} == {"after 0", "after 1", "after 2"}
        assert search(space_of(handle, "ana"), "after").stored == 3


# Opening


def test_everything_is_there_after_a_close(store: Opening, clock: SettableClock) -> None:
    first = store(clock, EMBEDDER)
    one = update(space_of(first, "ana"), save(space_of(first, "ana"), "the heron"), content="the heron fishes")
    said = commit(space_of(first, "ana"), Create(entry=entry(turn("the heron said", "talk"))))
    first.close()
    space = space_of(store(clock, EMBEDDER), "ana")
    assert list(space.walk(turns=True)) == [one, said]
    assert found(search(space, "heron", near=embed("heron")[0], include_turns=True)) == {one.id, said.id}
    assert len(space.revisions(one.id)) == 1


def test_a_closed_store_closes_again_without_harm(
    opened: MemoryStore, space: Space, store: Opening, clock: SettableClock
) -> None:
    one = save(space, "one")
    opened.close()
    opened.close()
    assert list(space_of(store(clock, EMBEDDER), "ana").walk()) == [one]


def test_two_handles_see_each_others_writes_at_once(store: Opening, clock: SettableClock) -> None:
    spaces = itertools.cycle([space_of(store(clock, EMBEDDER), "ana") for _ in range(2)])
    kept: dict[str, Memory] = {}
    for i in range(30):
        writer, reader = next(spaces), next(spaces)
        next(spaces)
        written = save(writer, f"heron {i}")
        kept[written.id] = written
        if i % 3 == 0:
            first = kept.pop(next(iter(kept)))
            if i % 2:
                delete(writer, first)
            else:
                writer.purge([first.id])
        assert found(search(reader, "heron")) == set(kept)
        assert reader.page(Filter(), limit=100).total == len(kept)


def test_another_embedder_is_refused_until_the_memories_are_embedded_anew(store: Opening, clock: SettableClock) -> None:
    first = store(clock, EMBEDDER)
    changes = [creation(f"heron {i} " + "word " * 200) for i in range(300)]
    made = [change.entry.memory for change in changes]
    space_of(first, "ana").commit(changes)
    delete(space_of(first, "ana"), made[0])
    first.close()
    other = HashedWords(dimension=32)
    space = space_of(store(clock, other), "ana")
    [near] = other.embed(["heron"], purpose="query", timeout=SECONDS)
    for refused in (
        lambda: space.get([made[1].id]),
        lambda: space.search(query("heron", near=near)),
        lambda: save(space, "one"),
        lambda: space.page(Filter(), limit=1),
    ):
        with pytest.raises(Conflict, match="steeltrap reembed"):
            refused()

    def failing(memories: Any) -> Any:
        raise RuntimeError("the model went away")

    with pytest.raises(RuntimeError):
        space.reembed(failing)
    assert len(list(space_of(store(clock, EMBEDDER), "ana").walk())) == 299

    seen: list[str] = []

    def anew(memories: Any) -> Any:
        texts = [memory.content for memory in memories]
        seen.extend(texts)
        return [
            Entry(
                memory=memory,
                fold=bytes(16),
                embeddings=tuple(other.embed([text[:600], text[600:]], purpose="document", timeout=SECONDS)),
                tokens=(*tokens(text), "anew"),
            )
            for memory, text in zip(memories, texts, strict=True)
        ]

    assert space.reembed(anew) == 299
    assert sorted(seen) == sorted(m.content for m in made[1:])
    matches = space.search(query("heron", near=near, per_leg=None))
    assert (len(matches.candidates), matches.stored) == (299, 299)
    assert len(found(search(space, "anew", per_leg=None))) == 299
    assert {m.id for m in space.get([m.id for m in made]).values()} == {m.id for m in made[1:]}
    with pytest.raises(Conflict, match="steeltrap reembed"):
        save(space_of(store(clock, EMBEDDER), "ana"), "by the old embedder")


def test_a_handle_of_the_old_embedder_is_refused_after_embedding_anew(store: Opening, clock: SettableClock) -> None:
    old = space_of(store(clock, EMBEDDER), "ana")
    save(old, "heron")
    assert search(old, near=embed("heron")[0]).stored == 1
    other = HashedWords(dimension=32)
    space_of(store(clock, other), "ana").reembed(
        lambda memories: [
            replace(entry(m), embeddings=tuple(other.embed([m.content], purpose="document", timeout=SECONDS)))
            for m in memories
        ]
    )
    with pytest.raises(Conflict, match="steeltrap reembed"):
        search(old, near=embed("heron")[0])
    with pytest.raises(Conflict, match="steeltrap reembed"):
        save(old, "otter")


def test_a_store_that_serves_passes_its_check(opened: MemoryStore) -> None:
    opened.check()


def test_expiry_is_judged_by_the_injected_clock(space: Space, clock: SettableClock) -> None:
    save(space, "the heron", expires_at=NOON + timedelta(days=400))
    clock.advance(days=399.999)
    assert search(space, "heron").stored == 1
    clock.advance(days=0.001)
    assert search(space, "heron").stored == 0
