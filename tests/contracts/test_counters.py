"""Counters in memory, in a data folder, and in DynamoDB's table of usage, emulated and real, earn their contract."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path

import pytest

from clock import SettableClock
from components import dynamodb_url
from contracts.counters_contract import ANA, MINUTE, NOON, CountersContract
from contracts.dynamodb_stores import emulated, local, tables
from contracts.memory_index import MemoryIndex
from counting import ProcessCounters
from embedding import HashedWords
from spaces import space_of
from steeltrap.engine.quota import Quotas
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Session, UserRef
from steeltrap.ports import Amount, Counters
from steeltrap.runtime import SystemClock
from steeltrap.stores.dynamodb import DynamoCounters, DynamoStore
from steeltrap.stores.dynamodb.client import Connect, Tables
from steeltrap.stores.sqlite import SqliteCounters, SqliteStore
from steeltrap.toolsets import CATALOGUE

EMBEDDER = HashedWords()


@pytest.fixture(params=["process", "sqlite", "moto", "local"])
def counters(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Counters]:
    if request.param == "process":
        yield ProcessCounters()
        return
    if request.param == "sqlite":
        with closing(SqliteCounters(tmp_path / "data")) as in_folder:
            yield in_folder
        return
    if request.param == "moto" and "at_once" in request.node.name:
        pytest.skip("moto's updates are not atomic among threads; those of DynamoDB Local are")
    with ExitStack() as stack:
        connect = stack.enter_context(emulated()) if request.param == "moto" else cache(local(dynamodb_url()))
        names = stack.enter_context(tables(connect, fetches=request.param == "local"))
        found = Tables(connect, *names, SystemClock())
        stack.callback(found.close)
        yield DynamoCounters(found)


def test_processes_that_serve_a_folder_count_together(tmp_path: Path) -> None:
    with closing(SqliteCounters(tmp_path)) as one, closing(SqliteCounters(tmp_path)) as other:
        assert [counters.count_call(ANA, MINUTE) for counters in (one, other, one)] == [1, 2, 3]
        one.set_amount(ANA, Amount(memories=3, bytes=1000, measured_at=NOON))
        other.add_amount(ANA, memories=1, bytes=5)
        assert one.amount(ANA) == Amount(memories=4, bytes=1005, measured_at=NOON)


def test_a_forgotten_user_leaves_no_count_in_the_folder(tmp_path: Path, clock: SettableClock) -> None:
    bob = UserRef("bob")
    with closing(SqliteStore(tmp_path, EMBEDDER, clock)) as store, closing(SqliteCounters(tmp_path)) as counters:
        for user in (ANA, bob):
            counters.count_call(user, MINUTE)
            counters.set_amount(user, Amount(memories=3, bytes=1000, measured_at=NOON))
        store.forget_user(ANA)
        assert counters.amount(ANA) is None
        assert counters.count_call(bob, MINUTE) == 2
    assert ANA.key.encode() not in (tmp_path / "counters.db").read_bytes()
    assert bob.key.encode() in (tmp_path / "counters.db").read_bytes()


def test_counters_of_a_folder_that_is_gone_are_an_outage(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file, not a folder")
    with pytest.raises(Unavailable):
        SqliteCounters(tmp_path / "data").count_call(ANA, MINUTE)


@pytest.fixture
def moto() -> Iterator[tuple[Connect, tuple[str, str]]]:
    with emulated() as connect, tables(connect, fetches=False) as names:
        yield connect, names


def test_a_counter_is_removed_when_it_is_over(moto: tuple[Connect, tuple[str, str]]) -> None:
    connect, names = moto
    counters = DynamoCounters(Tables(connect, *names, SystemClock()))
    counters.count_call(ANA, MINUTE)
    counters.set_amount(ANA, Amount(memories=3, bytes=1000, measured_at=NOON))
    items = connect(3).scan(TableName=names[1])["Items"]
    assert sorted(int(item["ttl"]["N"]) - int(NOON.timestamp()) for item in items) == [120, 24 * 3600]


def test_what_is_counted_is_nothing_that_a_user_has_and_is_forgotten_with_them(
    moto: tuple[Connect, tuple[str, str]], clock: SettableClock
) -> None:
    connect, names = moto
    store = DynamoStore(*names, EMBEDDER, clock, MemoryIndex(), connect=connect)
    counters = DynamoCounters(store.tables)
    counters.count_call(ANA, MINUTE)
    assert list(store.users()) == []
    assert store.forget_user(UserRef("ana")) is False
    assert connect(3).scan(TableName=names[1])["Items"] == []
    counters.count_call(ANA, MINUTE)
    space_of(store, "ana").add_session(Session(id="s", created_at=NOON))
    counters.set_amount(ANA, Amount(memories=3, bytes=1000, measured_at=NOON))
    assert store.forget_user(UserRef("ana")) is True
    assert connect(3).scan(TableName=names[1])["Items"] == []
    store.close()


def test_a_table_that_is_not_there_is_an_outage(moto: tuple[Connect, tuple[str, str]]) -> None:
    connect, names = moto
    counters = DynamoCounters(Tables(connect, names[0], "nothing", SystemClock()))
    with pytest.raises(Unavailable):
        counters.count_call(ANA, MINUTE)


def limited(connect: Connect, names: tuple[str, str], counting: str, clock: SettableClock) -> Door:
    """A door of a process of its own, whose counters are in one table or another."""
    store = DynamoStore(*names, EMBEDDER, clock, MemoryIndex(), connect=connect)
    counters = DynamoCounters(Tables(connect, names[0], counting, SystemClock()))
    quotas = Quotas(calls_per_minute=4, max_memories=2)
    return Door(catalogue=CATALOGUE, store=store, embedder=EMBEDDER, clock=clock, quotas=quotas, counters=counters)


def codes(doors: list[Door]) -> list[str | None]:
    """How each door ends a save."""
    results = [
        door.invoke("core.save", {"content": f"Fact {n}."}, Caller(UserRef("ana"))) for n, door in enumerate(doors)
    ]
    return [result.error.code if result.error else None for result in results]


def test_processes_share_what_a_user_has_used(moto: tuple[Connect, tuple[str, str]], clock: SettableClock) -> None:
    connect, names = moto
    one, other = (limited(connect, names, names[1], clock) for _ in range(2))
    assert codes([one, other, one]) == [None, None, "throttled"]
    calls = [door.invoke("core.list", {}, Caller(UserRef("ana"))).error for door in (other, one)]
    assert calls[0] is None
    assert calls[1] is not None
    assert calls[1].details == {"retry_after": 60}
    for door in (one, other):
        door.store.close()


def test_counters_that_cannot_be_reached_stop_no_call(
    moto: tuple[Connect, tuple[str, str]], clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    connect, names = moto
    door = limited(connect, names, "nothing", clock)
    assert codes([door] * 6) == [None] * 6
    assert "a call was not counted" in caplog.text
    door.store.close()


class TestCounters(CountersContract):
    pass
