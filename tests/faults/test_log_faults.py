"""No entry of a log is lost or doubled by what networks and services do to requests: on emulators of the services.

writer --settle--> client --> proxy with a rule --> S3, Azure, Google's XML interface, DynamoDB
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from threading import Lock, Thread
from typing import Final

import pytest

from clock import SettableClock
from contracts import log_places
from contracts.log_contract import ANA
from faults.postgres_proxy import PostgresProxy
from faults.proxy import (
    Answered,
    Asked,
    Proxy,
    Rule,
    Send,
    but_saying,
    cut,
    hanging_up,
    passing,
    saying,
    silent,
    unheard,
)
from steeltrap.errors import Unavailable
from steeltrap.ports import Deadline, Log
from steeltrap.stores.logs.folder import FolderLog, Root
from steeltrap.stores.replica.entries import LogEntry, Lost, commit_entry, new_nonce, unpack

SECONDS: Final = 60.0
REMOTE: Final = ("s3", "azure", "gcs", "dynamodb", "postgres")


@pytest.fixture(params=REMOTE)
def behind(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Log, Proxy | PostgresProxy]]:
    """A log and the proxy that its client meets; it gives up on a silence soon."""
    log_places.make_impatient(monkeypatch)
    with (
        log_places.proxied_place(request.param, monkeypatch) as (make, proxy),
        log_places.connecting(make) as connect,
    ):
        yield connect().of(ANA), proxy


def _entry(n: int, body: bytes = b"") -> LogEntry:
    return LogEntry("change", ANA, n, new_nonce(), new_nonce(), bytes(8), 0, 0, 0, 0, body)


def _settle(log: Log, entry: LogEntry, clock: SettableClock, seconds: float = SECONDS) -> None:
    commit_entry(log, entry.n, entry.pack(), Deadline.after(seconds, clock), clock.sleep)


def _first_writes(times: int, rule: Rule) -> Rule:
    """A rule for the first few writes; all else passes."""
    return _first(times, rule, lambda asked: asked.method in ("PUT", "POST") and not _is_read(asked))


def _first_reads(times: int, rule: Rule) -> Rule:
    return _first(times, rule, _is_read)


def _is_read(asked: Asked) -> bool:
    return asked.method == "GET" or asked.operation in ("Query", "BatchGetItem", "GetItem")


def _first(times: int, rule: Rule, is_meant: Callable[[Asked], bool]) -> Rule:
    left, lock = [times], Lock()

    def chosen(asked: Asked, send: Send) -> Answered | None:
        with lock:
            meant = is_meant(asked) and left[0] > 0
            left[0] -= meant
        return rule(asked, send) if meant else send(asked)

    return chosen


WORKED: Final[dict[str, Rule]] = {
    "500": but_saying(500),
    "503": but_saying(503),
    "429": but_saying(429),
    "409": but_saying(409),
    "412": but_saying(412),
    "hung up": unheard,
    "half an answer": cut,
}
"""Faults of a create whose work is done."""
IDLE: Final[dict[str, Rule]] = {
    "500": saying(500, b""),
    "503": saying(503, b""),
    "429": saying(429, b""),
    "409": saying(409, b""),
    "412": saying(412, b""),
    "hung up": hanging_up,
    "silence": silent,
}
"""Faults of a create of which nothing is done."""


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("name", WORKED)
def test_an_entry_that_was_made_is_made_whatever_is_answered(
    behind: tuple[Log, Proxy | PostgresProxy], clock: SettableClock, name: str, times: int
) -> None:
    log, proxy = behind
    entry = _entry(1, b"heron")
    proxy.rule = _first_writes(times, WORKED[name])
    _settle(log, entry, clock)
    assert log.read_on(1) == [entry.pack()]


@pytest.mark.parametrize("name", IDLE)
def test_an_entry_that_was_not_made_is_made_again(
    behind: tuple[Log, Proxy | PostgresProxy], clock: SettableClock, name: str
) -> None:
    log, proxy = behind
    entry = _entry(1, b"heron")
    proxy.rule = _first_writes(2, IDLE[name])
    _settle(log, entry, clock)
    assert log.read_on(1) == [entry.pack()]


@pytest.mark.parametrize("name", WORKED)
def test_the_number_of_another_writer_stays_theirs(
    behind: tuple[Log, Proxy | PostgresProxy], clock: SettableClock, name: str
) -> None:
    log, proxy = behind
    theirs = _entry(1, b"theirs")
    _settle(log, theirs, clock)
    proxy.rule = _first_writes(2, WORKED[name])
    with pytest.raises(Lost):
        _settle(log, _entry(1, b"ours"), clock)
    assert log.read([1]) == [theirs.pack()]


def test_an_outage_ends_with_the_deadline_and_says_that_it_may_have_been_saved(
    behind: tuple[Log, Proxy | PostgresProxy], clock: SettableClock
) -> None:
    log, proxy = behind
    proxy.rule = saying(503, b"")
    with pytest.raises(Unavailable, match="idempotency key") as failed:
        _settle(log, _entry(1), clock, seconds=1.0)
    assert failed.value.can_retry
    proxy.rule = passing
    assert log.read_on(1) == []


class _Refusing(FolderLog):
    """A log whose service fails so many times, and then refuses for good."""

    def __init__(self, folder: Path, times: int) -> None:
        super().__init__(Root(folder), ANA)
        self._times = times

    def create(self, n: int, entry: bytes) -> bool:
        self._times -= 1
        raise Unavailable("503" if self._times >= 0 else "403", retryable=self._times >= 0, part="store")


def test_a_refusal_after_a_failure_leaves_open_whether_it_was_saved(tmp_path: Path, clock: SettableClock) -> None:
    with pytest.raises(Unavailable, match="403"):
        _settle(_Refusing(tmp_path, 0), _entry(1), clock)
    with pytest.raises(Unavailable, match="Whether this was saved could not be found out") as failed:
        _settle(_Refusing(tmp_path, 1), _entry(1), clock)
    assert failed.value.can_retry


@pytest.mark.parametrize("name", ["500", "hung up", "silence"])
def test_an_outage_is_no_end_of_the_log(behind: tuple[Log, Proxy | PostgresProxy], name: str) -> None:
    log, proxy = behind
    assert log.create(1, b"first")
    proxy.rule = IDLE[name]
    with pytest.raises(Unavailable):
        log.read_on(1)
    with pytest.raises(Unavailable):
        log.read([1, 2])


def test_half_a_body_is_read_again_from_there(behind: tuple[Log, Proxy | PostgresProxy]) -> None:
    log, proxy = behind
    content = bytes(range(256)) * 400
    assert log.create(1, content)
    proxy.rule = _first_reads(1, cut)
    try:
        assert log.read([1]) == [content]
    except Unavailable:
        assert log.read([1]) == [content]


def test_writers_that_meet_every_fault_lose_nothing_and_double_nothing(
    behind: tuple[Log, Proxy | PostgresProxy], clock: SettableClock
) -> None:
    log, proxy = behind
    random, lock = Random(32), Lock()
    faults = [rule for rule in (*WORKED.values(), *IDLE.values()) if rule is not silent]

    def unruly(asked: Asked, send: Send) -> Answered | None:
        with lock:
            rule = random.choice(faults) if random.random() < 0.2 else passing
        return rule(asked, send)

    proxy.rule = unruly
    acknowledged: dict[bytes, int] = {}
    failed: list[BaseException] = []

    def write(writer: int) -> None:
        n = 1
        for number in range(12):
            body = f"{writer} wrote {number}".encode()
            while True:
                try:
                    _settle(log, _entry(n, body), clock)
                except Lost:
                    n += 1
                except Unavailable as error:
                    failed.append(error)
                    return
                else:
                    acknowledged[body] = n
                    n += 1
                    break

    writers = [Thread(target=write, args=(writer,)) for writer in range(3)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    proxy.rule = passing
    stored = {unpack(data, ANA, n).body: n for n, data in enumerate(log.read_on(1), start=1)}
    assert failed == []
    assert len(acknowledged) == 36
    assert stored == acknowledged
