"""A PostgreSQL server goes away, comes back, is full or follows another: nothing is lost, nothing looks empty."""

from collections.abc import Iterator
from contextlib import closing
from threading import Event, Thread
from typing import Final

import psycopg
import pytest

from contracts.log_contract import ANA
from postgres_server import Server, server, standby
from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from steeltrap.ports import BaseName, Deadline
from steeltrap.runtime import SystemClock
from steeltrap.stores import postgres
from steeltrap.stores.logs.postgres import PostgresLogs
from steeltrap.stores.postgres_tables import database_at
from steeltrap.stores.replica.entries import LogEntry, Lost, commit_entry, new_nonce, unpack

pytestmark = pytest.mark.slow
_RESTARTS: Final = 3


@pytest.fixture(scope="module")
def primary() -> Iterator[Server]:
    with server() as running:
        yield running


def logs_at(running: Server) -> PostgresLogs:
    return PostgresLogs(database_at(running.url), running.url)


def test_a_server_that_is_killed_in_mid_commit_loses_and_doubles_nothing(primary: Server) -> None:
    clock, stop = SystemClock(), Event()
    acknowledged: dict[bytes, int] = {}
    failed: list[BaseException] = []

    def write(writer: int) -> None:
        number, n = 0, 1
        with closing(logs_at(primary)) as logs:
            log = logs.of(ANA)
            while not stop.is_set():
                body = f"{writer} wrote {number}".encode()
                entry = LogEntry("change", ANA, n, new_nonce(), new_nonce(), bytes(8), 0, 0, 0, 0, body)
                try:
                    commit_entry(
                        log, n, entry.pack(), Deadline.after(60, clock), lambda seconds: stop.wait(seconds) or None
                    )
                except Lost:
                    n += 1
                except Unavailable as error:
                    failed.append(error)
                    return
                else:
                    acknowledged[body] = n
                    number, n = number + 1, n + 1

    writers = [Thread(target=write, args=(writer,)) for writer in range(3)]
    for each in writers:
        each.start()
    for _ in range(_RESTARTS):
        before = len(acknowledged)
        while len(acknowledged) < before + 50 and not failed:
            stop.wait(0.01)
        primary.stop("immediate")
        primary.start()
    while len(acknowledged) < before + 60 and not failed:
        stop.wait(0.01)
    stop.set()
    for each in writers:
        each.join()
    with closing(logs_at(primary)) as logs:
        stored = {unpack(data, ANA, n).body: n for n, data in enumerate(logs.of(ANA).read_on(1), start=1)}
    assert [error for error in failed if "idempotency key" not in str(error)] == []
    assert {body: stored.get(body) for body in acknowledged} == acknowledged


def test_a_server_that_is_down_is_no_empty_one_and_is_found_again(
    primary: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_CONNECT_SECONDS", 1.0)
    ben = UserRef("ben")
    with closing(logs_at(primary)) as logs:
        log = logs.of(ben)
        log.create(1, b"x")
        primary.stop()
        for attempt in (lambda: log.read_on(1), lambda: log.create(2, b"y"), log.bases, lambda: list(logs.users())):
            with pytest.raises(Unavailable, match="does not answer; try again") as failed:
                attempt()
            assert failed.value.can_retry
        primary.start()
        assert log.read_on(1) == [b"x"]


def test_connections_that_a_restart_broke_are_not_met_again(primary: Server) -> None:
    cleo = UserRef("cleo")
    with closing(logs_at(primary)) as logs:
        logs.of(cleo).create(1, b"x")
        primary.stop()
        primary.start()
        assert logs.of(cleo).read_on(1) == [b"x"]


def test_a_server_without_connections_left_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_CONNECT_SECONDS", 1.0)
    with server(max_connections="5", superuser_reserved_connections="0") as small, closing(logs_at(small)) as logs:
        logs.id()
        logs.close()
        others = [psycopg.connect(small.url) for _ in range(5)]
        with pytest.raises(Unavailable, match="no connection left; try again in a second") as failed:
            logs.of(ANA).read_on(1)
        assert failed.value.can_retry
        for each in others:
            each.close()
        assert logs.of(ANA).read_on(1) == []


def test_a_standby_is_refused_since_it_may_lag(primary: Server) -> None:
    dora = UserRef("dora")
    with closing(logs_at(primary)) as logs:
        logs.of(dora).create(1, b"x")
    with standby(primary) as following, closing(logs_at(following)) as logs:
        log = logs.of(dora)
        for attempt in (
            lambda: log.read_on(1),
            lambda: log.create(2, b"y"),
            lambda: log.read_base(BaseName(1, 0)),
            lambda: list(logs.users()),
            logs.id,
            logs.check,
        ):
            with pytest.raises(Unavailable, match="read-only; name the primary server") as failed:
                attempt()
            assert not failed.value.can_retry


def test_a_database_that_is_set_read_only_refuses_writes_and_still_reads(primary: Server) -> None:
    emil = UserRef("emil")
    with closing(logs_at(primary)) as logs:
        logs.of(emil).create(1, b"x")
    with psycopg.connect(primary.admin_url, autocommit=True) as admin:
        admin.execute("ALTER DATABASE memories SET default_transaction_read_only = on")
    try:
        with closing(logs_at(primary)) as logs:
            assert logs.of(emil).read_on(1) == [b"x"]
            with pytest.raises(Unavailable, match="read-only"):
                logs.of(emil).create(2, b"y")
    finally:
        with psycopg.connect(primary.admin_url, autocommit=True) as admin:
            admin.execute("SET default_transaction_read_only = off")
            admin.execute("ALTER DATABASE memories RESET default_transaction_read_only")
