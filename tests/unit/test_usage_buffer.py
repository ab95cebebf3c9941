"""Reading statistics that move into DynamoDB while others read them."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from spaces import in_time
from steeltrap.stores.dynamodb.usage import UsageBuffer, flush

AT = datetime(2026, 1, 1, tzinfo=UTC)


def _with_time(seconds: float) -> Any:
    """A partition that is nowhere, with so much time."""
    return SimpleNamespace(deadline=in_time(seconds))


@pytest.fixture
def buffer() -> UsageBuffer:
    buffer = UsageBuffer()
    buffer.add(["a", "b", "a"], AT)
    return buffer


def test_while_somebody_reads_nothing_moves_and_nothing_is_lost(buffer: UsageBuffer) -> None:
    with buffer.settled():
        flush(_with_time(0.51), buffer)
        assert not buffer.is_idle()
    assert {id: more.count for id, more in buffer.take().items()} == {"a": 2, "b": 1}
    assert buffer.is_idle()


def test_without_time_for_a_block_none_is_begun(buffer: UsageBuffer) -> None:
    flush(_with_time(0.4), buffer)
    assert len(buffer.take()) == 2


def test_one_memorys_readings_are_taken_alone(buffer: UsageBuffer) -> None:
    assert [more.count for more in buffer.take_one("a").values()] == [2]
    assert buffer.take_one("a") == {}
    assert list(buffer.take()) == ["b"]
