"""Forgetting reaches the bytes, and nothing is acknowledged and lost around it."""

import random
import string
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from clock import SettableClock
from contracts.entries import EMBEDDER, SECONDS, creation, found, save, search
from contracts.entries import memory as memory_of
from faults.doors import ANA, answer, open_door, running, user_bytes
from spaces import space_of
from steeltrap.errors import NotFound, Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Link, Memory, UserRef
from steeltrap.ports import Change
from steeltrap.stores.exact.postings import word_digest
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.stores.sqlite.space import SqliteSpace
from steeltrap.text.limits import to_key
from steeltrap.text.words import text_digest, tokens


def _text(pick: random.Random, words: int) -> str:
    return " ".join("".join(pick.choices(string.ascii_lowercase, k=pick.randrange(7, 12))) for _ in range(words))


def _needles(memory: Memory) -> dict[str, bytes]:
    """Everything by which bytes would give a memory away."""
    needles = {"key": to_key(memory.id), "id": memory.id.encode(), "fold": text_digest(memory.content)}
    needles |= {f"word {word}": word.encode() for text in (memory.content, *memory.tags) for word in text.split()}
    needles |= {f"digest {t}": word_digest(t) for t in tokens(memory.content)}
    [vector] = EMBEDDER.embed([memory.content[:640]], purpose="document", timeout=SECONDS)
    needles |= {f"vector from {at}": vector[at : at + 128] for at in range(0, len(vector), 128)}
    return needles


def _left(folder: Path, memories: list[Memory]) -> list[str]:
    files = user_bytes(folder)
    return [
        f"{what} of {memory.id} in {name}"
        for memory in memories
        for what, needle in _needles(memory).items()
        for name, content in files.items()
        if needle in content
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "others"), [(1, 0), (2, 40), (3, 2000)])
def test_after_a_forget_nothing_of_the_memory_is_in_any_byte(tmp_path: Path, seed: int, others: int) -> None:
    pick = random.Random(seed)
    door = open_door(tmp_path)
    crowd = [creation(_text(pick, 12)) for _ in range(others)]
    space_of(door.store, "ana").commit(crowd)
    images: dict[str, list[Memory]] = {}
    previous = None
    for _ in range(12):
        id = answer(door, "core.save", content=_text(pick, 12), tags=[_text(pick, 1)], metadata={"k": _text(pick, 2)})
        images[id["id"]] = [*space_of(door.store, "ana").get([id["id"]]).values()]
        # Rows that grow split the pages around them.
        grown = pick.sample(crowd, min(len(crowd), 30))
        updates = [{"id": c.entry.memory.id, "content": _text(pick, pick.randrange(5, 90))} for c in grown]
        if updates:
            answer(door, "core.batch_update", updates=updates)
        if previous:
            answer(door, "core.associate", id=previous, target_id=id["id"])
            answer(door, "core.update", id=previous, context="its earlier image has the link too")
        previous = id["id"]
    for id in list(images):
        answer(door, "core.update", id=id, content=_text(pick, pick.randrange(3, 90)))
        images[id] += space_of(door.store, "ana").get([id]).values()
        answer(door, "core.get", id=id)
        answer(door, "core.search", query=images[id][-1].content[:80])
        if pick.random() < 0.4:
            answer(door, "core.delete", id=id)
    assert _left(tmp_path, [images[next(iter(images))][0]])
    doomed = pick.sample(list(images), 8)
    for count, id in enumerate(doomed, 1):
        assert answer(door, "core.forget", id=id)["verified"]
        if count in (1, 8):
            assert _left(tmp_path, [image for gone in doomed[:count] for image in images[gone]]) == []
    door.store.close()
    assert _left(tmp_path, [image for gone in doomed for image in images[gone]]) == []


def test_after_forgetting_a_user_nothing_of_theirs_is_in_any_byte(tmp_path: Path) -> None:
    pick = random.Random(5)
    door = open_door(tmp_path)
    for _ in range(30):
        answer(door, "core.save", content=_text(pick, 12), tags=["tagged"])
    memories = list(space_of(door.store, "ana").walk())
    assert door.store.forget_user(UserRef("ana"))
    assert _left(tmp_path, memories) == []
    assert not any(b"ana" in content for content in user_bytes(tmp_path).values())
    assert sum(map(len, user_bytes(tmp_path).values())) < 200 * 1024
    door.store.close()


class _CountedClock(SettableClock):
    """Its seconds pass by how often it is looked at, so that a deadline comes as soon on a busy machine as on any."""

    def monotonic(self) -> float:
        self._stands = True
        self.sleep(0.02)
        return super().monotonic()


def _reader(folder: Path) -> apsw.Connection:
    """Somebody else who reads the log: a transaction that has begun."""
    [path] = folder.rglob("*.db")
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memory").fetchall()
    return reader


def test_a_purge_that_meets_a_reader_says_so_and_a_repeat_finishes(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, EMBEDDER, _CountedClock())
    space = space_of(store, "ana")
    save(space, "something else")
    secret = save(space, "quagmire plenipotentiary")
    reader = _reader(tmp_path)
    for _ in range(2):
        with pytest.raises(Unavailable, match="call again") as refused:
            space_of(store, "ana", seconds=0.5).purge([secret.id])
        assert refused.value.can_retry
        assert found(search(space, "quagmire")) == set()
        assert space.get([secret.id], deleted=True) == {}
    save(space, "writing goes on")
    reader.close()
    assert space.purge([secret.id]) == []
    assert _left(tmp_path, [secret]) == []
    store.close()


def test_a_forget_that_meets_a_reader_is_finished_by_calling_it_again(
    tmp_path: Path,
) -> None:
    door = open_door(tmp_path, clock=_CountedClock())
    secret = answer(door, "core.save", content="quagmire plenipotentiary")["id"]
    [memory] = space_of(door.store, "ana").walk()
    tool = door.catalogue.tool("core.forget")
    reader = _reader(tmp_path)
    hurried = replace(tool, timeout=1.0)
    result = door.invoke(hurried, {"id": secret}, ANA)
    assert isinstance(result.error, Unavailable)
    assert "call again" in result.error.message
    reader.close()
    with pytest.raises(NotFound):
        answer(door, "core.forget", id=secret)
    assert _left(tmp_path, [memory]) == []
    door.store.close()


def test_an_expired_memory_is_forgotten_too(tmp_path: Path) -> None:
    clock = SettableClock()
    door = open_door(tmp_path, clock=clock)
    id = answer(door, "core.save", content="quagmire plenipotentiary", ttl_seconds=60)["id"]
    [memory] = space_of(door.store, "ana").walk()
    clock.advance(seconds=60)
    assert answer(door, "core.forget", id=id)["verified"]
    assert _left(tmp_path, [memory]) == []
    door.store.close()


def test_a_write_that_looked_around_before_a_forget_does_not_bring_the_id_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = open_door(tmp_path)
    doomed = answer(door, "core.save", content="the grey heron fishes at the lake")["id"]
    other = answer(door, "core.save", content="an otter", associate=False)["id"]
    [memory] = space_of(door.store, "ana").get([doomed]).values()
    commit, forgotten = SqliteSpace.commit, []

    def forget_then_commit(space: SqliteSpace, changes: Sequence[Change]) -> None:
        forgotten.extend(link.target_id for change in changes for link in change.entry.memory.links)
        assert answer(door, "core.forget", id=doomed)["verified"]
        commit(space, changes)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteSpace, "commit", forget_then_commit)
        answer(door, "core.update", id=other, content="the grey heron fishes at a lake")
    assert forgotten == [doomed]
    [left] = space_of(door.store, "ana").walk()
    assert left.links == ()
    assert space_of(door.store, "ana").traces(doomed) == []
    assert [name for name, content in user_bytes(tmp_path).items() if memory.id.encode() in content] == []
    door.store.close()


def test_a_memory_that_is_saved_again_while_it_is_forgotten_is_no_trace_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SettableClock()
    door = open_door(tmp_path, clock=clock)
    item = {"id": memory_of("").id, "content": "the grey heron"}
    answer(door, "core.put", items=[item])
    purge = SqliteSpace.purge

    def purge_then_save(space: SqliteSpace, ids: Sequence[str]) -> list[str]:
        purged = purge(space, ids)
        clock.advance(milliseconds=1)
        answer(door, "core.put", items=[item])
        return purged

    with monkeypatch.context() as patch:
        patch.setattr(SqliteSpace, "purge", purge_then_save)
        receipt = answer(door, "core.forget", id=item["id"])
    assert not receipt["verified"]
    assert [memory.id for memory in space_of(door.store, "ana").walk()] == [item["id"]]
    door.store.close()


def test_forgetting_an_unknown_id_mends_what_still_names_it(tmp_path: Path) -> None:
    door = open_door(tmp_path)
    space = space_of(door.store, "ana")
    unknown = memory_of("never saved").id
    pointing = creation("an otter", links=(Link(target_id=unknown, strength=1),))
    space.commit([replace(pointing, links_ahead=True)])
    with pytest.raises(NotFound):
        answer(door, "core.forget", id=unknown)
    assert space.traces(unknown) == []
    assert not any(unknown.encode() in content for content in user_bytes(tmp_path).values())
    door.store.close()


def test_a_purge_that_died_before_the_bytes_were_gone_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from steeltrap.stores.sqlite.file import UserFile

    store = SqliteStore(tmp_path, EMBEDDER, SettableClock())
    space = space_of(store, "ana")
    secret, other = save(space, "quagmire plenipotentiary"), save(space, "something else")

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(UserFile, "scrub", die)
        with pytest.raises(KeyboardInterrupt):
            space.purge([secret.id])
    assert _left(tmp_path, [secret])
    again = SqliteStore(tmp_path, EMBEDDER, SettableClock())
    space_of(again, "ana").purge([])
    assert _left(tmp_path, [secret]) == []
    assert list(space.walk()) == [other]
    again.close()
    store.close()


_OLD_HANDLE = """
import sys
from pathlib import Path
from clock import SettableClock
from contracts.entries import EMBEDDER, save
from spaces import space_of
from steeltrap.stores.sqlite import SqliteStore

store = SqliteStore(Path(sys.argv[1]), EMBEDDER, SettableClock())
for line in sys.stdin:
    print(save(space_of(store, "ana"), line.strip()).id, flush=True)
store.close()
"""


def test_a_write_of_another_process_after_forgetting_the_user_is_not_lost(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, EMBEDDER, SettableClock())

    def told(line: str) -> str:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write(line + "\n")
        other.stdin.flush()
        return other.stdout.readline().strip()

    with running(_OLD_HANDLE, tmp_path) as other:
        assert told("before")
        assert search(space_of(store, "ana"), "before").stored == 1
        assert store.forget_user(UserRef("ana"))
        after = told("after")
    assert [memory.id for memory in space_of(store, "ana").walk()] == [after]
    assert found(search(space_of(store, "ana"), "after")) == {after}
    assert list(store.users()) == [UserRef("ana")]
    store.close()


def test_forgetting_a_user_who_is_being_read_says_so_and_a_repeat_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from steeltrap.stores.sqlite import store as stores

    monkeypatch.setattr(stores, "_WIPE_SECONDS", 0.5)
    store = SqliteStore(tmp_path, EMBEDDER, SettableClock())
    secret = save(space_of(store, "ana"), "quagmire plenipotentiary")
    reader = _reader(tmp_path)
    with pytest.raises(Unavailable, match="call again"):
        store.forget_user(UserRef("ana"))
    assert list(space_of(store, "ana").walk()) == []
    reader.close()
    store.forget_user(UserRef("ana"))
    assert _left(tmp_path, [secret]) == []
    store.close()


def test_readings_noted_by_others_do_not_bring_an_id_back(tmp_path: Path) -> None:
    doors: list[Door] = [open_door(tmp_path), open_door(tmp_path)]
    id = answer(doors[0], "core.save", content="quagmire plenipotentiary")["id"]
    [memory] = space_of(doors[0].store, "ana").walk()
    answer(doors[1], "core.get", id=id)
    answer(doors[0], "core.forget", id=id)
    for door in doors:
        door.store.close()
    assert _left(tmp_path, [memory]) == []
