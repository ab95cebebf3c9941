"""How much a call asks of a bucket: each request is billed, and each that waits for another is a round trip.

door --> replica --> client --> proxy that counts --> a fake of Google's XML interface
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from contracts import log_places
from contracts.entries import EMBEDDER, save
from contracts.log_contract import ANA
from contracts.test_bucket_logs import Counting
from docs import cost
from spaces import space_of
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ports import BaseName, Logs
from steeltrap.runtime import SystemClock
from steeltrap.runtime.local import open_door
from steeltrap.settings import read_settings
from steeltrap.stores.logs.folder import FolderLog, FolderLogs, Root
from steeltrap.stores.replica import ReplicaStore


class Caches:
    """Doors over one place, each with a cache of its own; nothing is done beside their calls."""

    def __init__(self, folder: Path, connect: Callable[[], Logs], asked: Counting) -> None:
        self._asked = asked
        self._connect = connect
        self._folder = folder
        self._door = open_door(read_settings(data=folder / "unused", store="sqlite"), embedder=EMBEDDER)

    def close(self) -> None:
        self._door.store.close()

    @contextmanager
    def door(self, name: str) -> Iterator[Door]:
        logs = self._connect()
        logs.id()
        self._asked.take()
        store = ReplicaStore(self._folder / name, logs, EMBEDDER, SystemClock())
        store._closing.set()
        with closing(store):
            yield replace(self._door, store=store)


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Caches, Counting]]:
    with (
        log_places.proxied_place("gcs", monkeypatch) as (make, proxy),
        log_places.connecting(make) as connect,
    ):
        asked = Counting(proxy)
        with closing(Caches(tmp_path, connect, asked)) as caches:
            yield caches, asked


def _ask(door: Door, tool: str, **arguments: Any) -> Any:
    result = door.invoke(f"core.{tool}", arguments, Caller(ANA, "default"))
    assert result.error is None, result.error
    return result.body


def test_a_read_is_one_request_and_a_write_two(bucket: tuple[Caches, Counting]) -> None:
    caches, asked = bucket
    with caches.door("one") as door:
        saved = _ask(door, "save", content="the heron waits")
        assert asked.take() == {"GET": 1, "LIST": 1, "PUT": 2}, "the first save, which lists the user"
        _ask(door, "search", query="heron")
        assert asked.take() == {"GET": 1}
        _ask(door, "get", id=saved["id"])
        assert asked.take() == {"GET": 1}
        _ask(door, "save", content="the reed grows")
        assert asked.take() == {"GET": 1, "PUT": 1}
        _ask(door, "update", id=saved["id"], content="the heron flies")
        assert asked.take() == {"GET": 1, "PUT": 1}
        _ask(door, "batch_save", items=[{"content": f"pond {number}"} for number in range(40)])
        assert asked.take() == {"GET": 1, "PUT": 1}
        _ask(door, "delete", id=saved["id"])
        assert asked.take() == {"GET": 1, "PUT": 2}, "the first one since a sweep puts a marker"
        _ask(door, "delete", id=_ask(door, "save", content="the pike hides", ttl_seconds=3e7)["id"])
        assert asked.take() == {"GET": 2, "PUT": 2}


def test_who_has_nothing_is_not_listed_again_and_again(bucket: tuple[Caches, Counting]) -> None:
    caches, asked = bucket
    with caches.door("one") as door:
        _ask(door, "search", query="heron")
        assert asked.take() == {"GET": 1, "LIST": 1}
        for _ in range(3):
            _ask(door, "search", query="heron")
        assert asked.take() == {"GET": 3}


def test_an_empty_cache_reads_a_base_and_the_entries_behind_it(bucket: tuple[Caches, Counting]) -> None:
    caches, asked = bucket
    with caches.door("one") as door:
        for number in range(5):
            _ask(door, "save", content=f"the heron waits {number}")
        assert isinstance(door.store, ReplicaStore)
        door.store._replica(ANA).put_base()
        asked.take()
        with caches.door("two") as other:
            assert len(_ask(other, "search", query="heron")["results"]) == 5
            assert asked.take() == {"LIST": 1, "GET": 2 + 16}, "entry 1, the base, and no entry behind it"
        assert asked.take() == {"PUT": 1}, "what was read, at the end"
        for number in range(64):
            _ask(door, "save", content=f"the reed grows {number}")
        asked.take()
        with caches.door("three") as other:
            _ask(other, "search", query="heron")
            counts = asked.take()
        assert counts.keys() == {"LIST", "GET"}
        assert counts["LIST"] == 1
        assert 66 <= counts["GET"] <= 66 + 8, "entry 1, the base, the entries, and what the last wave asks in vain"


@pytest.mark.parametrize("behind", [0, 1, 5, 11])
def test_a_first_read_takes_the_gets_that_the_cost_page_counts(bucket: tuple[Caches, Counting], behind: int) -> None:
    caches, asked = bucket
    with caches.door("one") as door:
        _ask(door, "save", content="the heron waits")
        assert isinstance(door.store, ReplicaStore)
        door.store._replica(ANA).put_base()
        for number in range(behind):
            _ask(door, "save", content=f"the reed grows {number}")
        with caches.door("two") as other:
            asked.take()
            _ask(other, "search", query="heron")
            assert asked.take() == {"LIST": 1, "GET": cost.cold_gets(behind)}


def test_a_forgetting_puts_a_stub_for_each_entry_since_the_last(bucket: tuple[Caches, Counting]) -> None:
    caches, asked = bucket
    with caches.door("one") as door:
        saved = _ask(door, "save", content="the heron waits")
        for number in range(63):
            _ask(door, "save", content=f"the reed grows {number}")
        asked.take()
        _ask(door, "forget", id=saved["id"])
        entries = 64 + 1
        marker = 1
        assert asked.take() == {"GET": 1 + entries, "PUT": marker + 1 + 1 + entries + 1, "LIST": 1, "DELETE": 1}
        other = _ask(door, "save", content="the pond freezes")
        asked.take()
        _ask(door, "forget", id=other["id"])
        entries = 3
        assert asked.take() == {"GET": 1 + entries, "PUT": 1 + 1 + entries + 1, "LIST": 1, "DELETE": 1}


class _Together(FolderLogs):
    """Logs whose requests of a first read wait for one another: asked for one after the other, they never answer."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.first, self.second = Barrier(2), Barrier(2)

    def of(self, user: UserRef) -> FolderLog:
        return _TogetherLog(self._root, user, self.first, self.second)


class _TogetherLog(FolderLog):
    def __init__(self, root: Root, user: UserRef, first: Barrier, second: Barrier) -> None:
        super().__init__(root, user)
        self._first = first
        self._second = second

    def read(self, numbers: Any) -> list[bytes | None]:
        self._first.wait(30)
        return super().read(numbers)

    def bases(self) -> list[BaseName]:
        self._first.wait(30)
        return super().bases()

    def read_on(self, n: int, *, are_many: bool = False) -> list[bytes]:
        self._second.wait(30)
        return super().read_on(n, are_many=are_many)

    def read_base(self, name: BaseName) -> bytes | None:
        self._second.wait(30)
        return super().read_base(name)


def test_an_empty_cache_is_filled_in_two_round_trips(tmp_path: Path) -> None:
    with closing(ReplicaStore(tmp_path / "one", FolderLogs(tmp_path / "log"), EMBEDDER, SystemClock())) as store:
        saved = save(space_of(store, ANA.user_id, tenant=ANA.tenant), "the heron waits")
        store._replica(ANA).put_base()
    with closing(ReplicaStore(tmp_path / "two", _Together(tmp_path / "log"), EMBEDDER, SystemClock())) as store:
        assert [memory.id for memory in space_of(store, ANA.user_id, tenant=ANA.tenant).walk()] == [saved.id]


def test_bases_of_a_log_without_its_first_entry_are_damage_and_not_an_empty_memory(tmp_path: Path) -> None:
    logs = FolderLogs(tmp_path / "log")
    with closing(ReplicaStore(tmp_path / "one", logs, EMBEDDER, SystemClock())) as store:
        save(space_of(store, ANA.user_id, tenant=ANA.tenant), "the heron waits")
        store._replica(ANA).put_base()
    for entry in (tmp_path / "log").glob("u/*/e/*"):
        entry.unlink()
    with (
        closing(ReplicaStore(tmp_path / "two", logs, EMBEDDER, SystemClock())) as store,
        pytest.raises(Unavailable, match="entry 1 is missing"),
    ):
        list(space_of(store, ANA.user_id, tenant=ANA.tenant).walk())
