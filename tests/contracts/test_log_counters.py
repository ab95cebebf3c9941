"""Quotas of a user over a log: amounts are exact on all machines, and calls are where a table counts them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clock import SettableClock
from contracts import log_places
from contracts.counters_contract import ANA, MINUTE
from embedding import HashedWords
from faults.proxy import saying
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ports import Counters
from steeltrap.runtime import local
from steeltrap.settings import read_settings
from steeltrap.stores.logs.dynamodb import DynamoLogs
from steeltrap.stores.logs.postgres import PostgresLogs

BOB = UserRef("bob")
Start = Callable[..., Door]


@pytest.fixture
def start(tmp_path: Path, clock: SettableClock) -> Iterator[Start]:
    """Starts a machine with a data folder of its own over one log in a folder."""
    doors: list[Door] = []

    def starting(store: str = (tmp_path / "log").as_uri(), **quotas: int) -> Door:
        settings = read_settings({}, data=tmp_path / f"machine {len(doors)}", store=store, **quotas)
        doors.append(local.open_door(settings, embedder=HashedWords(), clock=clock))
        return doors[-1]

    yield starting
    for door in doors:
        door.store.close()


def save(door: Door, content: str = "Herons wait.", user: str = "ana") -> tuple[str | None, str]:
    """The code of the refusal of a save, and the id of what was saved."""
    result = door.invoke("core.save", {"content": content}, Caller(UserRef(user)))
    return (result.error.code if result.error else None), result.body.get("id", "")


def test_memories_of_all_machines_count_together(start: Start) -> None:
    one, other = start(max_memories=2), start(max_memories=2)
    (_, first), (_, _) = save(one), save(other)
    assert [save(door)[0] for door in (one, other)] == ["throttled", "throttled"]
    assert save(one, user="bob")[0] is None
    assert other.invoke("core.delete", {"id": first}, Caller(UserRef("ana"))).error is None
    assert [save(door)[0] for door in (one, other, one)] == [None, "throttled", "throttled"]


def test_bytes_of_all_machines_count_together(start: Start) -> None:
    one, other = start(max_bytes=5000), start(max_bytes=5000)
    assert save(one, "heron " * 500)[0] is None
    assert save(other, "otter " * 500)[0] == "throttled"
    assert save(other, "otter")[0] is None


def test_a_door_without_limits_of_amounts_measures_nothing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    door = start(calls_per_minute=3)
    monkeypatch.setattr("steeltrap.stores.sqlite.records.statistics", None)
    assert [save(door)[0] for _ in range(4)] == [None, None, None, "throttled"]


@pytest.fixture(params=["dynamodb", "postgres"])
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with log_places.empty_url(request.param, monkeypatch) as url:
        yield url


@pytest.fixture
def counting(table: str, tmp_path: Path) -> Iterator[Callable[[], Counters]]:
    settings = read_settings({}, data=tmp_path, store=table)
    yield lambda: local.open_counters(settings, None)  # type: ignore[arg-type]
    local.open_logs(settings).close()


def test_a_table_counts_the_calls_of_all_machines_in_a_minute(counting: Callable[[], Counters]) -> None:
    one, other = counting(), counting()
    assert [machine.count_call(ANA, MINUTE) for machine in (one, other, other, one)] == [1, 2, 3, 4]
    assert one.count_call(BOB, MINUTE) == 1
    assert [machine.count_call(ANA, MINUTE + 1) for machine in (other, one)] == [1, 2]
    assert one.count_call(ANA, MINUTE) == 3, "a call that is late clears no count"


def test_calls_at_once_are_all_counted(counting: Callable[[], Counters]) -> None:
    machines = [counting() for _ in range(4)]
    with ThreadPoolExecutor(16) as threads:
        counts = list(threads.map(lambda at: machines[at % 4].count_call(ANA, MINUTE), range(100)))
    assert sorted(counts) == list(range(1, 101))


def test_what_is_counted_is_no_entry(table: str) -> None:
    logs = local.open_logs(read_settings({}, store=table))
    assert isinstance(logs, DynamoLogs | PostgresLogs)
    logs.count_call(ANA, MINUTE)
    assert logs.of(ANA).read_on(1) == []
    assert logs.of(ANA).create(1, b"x")
    assert logs.of(ANA).read_on(1) == [b"x"]
    assert list(logs.users()) == []
    logs.close()


@pytest.mark.parametrize("kind", ["dynamodb", "postgres"])
def test_a_table_that_does_not_answer_is_an_outage(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    with log_places.proxied_place(kind, monkeypatch) as (make, proxy):
        logs = make()
        assert isinstance(logs, DynamoLogs | PostgresLogs)
        proxy.rule = saying(500, b"")
        with pytest.raises(Unavailable):
            logs.count_call(ANA, MINUTE)
        logs.close()
