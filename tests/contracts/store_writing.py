"""The contract of every store for writing: commits of changes, versions, and guards against duplicates."""

from dataclasses import replace
from typing import Any

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
    replacement,
    save,
    search,
    turn,
    update,
    vector,
)
from contracts.entries import store as commit
from steeltrap.engine import reading
from steeltrap.errors import AlreadyExists, Duplicate, MemoryNotFound, VersionConflict
from steeltrap.model import Filter, Importance, Link, Message, Neighbour
from steeltrap.ports import Create, Entry, Guard, MemoryStore, Replace, Space, TextKey
from steeltrap.text.words import text_digest


class StoreWriting:
    """Earned as a part of `StoreContract`."""

    # Writing

    def test_every_field_of_a_memory_comes_back_as_it_was_given(self, space: Space) -> None:
        given_ = memory(
            "The user's café is in 東京 🫖.",
            messages=(
                Message(role="user", content="hello", time=NOON, speaker="Ana"),
                Message(role="tool", content="{}"),
            ),
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

    def test_a_text_of_100_kb_is_stored_found_and_kept_in_history(self, space: Space) -> None:
        words = [f"word{number}" for number in range(12_000)]
        long = " ".join(words)[:100_000]
        old = save(space, long, id=ids(1)[0])
        assert space.get([old.id])[old.id].content == long
        assert found(search(space, "word77")) == {old.id}
        new = update(space, old, content=long[1:] + "!")
        assert space.page(Filter(), limit=1).memories == (new,)
        assert [revision.memory.content for revision in space.revisions(old.id)] == [long]

    def test_a_commit_writes_all_of_its_changes(self, space: Space) -> None:
        old = save(space, "one")
        new = creation("two")
        space.commit([new, replacement(old, content="one more")])
        assert [m.content for m in space.get([old.id, new.entry.memory.id]).values()] == ["one more", "two"]

    def test_a_commit_of_nothing_does_nothing(self, opened: MemoryStore, space: Space) -> None:
        space.commit([])
        assert list(opened.users()) == []

    @pytest.mark.parametrize("at", [0, 25, 49])
    @pytest.mark.parametrize("failing", ["same id", "version", "unknown id", "same text", "too near"])
    def test_a_commit_with_one_change_that_fails_writes_none(self, space: Space, failing: str, at: int) -> None:
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

    def test_creating_an_id_that_is_there_conflicts_and_names_it(self, space: Space) -> None:
        there = save(space, "one")
        with pytest.raises(AlreadyExists) as conflict:
            save(space, "two", id=there.id)
        assert conflict.value.details["id"] == there.id
        assert space.get([there.id])[there.id].content == "one"

    def test_creating_the_id_of_a_deleted_memory_conflicts(self, space: Space) -> None:
        gone = delete(space, save(space, "one"))
        with pytest.raises(AlreadyExists) as conflict:
            save(space, "two", id=gone.id)
        assert conflict.value.details["id"] == gone.id

    def test_a_purged_id_is_free_again(self, space: Space) -> None:
        old = save(space, "one")
        space.purge([old.id])
        save(space, "two", id=old.id)
        assert space.get([old.id])[old.id].content == "two"
        assert space.revisions(old.id) == []

    def test_replacing_another_version_conflicts_and_tells_the_stored_one(self, space: Space) -> None:
        old = save(space, "one")
        newer = update(space, old, content="two")
        with pytest.raises(VersionConflict) as conflict:
            update(space, old, content="three")
        assert (conflict.value.details["version"], conflict.value.details["id"]) == (2, old.id)
        assert space.get([old.id])[old.id] == newer
        assert [r.memory for r in space.revisions(old.id)] == [old]

    def test_replacing_an_unknown_id_is_not_found(self, space: Space) -> None:
        save(space, "one")
        with pytest.raises(MemoryNotFound):
            update(space, memory("never saved"), content="two")

    def test_a_replacement_without_text_keeps_vectors_and_tokens(self, space: Space) -> None:
        old = save(space, "the heron fishes at dawn")
        new = replace(old, version=2, tags=("birds",))
        commit(space, Replace(entry=Entry(memory=new, fold=text_digest(new.content)), expected=1))
        assert found(search(space, "heron", tags=("birds",))) == {old.id}
        [candidate] = search(space, near=embed("the heron fishes at dawn")[0]).candidates
        assert candidate.cosine == pytest.approx(1, abs=1e-5)

    def test_a_replaced_text_is_found_by_its_new_words_only(self, space: Space) -> None:
        old = save(space, "the heron fishes at dawn")
        update(space, old, content="the otter sleeps")
        assert found(search(space, "heron")) == set()
        assert found(search(space, "otter")) == {old.id}

    def test_a_delete_hides_the_memory_everywhere_and_keeps_the_image(self, space: Space) -> None:
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
        assert (
            space.look_around([probe("the heron fishes", scope="birds")], floor=0.1, top_k=9)[0].near[0].id == other.id
        )

    def test_a_deleted_memory_comes_back_by_a_replacement(self, space: Space) -> None:
        gone = delete(space, save(space, "the heron fishes"))
        back = replace(gone, deleted_at=None, version=3)
        commit(space, Replace(entry=entry(back), expected=2))
        assert space.get([gone.id]) == {gone.id: back}
        assert found(search(space, "heron")) == {gone.id}

    # Guards

    def test_a_guard_refuses_equal_normalised_text_of_the_same_scope(self, space: Space) -> None:
        there = save(space, "Café au  lait", scope="drinks")
        with pytest.raises(Duplicate) as conflict:
            save(space, " CAFÉ au lait\n", scope="drinks", guard=Guard(same_text=True))
        assert conflict.value.details["id"] == conflict.value.id == there.id
        assert conflict.value.similarity == 1
        save(space, "Café au lait", scope="food", guard=Guard(same_text=True))
        save(space, "Cafe au lait!", scope="drinks", guard=Guard(same_text=True))

    def test_a_guard_ignores_turns_and_what_is_deleted_or_expired(self, space: Space, clock: SettableClock) -> None:
        commit(space, Create(entry=entry(turn("the heron fishes", "talk"))))
        delete(space, save(space, "the heron fishes"))
        save(space, "the heron fishes", expires_at=later(60))
        clock.advance(seconds=60)
        one = save(space, "the heron fishes", guard=Guard(same_text=True, threshold=0.99))
        assert list(space.walk()) == [one]

    def test_a_guard_refuses_what_is_as_near_as_its_threshold(self, space: Space) -> None:
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

    def test_a_guard_sees_what_was_written_a_moment_before(self, space: Space) -> None:
        guard = Guard(threshold=0.99)
        save(space, "the heron fishes", guard=guard)
        for _ in range(3):
            with pytest.raises(Duplicate):
                save(space, "the heron fishes", guard=guard)
        assert search(space, "heron").stored == 1
