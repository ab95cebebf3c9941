"""Quotas: what is admitted, what is refused and what it is told, and what a write counts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clock import NOON, SettableClock
from contracts.entries import entry, memory, replacement
from counting import ProcessCounters
from steeltrap.engine.quota import MEASURED_AGAIN, MEASURED_FOR, Growth, Quota, Quotas, growth_of
from steeltrap.errors import Throttled, Unavailable
from steeltrap.model import Link, UserRef
from steeltrap.ports import Close, Create, Replace

ANA = UserRef("ana")


class Measured:
    """A space of which only the size is asked; it counts how often."""

    def __init__(self, memories: int = 0, bytes: int = 0) -> None:
        self.counts = {"memories": memories, "superseded": 0, "record_bytes": bytes}
        self.asked = 0

    def statistics(self) -> dict[str, int]:
        self.asked += 1
        return self.counts


class Silent:
    """Counters that don't answer."""

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any, **__: Any) -> Any:
            raise Unavailable("The table usage-prod does not answer.", part="store")

        return fail


def quota(clock: SettableClock, counters: Any = None, **quotas: int) -> Quota:
    return Quota(quotas=Quotas(**quotas), counters=counters or ProcessCounters(), user=ANA, clock=clock)


def test_so_many_calls_a_minute_and_then_a_wait_until_the_next(clock: SettableClock) -> None:
    limited = quota(clock, calls_per_minute=3)
    clock.advance(seconds=20)
    for _ in range(3):
        limited.count_call()
    with pytest.raises(Throttled, match="The limit is 3 calls per minute: try again in 40 s") as refused:
        limited.count_call()
    assert (refused.value.can_retry, refused.value.details) == (True, {"retry_after": 40})
    clock.advance(seconds=39)
    with pytest.raises(Throttled, match="in 1 s"):
        limited.count_call()
    clock.advance(seconds=1)
    limited.count_call()


@given(st.integers(1, 20), st.lists(st.integers(0, 30), max_size=80))
def test_no_minute_has_more_calls_than_allowed_and_no_wait_is_too_short(most: int, pauses: list[int]) -> None:
    clock = SettableClock()
    limited = quota(clock, calls_per_minute=most)
    admitted: dict[int, int] = {}
    for pause in pauses:
        now = clock.advance(seconds=pause)
        minute = int(now.timestamp()) // 60
        refusal = None
        try:
            limited.count_call()
        except Throttled as error:
            refusal = error
        if refusal is None:
            admitted[minute] = admitted.get(minute, 0) + 1
            assert admitted[minute] <= most
        else:
            assert admitted[minute] == most
            assert int(now.timestamp() + refusal.details["retry_after"]) // 60 == minute + 1


def test_what_would_exceed_is_refused_and_what_fits_exactly_is_not(clock: SettableClock) -> None:
    limited = quota(clock, max_memories=10, max_bytes=1000)
    space = Measured(memories=9, bytes=900)
    limited.admit(space, Growth(1, 100))  # type: ignore[arg-type]
    with pytest.raises(Throttled, match="This would make 11 memories, and 10 are allowed: delete") as refused:
        limited.admit(space, Growth(2, 10))  # type: ignore[arg-type]
    assert (refused.value.can_retry, refused.value.details) == (True, {"retry_after": 60.0, "quota": "memories"})
    with pytest.raises(Throttled, match="This would make 1,001 bytes of memories, and 1,000 are allowed: forget"):
        limited.admit(space, Growth(1, 101))  # type: ignore[arg-type]


@given(
    st.integers(0, 20), st.integers(0, 20), st.integers(-5, 0), st.integers(-5, 0), st.integers(0, 3), st.integers(0, 3)
)
def test_what_takes_away_is_always_admitted(
    memories: int, bytes: int, fewer: int, shorter: int, most: int, most_bytes: int
) -> None:
    limited = quota(SettableClock(), max_memories=most, max_bytes=most_bytes)
    space = Measured(memories=memories, bytes=bytes)
    limited.admit(space, Growth(fewer, shorter))  # type: ignore[arg-type]
    assert space.asked == 0


def test_what_is_written_counts_without_being_measured(clock: SettableClock) -> None:
    limited = quota(clock, max_memories=3)
    space = Measured()
    for _ in range(3):
        limited.admit(space, Growth(1, 10))  # type: ignore[arg-type]
        limited.note(Growth(1, 10))
    assert space.asked == 1
    space.counts = {"memories": 3, "superseded": 0, "record_bytes": 30}
    clock.advance(seconds=MEASURED_AGAIN.total_seconds())
    with pytest.raises(Throttled):
        limited.admit(space, Growth(1, 10))  # type: ignore[arg-type]


def test_what_was_purged_is_seen_before_a_write_is_refused_and_the_wait_says_when(clock: SettableClock) -> None:
    limited = quota(clock, max_memories=3)
    space = Measured(memories=3)
    with pytest.raises(Throttled) as refused:
        limited.admit(space, Growth(1, 10))  # type: ignore[arg-type]
    space.counts = {"memories": 2, "superseded": 0, "record_bytes": 0}
    clock.advance(seconds=refused.value.details["retry_after"] - 1)
    with pytest.raises(Throttled, match="4 memories") as refused:
        limited.admit(space, Growth(1, 10))  # type: ignore[arg-type]
    assert space.asked == 1
    clock.advance(seconds=refused.value.details["retry_after"])
    limited.admit(space, Growth(1, 10))  # type: ignore[arg-type]


def test_an_amount_is_measured_anew_when_it_is_old(clock: SettableClock) -> None:
    limited = quota(clock, max_memories=3)
    space = Measured(memories=1)
    limited.admit(space, Growth(1, 10))  # type: ignore[arg-type]
    space.counts = {"memories": 3, "superseded": 0, "record_bytes": 0}
    clock.advance(seconds=MEASURED_FOR.total_seconds())
    with pytest.raises(Throttled):
        limited.admit(space, Growth(1, 10))  # type: ignore[arg-type]
    assert timedelta(0) < MEASURED_AGAIN < MEASURED_FOR


def test_counters_that_do_not_answer_stop_nobody_and_are_logged(
    clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    limited = quota(clock, Silent(), calls_per_minute=1, max_memories=1, max_bytes=1)
    for _ in range(3):
        limited.count_call()
        limited.admit(Measured(memories=9, bytes=9), Growth(1, 1))  # type: ignore[arg-type]
        limited.note(Growth(1, 1))
    said = {record.getMessage().partition(":")[0] for record in caplog.records}
    assert said == {"a call was not counted", "an amount was not checked", "an amount was not counted"}


def test_without_a_limit_nothing_is_counted(clock: SettableClock) -> None:
    limited = quota(clock, Silent())
    space = Measured(memories=9, bytes=9)
    limited.count_call()
    limited.admit(space, Growth(1, 1))  # type: ignore[arg-type]
    limited.note(Growth(1, 1))
    assert space.asked == 0


def test_a_creation_counts_its_record_and_a_turn_no_memory() -> None:
    one, said = memory("高い山 one"), replace(memory("said"), source="conversation")
    grown = growth_of([Create(entry=entry(one)), Create(entry=entry(said)), Close(turn_ids=("x",))])
    assert grown.memories == 1
    assert grown.bytes > len("高い山 onesaid".encode())


def test_a_deletion_frees_a_memory_and_its_undoing_takes_it_again() -> None:
    old = memory("one")
    gone = replace(old, version=2, deleted_at=NOON)
    back = replace(old, version=3)
    assert growth_of([Replace(entry=entry(gone), expected=1)]) == Growth(-1, 0)
    assert growth_of([Replace(entry=entry(back), expected=2)]) == Growth(1, 0)


@given(st.text(min_size=1, max_size=50), st.text(max_size=50), st.integers(0, 10))
def test_an_update_counts_what_its_user_wrote_more_or_less_and_no_links(text: str, more: str, links: int) -> None:
    found = tuple(Link(target_id=memory("x").id, strength=0.9) for _ in range(links))
    old = memory(text)
    longer = growth_of([replacement(old, content=text + more, links=found, updated_at=NOON)])
    shorter = growth_of([replacement(replace(old, content=text + more), content=text, links=found)])
    assert longer.memories == shorter.memories == 0
    assert longer.bytes == -shorter.bytes >= len(more.encode())
