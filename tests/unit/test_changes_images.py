"""From an image to the next one, and what superseding means, over a dictionary in place of a store."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clock import NOON
from contracts.entries import memory
from steeltrap.changes import images
from steeltrap.changes.batch import batch_of, settle
from steeltrap.changes.images import references, without_references
from steeltrap.errors import Conflict, InvalidInput
from steeltrap.model import Author, Draft, Edit, Link, Memory, Neighbour, Revision
from steeltrap.ports import Change, Create, Entry, Replace

DAY = timedelta(days=1)
LATER = Author(agent_id="later", at=NOON + timedelta(hours=1))
IDS = [str(UUID(int=n)) for n in range(1, 7)]
texts = st.sampled_from(["tea", "rain", "the boat", "Ana: she sails"])
edits = st.builds(
    Edit,
    content=st.none() | texts,
    tags=st.none() | st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple),
    tier=st.sampled_from([None, "long_term", "short_term"]),
    scope=st.sampled_from([None, "user/default", "birds"]),
    pinned=st.sampled_from([None, True, False]),
    metadata=st.sampled_from([None, {"k": 1}, {"k": None}]),
)


class Nothing:
    """A store without a duplicate."""

    def same_text(self, entry: Entry) -> list[str]:
        return []

    def near(self, entry: Entry, floor: float, top_k: int) -> list[Neighbour]:
        return []


class Memories:
    """Memories by id, with their histories; every commit is settled as a store settles it."""

    def __init__(self, count: int) -> None:
        self.by_id: dict[str, Memory] = {}
        self.history: dict[str, list[Revision]] = {id: [] for id in IDS}
        self.hours = 0
        self.commit([Create(entry=images.unchanged_text(memory(f"text {id}", id=id))) for id in IDS[:count]])

    def author(self) -> Author:
        self.hours += 1
        return Author(agent_id="a", at=NOON + timedelta(hours=self.hours))

    def commit(self, changes: list[Change]) -> None:
        versions = {id: memory.version for id, memory in self.by_id.items()}
        for write in settle(batch_of(changes), versions, Nothing(), NOON):
            self.by_id[write.entry.memory.id] = write.entry.memory
            self.history[write.entry.memory.id] += write.history

    def superseded(self, id: str) -> list[Memory]:
        return [memory for memory in self.by_id.values() if memory.superseded_by == id]

    def edit(self, id: str, edit: Edit) -> None:
        by, old = self.author(), self.by_id[id]
        new = images.edited(old, edit, by, short_term_ttl=DAY)
        self.commit([images.replaced(old, images.unchanged_text(new), by)])

    def supersede(self, new: str, old: str) -> None:
        draft = Draft(content=f"instead of {old}", supersedes=(old,))
        made = images.created(draft, new, self.author(), short_term_ttl=DAY)
        marks = images.superseded_by(made, [self.by_id[old]], self.author())
        self.commit([Create(entry=images.unchanged_text(made)), *marks])

    def delete(self, id: str) -> None:
        self.commit([*images.deleted(self.by_id[id], self.superseded(id), self.author())])

    def undelete(self, id: str) -> None:
        by, old = self.author(), self.by_id[id]
        restored = images.undeleted(old, by)
        newer = set(images.chain(restored, self.by_id.get))
        olds = [self.by_id[each] for each in restored.supersedes if each in self.by_id]
        back = Replace(entry=images.unchanged_text(restored), expected=old.version)
        self.commit([back, *images.resupersede(restored, olds, newer, by)])

    def step_back(self, id: str) -> None:
        by, old = self.author(), self.by_id[id]
        image = images.before_last_change(old, self.history[id])
        if image is not None:
            self.commit([images.replaced(old, images.unchanged_text(images.stepped_back(old, image, by)), by)])

    def purge(self, id: str) -> None:
        del self.by_id[id]
        self.by_id = {each: without_references(memory, {id}) for each, memory in self.by_id.items()}
        self.history = {
            each: [replace(r, memory=without_references(r.memory, {id})) for r in past if each != id]
            for each, past in self.history.items()
        }

    def step(self, verb: str, id: str, other: str, edit: Edit) -> None:
        """Do what a verb says, where an engine would let it."""
        there, visible = id in self.by_id, id in self.by_id and self.by_id[id].deleted_at is None
        if verb == "edit" and visible:
            self.edit(id, edit)
        elif verb == "supersede" and visible and other not in self.by_id and not self.by_id[id].superseded_by:
            self.supersede(other, id)
        elif verb == "delete" and visible:
            self.delete(id)
        elif verb == "undo" and visible:
            self.step_back(id)
        elif verb == "undo" and there:
            self.undelete(id)
        elif verb == "purge" and there:
            self.purge(id)

    def check(self) -> None:
        for id, image in self.by_id.items():
            assert references(image) <= self.by_id.keys(), "no reference leads to what is gone"
            for revision in self.history[id]:
                assert references(revision.memory) <= self.by_id.keys()
                assert revision.memory.version < image.version
            if image.superseded_by is not None:
                assert self.by_id[image.superseded_by].deleted_at is None, "nothing is hidden for a deleted memory"
            newest = [*images.chain(image, self.by_id.get)]
            assert id not in newest, "no memory supersedes itself by way of others"
            assert image.superseded_by is None or self.by_id[newest[-1]].superseded_by is None


steps = st.tuples(
    st.sampled_from(["edit", "supersede", "supersede", "delete", "undo", "undo", "purge"]),
    st.sampled_from(IDS),
    st.sampled_from(IDS),
    edits,
)


@given(st.integers(1, 3), st.lists(steps, max_size=25))
def test_whatever_is_done_no_reference_dangles_and_nothing_is_hidden_for_what_is_gone(
    count: int, done: list[tuple[str, str, str, Edit]]
) -> None:
    memories = Memories(count)
    for verb, id, other, edit in done:
        memories.step(verb, id, other, edit)
        memories.check()


@given(edits, edits)
def test_going_back_over_an_edit_restores_all_of_the_image(first: Edit, second: Edit) -> None:
    memories = Memories(1)
    [id] = memories.by_id
    memories.edit(id, first)
    before = memories.by_id[id]
    memories.edit(id, second)
    memories.step_back(id)
    after = memories.by_id[id]
    assert after.version == before.version + 2
    mark = {"version": 0, "updated_at": NOON, "restored_version": None}
    assert replace(after, **mark) == replace(before, **mark)


@given(st.integers(1, 6))
def test_each_undo_goes_one_version_further_back(count: int) -> None:
    memories = Memories(1)
    [id] = memories.by_id
    for i in range(count):
        memories.edit(id, Edit(content=f"edit {i}"))
    contents = []
    for _ in range(count):
        memories.step_back(id)
        contents.append(memories.by_id[id].content)
    assert contents == [*(f"edit {i}" for i in range(count - 2, -1, -1)), f"text {id}"]
    assert images.before_last_change(memories.by_id[id], memories.history[id]) is None


@given(st.integers(1, 4))
def test_deleting_and_bringing_back_changes_nothing_but_the_version(superseded: int) -> None:
    memories = Memories(1)
    for new, old in zip(IDS[1 : superseded + 1], IDS, strict=False):
        memories.supersede(new, old)
    before = dict(memories.by_id)
    memories.delete(IDS[superseded])
    assert memories.by_id[IDS[superseded - 1]].superseded_by is None
    memories.undelete(IDS[superseded])
    mark = {"version": 0, "updated_at": NOON, "updated_by": None}
    assert [replace(m, **mark) for m in memories.by_id.values()] == [replace(m, **mark) for m in before.values()]


@given(edits)
def test_an_edit_is_found_otherwise_just_when_words_day_or_scope_changed(edit: Edit) -> None:
    old = memory("tea", id=IDS[0])
    new = images.edited(old, edit, LATER, short_term_ttl=DAY)
    assert images.is_found_otherwise(old, new) == (new.content != old.content or new.scope != old.scope)


def test_a_clock_that_went_back_takes_no_memory_back() -> None:
    early = Author(agent_id="a", at=NOON - DAY)
    old = memory("tea")
    assert images.edited(old, Edit(content="rain"), early, short_term_ttl=DAY).updated_at == NOON
    assert images.deletion(old, early).entry.memory.deleted_at == NOON
    assert images.undeleted(old, early).updated_at == NOON


def test_a_new_text_is_as_trusted_as_its_author_and_no_other_edit_makes_it_more_so() -> None:
    old = memory("tea", untrusted=True)
    trusted, other = LATER, replace(LATER, is_untrusted=True)
    assert not images.edited(old, Edit(content="rain"), trusted, short_term_ttl=DAY).untrusted
    assert images.edited(old, Edit(pinned=True), trusted, short_term_ttl=DAY).untrusted
    assert images.edited(memory("tea"), Edit(pinned=True), other, short_term_ttl=DAY).untrusted


def test_only_what_nothing_else_superseded_and_nobody_said_can_be_superseded() -> None:
    new = memory("rain", id=IDS[1], supersedes=(IDS[0],))
    old = memory("tea", id=IDS[0])
    assert [c.entry.memory.superseded_by for c in images.superseded_by(new, [old], LATER)] == [new.id]
    assert images.superseded_by(new, [replace(old, superseded_by=new.id, superseded_at=NOON)], LATER) == []
    with pytest.raises(Conflict, match="superseded by"):
        images.superseded_by(new, [replace(old, superseded_by=IDS[2], superseded_at=NOON)], LATER)
    with pytest.raises(InvalidInput, match="was said in a conversation"):
        images.superseded_by(new, [replace(old, source="conversation", conversation_id="talk")], LATER)
    with pytest.raises(InvalidInput, match="can't supersede itself"):
        images.superseded_by(replace(new, supersedes=(new.id,)), [], LATER)


def test_a_merged_memory_takes_the_place_of_its_sources_and_of_what_they_superseded() -> None:
    first, second = memory("tea", id=IDS[0], superseded_by=IDS[1], superseded_at=NOON), memory("rain", id=IDS[1])
    old = memory("sun", id=IDS[2], superseded_by=IDS[1], superseded_at=NOON)
    new = memory("tea and rain", id=IDS[3])
    creation = Create(entry=images.unchanged_text(new))
    changes = images.merged(creation, [first, second], [old], LATER)
    after = {change.entry.memory.id: change.entry.memory for change in changes}
    assert [after[id].deleted_at is not None for id in IDS[:4]] == [True, True, False, False]
    assert [after[id].superseded_by for id in IDS[:3]] == [None, None, new.id]


@given(st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(IDS)), max_size=6))
def test_an_import_brings_no_circle_of_superseding(pairs: list[tuple[str, str]]) -> None:
    given = [memory("tea", id=old, superseded_by=new, superseded_at=NOON) for old, new in dict(pairs).items()]
    fit = images.without_cycles(given, lambda ids: {})
    for each in fit.values():
        assert each.id not in images.chain(each, fit.get)


def test_an_imported_memory_is_current_where_the_newer_one_is_deleted() -> None:
    gone = memory("rain", id=IDS[1], deleted_at=NOON)
    old = memory("tea", id=IDS[0], superseded_by=gone.id, superseded_at=NOON)
    stored = {gone.id: gone}
    assert images.without_cycles([old], lambda ids: {id: stored[id] for id in ids if id in stored})[old.id].is_current()
    assert images.without_cycles([old], lambda ids: {})[old.id].superseded_by == gone.id


def test_links_that_a_user_made_stay_first_and_once() -> None:
    link = Link(target_id=IDS[1], strength=0.9, manual=True)
    old = memory("tea", links=(Link(target_id=IDS[1], strength=0.7, manual=False),))
    assert images.edited(old, Edit(add_link=link), LATER, short_term_ttl=DAY).links == (link,)
