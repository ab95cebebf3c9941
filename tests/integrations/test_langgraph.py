"""Our own cases of LangGraph's store: time to live, hostile keys and values, many items, loops, imports.

The tests of time to live are ported from langchain-ai/langgraph, libs/checkpoint-sqlite/tests/test_ttl.py at f09cfe8f
(MIT licence), with a clock in place of their sleeps. Their sweeper has no counterpart: what has expired is never read,
and upkeep removes it.
"""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid5

import pytest

pytest.importorskip("langgraph.store.base", reason="langgraph is not installed")

from langgraph.store.base import InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.sqlite import SqliteStore

from clock import SettableClock
from integrations.modules import is_lazy
from integrations.seams import Seam
from steeltrap.errors import IndexUnavailable, InvalidInput, TooLarge, Unavailable
from steeltrap.integrations import langgraph
from steeltrap.integrations.langgraph import SteeltrapStore, item_id, namespace_of, scope_of
from steeltrap.invoke import Door


def with_ttl(seam: Seam, clock: SettableClock, **ttl: Any) -> SteeltrapStore:
    return SteeltrapStore(seam.client("ana"), ttl={"default_ttl": 1.0, **ttl}, now=clock.now)  # type: ignore[typeddict-item]


def test_an_item_expires(seam: Seam, clock: SettableClock) -> None:
    store = with_ttl(seam, clock)
    store.put(("test",), "item1", {"value": "test"})
    assert store.get(("test",), "item1", refresh_ttl=False) is not None
    clock.advance(minutes=2)
    assert store.get(("test",), "item1") is None
    assert store.search(("test",)) == []
    assert store.list_namespaces() == []
    store.put(("test",), "item1", {"value": "again"})
    again = store.get(("test",), "item1")
    assert again is not None
    assert again.value == {"value": "again"}


def test_reads_begin_the_time_again(seam: Seam, clock: SettableClock) -> None:
    store = with_ttl(seam, clock)
    for key in ("got", "found", "left", "read quietly"):
        store.put(("test",), key, {"value": key})
    clock.advance(seconds=45)
    assert store.get(("test",), "got") is not None
    assert [item.key for item in store.search(("test",), filter={"value": "found"})] == ["found"]
    assert store.get(("test",), "read quietly", refresh_ttl=False) is not None
    clock.advance(seconds=45)
    assert {item.key for item in store.search(("test",), refresh_ttl=False)} == {"got", "found"}
    clock.advance(seconds=61)
    assert store.search(("test",)) == []


def test_a_store_may_leave_times_alone(seam: Seam, clock: SettableClock) -> None:
    store = with_ttl(seam, clock, refresh_on_read=False)
    store.put(("test",), "item1", {"value": "test"})
    clock.advance(seconds=45)
    assert store.get(("test",), "item1") is not None
    clock.advance(seconds=45)
    assert store.get(("test",), "item1") is None


def test_an_items_own_time_goes_first(seam: Seam, clock: SettableClock) -> None:
    store = with_ttl(seam, clock)
    store.put(("test",), "short", {"value": "x"}, ttl=0.1)
    store.put(("test",), "default", {"value": "x"})
    store.put(("test",), "forever", {"value": "x"}, ttl=None)
    clock.advance(seconds=20)
    assert {item.key for item in store.search(("test",), refresh_ttl=False)} == {"default", "forever"}
    clock.advance(days=400)
    assert {item.key for item in store.search(("test",))} == {"forever"}


def test_no_time_to_live_is_gone_at_once_and_less_is_refused(seam: Seam, clock: SettableClock) -> None:
    store = with_ttl(seam, clock)
    store.put(("test",), "item1", {"value": "x"}, ttl=0)
    assert store.get(("test",), "item1") is None
    for ttl in (-1, float("inf"), float("nan")):
        with pytest.raises(InvalidInput, match="0 or more minutes"):
            store.put(("test",), "item1", {"value": "x"}, ttl=ttl)


@pytest.mark.parametrize(
    "key", ["a.b", "a/b", "../../etc", "😀", " ", "", "e\u0301", "\u00e9", "a\nb", "x" * 2000, "'; DROP TABLE--"]
)
def test_any_text_is_a_key(store: SteeltrapStore, key: str) -> None:
    store.put(("test",), key, {"value": key})
    store.put(("test",), "other", {"value": "other"})
    item = store.get(("test",), key)
    assert item is not None
    assert (item.key, item.value) == (key, {"value": key})
    store.delete(("test",), key)
    assert [item.key for item in store.search(("test",))] == ["other"]


@pytest.mark.parametrize(
    "namespace",
    [
        ("users", "a/b", "c\\d"),
        ("😀", "日本語", "e\u0301"),
        ("\u00e9",),
        tuple(f"part_{n}" for n in range(20)),
        ("-", "--", "_", "-0-", "-61-"),
        (" ", "\n"),
    ],
)
def test_any_labels_are_a_namespace(store: SteeltrapStore, namespace: tuple[str, ...]) -> None:
    assert namespace_of(scope_of(namespace)) == namespace
    store.put(namespace, "k", {"v": 1})
    store.put((*namespace, "below"), "k", {"v": 2})
    assert store.list_namespaces() == sorted([namespace, (*namespace, "below")])
    assert {item.value["v"] for item in store.search(namespace)} == {1, 2}
    assert [item.value["v"] for item in store.search((*namespace, "below"))] == [2]


def test_labels_that_look_alike_are_apart(store: SteeltrapStore) -> None:
    for label in ("\u00e9", "e\u0301", "E\u0301"):
        store.put((label,), "k", {"label": label})
    for label in ("\u00e9", "e\u0301"):
        assert [item.value["label"] for item in store.search((label,))] == [label]


@pytest.mark.parametrize("namespace", [("a.b",), ("",), (1,), ("a\x00",)])
def test_labels_that_langgraph_refuses_are_refused_in_a_batch_too(store: SteeltrapStore, namespace: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(namespace, "k", {"v": 1})])


def test_a_namespace_that_is_too_long_is_refused(store: SteeltrapStore) -> None:
    with pytest.raises(InvalidInput, match="at most 512 characters"):
        store.put(tuple("x" * 60 for _ in range(20)), "k", {"v": 1})


@pytest.mark.parametrize("value", [{"x": {1, 2}}, {"x": object()}, {"x": float("nan")}, {"x": b"bytes"}, [1], "text"])
def test_what_is_no_json_is_refused_and_changes_nothing(store: SteeltrapStore, value: Any) -> None:
    store.put(("test",), "k", {"v": 1})
    with pytest.raises(InvalidInput):
        store.batch([PutOp(("test",), "new", {"v": 2}), PutOp(("test",), "k", value)])
    assert [item.value for item in store.search(("test",))] == [{"v": 1}]


VALUES: list[dict[str, Any]] = [
    {},
    {"": ""},
    {"none": None, "nested": {"none": None}, "list": [1, 2.5, True, None, "x"]},
    {"key": "mine", "value": "mine", "ttl": "mine", "index": False},
    {"text": "x" * 14_000},
    {"lines": ["some words of a file"] * 1000, "content": "x"},
    {"text": "日本語" * 1500},
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value)[:20])
def test_a_value_comes_back_as_it_was(store: SteeltrapStore, value: dict[str, Any]) -> None:
    store.put(("test",), "k", {"before": "something else", "gone": 1})
    store.put(("test",), "k", value)
    item = store.get(("test",), "k")
    assert item is not None
    assert item.value == value
    assert [each.value for each in store.search(("test",))] == [value]


def test_a_value_that_is_too_large_is_refused_by_its_key(store: SteeltrapStore) -> None:
    with pytest.raises(TooLarge, match=r"'the book' has 40,\d+ bytes"):
        store.put(("test",), "the book", {"text": "x" * 40_000})


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"text": "nul \x00"}, "`text` has a NUL character; leave it out."),
        ({"words": ["half \ud83d"]}, "`words.0` has half of a surrogate pair; send whole Unicode characters."),
        ({"big": 10**30}, "`big` must be an integer of at most 64 bits; send it as a string."),
    ],
)
def test_a_value_that_no_store_keeps_is_refused_by_its_key(
    store: SteeltrapStore, value: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        store.put(("a",), "book", value)
    assert refused.value.message == f"The value of 'book' can't be stored: {sentence}"


def test_numbers_and_truth_are_told_apart_in_filters(store: SteeltrapStore) -> None:
    store.put(("test",), "true", {"v": True})
    store.put(("test",), "one", {"v": 1})
    store.put(("test",), "text", {"v": "1"})
    assert [item.key for item in store.search(("test",), filter={"v": True})] == ["true"]
    assert [item.key for item in store.search(("test",), filter={"v": "1"})] == ["text"]
    assert {item.key for item in store.search(("test",), filter={"v": {"$gt": 0.5}})} == {"true", "one", "text"}
    with pytest.raises(InvalidInput, match=r"No operator '\$like'"):
        store.search(("test",), filter={"v": {"$like": 1}})


@pytest.mark.parametrize("namespace", [(), ("users", "ana"), ("1:a", "é"), ("\U0001f600",)])
@pytest.mark.parametrize("key", ["", "prefs", "3:é/x"])
def test_an_items_id_is_the_uuid_of_its_namespace_and_key(namespace: tuple[str, ...], key: str) -> None:
    name = "".join(f"{len(part)}:{part}" for part in (*namespace, key))
    assert item_id(namespace, key) == str(uuid5(UUID("6d3c1c0e-3a53-5d0a-9d0c-6a0f6a1f3b6e"), name))


def test_memories_of_others_are_no_items(store: SteeltrapStore, seam: Seam) -> None:
    seam.client("ana").core.save(content="Ana lives in Porto.", scope="langgraph/test")
    seam.client("ana").core.save(content="Ana lives in Faro.")
    store.put(("test",), "k", {"text": "Ana lives in Lisbon."})
    assert [item.key for item in store.search((), query="where does Ana live?")] == ["k"]
    assert [item.key for item in store.search(("test",))] == ["k"]
    hits = seam.client("ana").core.search(query="Lisbon")["results"]
    assert hits[0]["content"] == "Ana lives in Lisbon."


def test_a_deleted_item_can_be_brought_back_by_others(store: SteeltrapStore, seam: Seam) -> None:
    store.put(("test",), "k", {"text": "Ana lives in Lisbon."})
    [hit] = seam.client("ana").core.search(query="Lisbon")["results"]
    store.delete(("test",), "k")
    assert store.get(("test",), "k") is None
    seam.client("ana").core.undo(id=hit["id"])
    assert store.get(("test",), "k") is not None


def test_a_part_of_the_index_that_does_not_answer_is_no_empty_answer(store: SteeltrapStore, seam: Seam) -> None:
    store.put(("test",), "k", {"v": "tea"})
    assert [item.key for item in store.search(("test",), query="tea")] == ["k"]
    seam.store.is_degraded = True
    assert store.search(("test",), query="tea", limit=1, filter={"v": {"$ne": "tea"}}) == [], "all was looked at"
    seam.store.is_blind = True
    with pytest.raises(IndexUnavailable, match="vectors do not answer"):
        store.search(("test",), query="tea")


def test_an_outage_is_no_empty_answer(store: SteeltrapStore, seam: Seam) -> None:
    store.put(("test",), "k", {"v": 1})
    seam.store.is_broken = True
    for read in (
        lambda: store.get(("test",), "k"),
        lambda: store.search(("test",)),
        lambda: store.search(("test",), query="x"),
        store.list_namespaces,
    ):
        with pytest.raises(Unavailable):
            read()


def test_a_search_that_reaches_too_far_is_refused(store: SteeltrapStore) -> None:
    with pytest.raises(InvalidInput, match="reaches 2,000 items"):
        store.search(("test",), query="x", limit=10, offset=2000)
    with pytest.raises(InvalidInput, match="0 or more"):
        store.batch([SearchOp(("test",), limit=-1)])


@pytest.fixture
def local(door: Door, clock: SettableClock) -> Iterator[SteeltrapStore]:
    from integrations.seams import seam

    with seam("in-process", door) as it:
        yield SteeltrapStore(it.client("ana"), now=clock.now)


def test_items_of_many_pages_are_listed_and_filtered(local: SteeltrapStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert local.search(("many",), limit=10_000) == []  # a whole page is no more than the server gives
    monkeypatch.setattr(langgraph, "_PAGE", 100)
    local.batch([PutOp(("many",), f"key {n}", {"n": n, "even": "no" if n % 2 else "yes"}) for n in range(250)])
    assert len({item.key for item in local.search(("many",), limit=1_000)}) == 250
    assert {item.value["n"] for item in local.search(("many",), filter={"n": {"$gte": 248}})} == {248, 249}
    assert len(local.search(("many",), filter={"even": "yes"}, limit=1_000)) == 125
    assert {item.value["even"] for item in local.search(("many",), query="yes", limit=125)} == {"yes"}


def test_two_loops_use_one_store(local: SteeltrapStore) -> None:
    async def write(name: str) -> None:
        await asyncio.gather(*(local.aput((name,), f"k{n}", {"n": n}) for n in range(20)))

    threads = [threading.Thread(target=lambda name=name: asyncio.run(write(name))) for name in ("one", "two")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [len(local.search((name,), limit=100)) for name in ("one", "two")] == [20, 20]


def test_two_agents_put_one_key_and_the_last_one_counts(local: SteeltrapStore) -> None:
    def write(name: str) -> None:
        for n in range(10):
            local.put(("shared",), "k", {"by": name, "n": n})

    threads = [threading.Thread(target=write, args=(name,)) for name in ("one", "two")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    [item] = local.search(("shared",))
    assert item.value["n"] == 9


def test_operations_of_a_batch_answer_as_langgraphs_own_store_does(local: SteeltrapStore) -> None:
    ops = [
        PutOp(("a",), "k", {"v": 1}),
        PutOp(("a",), "k", {"v": 2}),
        PutOp(("a",), "gone", {"v": 3}),
        PutOp(("a",), "gone", None),
        SearchOp(("a",)),
    ]
    with SqliteStore.from_conn_string(":memory:") as theirs:
        theirs.setup()
        assert local.batch(ops) == theirs.batch(ops)
        for store in (local, theirs):
            assert [(item.key, item.value) for item in store.search(("a",))] == [("k", {"v": 2})]


def test_nothing_of_langgraph_is_imported_until_asked_for() -> None:
    assert is_lazy("langgraph", "langgraph")
