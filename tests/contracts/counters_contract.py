"""The contract of counters of calls and amounts."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from steeltrap.model import UserRef
from steeltrap.ports import Amount, Counters

ANA = UserRef("ana")

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

MINUTE = int(NOON.timestamp()) // 60


class CountersContract:
    """A test file earns it by a fixture `counters` and a class that inherits this one."""

    def test_calls_are_counted_by_user_and_minute(self, counters: Counters) -> None:
        others = [UserRef("bob"), UserRef("ana", "acme")]
        assert [counters.count_call(ANA, MINUTE) for _ in range(3)] == [1, 2, 3]
        assert [counters.count_call(other, MINUTE) for other in others] == [1, 1]
        assert counters.count_call(ANA, MINUTE) == 4
        assert counters.count_call(ANA, MINUTE + 1) == 1

    def test_calls_at_once_are_each_counted(self, counters: Counters) -> None:
        with ThreadPoolExecutor(8) as pool:
            counts = list(pool.map(lambda _: counters.count_call(ANA, MINUTE), range(40)))
        assert sorted(counts) == list(range(1, 41))

    def test_an_amount_is_what_was_set_and_added_since(self, counters: Counters) -> None:
        assert counters.amount(ANA) is None
        counters.set_amount(ANA, Amount(memories=3, bytes=1000, measured_at=NOON))
        counters.add_amount(ANA, memories=2, bytes=500)
        counters.add_amount(ANA, memories=-1, bytes=-20)
        assert counters.amount(ANA) == Amount(memories=4, bytes=1480, measured_at=NOON)
        counters.set_amount(ANA, Amount(memories=1, bytes=7, measured_at=NOON))
        assert counters.amount(ANA) == Amount(memories=1, bytes=7, measured_at=NOON)

    def test_nothing_is_added_to_what_is_not_known(self, counters: Counters) -> None:
        counters.add_amount(ANA, memories=2, bytes=500)
        assert counters.amount(ANA) is None

    @pytest.mark.parametrize("other", [UserRef("bob"), UserRef("ana", "acme")], ids=str)
    def test_an_amount_is_nobody_elses(self, counters: Counters, other: UserRef) -> None:
        counters.set_amount(ANA, Amount(memories=3, bytes=1000, measured_at=NOON))
        assert counters.amount(other) is None
        counters.set_amount(other, Amount(memories=1, bytes=1, measured_at=NOON))
        counters.add_amount(other, memories=1, bytes=1)
        assert counters.amount(ANA) == Amount(memories=3, bytes=1000, measured_at=NOON)

    def test_a_call_that_is_late_for_its_minute_clears_no_count(self, counters: Counters) -> None:
        bob = UserRef("bob")
        assert counters.count_call(ANA, MINUTE + 1) == 1
        assert counters.count_call(bob, MINUTE) == 1
        assert counters.count_call(ANA, MINUTE + 1) == 2
