"""A file of memories while the vectors of another embedder are made beside those in use."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from clock import SettableClock
from contracts.entries import EMBEDDER, delete, embed, entry, found, probe, save, search, update
from contracts.reembedding_contract import OTHER, anew, cut_short, save_many, vectors
from embedding import HashedWords
from spaces import space_of
from steeltrap.errors import Conflict, Duplicate, IndexUnavailable
from steeltrap.ports import Embedder, Guard, Space
from steeltrap.stores.sqlite import SqliteStore

Opening = Callable[[Embedder], Space]
REBUILT = "being rebuilt for hashed-words/32"


@pytest.fixture
def space(tmp_path: Path, clock: SettableClock) -> Iterator[Opening]:
    opened: list[SqliteStore] = []

    def open_space(embedder: Embedder) -> Space:
        opened.append(SqliteStore(tmp_path, embedder, clock))
        return space_of(opened[-1], "ana")

    yield open_space
    for each in opened:
        each.close()


def begin(space: Space, after: int = 1) -> None:
    """Make the vectors of so many blocks of 256, then stop."""
    with pytest.raises(KeyboardInterrupt):
        space.reembed(cut_short(after, KeyboardInterrupt()))


def staged(folder: Path) -> int:
    [path] = folder.glob("users/*/*.db")
    with apsw.Connection(str(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM staged").get)


def test_a_search_meanwhile_goes_by_words_and_says_so(space: Opening) -> None:
    made = save_many(space(EMBEDDER), 300)
    new = space(OTHER)
    begin(new)
    [near] = OTHER.embed(["heron 7"], purpose="query", timeout=9)
    matches = search(new, "7", near=near)
    assert found(matches) == {made[7].id}
    assert [candidate.cosine for candidate in matches.candidates] == [None]
    assert REBUILT in (matches.degraded or "")
    assert "(256 of 300 memories are done)" in (matches.degraded or "")
    assert "steeltrap reembed" in (matches.degraded or "")
    only_meaning = search(new, near=near)
    assert (list(only_meaning.candidates), only_meaning.stored) == ([], 300)
    assert only_meaning.degraded
    with pytest.raises(IndexUnavailable, match=REBUILT):
        new.look_around([probe("heron")], floor=0.5, top_k=3)
    assert new.look_around([], floor=0.5, top_k=3) == []
    new.reembed(anew)
    after = search(new, "7", near=near)
    assert after.degraded is None
    assert len(after.candidates) == 100


def test_what_the_new_embedder_saves_and_edits_meanwhile_keeps_its_vectors(space: Opening) -> None:
    old = space(EMBEDDER)
    made = save_many(old, 300)
    new = space(OTHER)
    begin(new)

    def by_new(text: str) -> dict[str, object]:
        return {"vectors": vectors(text)}

    badger = save(new, "a badger came by", **by_new("a badger came by"))
    dropped = save(new, "a mistake", **by_new("a mistake"))
    delete(new, dropped)
    assert new.embeddings([badger.id, made[0].id]) == {
        badger.id: vectors("a badger came by"),
        made[0].id: vectors("heron 0"),
    }
    assert found(search(new, "badger")) == found(search(old, "badger")) == {badger.id}
    assert len(search(old, near=embed("heron 7")[0], per_leg=None).candidates) == 301
    edited = update(old, made[1], content="an otter swam by")  # by the old one, after its new vectors were made
    assert new.reembed(anew) == 301
    ids = [badger.id, edited.id, made[2].id]
    expected = [vectors("a badger came by"), vectors("an otter swam by"), vectors("heron 2")]
    assert new.embeddings([*ids, dropped.id]) == dict(zip(ids, expected, strict=True))


def test_a_run_that_is_killed_goes_on_where_it_stopped(space: Opening, tmp_path: Path) -> None:
    save_many(space(EMBEDDER), 600)
    script = (
        "import os, sys\n"
        f"sys.path[:0] = {sys.path!r}\n"
        "from pathlib import Path\n"
        "from clock import SettableClock\n"
        "from contracts.reembedding_contract import OTHER, anew\n"
        "from spaces import space_of\n"
        "from steeltrap.stores.sqlite import SqliteStore\n"
        "blocks = []\n"
        "def killed(memories):\n"
        "    blocks.append(1)\n"
        "    return os.kill(os.getpid(), 9) if len(blocks) == 3 else anew(memories)\n"
        f"space_of(SqliteStore(Path({str(tmp_path)!r}), OTHER, SettableClock()), 'ana').reembed(killed)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    assert staged(tmp_path) == 512
    new = space(OTHER)
    blocks = []
    new.reembed(lambda memories: blocks.append(len(memories)) or anew(memories))  # type: ignore[func-returns-value]
    assert blocks == [88]
    assert staged(tmp_path) == 0
    assert new.is_embedded()


def test_a_run_that_is_unfinished_is_known_to_both_embedders_and_none_begun_is_a_conflict(space: Opening) -> None:
    old, new = space(EMBEDDER), space(OTHER)
    save_many(old, 10)
    assert old.is_embedded()
    assert not new.is_embedded()
    with pytest.raises(Conflict, match="steeltrap reembed"):
        search(new, "heron")
    begin(new, 0)
    assert not old.is_embedded()
    assert not new.is_embedded()


def test_going_back_to_the_embedder_in_use_gives_vectors_to_what_the_other_one_saved(
    space: Opening, tmp_path: Path
) -> None:
    old, new = space(EMBEDDER), space(OTHER)
    save_many(old, 300)
    begin(new)
    badger = save(new, "a badger came by", vectors=vectors("a badger came by"))

    def by_old(memories):  # type: ignore[no-untyped-def]
        return [entry(memory) for memory in memories]

    assert old.reembed(by_old) == 301
    assert old.embeddings([badger.id]) == {badger.id: embed("a badger came by")}
    assert old.is_embedded()
    assert staged(tmp_path) == 0
    with pytest.raises(Conflict):
        search(new, "badger")


def test_what_was_made_for_one_embedder_or_by_another_version_is_not_taken_for_another(
    space: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_many(space(EMBEDDER), 300)
    new = space(OTHER)
    begin(new)
    third = space(HashedWords(dimension=16))
    begin(third, 0)
    assert staged(tmp_path) == 0
    begin(new)
    monkeypatch.setattr("steeltrap.stores.sqlite.header.VERSION", "999")
    begin(new, 0)
    assert staged(tmp_path) == 0


def test_a_run_that_another_one_overtakes_ends(space: Opening) -> None:
    save_many(space(EMBEDDER), 300)
    new, third = space(OTHER), space(HashedWords(dimension=16))

    def overtaken(memories):  # type: ignore[no-untyped-def]
        begin(third, 0)
        return anew(memories)

    with pytest.raises(Conflict, match="Another `steeltrap reembed` has begun"):
        new.reembed(overtaken)


def test_forgetting_meanwhile_reaches_the_vectors_that_were_made(space: Opening, tmp_path: Path) -> None:
    old = space(EMBEDDER)
    made = save_many(old, 300)
    begin(space(OTHER))
    assert staged(tmp_path) == 256
    old.purge([made[0].id])
    delete(old, made[1])
    assert staged(tmp_path) == 254


def test_a_guard_that_can_not_compare_refuses_rather_than_lets_a_duplicate_pass(space: Opening) -> None:
    save_many(space(EMBEDDER), 10)
    new = space(OTHER)
    begin(new, 0)
    with pytest.raises(IndexUnavailable, match=REBUILT):
        save(new, "heron 1", vectors=vectors("heron 1"), guard=Guard(threshold=0.9))
    with pytest.raises(Duplicate, match="same text"):
        save(new, "heron 1", vectors=vectors("heron 1"), guard=Guard(same_text=True))
