"""The promises of every place for logs."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from steeltrap.model import UserRef
from steeltrap.ports import BaseName, Log, Logs, Marker

Connect = Callable[[], Logs]

ANA = UserRef("ana", "acme")

BEN = UserRef("ben/../ana", "acme")

RACERS = 50


def _due(logs: Logs, hour: str) -> list[tuple[UserRef, Marker]]:
    return [found for page in logs.due(hour) for found in page]


class LogContract:
    """A test file earns it by a fixture `connect`, which makes one more client of an empty place, as another machine
    would, and a class that inherits this one.
    """

    @pytest.fixture
    def logs(self, connect: Connect) -> Logs:
        return connect()

    @pytest.fixture
    def log(self, logs: Logs) -> Log:
        return logs.of(ANA)

    @pytest.fixture
    def threads(self) -> Iterator[ThreadPoolExecutor]:
        with ThreadPoolExecutor(RACERS) as pool:
            yield pool

    def test_an_empty_place_has_nothing(self, logs: Logs, log: Log) -> None:
        assert list(logs.users()) == []
        assert log.read([1, 2]) == [None, None]
        assert log.read([]) == []
        assert log.read_on(1) == []
        assert log.bases() == []
        assert log.read_base(BaseName(1, 0)) is None

    def test_an_entry_that_was_created_is_read_by_another_machine(self, connect: Connect, log: Log) -> None:
        assert log.create(1, b"\x00first\xff") is True
        assert connect().of(ANA).read([1]) == [b"\x00first\xff"]

    def test_who_may_do_all_may_delete(self, log: Log) -> None:
        assert log.may_delete()
        assert log.bases() == []

    def test_a_number_is_taken_once(self, connect: Connect, log: Log) -> None:
        assert log.create(1, b"first") is True
        assert log.create(1, b"first") is False
        assert connect().of(ANA).create(1, b"second") is False
        assert log.read([1]) == [b"first"]

    def test_a_number_of_fifty_racing_writers_goes_to_one(self, connect: Connect, threads: ThreadPoolExecutor) -> None:
        logs = [connect().of(ANA) for _ in range(5)]
        for n in range(1, 5):
            start = Barrier(RACERS)

            def race(racer: int, n: int = n, start: Barrier = start) -> bool:
                start.wait()
                return logs[racer % len(logs)].create(n, f"{racer} took {n}".encode())

            [winner] = [racer for racer, won in enumerate(threads.map(race, range(RACERS))) if won]
            assert logs[0].read([n]) == [f"{winner} took {n}".encode()]

    def test_entries_are_read_in_the_order_that_is_asked_for(self, log: Log) -> None:
        for n in (1, 2, 4):
            log.create(n, str(n).encode())
        assert log.read([4, 3, 1, 2, 1]) == [b"4", None, b"1", b"2", b"1"]

    @pytest.mark.parametrize("are_many", [False, True])
    def test_reading_on_ends_at_the_first_gap(self, log: Log, are_many: bool) -> None:
        for n in (*range(1, 12), 13, 14):
            log.create(n, str(n).encode())
        assert log.read_on(1, are_many=are_many) == [str(n).encode() for n in range(1, 12)]
        assert log.read_on(10, are_many=are_many) == [b"10", b"11"]
        assert log.read_on(12, are_many=are_many) == []
        assert log.read_on(14, are_many=are_many) == [b"14"]

    def test_reading_on_reads_hundreds(self, log: Log, threads: ThreadPoolExecutor) -> None:
        entries = [f"entry {n}".encode() for n in range(1, 151)]
        assert all(threads.map(log.create, range(1, 151), entries))
        assert log.read_on(1) == log.read_on(1, are_many=True) == entries

    def test_a_large_entry_is_one_entry(self, connect: Connect, log: Log) -> None:
        large = bytes(range(256)) * 8 * 1024
        assert log.create(1, large) is True
        assert log.create(1, b"small") is False
        assert log.create(2, b"small") is True
        assert connect().of(ANA).read_on(1) == [large, b"small"]
        assert log.read([1]) == [large]

    def test_a_stub_stands_in_the_place_of_an_entry(self, connect: Connect, log: Log) -> None:
        for n in range(1, 41):
            log.create(n, b"secret" * n * n)
        log.overwrite({n: f"stub {n}".encode() for n in range(1, 40)})
        log.overwrite({})
        assert connect().of(ANA).read_on(1) == [*(f"stub {n}".encode() for n in range(1, 40)), b"secret" * 1600]
        assert log.create(1, b"again") is False

    def test_an_entry_of_hundreds_of_kilobytes_is_overwritten_like_a_small_one(
        self, connect: Connect, log: Log
    ) -> None:
        log.create(1, b"secret" * 100_000)
        log.overwrite({1: b"stub"})
        log.overwrite({1: b"stub"})
        assert connect().of(ANA).read([1]) == [b"stub"]
        assert log.create(1, b"secret" * 100_000) is False
        assert log.read_on(1) == [b"stub"]

    def test_bases_are_listed_the_newest_last(self, connect: Connect, log: Log) -> None:
        names = [BaseName(7, 7), BaseName(1_000, 7), BaseName(70, 0), BaseName(70, 7), BaseName(8, 7)]
        for name in names:
            log.put_base(name, repr(name).encode())
        assert log.bases() == sorted(names)
        assert connect().of(ANA).bases() == sorted(names)
        assert [log.read_base(name) for name in names] == [repr(name).encode() for name in names]

    def test_a_base_is_put_in_place_of_one_of_its_name(self, log: Log) -> None:
        log.put_base(BaseName(3, 0), b"one")
        log.put_base(BaseName(3, 0), b"another")
        assert log.bases() == [BaseName(3, 0)]
        assert log.read_base(BaseName(3, 0)) == b"another"

    def test_a_deleted_base_is_gone_and_may_be_deleted_again(self, connect: Connect, log: Log) -> None:
        log.put_base(BaseName(3, 0), b"old")
        log.put_base(BaseName(9, 3), b"new" * 1_000_000)
        log.delete_base(BaseName(3, 0))
        connect().of(ANA).delete_base(BaseName(3, 0))
        assert log.bases() == [BaseName(9, 3)]
        assert log.read_base(BaseName(3, 0)) is None
        assert log.read_base(BaseName(9, 3)) == b"new" * 1_000_000

    def test_bases_are_no_entries(self, log: Log) -> None:
        log.put_base(BaseName(1, 0), b"base")
        assert log.read([1]) == [None]
        log.create(1, b"entry")
        assert log.bases() == [BaseName(1, 0)]

    def test_users_have_logs_of_their_own(self, logs: Logs) -> None:
        users = [ANA, BEN, UserRef("ana"), UserRef("acme/ana"), UserRef("ana", "")]
        for at, user in enumerate(users[:4]):
            assert logs.of(user).create(1, str(at).encode()) is True
            logs.of(user).put_base(BaseName(at + 1, 0), str(at).encode())
        assert [logs.of(user).read_on(1) for user in users] == [[b"0"], [b"1"], [b"2"], [b"3"], [b"2"]]
        assert logs.of(ANA).bases() == [BaseName(1, 0)]
        logs.of(ANA).overwrite({1: b"stub"})
        logs.of(ANA).delete_base(BaseName(1, 0))
        assert logs.of(BEN).read([1]) == [b"1"]
        assert logs.of(BEN).bases() == [BaseName(2, 0)]

    def test_users_are_those_that_were_listed(self, connect: Connect, logs: Logs) -> None:
        named = [ANA, BEN, UserRef("嵐 ☂\n", "zwölf"), *(UserRef(f"user {number}") for number in range(5))]
        for user in named:
            logs.of(user).list_user()
        logs.of(ANA).list_user()
        assert sorted(connect().users(), key=str) == sorted(named, key=str)
        logs.of(BEN).unlist_user()
        logs.of(BEN).unlist_user()
        assert set(connect().users()) == {*named} - {BEN}

    def test_users_with_due_work_are_found_once_its_hour_is_over_the_earliest_first(
        self, connect: Connect, logs: Logs
    ) -> None:
        early, late, later = Marker("2026-01-31T09", 7), Marker("2026-01-31T10", 3), Marker("2026-02-01T00", 1)
        for user, markers in {ANA: (late, later), BEN: (early,)}.items():
            logs.of(user).list_user()
            for marker in markers:
                logs.of(user).mark(marker)
        logs.of(BEN).mark(early)
        assert _due(connect(), "2026-01-31T09") == []
        assert _due(connect(), "2026-01-31T11") == [(BEN, early), (ANA, late)]
        assert _due(logs, "2026-02-01T01") == [(BEN, early), (ANA, late), (ANA, later)]

    def test_a_marker_that_was_removed_is_found_no_more(self, connect: Connect, logs: Logs) -> None:
        one, other = Marker("2026-01-31T09", 7), Marker("2026-01-31T09", 8)
        for user in (ANA, BEN):
            logs.of(user).list_user()
            logs.of(user).mark(one)
            logs.of(user).mark(other)
        logs.of(BEN).unmark(one)
        connect().of(BEN).unmark(one)
        logs.of(ANA).unmark(other)
        assert sorted(_due(logs, "2026-02-01T00"), key=str) == [(ANA, one), (BEN, other)]

    def test_markers_of_a_user_who_is_listed_no_more_are_removed(self, logs: Logs) -> None:
        marker = Marker("2026-01-31T09", 7)
        for user in (ANA, BEN):
            logs.of(user).list_user()
            logs.of(user).mark(marker)
        logs.of(BEN).unlist_user()
        assert _due(logs, "2026-02-01T00") == [(ANA, marker)]
        logs.of(BEN).list_user()
        assert _due(logs, "2026-02-01T00") == [(ANA, marker)]

    def test_many_markers_are_read_in_pages(self, logs: Logs, threads: ThreadPoolExecutor) -> None:
        markers = [Marker(f"2026-01-{day:02}T{hour:02}", day) for day in range(1, 8) for hour in range(6)]
        logs.of(ANA).list_user()
        list(threads.map(logs.of(ANA).mark, markers))
        assert _due(logs, "2026-01-07T03") == [(ANA, marker) for marker in markers[:-3]]

    def test_markers_make_no_user_and_no_entry(self, logs: Logs, log: Log) -> None:
        log.mark(Marker("2026-01-31T09", 1))
        assert list(logs.users()) == []
        assert log.read_on(1) == []
        assert log.bases() == []

    def test_users_are_read_from_a_range_of_keys(self, logs: Logs) -> None:
        users = sorted((UserRef(f"user {number}") for number in range(12)), key=lambda user: user.key)
        for user in users:
            logs.of(user).list_user()
        assert set(logs.users(users[3].key, users[7].key)) == set(users[3:7])
        assert set(logs.users(users[7].key[:2])) >= set(users[7:])
        assert set(logs.users(end=users[3].key)) == set(users[:3])

    def test_entries_alone_make_no_user(self, logs: Logs, log: Log) -> None:
        log.create(1, b"first")
        assert list(logs.users()) == []

    def test_a_place_has_one_id_for_ever(self, connect: Connect, threads: ThreadPoolExecutor) -> None:
        start = Barrier(10)

        def ask(logs: Logs) -> bytes:
            start.wait()
            return logs.id()

        ids = set(threads.map(ask, [connect() for _ in range(10)]))
        assert len(ids) == 1
        assert {len(each) for each in ids} == {16}
        assert {connect().id()} == ids

    def test_a_place_has_begun_once_a_user_has_a_log(self, connect: Connect, logs: Logs, log: Log) -> None:
        assert [logs.is_begun() for _ in range(2)] == [False, False], "the question makes none"
        connect().id()
        log.create(1, b"first")
        assert logs.is_begun()

    def test_a_check_leaves_no_user_and_no_entry(self, logs: Logs, log: Log) -> None:
        logs.check()
        logs.check()
        assert list(logs.users()) == []
        assert log.read_on(1) == []
        assert log.bases() == []
