"""Several writers of one user in DynamoDB, clocks that disagree, work that is cut short, memories of any size."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clock import NOON, SettableClock
from cloud import Cloud, cloud
from components import dynamodb_url
from contracts.dynamodb_stores import local, stores, tables
from contracts.entries import (
    EMBEDDER,
    SECONDS,
    creation,
    delete,
    embed,
    found,
    memory,
    query,
    replacement,
    save,
    search,
    turn,
    update,
)
from contracts.entries import store as commit
from contracts.memory_index import MemoryIndex
from embedding import HashedWords
from spaces import in_time, space_of
from steeltrap.engine import reading
from steeltrap.errors import Conflict, Unavailable
from steeltrap.model import Link, Memory, Message, UserRef
from steeltrap.ports import Create, Document, Entry, Guard, Replace, Space, Tombstone
from steeltrap.stores.dynamodb import keys
from steeltrap.stores.dynamodb.documents import document_from
from steeltrap.text.sentences import chunks
from steeltrap.text.words import text_digest, tokens
from unruly import down

__all__ = ["cloud"]

_LONG = " ".join(f"w{i}" for i in range(2000))
"""Its vectors are in pieces of their own."""


def test_of_two_agents_that_update_at_once_one_wins_and_the_other_learns_the_version(cloud: Cloud) -> None:
    spaces = [space_of(cloud.store(), "ana") for _ in range(2)]
    one = save(spaces[0], "the heron")
    met: list[Any] = []

    def second_comes_first(operation: str, request: dict[str, Any]) -> None:
        if operation == "transact_write_items" and not met:
            met.append(None)
            met[0] = update(spaces[1], one, content="of the second")

    cloud.unruly.before = second_comes_first
    with pytest.raises(Conflict) as conflict:
        update(spaces[0], one, content="of the first")
    assert conflict.value.details == {"id": one.id, "version": 2}
    assert spaces[0].get([one.id]) == {one.id: met[0]}
    assert [revision.memory for revision in spaces[0].revisions(one.id)] == [one]


def test_a_commit_that_read_the_user_more_than_a_minute_ago_writes_no_more(cloud: Cloud) -> None:
    space = cloud.store().space(UserRef("ana"), in_time(1000, cloud.clock))
    one = save(space, "the heron")

    def takes_long(operation: str, request: dict[str, Any]) -> None:
        if operation == "batch_get_item":
            cloud.clock.advance(seconds=61)

    cloud.unruly.before = takes_long
    with pytest.raises(Unavailable, match="longer than 60 s"):
        save(space, "the otter")
    cloud.unruly.before = lambda operation, request: None
    assert [each.id for each in space.images()] == [one.id]


def test_of_two_that_create_one_id_at_once_one_wins(cloud: Cloud) -> None:
    spaces = [space_of(cloud.store(), "ana") for _ in range(2)]
    save(spaces[0], "the first")
    wanted = memory("x").id
    met: list[Any] = []

    def second_comes_first(operation: str, request: dict[str, Any]) -> None:
        if operation == "put_item" and not met:
            met.append(None)
            met[0] = save(spaces[1], "of the second", id=wanted)

    cloud.unruly.before = second_comes_first
    with pytest.raises(Conflict) as conflict:
        save(spaces[0], "of the first", id=wanted)
    assert conflict.value.details == {"id": wanted}
    assert spaces[0].get([wanted]) == {wanted: met[0]}


@pytest.mark.parametrize("guard", [Guard(same_text=True), Guard(threshold=0.99)])
def test_of_two_that_save_one_text_at_once_with_a_guard_one_wins(cloud: Cloud, guard: Guard) -> None:
    spaces = [space_of(cloud.store(), "ana") for _ in range(2)]
    save(spaces[0], "the first")
    met: list[Memory] = []

    def second_comes_first(operation: str, request: dict[str, Any]) -> None:
        if operation == "transact_write_items" and not met:
            met.append(memory(""))
            met[0] = save(spaces[1], "the heron", guard=guard)

    cloud.unruly.before = second_comes_first
    with pytest.raises(Conflict) as conflict:
        save(spaces[0], "the heron", guard=guard)
    assert conflict.value.details["id"] == met[0].id
    assert search(spaces[0], "heron").stored == 2


def test_many_writers_lose_nothing(clock: SettableClock) -> None:
    connect, index = local(dynamodb_url()), MemoryIndex()
    with tables(connect, fetches=True) as names, stores(connect, names, lambda _: index, timedelta(minutes=5)) as store:
        _write_together([space_of(store(clock, EMBEDDER), "ana") for _ in range(4)])


def _write_together(spaces: list[Space]) -> None:
    shared = save(spaces[0], "shared")

    def work(number: int) -> list[Memory]:
        made = []
        for i in range(8):
            made.append(save(spaces[number], f"{number} {i}", links=(Link(target_id=shared.id, strength=1.0),)))
            while True:
                current = spaces[number].get([shared.id])[shared.id]
                try:
                    update(spaces[number], current, metadata={**current.metadata, f"{number} {i}": True})
                    break
                except Conflict:
                    continue
        return made

    with ThreadPoolExecutor(4) as pool:
        made = [m for some in pool.map(work, range(4)) for m in some]
    last = spaces[0].get([shared.id])[shared.id]
    assert (last.version, len(last.metadata)) == (33, 32)
    assert [revision.memory.version for revision in spaces[0].revisions(shared.id)] == list(range(1, 33))
    assert {m.id for m in spaces[0].walk()} == {shared.id, *(m.id for m in made)}
    assert len(reading.associations(spaces[0], [shared.id])[shared.id]) == 32


def test_a_purge_that_comes_between_leaves_no_link_behind(cloud: Cloud) -> None:
    spaces = [space_of(cloud.store(), "ana") for _ in range(2)]
    target = save(spaces[0], "target")
    met: list[str] = []

    def purge_comes_first(operation: str, request: dict[str, Any]) -> None:
        if operation == "transact_write_items" and not met:
            met.append(target.id)
            spaces[1].purge([target.id])

    cloud.unruly.before = purge_comes_first
    source = save(spaces[0], "source", links=(Link(target_id=target.id, strength=1.0),))
    assert met == [target.id]
    assert spaces[0].get([source.id])[source.id].links == ()
    assert spaces[0].traces(target.id) == []


# Clocks


@pytest.mark.parametrize("skew", [timedelta(minutes=1), timedelta(minutes=-1)])
def test_writers_whose_clocks_differ_by_a_minute_are_found_at_once_and_in_order(cloud: Cloud, skew: timedelta) -> None:
    fast = space_of(cloud.store(clock=SettableClock(NOON + skew)), "ana")
    slow = space_of(cloud.store(), "ana")
    one = save(fast, "the heron")
    versions = [cloud.index.documents[key].index_version for key in cloud.index.documents]
    for writer, text in ((slow, "the otter"), (fast, "the stork"), (slow, "the egret")):
        one = update(writer, one, content=text)
        versions += [document.index_version for document in cloud.index.documents.values()]
        for reader in (slow, fast):
            assert found(search(reader, text.removeprefix("the "))) == {one.id}
            assert found(search(reader, "heron")) == set()
    assert versions == sorted(set(versions))
    gone = delete(slow, one)
    assert all(search(reader, "egret").stored == 0 for reader in (slow, fast))
    slow.purge([gone.id])
    again = save(slow, "the heron", id=one.id)
    assert found(search(fast, "heron")) == {again.id}
    assert isinstance(next(iter(cloud.index.documents.values())), Document)


def test_what_was_written_by_a_clock_at_the_end_of_time_is_found_and_listed_as_ever(cloud: Cloud) -> None:
    late = SettableClock(datetime(9999, 12, 31, tzinfo=UTC))
    one = save(space_of(cloud.store(clock=late), "ana"), "the heron")
    for clock in (late, cloud.clock):
        space = space_of(cloud.store(clock=clock), "ana")
        assert [each.id for each in space.walk()] == [one.id]
        assert found(search(space, "heron")) == {one.id}
        with pytest.raises(Conflict, match="were embedded by"):
            space_of(cloud.store(clock=clock, embedder=HashedWords(dimension=32)), "ana").search(query("heron"))


# Cut short


def _dies_at(cloud: Cloud, number: int) -> None:
    """The process loses DynamoDB for good at its n-th write."""
    count = 0

    def before(operation: str, request: dict[str, Any]) -> None:
        nonlocal count
        count += operation not in ("query", "batch_get_item")
        if count >= number:
            cloud.unruly.always["*"] = down

    cloud.unruly.before = before


def _comes_back(cloud: Cloud) -> None:
    cloud.unruly.always.clear()
    cloud.unruly.before = lambda operation, request: None


@pytest.mark.parametrize("at", range(1, 12))
def test_a_purge_that_was_cut_short_is_finished_by_the_next(cloud: Cloud, at: int) -> None:
    space = space_of(cloud.store(), "ana")
    one, target = save(space, "the heron"), save(space, "target")
    one = update(space, one, content="the otter", links=(Link(target_id=target.id, strength=1.0),))
    other = save(space, "other", links=(Link(target_id=one.id, strength=1.0),))
    update(space, other, content="another")
    _dies_at(cloud, at)
    try:
        space.purge([one.id])
    except Unavailable:
        _comes_back(cloud)
        space.purge([one.id])
    _comes_back(cloud)
    assert space.traces(one.id) == []
    assert space.get([one.id], deleted=True) == {}
    assert cloud.items("r#" + one.id) == cloud.items("l#" + one.id) == []
    assert not [key for key in cloud.items("l#") if one.id in key]
    assert space.get([other.id])[other.id].links == ()


@pytest.mark.parametrize("at", range(1, 8))
def test_a_memory_saved_again_under_its_id_while_the_earlier_one_is_purged_is_whole(cloud: Cloud, at: int) -> None:
    spaces = [space_of(cloud.store(), "ana") for _ in range(2)]
    one = save(spaces[0], _LONG)
    requests: list[str] = []

    def save_again(operation: str, request: dict[str, Any]) -> None:
        if requests or "gone" in request.get("Item", ()):
            requests.append(operation)
        if len(requests) == at + 1:  # the first is the tombstone
            save(spaces[1], f"{_LONG} again", id=one.id)

    cloud.unruly.before = save_again
    spaces[0].purge([one.id])
    assert len(requests) > at + 1
    assert spaces[0].get([one.id])[one.id].content == f"{_LONG} again"
    assert list(spaces[0].embeddings([one.id])) == [one.id]


def test_what_a_writer_left_after_a_purge_had_ended_is_removed_by_the_next(cloud: Cloud) -> None:
    store = cloud.store()
    space = space_of(store, "ana")
    one = save(space, "the heron")
    space.purge([one.id])
    piece = {"u": UserRef("ana").key, "k": keys.part(one.id, "search", 0), "part": b"heron"}
    store.tables.put_all([piece], in_time())
    space.purge([one.id])
    assert cloud.items("b#") == []
    assert save(space, "the heron again", id=one.id).id == one.id


def test_vectors_that_another_run_has_given_a_memory_meanwhile_stay(cloud: Cloud) -> None:
    one = save(space_of(cloud.store(), "ana"), _LONG)
    other = HashedWords(dimension=32)
    clocks = [SettableClock(NOON + timedelta(seconds=each)) for each in range(2)]
    first, second = (space_of(cloud.store(embedder=other, clock=clock), "ana") for clock in clocks)

    def make(memories: Sequence[Memory]) -> list[Entry]:
        return [_large(memory.content, other, id=memory.id) for memory in memories]

    def second_comes_first(operation: str, request: dict[str, Any]) -> None:
        if operation == "update_item" and "search_at" in str(request):
            cloud.unruly.before = lambda operation, request: None
            second.reembed(make)

    cloud.unruly.before = second_comes_first
    first.reembed(make)
    assert list(second.embeddings([one.id])) == [one.id]


def test_vectors_made_for_a_memory_that_is_purged_meanwhile_are_taken_back(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    one = save(space, _LONG)
    save(space, "the heron")

    def purge_then_embed(memories: Sequence[Memory]) -> list[Entry]:
        space.purge([one.id])
        return [_large(memory.content, other, id=memory.id) for memory in memories]

    other = HashedWords(dimension=32)
    space_of(cloud.store(embedder=other), "ana").reembed(purge_then_embed)
    assert cloud.items("b#") == []


@pytest.mark.parametrize("at", range(1, 7))
def test_a_forgetting_of_a_user_that_was_cut_short_is_finished_by_the_next_write(
    cloud: Cloud, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steeltrap.stores.dynamodb.store._FORGET_SECONDS", 3.0)
    space = space_of(cloud.store(), "ana")
    for i in range(3):
        one = update(space, save(space, f"the heron {i}"), content="the otter")
    space.note_access([one.id], NOON)
    cloud.opened[0].flush()
    _dies_at(cloud, at)
    try:
        cloud.opened[0].forget_user(UserRef("ana"))
    except Unavailable:
        _comes_back(cloud)
        if at > 1:
            assert (list(space.walk()), search(space, "otter").stored, space.get([one.id])) == ([], 0, {})
        else:
            cloud.opened[0].forget_user(UserRef("ana"))
    _comes_back(cloud)
    again = save(space, "a fresh start")
    assert list(space.walk()) == [again]
    assert space.usage([one.id]) == {}
    assert cloud.items("r#") == []
    assert search(space, "otter fresh").stored == 1


@pytest.mark.parametrize("at", range(1, 6))
def test_a_batch_of_any_size_that_was_cut_short_has_written_all_or_nothing(cloud: Cloud, at: int) -> None:
    space = space_of(cloud.store(), "ana")
    save(space, "the first")
    many = [creation("word " * 5_500 + str(i)) for i in range(100)]
    _dies_at(cloud, at)
    try:
        space.commit(many)
    except Unavailable:
        possible = {0, 100}  # what was written last may be all that was missing
    else:
        possible = {100}
    _comes_back(cloud)
    assert len(space.get([change.entry.memory.id for change in many])) in possible


# Sizes


def _large(content: str, embedder: HashedWords, **fields: Any) -> Entry:
    m = memory(content, **fields)
    texts = [m.content, *(message.content for message in m.messages)]
    return Entry(
        memory=m,
        fold=text_digest(content),
        embeddings=tuple(embedder.embed(chunks(content), purpose="document", timeout=SECONDS)),
        tokens=tuple(tokens("\n".join(texts))),
    )


def test_the_largest_memory_is_saved_found_changed_and_forgotten_whole(cloud: Cloud) -> None:
    embedder = HashedWords(dimension=1024)
    space = space_of(cloud.store(embedder=embedder), "ana")
    words = " ".join(f"w{i:x}" for i in range(6_500))[: 32 * 1024]
    messages = tuple(Message(role="user", content=f"{i} " + "東京" * 200) for i in range(100))
    entry = _large(words, embedder, messages=messages, metadata={"k": "v" * 16_000})
    assert len(entry.embeddings or ()) >= 60
    commit(space, Create(entry=entry))
    one = entry.memory
    [near] = embedder.embed([chunks(words)[30]], purpose="query", timeout=SECONDS)
    for _ in range(2):
        assert space.get([one.id]) == {one.id: one}
        assert space.embeddings([one.id]) == {one.id: entry.embeddings}
        matches = space.search(query("w100", near=near))
        assert [round(c.cosine or 0, 4) for c in matches.candidates] == [1.0]
        assert found(matches) == {one.id}
        cloud.clock.advance(minutes=6)  # from the latest writes into the index
    kept = cloud.items("b#")
    tagged = replace(one, version=2, tags=("t",))
    commit(space, Replace(entry=replace(entry, memory=tagged, embeddings=None, tokens=None), expected=1))
    assert space.get([one.id]) == {one.id: tagged}
    assert space.embeddings([one.id]) == {one.id: entry.embeddings}
    assert len(cloud.items("b#")) == len(kept)
    small = update(space, tagged, content="small", messages=(), metadata={})
    assert space.get([one.id]) == {one.id: small}
    assert [revision.memory for revision in space.revisions(one.id)] == [tagged]
    space.purge([one.id])
    assert cloud.items("b#") == cloud.items("r#") == []


def test_pieces_of_a_write_that_did_not_happen_are_taken_back(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    one = save(space, "word " * 6_500)
    there = cloud.items("b#")
    with pytest.raises(Conflict):
        save(space, "other " * 5_400, id=one.id)
    stale = replacement(one, content="another " * 4_000)
    update(space, one, content="small")
    with pytest.raises(Conflict):
        commit(space, stale)
    assert set(cloud.items("b#")) < set(there)


def test_a_rollback_of_fifty_large_updates_writes_all_or_nothing(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    made = [save(space, "word " * 6_500 + str(i)) for i in range(50)]
    changes: list[Any] = [replacement(m, content="other " * 5_400 + str(i)) for i, m in enumerate(made)]
    stale = replace(changes[-1], expected=9)
    with pytest.raises(Conflict):
        space.commit([*changes[:-1], stale])
    assert {m.version for m in space.get([m.id for m in made]).values()} == {1}
    space.commit(changes)
    assert {m.version for m in space.get([m.id for m in made]).values()} == {2}
    assert all(space.revisions(m.id)[0].memory == m for m in made)


# What the stream says


def test_a_record_says_what_its_item_was_and_a_removed_item_leaves_a_tombstone(cloud: Cloud) -> None:
    store = cloud.store()
    space = space_of(store, "ana")
    one = save(space, "the heron " + "word " * 6_000)
    [item] = [i for i in _scan(cloud) if i["k"]["S"] == f"m#{one.id}"]
    new = {"dynamodb": {"SequenceNumber": "1", "NewImage": item}}
    told = document_from(store.tables, new, in_time(SECONDS))
    assert told == next(iter(cloud.index.documents.values()))
    assert isinstance(told, Document)
    assert told.embeddings == embed(one.content)
    gone = {"dynamodb": {"SequenceNumber": "2", "OldImage": item}}
    version = told.index_version + 1
    assert document_from(store.tables, gone, in_time(SECONDS)) == Tombstone(
        user=told.user, id=one.id, index_version=version
    )
    for other in (i for i in _scan(cloud) if not i["k"]["S"].startswith("m#")):
        assert (
            document_from(store.tables, {"dynamodb": {"SequenceNumber": "3", "NewImage": other}}, in_time(SECONDS))
            is None
        )


def test_a_record_whose_pieces_were_replaced_leaves_the_word_to_the_later_one(cloud: Cloud) -> None:
    store = cloud.store()
    space = space_of(store, "ana")
    one = save(space, "word " * 6_500)
    [item] = [i for i in _scan(cloud) if i["k"]["S"] == f"m#{one.id}"]
    update(space, one, content="small")
    assert (
        document_from(store.tables, {"dynamodb": {"SequenceNumber": "1", "NewImage": item}}, in_time(SECONDS)) is None
    )


def test_a_forgotten_memory_leaves_an_item_without_content(cloud: Cloud) -> None:
    space = space_of(cloud.store(), "ana")
    one = save(space, "the heron", tags=("secret",), scope="secret")
    said = commit(space, Create(entry=replace(creation("x").entry, memory=turn("secret", "talk"))))
    space.purge([one.id, said.id])
    left = [i for i in _scan(cloud) if i["k"]["S"].startswith("m#")]
    assert [set(item) for item in left] == [{"u", "k", "w", "made", "gone", "ttl"}] * 2


def _scan(cloud: Cloud) -> list[Any]:
    found: list[Any] = cloud.unruly(3.0)._client.scan(TableName=cloud.names[0])["Items"]
    return found
