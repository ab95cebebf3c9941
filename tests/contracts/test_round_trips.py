"""How often a call waits for DynamoDB and for the index: what goes out together waits at a barrier for the others."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from clock import SettableClock
from contracts.dynamodb_stores import emulated, stores, tables
from contracts.entries import EMBEDDER
from contracts.memory_index import MemoryIndex
from spaces import space_of
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.stores.dynamodb.client import Tables
from steeltrap.toolsets import CATALOGUE

ANA = Caller(UserRef("ana"), "default")
PATIENCE = 20.0


class Recorder:
    """Writes down requests. Those of the first round go on only when all of them are under way."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self._lock = threading.Lock()
        self._barrier: threading.Barrier | None = None

    def together(self, count: int) -> None:
        """Begin anew: so many requests must be under way at once, before any other."""
        self.requests = []
        self._barrier = threading.Barrier(count)

    def met(self, request: str) -> None:
        with self._lock:
            self.requests.append(request)
            waits = self._barrier is not None and len(self.requests) <= self._barrier.parties
        if waits and self._barrier is not None:
            self._barrier.wait(PATIENCE)


class Recorded(MemoryIndex):
    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def search(self, *asked: Any, **how: Any) -> Any:
        self._recorder.met("index")
        return super().search(*asked, **how)

    def look_around(self, *asked: Any, **how: Any) -> Any:
        self._recorder.met("index")
        return super().look_around(*asked, **how)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def opened(recorder: Recorder) -> Iterator[Callable[[], Door]]:
    """Opens doors on the same tables, each as a process of its own."""
    index = Recorded(recorder)
    clock = SettableClock()
    with (
        emulated() as connect,
        tables(connect, fetches=False) as names,
        stores(connect, names, lambda embedder: index, timedelta(minutes=5)) as opening,
    ):
        yield lambda: Door(catalogue=CATALOGUE, store=opening(clock, EMBEDDER), embedder=EMBEDDER, clock=clock)


@pytest.fixture
def door(opened: Callable[[], Door], recorder: Recorder) -> Door:
    """Ana has three memories, one of them in the table only, and asked for something before."""
    door = opened()
    clock: Any = door.clock
    for content in ("the heron waits at dawn", "an otter eats fish"):
        tell(door, "save", content=content)
    clock.advance(minutes=10)
    tell(door, "save", content="a frog sings at night")
    tell(door, "search", query="heron")
    clock.advance(minutes=2)
    return recorded(door, recorder)


def recorded(door: Door, recorder: Recorder) -> Door:
    """The door, with its requests written down; from here on the index is told of nothing.

    Those of the thread that flushes statistics now and then are none of the calls'.
    """
    store: Any = door.store
    del store.tables.call

    def call(operation: str, request: Any, deadline: Any) -> Any:
        if request.get("TableName") != store.tables.usage and threading.current_thread().name != "steeltrap-usage":
            recorder.met(operation)
        return Tables.call(store.tables, operation, request, deadline)

    store.tables.call = call
    return door


def tell(door: Door, tool: str, **arguments: Any) -> Any:
    result = door.invoke(f"core.{tool}", arguments, ANA)
    assert result.error is None, result.body
    return result.body


def test_a_search_asks_both_stores_at_once_and_reads_once(door: Door, recorder: Recorder) -> None:
    recorder.together(3)
    found = tell(door, "search", query="heron frog")
    assert len(found["results"]) == 3
    assert sorted(recorder.requests[:3]) == ["index", "query", "query"]
    assert recorder.requests[3:] == ["batch_get_item"]


def test_a_search_soon_after_asks_each_store_once(door: Door, recorder: Recorder) -> None:
    tell(door, "search", query="heron")
    recorder.together(2)
    assert len(tell(door, "search", query="heron frog")["results"]) == 3
    assert sorted(recorder.requests[:2]) == ["index", "query"]
    assert recorder.requests[2:] == ["batch_get_item"]


def test_names_of_those_who_speak_take_one_read_of_a_new_process_and_no_more_requests(
    door: Door, opened: Callable[[], Door], recorder: Recorder
) -> None:
    for _ in range(2):
        for i in range(40):
            tell(door, "save", content=f"Friend{chr(65 + i)}: hello from the marsh")
    door = recorded(opened(), recorder)
    recorder.requests.clear()
    tell(door, "search", query="heron frog")
    assert recorder.requests[0] == "batch_get_item"
    assert sorted(recorder.requests[1:4]) == ["index", "query", "query"]
    assert recorder.requests[4:] == ["batch_get_item"]

    tell(door, "save", content="FriendA: goodbye to the marsh")
    recorder.together(2)
    tell(door, "search", query="heron frog")
    assert sorted(recorder.requests[:2]) == ["index", "query"]
    assert recorder.requests[2:] == ["batch_get_item"]


def test_a_save_asks_both_stores_at_once_and_writes_once(door: Door, recorder: Recorder) -> None:
    recorder.together(3)
    saved = tell(door, "save", content="quite another matter")
    assert saved["surprise"] is not None
    assert sorted(recorder.requests[:3]) == ["index", "query", "query"]
    assert recorder.requests[3:] == ["put_item"]


@pytest.mark.parametrize("near", ["the heron waits at dawn now", "a frog sings at night now"])
def test_a_save_with_links_reads_their_targets_no_second_time(door: Door, recorder: Recorder, near: str) -> None:
    recorder.together(3)
    saved = tell(door, "save", content=near)
    assert sorted(recorder.requests[:3]) == ["index", "query", "query"]
    assert recorder.requests[3:] == ["transact_write_items"]
    assert len(tell(door, "associations", id=saved["id"])["associations"]) == 1


def test_what_was_just_read_is_written_down_without_being_read_again(door: Door, recorder: Recorder) -> None:
    found = tell(door, "search", query="heron frog")
    recorder.requests.clear()
    door.store.flush(just_read=True)
    assert recorder.requests == []
    counts = space_of(door.store, "ana").usage([hit["id"] for hit in found["results"]])
    assert {one.access_count for one in counts.values()} <= {1, 2}
    assert len(counts) == 3

    tell(door, "search", query="heron frog")
    recorder.requests.clear()
    door.store.flush()
    assert recorder.requests == ["batch_get_item"]
