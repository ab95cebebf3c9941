"""A commit is checked, and cleared of references to what is gone, without any store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clock import NOON
from contracts.entries import entry, memory, replacement, vector
from steeltrap.changes.batch import Write, batch_of, images, referenced, settle
from steeltrap.changes.images import references, without_references
from steeltrap.errors import AlreadyExists, Conflict, Duplicate, MemoryNotFound, VersionConflict
from steeltrap.model import Link, Memory, Neighbour
from steeltrap.ports import Close, Create, Entry, Guard, Replace

IDS = [str(UUID(int=n)) for n in range(1, 9)]
some_ids = st.lists(st.sampled_from(IDS), max_size=4, unique=True)


class Stored:
    """The neighbours that a store would find for a guarded creation."""

    def __init__(self, texts: Sequence[str] = (), near: Mapping[str, float] | None = None) -> None:
        self.texts = texts
        self.by_cosine = near or {}

    def same_text(self, entry: Entry) -> Sequence[str]:
        return self.texts

    def near(self, entry: Entry, floor: float, top_k: int) -> list[Neighbour]:
        nearest = sorted(self.by_cosine.items(), key=lambda pair: -pair[1])[:top_k]
        return [Neighbour(id=id, cosine=cosine) for id, cosine in nearest if cosine >= floor]


def link(id: str) -> Link:
    return Link(target_id=id, strength=0.8, manual=False)


@st.composite
def memories(draw: st.DrawFn, id: str | None = None) -> Memory:
    """A memory that refers to others in every way there is."""
    by = draw(st.none() | st.sampled_from(IDS))
    return memory(
        draw(st.sampled_from(["tea", "rain", "the boat"])),
        id=id or draw(st.sampled_from(IDS)),
        links=tuple(map(link, draw(some_ids))),
        supersedes=tuple(draw(some_ids)),
        superseded_by=by,
        superseded_at=by and NOON,
    )


@st.composite
def batches(draw: st.DrawFn) -> list[Write]:
    """Creations and replacements of different memories, with a history each."""
    writes: list[Write] = []
    for id in draw(some_ids):
        history = tuple(change for change in replacement(draw(memories(id))).history if draw(st.booleans()))
        image = draw(memories(id))
        if draw(st.booleans()):
            writes.append(Create(entry=entry(image), history=history, links_ahead=draw(st.booleans())))
        else:
            writes.append(Replace(entry=entry(replace(image, version=2)), expected=1, history=history))
    return writes


def versions_of(writes: Sequence[Write], others: Sequence[str]) -> dict[str, int]:
    created = {write.entry.memory.id for write in writes if isinstance(write, Create)}
    replaced = {write.entry.memory.id: 1 for write in writes if isinstance(write, Replace)}
    return replaced | {id: 1 for id in others if id not in created}


@given(memories(), some_ids)
def test_a_memory_without_references_names_none_of_them_and_keeps_all_others(memory: Memory, gone: list[str]) -> None:
    assert references(without_references(memory, gone)) == references(memory) - set(gone)


@given(memories(), some_ids)
def test_taking_references_out_changes_nothing_else_and_nothing_the_second_time(
    memory: Memory, gone: list[str]
) -> None:
    once = without_references(memory, gone)
    assert without_references(once, gone) == once
    kept = {"links": (), "supersedes": (), "superseded_by": None, "superseded_at": None}
    assert replace(once, **kept) == replace(memory, **kept)


@given(memories(), some_ids)
def test_a_memory_is_current_again_just_when_the_one_that_superseded_it_is_gone(
    memory: Memory, gone: list[str]
) -> None:
    freed = without_references(memory, gone)
    assert freed.is_current() == (memory.superseded_by is None or memory.superseded_by in gone)


@given(batches(), some_ids)
def test_a_settled_write_names_only_what_is_stored_or_written_with_it(writes: list[Write], others: list[str]) -> None:
    batch = batch_of(writes)
    versions = versions_of(writes, others)
    known = {*versions, *batch.ids}
    for before, after in zip(batch.writes, settle(batch, versions, Stored(), NOON), strict=True):
        ahead = isinstance(before, Create) and before.links_ahead
        assert referenced(after) == (referenced(before) if ahead else referenced(before) & known)
        assert [image.version for image in images(after)] == [image.version for image in images(before)]


@given(batches(), some_ids)
def test_what_a_batch_looks_up_decides_which_references_stay(writes: list[Write], others: list[str]) -> None:
    batch = batch_of(writes)
    versions = versions_of(writes, others)
    looked_up = {id: version for id, version in versions.items() if id in {*batch.ids, *batch.looked_up}}
    settled = settle(batch, versions, Stored(), NOON)
    assert settle(batch, looked_up, Stored(), NOON) == settled


@given(batches(), some_ids)
def test_settling_twice_is_settling_once(writes: list[Write], others: list[str]) -> None:
    versions = versions_of(writes, others)
    once = settle(batch_of(writes), versions, Stored(), NOON)
    assert settle(batch_of(once), versions, Stored(), NOON) == once


@given(batches())
def test_replacements_come_before_creations_and_no_change_is_lost(writes: list[Write]) -> None:
    batch = batch_of(writes)
    assert sorted(batch.ids) == sorted(write.entry.memory.id for write in writes)
    kinds = [isinstance(write, Create) for write in batch.writes]
    assert kinds == sorted(kinds)


@given(st.integers(1, 5), st.integers(1, 5))
def test_a_replacement_is_written_just_over_the_version_that_it_expects(stored: int, expected: int) -> None:
    change = replace(replacement(memory("tea", id=IDS[0])), expected=expected)
    if stored == expected:
        assert settle(batch_of([change]), {IDS[0]: stored}, Stored(), NOON) == (change,)
    else:
        with pytest.raises(VersionConflict) as caught:
            settle(batch_of([change]), {IDS[0]: stored}, Stored(), NOON)
        assert caught.value.details == {"id": IDS[0], "version": stored}


def test_a_replacement_of_nothing_and_a_creation_of_what_exists_are_refused() -> None:
    with pytest.raises(MemoryNotFound):
        settle(batch_of([replacement(memory("tea", id=IDS[0]))]), {}, Stored(), NOON)
    with pytest.raises(AlreadyExists):
        settle(batch_of([Create(entry=entry(memory("tea", id=IDS[0])))]), {IDS[0]: 3}, Stored(), NOON)


@pytest.mark.parametrize(
    "second", [lambda m: Create(entry=entry(m)), replacement], ids=["created twice", "replaced as well"]
)
def test_a_memory_is_written_once_in_a_batch(second: Callable[[Memory], Write]) -> None:
    tea = memory("tea", id=IDS[0])
    with pytest.raises(Conflict):
        batch_of([Create(entry=entry(tea)), second(tea)])


def test_turns_are_closed_once_each_in_their_order() -> None:
    assert batch_of([Close(turn_ids=(IDS[2], IDS[0])), Close(turn_ids=(IDS[0], IDS[1]))]).closed == (
        IDS[2],
        IDS[0],
        IDS[1],
    )


def guarded(content: str, id: str, near: bytes | None = None, **guard: object) -> Create:
    made = entry(memory(content, id=id), None if near is None else [near])
    return Create(entry=made, guard=Guard(**guard))  # type: ignore[arg-type]


def test_the_oldest_memory_with_the_same_text_refuses_a_guarded_creation() -> None:
    with pytest.raises(Duplicate) as caught:
        settle(batch_of([guarded("tea", IDS[0], same_text=True)]), {}, Stored(texts=IDS[1:3]), NOON)
    assert caught.value.id == IDS[1]


def test_what_the_same_batch_supersedes_or_deletes_is_no_duplicate() -> None:
    old, gone = memory("tea", id=IDS[1]), memory("tea", id=IDS[2])
    batch = batch_of(
        [
            guarded("tea", IDS[0], same_text=True, threshold=0.9),
            replacement(old, superseded_by=IDS[0], superseded_at=NOON),
            replacement(gone, deleted_at=NOON),
        ]
    )
    stored = Stored(texts=[IDS[1], IDS[2]], near={IDS[1]: 1.0, IDS[2]: 0.99})
    settle(batch, {IDS[1]: 1, IDS[2]: 1}, stored, NOON)
    with pytest.raises(Duplicate) as caught:
        settle(batch, {IDS[1]: 1, IDS[2]: 1}, Stored(near=stored.by_cosine | {IDS[3]: 0.95}), NOON)
    assert (caught.value.id, caught.value.similarity) == (IDS[3], 0.95)


def test_a_batch_has_no_two_guarded_memories_of_one_text_or_one_vector() -> None:
    with pytest.raises(Duplicate) as caught:
        settle(batch_of([guarded("tea", IDS[0]), guarded("tea", IDS[1], same_text=True)]), {}, Stored(), NOON)
    assert caught.value.id == IDS[0]
    near = [guarded("tea", IDS[0], vector(1)), guarded("rain", IDS[1], vector(1), threshold=0.9)]
    with pytest.raises(Duplicate) as caught:
        settle(batch_of(near), {}, Stored(), NOON)
    assert (caught.value.id, caught.value.similarity) == (IDS[0], 1.0)
