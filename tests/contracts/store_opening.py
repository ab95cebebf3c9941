"""The contract of every store for its users, each of whom it keeps apart, and for opening, closing and forgetting."""

import itertools
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clock import NOON, SettableClock
from contracts.entries import (
    EMBEDDER,
    SECONDS,
    Opening,
    creation,
    delete,
    embed,
    entry,
    found,
    query,
    save,
    search,
    turn,
    update,
    vector,
)
from contracts.entries import store as commit
from embedding import HashedWords
from spaces import space_of
from steeltrap.engine import reading
from steeltrap.errors import Conflict, MemoryNotFound
from steeltrap.model import Filter, Import, Link, Memory, Session, UserRef
from steeltrap.ports import Create, Entry, MemoryStore, Space
from steeltrap.text.words import tokens

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


class StoreOpening:
    """Earned as a part of `StoreContract`."""

    def test_any_user_id_has_its_own_space(self, store: Opening, opened: MemoryStore, clock: SettableClock) -> None:
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

    def test_a_user_has_a_space_from_the_first_write_on(self, opened: MemoryStore) -> None:
        bob = space_of(opened, "bob")
        search(bob, "x")
        assert list(opened.users()) == []
        save(bob, "one")
        assert list(opened.users()) == [UserRef("bob")]

    def test_nothing_of_one_user_is_reached_through_anothers_space(self, opened: MemoryStore, space: Space) -> None:
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

    def test_forgetting_a_user_leaves_nothing_and_nobody_else_behind(self, opened: MemoryStore, space: Space) -> None:
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

    def test_a_forgotten_user_can_be_written_through_every_old_handle(
        self, store: Opening, clock: SettableClock
    ) -> None:
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

    def test_everything_is_there_after_a_close(self, store: Opening, clock: SettableClock) -> None:
        first = store(clock, EMBEDDER)
        one = update(space_of(first, "ana"), save(space_of(first, "ana"), "the heron"), content="the heron fishes")
        said = commit(space_of(first, "ana"), Create(entry=entry(turn("the heron said", "talk"))))
        first.close()
        space = space_of(store(clock, EMBEDDER), "ana")
        assert list(space.walk(turns=True)) == [one, said]
        assert found(search(space, "heron", near=embed("heron")[0], include_turns=True)) == {one.id, said.id}
        assert len(space.revisions(one.id)) == 1

    def test_a_closed_store_closes_again_without_harm(
        self, opened: MemoryStore, space: Space, store: Opening, clock: SettableClock
    ) -> None:
        one = save(space, "one")
        opened.close()
        opened.close()
        assert list(space_of(store(clock, EMBEDDER), "ana").walk()) == [one]

    def test_two_handles_see_each_others_writes_at_once(self, store: Opening, clock: SettableClock) -> None:
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

    def test_another_embedder_is_refused_until_the_memories_are_embedded_anew(
        self, store: Opening, clock: SettableClock
    ) -> None:
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

    def test_a_handle_of_the_old_embedder_is_refused_after_embedding_anew(
        self, store: Opening, clock: SettableClock
    ) -> None:
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

    def test_a_store_that_serves_passes_its_check(self, opened: MemoryStore) -> None:
        opened.check()

    def test_expiry_is_judged_by_the_injected_clock(self, space: Space, clock: SettableClock) -> None:
        save(space, "the heron", expires_at=NOON + timedelta(days=400))
        clock.advance(days=399.999)
        assert search(space, "heron").stored == 1
        clock.advance(days=0.001)
        assert search(space, "heron").stored == 0
