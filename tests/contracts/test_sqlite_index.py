"""The in-memory index over a user's file: however it came about, it answers like one loaded anew."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clock import SettableClock
from contracts.entries import (
    EMBEDDER,
    creation,
    delete,
    embed,
    later,
    memory,
    probe,
    query,
    save,
    search,
    update,
    vector,
)
from contracts.entries import entry as entry_of
from spaces import space_of
from steeltrap.errors import Conflict, Unavailable
from steeltrap.model import Embedding, Memory, UserRef
from steeltrap.ports import Create, Guard, Space
from steeltrap.stores.exact import index
from steeltrap.stores.exact.vectors import Leading
from steeltrap.stores.sqlite import SqliteStore, file

Opening = Callable[[], SqliteStore]
_WORDS = ["heron", "otter", "pond", "dawn", "reed", "frog", "山", "川魚"]


@pytest.fixture
def open_store(tmp_path: Path, clock: SettableClock) -> Iterator[Opening]:
    opened: list[SqliteStore] = []

    def open_store() -> SqliteStore:
        opened.append(SqliteStore(tmp_path, EMBEDDER, clock))
        return opened[-1]

    yield open_store
    for store in opened:
        store.close()


def test_the_words_of_many_memories_are_read_by_several_calls(open_store: Opening, clock: SettableClock) -> None:
    space, other = space_of(open_store(), "ana"), space_of(open_store(), "ana")
    space.commit([creation(f"heron{number}") for number in range(index.READ_AT_ONCE + 1)])
    assert space.vocabulary() is None
    assert len(space.vocabulary() or ()) == index.READ_AT_ONCE + 1
    save(other, "otter")
    assert "otter" in (space.vocabulary() or ())


def test_of_very_many_memories_no_words_are_kept(open_store: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MOST_SPELT", 1)
    space = space_of(open_store(), "ana")
    save(space, "heron")
    assert space.vocabulary() == {"heron"}
    save(space, "otter")
    assert space.vocabulary() is None


def test_memories_that_were_read_are_kept_until_they_change(open_store: Opening, clock: SettableClock) -> None:
    space, other = space_of(open_store(), "ana"), space_of(open_store(), "ana")
    stays, changes, goes, leaves = (save(space, text) for text in ("heron", "otter", "pond", "frog"))
    every = [memory.id for memory in (stays, changes, goes, leaves)]
    before = space.get(every)
    update(other, changes, content="reed")
    after = space.get(every)
    assert after[changes.id].content == "reed"
    assert [after[id] is before[id] for id in every] == [True, False, True, True]
    delete(other, goes)
    assert list(space.get(every)) == [stays.id, changes.id, leaves.id]
    assert space.get([stays.id])[stays.id] is before[stays.id]
    other.purge([leaves.id])
    assert list(space.get(every)) == [stays.id, changes.id]


def test_a_look_that_fails_shows_nothing_that_changed(
    open_store: Opening, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    space, other = space_of(open_store(), "ana"), space_of(open_store(), "ana")
    one, goes = save(space, "heron"), save(space, "frog")
    assert len(space.get([one.id, goes.id])) == 2
    update(other, one, content="otter")
    other.purge([goes.id])

    def fail(*_: object) -> None:
        raise Unavailable("the disk is slow", part="store")

    with monkeypatch.context() as failing:
        failing.setattr(file, "changes", fail)
        with pytest.raises(Unavailable):
            space.get([one.id])
    assert {memory.content for memory in space.get([one.id, goes.id]).values()} == {"otter"}


def test_a_vocabulary_has_what_was_written_during_the_call(open_store: Opening, clock: SettableClock) -> None:
    store, other = open_store(), open_store()
    space = space_of(store, "ana")
    one = save(space, "heron")

    def read() -> object:
        space.get([one.id])
        update(space_of(other, "ana"), one, content="otter")
        save(space_of(store, "ana"), "frog")
        return space.vocabulary()

    assert {"otter", "frog"} <= set(space.ahead(read) or ())  # type: ignore[call-overload]
    assert {"otter", "frog"} <= set(space.vocabulary() or ())


def _answers(space: Space) -> list[Any]:
    near = embed("heron pond 川魚")[0]
    asked = [
        query("heron pond 川魚", near=near, per_leg=None, by_term=True, include_turns=turns, turns_of=of)
        for turns, of in ((False, None), (True, None), (True, "talk"))
    ]
    answers: list[Any] = []
    for each in asked:
        matches = space.search(each)
        rounded = [
            (
                c.id,
                round(c.cosine or 0, 4),
                round(c.bm25 or 0, 9),
                *c[3:6],
                [(t, round(score, 9)) for t, score in c.terms.items()],
                c.speaker,
            )
            for c in matches.candidates
        ]
        # The numbers that stand for conversations may differ, what lies in one may not.
        talks: dict[int, list[tuple[int, str]]] = {}
        for c in matches.candidates:
            if c.conversation is not None:
                talks.setdefault(c.conversation, []).append((c.position, c.id))
        answers.append(sorted(sorted(talk) for talk in talks.values()))
        answers.append((sorted(rounded), matches.stored, matches.admitted))
    answers.append(space.speakers())
    for scope in ("user/default", "other", None):
        [around] = space.look_around([probe("heron at dawn", scope=scope)], floor=0.3, top_k=5)
        answers.append([(n.id, round(n.cosine, 4)) for n in (around.nearest, *around.near) if n])
    return answers


@pytest.mark.parametrize("seed", range(8))
def test_an_index_kept_up_with_changes_equals_one_loaded_anew(
    open_store: Opening, clock: SettableClock, seed: int
) -> None:
    pick = random.Random(seed)
    store = open_store()
    spaces = [space_of(store, "ana"), space_of(open_store(), "ana")]
    alive: dict[str, Memory] = {}
    for step in range(90):
        space = pick.choice(spaces)
        kind = pick.choice(["create", "create", "block", "update", "delete", "purge", "expire", "refuse", "read"])
        if kind in ("update", "delete", "purge") and not alive:
            continue
        if kind in ("create", "block"):
            changes = [_creation(pick) for _ in range(1 if kind == "create" else pick.randrange(2, 40))]
            space.commit(changes)
            alive |= {change.entry.memory.id: change.entry.memory for change in changes}
        elif kind == "update":
            old = pick.choice(list(alive.values()))
            alive[old.id] = update(space, old, content=_text(pick), scope=pick.choice(["user/default", "other"]))
        elif kind == "delete":
            delete(space, alive.pop(pick.choice(list(alive))))
        elif kind == "purge":
            gone = pick.sample(list(alive), min(len(alive), pick.randrange(1, 5)))
            space.purge(gone)
            for id in gone:
                del alive[id]
        elif kind == "expire":
            space.commit([_creation(pick, expires_at=later(step))])
            clock.advance(seconds=1)
        elif kind == "refuse" and alive:
            there = pick.choice(list(alive.values()))
            with pytest.raises(Conflict):
                space.commit([_creation(pick), creation("x", id=there.id)])
        else:
            _answers(pick.choice(spaces))
    fresh = open_store()
    expected = _answers(space_of(fresh, "ana"))
    for space in spaces:
        assert _answers(space) == expected


def _text(pick: random.Random) -> str:
    return " ".join(pick.choices(_WORDS, k=pick.choice([1, 3, 8, 300])))


def _direction(pick: random.Random) -> Embedding:
    return vector(*(pick.gauss(0, 1) for _ in range(6)))


def _creation(pick: random.Random, **fields: Any) -> Create:
    fields = {
        "scope": pick.choice(["user/default", "other"]),
        "created_at": later(pick.randrange(-9, 9)),
        "pinned": pick.random() < 0.2,
        "surprise": pick.choice([None, 0.5]),
        "conversation_id": pick.choice([None, "talk", "walk"]),
        **fields,
    }
    if pick.random() < 0.3:
        said = memory(_text(pick), source="conversation", **fields)
        return Create(entry=replace(entry_of(said), speaker=pick.choice([None, "ana", "bob"])))
    return creation(_text(pick), **fields)


def test_a_large_space_estimates_which_are_near_and_gives_their_true_scores(
    open_store: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    pick = random.Random(1)
    space = space_of(open_store(), "ana")
    asked = query("heron", near=_direction(pick), by_term=True)
    estimated: list[int] = []

    def told(self: Leading, vector: Any) -> Any:
        estimates = estimate(self, vector)
        estimated.append(len(estimates))
        return estimates

    estimate = Leading.estimates
    monkeypatch.setattr(Leading, "estimates", told)
    for _ in range(3):
        # The later ones are added to those that are there; some have several chunks.
        chunks = [[_direction(pick) for _ in range(pick.choice([1, 1, 3]))] for _ in range(200)]
        space.commit([creation(_text(pick), vectors=each) for each in chunks])
        exact = {c.id: c for c in space.search(replace(asked, per_leg=None)).candidates}
        with monkeypatch.context() as large:
            for name, size in {"SCAN_FROM": 100, "POOL": 100, "LARGE_POOL": 40, "_FEW": 1}.items():
                large.setattr(index, name, size)
            found = list(space.search(replace(asked, per_leg=20)).candidates)
        assert 40 <= len(found) <= 80
        for one in found:
            assert one.cosine == pytest.approx(exact[one.id].cosine, abs=1e-6)
            assert one.bm25 == pytest.approx(exact[one.id].bm25)
        nearest = sorted(exact, key=lambda id: exact[id].cosine or 0, reverse=True)
        assert set(nearest[:40]) <= {one.id for one in found}
    assert len(estimated) == 3
    assert estimated == sorted(set(estimated))


def test_what_a_refused_block_wrote_is_seen_by_nobody(open_store: Opening) -> None:
    space = space_of(open_store(), "ana")
    save(space, "the heron")
    block = [creation("the otter"), creation("the heron", guard=Guard(threshold=0.99))]
    for _ in range(2):
        with pytest.raises(Conflict):
            space.commit(block)
        assert search(space, "otter heron", near=embed("otter")[0]).stored == 1
        around = space.look_around([probe("the otter")], floor=0.9, top_k=5)[0]
        assert around.near == ()


def test_an_index_is_loaded_anew_when_the_space_is_forgotten_and_filled_again(open_store: Opening) -> None:
    store, other = open_store(), open_store()
    for round_ in range(4):
        for i in range(5):
            save(space_of(other, "ana"), f"heron {round_} {i}")
        assert search(space_of(store, "ana"), "heron").stored == 5
        other.forget_user(UserRef("ana"))
        assert search(space_of(store, "ana"), "heron").stored == 0


def test_many_changes_of_one_memory_leave_one(open_store: Opening) -> None:
    space = space_of(open_store(), "ana")
    current = save(space, "the heron 0")
    for i in range(200):
        current = update(space, current, content=f"the heron {i}")
        if i % 7 == 0:
            assert search(space, "heron").stored == 1
    [candidate] = search(space, "heron", near=embed("the heron 199")[0]).candidates
    assert candidate.cosine == pytest.approx(1, abs=1e-5)
