"""The contract of every store for usage, which reading leaves, and for purging, which leaves nothing."""

from dataclasses import replace

from clock import NOON, SettableClock
from contracts.entries import (
    EMBEDDER,
    Opening,
    creation,
    delete,
    embed,
    entry,
    found,
    ids,
    later,
    memory,
    save,
    search,
    turn,
    update,
)
from contracts.entries import store as commit
from spaces import space_of
from steeltrap.engine import reading
from steeltrap.model import Link, Revision
from steeltrap.ports import Create, Gone, MemoryStore, Space


class StorePurging:
    """Earned as a part of `StoreContract`."""

    # Usage

    def test_readings_are_counted_and_the_last_one_is_kept(self, space: Space) -> None:
        one, two, never = (save(space, name) for name in ("one", "two", "never"))
        space.note_access([one.id, two.id], NOON)
        space.note_access([one.id], later(5))
        usage = space.usage([one.id, two.id, never.id, ids(1)[0]])
        assert set(usage) == {one.id, two.id}
        assert (usage[one.id].access_count, usage[one.id].last_accessed_at) == (2, later(5))
        assert (usage[two.id].access_count, usage[two.id].card) == (1, None)

    def test_a_card_replaces_only_the_one_it_began_from(self, space: Space) -> None:
        one = save(space, "one")
        space.note_review(one.id, previous=None, card="first")
        space.note_review(one.id, previous=None, card="lost")
        space.note_review(one.id, previous="first", card="second")
        space.note_review(one.id, previous="first", card="lost too")
        assert space.usage([one.id])[one.id].card == "second"

    def test_a_review_is_kept_unless_another_came_first(
        self, store: Opening, opened: MemoryStore, space: Space, clock: SettableClock
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

    def test_usage_is_told_of_however_many_ids(self, space: Space) -> None:
        one = save(space, "one")
        space.note_access([one.id], NOON)
        assert list(space.usage([*ids(40_000), one.id])) == [one.id]

    def test_usage_outlives_a_close_and_is_added_up_between_handles(self, store: Opening, clock: SettableClock) -> None:
        first = store(clock, EMBEDDER)
        one = save(space_of(first, "ana"), "one")
        other = store(clock, EMBEDDER)
        for handle in (first, other):
            space_of(handle, "ana").note_access([one.id], NOON)
            space_of(handle, "ana").note_review(one.id, previous=None, card=f"of {handle is first}")
            handle.close()
        usage = space_of(store(clock, EMBEDDER), "ana").usage([one.id])[one.id]
        assert (usage.access_count, usage.last_accessed_at, usage.card) == (2, NOON, "of True")

    def test_what_was_read_is_seen_by_another_handle_after_a_flush(self, store: Opening, clock: SettableClock) -> None:
        first = store(clock, EMBEDDER)
        one = save(space_of(first, "ana"), "one")
        space_of(first, "ana").note_access([one.id], NOON)
        first.flush()
        other = space_of(store(clock, EMBEDDER), "ana")
        assert other.usage([one.id])[one.id].access_count == 1
        first.flush()
        assert other.usage([one.id])[one.id].access_count == 1

    def test_reading_changes_no_memory_and_survives_its_end(self, opened: MemoryStore, space: Space) -> None:
        one = save(space, "one")
        space.note_access([one.id, ids(1)[0]], NOON)
        space.note_review(ids(1)[0], previous=None, card="of nobody")
        assert space.get([one.id]) == {one.id: one}
        space.purge([one.id])
        assert space.usage([one.id]) == {}
        opened.close()
        assert space.usage([one.id, ids(1)[0]]) == {}

    # Purging

    def test_a_purge_leaves_no_trace(self, space: Space) -> None:
        one = update(space, save(space, "the heron fishes"), content="the heron sleeps")
        gone = delete(space, save(space, "the heron drinks"))
        said = commit(space, Create(entry=entry(turn("the heron said", "talk"))))
        other = save(
            space, "the otter", links=(Link(target_id=one.id, strength=1), Link(target_id=gone.id, strength=1))
        )
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

    def test_no_write_brings_back_the_id_of_a_purged_memory(self, space: Space) -> None:
        purged, deleted, other = (
            save(space, "the heron"),
            delete(space, save(space, "the egret")),
            save(space, "the otter"),
        )
        to_purged, to_deleted = (
            Link(target_id=purged.id, strength=1, manual=True),
            Link(target_id=deleted.id, strength=0.5),
        )
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

    def test_a_link_between_memories_of_one_commit_stays(self, space: Space) -> None:
        b = creation("b")
        a = creation("a", links=(Link(target_id=b.entry.memory.id, strength=1),))
        space.commit([a, b])
        assert space.get([a.entry.memory.id]) == {a.entry.memory.id: a.entry.memory}
        [seen] = reading.associations(space, [b.entry.memory.id])[b.entry.memory.id]
        assert seen.memory_id == a.entry.memory.id

    def test_a_purge_of_what_is_not_there_mends_the_links_to_it(self, space: Space) -> None:
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

    def test_links_in_earlier_images_are_traces(self, space: Space) -> None:
        made = creation("a")
        past = Revision(
            memory=replace(made.entry.memory, links=(Link(target_id=ids(1)[0], strength=1),)), replaced_at=NOON
        )
        now = replace(made.entry, memory=replace(made.entry.memory, version=2))
        commit(space, Create(entry=now, history=(past,), links_ahead=True))
        assert space.traces(ids(1)[0])
        space.purge(ids(1))
        assert space.traces(ids(1)[0]) == []
        assert [r.memory.links for r in space.revisions(now.memory.id)] == [()]

    def test_a_sweep_is_told_what_is_stale(self, space: Space, clock: SettableClock) -> None:
        early = delete(space, save(space, "early"), at=later(-10))
        delete(space, save(space, "late"), at=later(10))
        expired = save(space, "expired", expires_at=later(-1))
        pinned = save(space, "pinned", expires_at=later(-1), pinned=True)
        save(space, "alive", expires_at=later(1))
        assert set(space.find(Gone(NOON))) == {early.id, expired.id, pinned.id}
