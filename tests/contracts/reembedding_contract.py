"""The contract of every store while the vectors of another embedder are made. Earned as `StoreContract` is."""

from collections.abc import Callable, Sequence
from typing import Literal

import pytest

from clock import SettableClock
from contracts.entries import EMBEDDER, SECONDS, Opening, creation, delete, embed, entry, found, save, search, update
from embedding import HashedWords
from spaces import space_of
from steeltrap.engine.upkeep import reanalyse
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Embedding, Memory, UserRef
from steeltrap.ports import Entry, Space
from steeltrap.text.words import WORDS_VERSION
from steeltrap.toolsets import CATALOGUE

Anew = Callable[[Sequence[Memory]], list[Entry]]

OTHER = HashedWords(dimension=32)


def vectors(text: str) -> tuple[bytes, ...]:
    return tuple(OTHER.embed([text], purpose="document", timeout=SECONDS))


def anew(memories: Sequence[Memory]) -> list[Entry]:
    return [entry(memory, vectors(memory.content)) for memory in memories]


def cut_short(after: int, error: BaseException, meanwhile: Callable[[], object] = lambda: None) -> Anew:
    """Makes so many blocks, then fails."""
    blocks = 0

    def made(memories: Sequence[Memory]) -> list[Entry]:
        nonlocal blocks
        blocks += 1
        if blocks > after:
            meanwhile()
            raise error
        return anew(memories)

    return made


def save_many(space: Space, count: int) -> list[Memory]:
    changes = [creation(f"heron {n}") for n in range(count)]
    for start in range(0, count, 100):
        space.commit(changes[start : start + 100])
    return [change.entry.memory for change in changes]


class Polyglot(HashedWords):
    """HashedWords, which has learned Cyrillic: such a text has the vector of its capitals."""

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        read = [text.upper() + " cyrillic" if self.has_changed(text, 0) else text for text in texts]
        return super().embed(read, purpose=purpose, timeout=timeout)

    def has_changed(self, text: str, since: int) -> bool:
        return since < 2 and any("а" <= char <= "я" for char in text)


@pytest.mark.usefixtures("small_blocks")
class ReembeddingContract:
    """Earned by the same fixture as `StoreContract`."""

    def test_a_run_that_was_cut_short_goes_on_where_it_stopped(self, store: Opening, clock: SettableClock) -> None:
        made = save_many(space_of(store(clock, EMBEDDER), "ana"), 100)
        with pytest.raises(KeyboardInterrupt):
            space_of(store(clock, OTHER), "ana").reembed(cut_short(2, KeyboardInterrupt()))
        asked: list[str] = []

        def counted(memories: Sequence[Memory]) -> list[Entry]:
            asked.extend(memory.content for memory in memories)
            return anew(memories)

        space = space_of(store(clock, OTHER), "ana")
        assert space.reembed(counted) == 100
        assert len(asked) == 100 - 2 * 40
        assert space.embeddings([memory.id for memory in made]) == {m.id: vectors(m.content) for m in made}

    def test_an_embedder_that_dies_in_the_middle_leaves_the_vectors_in_use(
        self, store: Opening, clock: SettableClock
    ) -> None:
        old = space_of(store(clock, EMBEDDER), "ana")
        made = save_many(old, 60)
        with pytest.raises(Unavailable, match="died"):
            space_of(store(clock, OTHER), "ana").reembed(cut_short(1, Unavailable("It died.", part="embedder")))
        again = space_of(store(clock, EMBEDDER), "ana")
        for space in (old, again):
            matches = search(space, near=embed("heron 7")[0], per_leg=None)
            assert (len(matches.candidates), matches.degraded) == (60, None)
            assert space.embeddings([made[0].id]) == {made[0].id: embed("heron 0")}

    def test_what_is_written_while_vectors_are_made_has_new_ones_in_the_end(
        self, store: Opening, clock: SettableClock
    ) -> None:
        old = space_of(store(clock, EMBEDDER), "ana")
        made = save_many(old, 60)
        written: list[Memory] = []

        def meanwhile(memories: Sequence[Memory]) -> list[Entry]:
            entries = anew(memories)
            if not written:
                # One of this block and one that comes later; both edits come after the block was read.
                there = {memory.id for memory in memories}
                for here in (True, False):
                    some = [memory for memory in made if (memory.id in there) == here]
                    written.append(update(old, some[0], content=f"otter {here}"))
                    delete(old, some[1])
                    gone.append(some[1])
                written.append(save(old, "a badger came by"))
            return entries

        gone: list[Memory] = []
        space = space_of(store(clock, OTHER), "ana")
        assert space.reembed(meanwhile) == 59
        assert space.embeddings([memory.id for memory in written]) == {m.id: vectors(m.content) for m in written}
        [near] = OTHER.embed(["a badger came by"], purpose="query", timeout=SECONDS)
        hits = search(space, near=near, per_leg=None)
        assert hits.stored == 59
        assert not found(hits) & {memory.id for memory in gone}
        [badger] = [c for c in hits.candidates if c.id == written[-1].id]
        assert badger.cosine == pytest.approx(1, abs=1e-5)
        assert found(search(space, "otter")) == {memory.id for memory in written[:2]}

    def test_vectors_are_this_embedders_from_the_first_save_and_again_when_all_were_made(
        self, store: Opening, clock: SettableClock
    ) -> None:
        space = space_of(store(clock, EMBEDDER), "ana")
        assert space.is_embedded()
        save(space, "heron")
        assert space.is_embedded()
        other = space_of(store(clock, OTHER), "ana")
        other.reembed(anew)
        assert other.is_embedded()

    def test_a_user_who_begins_is_found_by_the_analysis_of_today(self, store: Opening, clock: SettableClock) -> None:
        space = space_of(store(clock, EMBEDDER), "ana")
        assert space.analysis() == WORDS_VERSION
        space.set_analysis(1)
        assert space.analysis() == WORDS_VERSION
        save(space, "the heron")
        assert space.analysis() == WORDS_VERSION
        space.set_analysis(1)
        assert space.analysis() == 1

    def test_memories_of_an_earlier_analysis_get_the_words_and_vectors_of_today(
        self, store: Opening, clock: SettableClock
    ) -> None:
        opened = store(clock, Polyglot())
        space = space_of(opened, "ana")
        heron, plain, gone = (
            save(space, "серая цапля"),
            save(space, "the heron"),
            delete(space, save(space, "старая цапля")),
        )
        space.set_analysis(0)
        call = Door(catalogue=CATALOGUE, store=opened, embedder=Polyglot(), clock=clock).call_for(
            Caller(UserRef("ana")), seconds=SECONDS
        )
        before = space.embeddings([heron.id, plain.id])
        assert reanalyse(call) == 1
        assert reanalyse(call) == 0
        after = space.embeddings([heron.id, plain.id])
        assert after[heron.id] == tuple(Polyglot().embed([heron.content], purpose="document", timeout=SECONDS))
        assert (after[heron.id] != before[heron.id], after[plain.id]) == (True, before[plain.id])
        assert found(search(space, "цапли")) == {heron.id}
        assert space.get([heron.id])[heron.id] == heron
        assert space.get([gone.id], deleted=True)[gone.id] == gone
        assert space.analysis() == WORDS_VERSION
