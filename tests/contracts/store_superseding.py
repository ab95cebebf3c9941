"""The contract of every store for superseded memories."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from clock import NOON, SettableClock
from contracts.entries import (
    creation,
    delete,
    embed,
    entry,
    found,
    later,
    memory,
    probe,
    replacement,
    save,
    search,
    turn,
    update,
)
from steeltrap.engine import reading
from steeltrap.errors import Duplicate, VersionConflict
from steeltrap.model import Filter, Link, Memory, Page
from steeltrap.ports import Change, Create, Gone, Guard, Replace, Space, TextKey
from steeltrap.text.words import Trait, text_digest


def marks(old: Memory, new: Memory) -> Replace:
    """The change that supersedes a memory."""
    return replacement(old, superseded_by=new.id, superseded_at=new.created_at)


def revise(space: Space, old: Memory, content: str, *, at: float = 60, **fields: object) -> Memory:
    """Save a memory in the place of another."""
    change = creation(content, created_at=later(at), updated_at=later(at), supersedes=(old.id,), **fields)  # type: ignore[arg-type]
    space.commit([change, marks(old, change.entry.memory)])
    return change.entry.memory


def get(space: Space, id: str) -> Memory:
    return space.get([id], deleted=True)[id]


def listed(page: Page) -> set[str]:
    return {memory.id for memory in page.memories}


class StoreSuperseding:
    """Earned as a part of `StoreContract`."""

    def test_a_superseded_memory_is_left_out_of_what_is_searched_listed_and_counted(self, space: Space) -> None:
        old = save(space, "the heron fishes at dawn", category="bird")
        other = save(space, "the heron flies", links=(Link(target_id=old.id, strength=0.9, manual=True),))
        new = revise(space, old, "the heron fishes at dusk")
        matches = search(space, "heron fishes", near=embed("the heron fishes at dawn")[0])
        assert found(matches) == {new.id, other.id}
        assert (matches.stored, matches.admitted) == (2, 2)
        page = space.page(Filter(), limit=5)
        assert (listed(page), page.total) == ({new.id, other.id}, 2)
        assert space.page(Filter(category="bird"), limit=5).total == 0
        assert space.scopes()["user/default"].memories == 2
        assert reading.associations(space, [other.id]) == {other.id: []}
        assert (space.statistics()["memories"], space.statistics()["superseded"]) == (2, 1)

    def test_a_superseded_memory_stays_in_what_is_read_by_id_and_walked(self, space: Space) -> None:
        old = save(space, "the heron fishes at dawn")
        new = revise(space, old, "the heron fishes at dusk")
        assert set(space.get([old.id, new.id])) == {old.id, new.id}
        assert {memory.id for memory in space.walk()} == {old.id, new.id}
        assert [revision.memory for revision in space.revisions(old.id)] == [old]
        assert space.embeddings([old.id]) == {old.id: embed(old.content)}
        assert [memory.id for memory in reading.predecessors(space, [new.id])] == [old.id]
        assert reading.predecessors(space, [old.id]) == []

    def test_a_superseded_memory_is_found_and_listed_by_those_who_ask(self, space: Space) -> None:
        old = save(space, "the heron fishes at dawn")
        new = revise(space, old, "the heron fishes at dusk")
        asked = search(space, "heron", near=embed("heron")[0], include_superseded=True)
        assert (found(asked), asked.stored) == ({old.id, new.id}, 2)
        page = space.page(Filter(include_superseded=True), limit=5)
        assert ([memory.id for memory in page.memories], page.total) == ([new.id, old.id], 2)

    @pytest.mark.parametrize("per_leg", [100, None])
    def test_what_is_superseded_may_be_among_the_candidates_but_is_never_counted(
        self, space: Space, per_leg: int | None
    ) -> None:
        old = save(space, "the heron fishes at dawn", category="bird")
        near = embed("the heron fishes at dawn")[0]
        revise(space, old, "it sleeps late")
        before = search(space, "heron dawn", near=near, per_leg=per_leg)
        matches = search(space, "heron dawn", near=near, per_leg=per_leg, with_superseded=True)
        [more] = [candidate for candidate in matches.candidates if candidate.id not in found(before)]
        assert (more.id, more.traits, before.candidates.place(old.id)) == (old.id, Trait.SUPERSEDED, None)
        assert (more.cosine, (more.bm25 or 0) > 0) == (pytest.approx(1, abs=1e-5), True)
        assert not any(candidate.traits for candidate in before.candidates)
        assert (matches.stored, matches.admitted) == (before.stored, before.admitted) == (1, 1)
        assert (matches.candidates.documents, dict(matches.candidates.frequencies)) == (1, {"heron": 0, "dawn": 0})
        filtered = search(space, "heron", near=near, category="fish", per_leg=per_leg, with_superseded=True)
        assert (found(filtered), filtered.stored, filtered.admitted) == (set(), 1, 0)
        delete(space, get(space, old.id))
        assert old.id not in found(search(space, "heron dawn", near=near, per_leg=per_leg, with_superseded=True))

    @pytest.mark.parametrize(
        ("at", "seen"),
        [(-1, set()), (0, {"old"}), (59.999999, {"old"}), (60, {"new"}), (10**9, {"new"})],
    )
    def test_as_of_a_time_what_was_superseded_later_is_seen_and_what_came_later_is_not(
        self, space: Space, at: float, seen: set[str]
    ) -> None:
        old = save(space, "the heron fishes at dawn")
        new = revise(space, old, "the heron fishes at dusk", at=60)
        names = {old.id: "old", new.id: "new"}
        matches = search(space, "heron", near=embed("heron")[0], as_of=later(at))
        assert {names[id] for id in found(matches)} == seen
        assert (matches.stored > 0, matches.admitted) == (True, len(seen))

    def test_as_of_never_shows_what_is_deleted(self, space: Space) -> None:
        old = save(space, "the heron fishes at dawn")
        revise(space, old, "the heron fishes at dusk")
        delete(space, get(space, old.id), at=later(90))
        assert found(search(space, "heron", as_of=later(1))) == set()

    def test_as_of_goes_with_bounds_of_creation(self, space: Space) -> None:
        first = save(space, "the heron fishes")
        second = save(space, "the heron flies", created_at=later(10))
        save(space, "the heron sleeps", created_at=later(20))
        assert found(search(space, "heron", as_of=later(15))) == {first.id, second.id}
        assert found(search(space, "heron", as_of=later(15), created_before=later(10))) == {first.id}
        assert found(search(space, "heron", as_of=later(15), created_after=later(5))) == {second.id}

    def test_a_look_around_leaves_out_what_is_superseded(self, space: Space) -> None:
        old = save(space, "the heron fishes at dawn")
        new = revise(space, old, "quarterly taxes")
        [around] = space.look_around([probe(old.content, leave_out=new.id)], floor=0.1, top_k=5)
        assert (around.nearest, around.near) == (None, ())

    def test_a_text_that_is_superseded_is_no_copy_and_no_duplicate(self, space: Space) -> None:
        old = save(space, "the heron fishes")
        revise(space, old, "quarterly taxes")
        assert space.copies([TextKey(text_digest(old.content), "user/default", None, None)]) == [0]
        save(space, "the heron fishes", guard=Guard(same_text=True, threshold=0.9))

    @pytest.mark.parametrize("guard", [Guard(same_text=True), Guard(threshold=0.9)])
    def test_a_guard_ignores_what_the_same_commit_supersedes_and_nothing_else(self, space: Space, guard: Guard) -> None:
        old = save(space, "the heron fishes")
        new = creation("The heron fishes", guard=guard)
        space.commit([new, marks(old, new.entry.memory)])
        assert found(search(space, "heron")) == {new.entry.memory.id}
        again = creation("the heron fishes", guard=guard)
        other = save(space, "quarterly taxes")
        with pytest.raises(Duplicate) as refused:
            space.commit([again, marks(other, again.entry.memory)])
        assert refused.value.id == new.entry.memory.id
        assert get(space, other.id) == other

    def test_a_save_that_supersedes_is_written_as_a_whole_or_not_at_all(self, space: Space) -> None:
        olds = [save(space, f"the heron number {i}") for i in range(3)]
        update(space, olds[2], content="it was changed in between")
        new = creation("one heron")
        changes: list[Change] = [new, *(marks(old, new.entry.memory) for old in olds)]
        with pytest.raises(VersionConflict):
            space.commit(changes)
        assert space.get([new.entry.memory.id]) == {}
        assert all(memory.is_current() for memory in space.get([old.id for old in olds]).values())
        assert reading.predecessors(space, [new.entry.memory.id]) == []

    def test_twenty_memories_are_superseded_at_once(self, space: Space) -> None:
        olds = [save(space, f"the heron number {i}") for i in range(20)]
        new = creation("one heron", supersedes=tuple(old.id for old in olds))
        space.commit([new, *(marks(old, new.entry.memory) for old in olds)])
        assert found(search(space, "heron")) == {new.entry.memory.id}
        assert {memory.id for memory in reading.predecessors(space, [new.entry.memory.id])} == {old.id for old in olds}
        assert set(space.purge([new.entry.memory.id])) == {new.entry.memory.id}
        assert found(search(space, "heron")) == {old.id for old in olds}

    def test_a_purge_of_the_newer_one_brings_back_what_it_superseded(self, space: Space) -> None:
        old = save(space, "the heron fishes at dawn", metadata={"a": 1})
        gone = save(space, "a heron that was deleted")
        new = revise(space, old, "the heron fishes at dusk")
        space.commit([marks(gone, new)])
        delete(space, get(space, gone.id))
        assert space.purge([new.id]) == [new.id]
        assert space.traces(new.id) == []
        back = get(space, old.id)
        assert (back.superseded_by, back.superseded_at, back.version) == (None, None, old.version + 1)
        assert get(space, gone.id).superseded_by is None
        assert found(search(space, "heron", near=embed("heron")[0])) == {old.id}
        assert listed(space.page(Filter(metadata={"a": 1}), limit=5)) == {old.id}
        assert space.copies([TextKey(text_digest(old.content), "user/default", None, None)]) == [1]
        assert reading.predecessors(space, [new.id]) == []

    def test_a_purge_of_the_older_one_leaves_no_trace_of_it(self, space: Space) -> None:
        old = save(space, "the heron fishes at dawn")
        new = revise(space, old, "the heron fishes at dusk")
        newest = revise(space, new, "the heron fishes at night", at=120)
        update(space, newest, content="the heron sleeps")
        space.purge([new.id])
        assert space.traces(new.id) == []
        assert get(space, newest.id).supersedes == ()
        assert found(search(space, "heron")) == {old.id, newest.id}

    def test_what_a_superseded_memory_said_before_is_no_trace_of_a_purged_one(self, space: Space) -> None:
        old = save(space, "the heron fishes at dawn")
        new = revise(space, old, "the heron fishes at dusk")
        marked = get(space, old.id)
        space.commit([replacement(marked, superseded_by=None, superseded_at=None)])
        assert found(search(space, "heron")) == {old.id, new.id}
        space.purge([new.id])
        assert space.traces(new.id) == []
        assert [r.memory.superseded_by for r in space.revisions(old.id)] == [None, None]

    def test_no_write_supersedes_by_a_memory_that_was_purged(self, space: Space) -> None:
        old = save(space, "the heron fishes at dawn")
        new = revise(space, old, "the heron fishes at dusk")
        marked = get(space, old.id)
        space.purge([new.id])
        update(space, replace(marked, version=get(space, old.id).version), content="the heron was edited")
        assert get(space, old.id).superseded_by is None
        assert found(search(space, "heron")) == {old.id}

    def test_the_older_one_may_come_before_the_one_that_superseded_it(self, space: Space) -> None:
        new = memory("the heron fishes at dusk", created_at=later(60))
        old = memory("the heron fishes at dawn", superseded_by=new.id, superseded_at=new.created_at)
        space.commit([Create(entry=entry(old), links_ahead=True)])
        assert found(search(space, "heron")) == set()
        space.commit([Create(entry=entry(new), links_ahead=True)])
        assert found(search(space, "heron")) == {new.id}
        assert [memory.id for memory in reading.predecessors(space, [new.id])] == [old.id]

    def test_expiry_of_the_newer_one_brings_nothing_back_and_its_sweep_does(
        self, space: Space, clock: SettableClock
    ) -> None:
        old = save(space, "the heron fishes at dawn")
        new = revise(space, old, "the heron fishes at dusk", expires_at=NOON + timedelta(seconds=90))
        clock.advance(seconds=100)
        assert found(search(space, "heron")) == set()
        assert space.find(Gone(NOON)) == [new.id]
        space.purge(space.find(Gone(NOON)))
        assert found(search(space, "heron")) == {old.id}

    def test_a_turn_is_found_as_before_where_memories_are_superseded(self, space: Space) -> None:
        said = Create(entry=entry(turn("the heron said", "talk")))
        space.commit([said])
        old = save(space, "the heron fishes")
        new = revise(space, old, "the heron flies")
        assert found(search(space, "heron", include_turns=True)) == {said.entry.memory.id, new.id}

    def test_a_chain_of_superseded_memories_is_followed_in_one_call(self, space: Space) -> None:
        first = save(space, "status 0")
        chain = [first]
        for number in range(1, 5):
            chain.append(revise(space, chain[-1], f"status {number}", at=60 * number))
        expected = {old.id: new.id for old, new in pairwise(chain)}
        assert space.successions([first.id, chain[2].id]) == expected
        assert space.successions([chain[-1].id]) == {}
        # A deleted one ends what is visible of the chain.
        delete(space, get(space, chain[3].id))
        assert space.successions([first.id]) == {m.id: expected[m.id] for m in chain[:3]}

    def test_a_circle_of_superseded_memories_is_harmless(self, space: Space) -> None:
        one, other = save(space, "one"), save(space, "other")
        space.commit([marks(one, other), marks(other, one)])
        assert space.successions([one.id]) == {one.id: other.id, other.id: one.id}
