"""Quotas of a user: calls in a minute, memories, bytes.

They are soft. Calls are counted per clock minute, so up to twice the limit can fall in any 60 seconds. Concurrent
writes can exceed the limit slightly. If a counter does not answer, the call goes on. Counts are measured again now and
then, because expired and purged memories are not counted down.
"""

import json
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from .. import record
from ..errors import OverQuota, SteeltrapError, Throttled, counted
from ..model import Memory, UserRef
from ..model.frozen import frozen
from ..ports import Amount, Change, Clock, Close, Counters, Create, Space, memory_count

_log = logging.getLogger("steeltrap")

MEASURED_FOR: Final = timedelta(hours=1)
"""How long an amount is taken for right."""
MEASURED_AGAIN: Final = timedelta(minutes=1)
"""Before a write is refused the amount is measured, unless it was within this time: measuring reads much."""


@frozen
class Quotas:
    """The limits of a user; 0 is no limit. Bytes are those of the records, deleted ones too until they are purged."""

    calls_per_minute: int = 0
    max_memories: int = 0
    max_bytes: int = 0


@frozen(kw_only=False)
class Growth:
    """The growth that a write adds to a user's memories and bytes; less than 0 for what it takes away."""

    memories: int = 0
    bytes: int = 0


@frozen
class Quota:
    """The quotas of one user, and what they have used."""

    quotas: Quotas
    counters: Counters
    user: UserRef
    clock: Clock

    def count_call(self) -> None:
        """Count a call. Raises Throttled when there were too many in this minute."""
        limit = self.quotas.calls_per_minute
        if not limit:
            return
        minute, second = divmod(int(self.clock.now().timestamp()), 60)
        try:
            count = self.counters.count_call(self.user, minute)
        except SteeltrapError as error:
            _log.warning("a call was not counted: %s", error.message)
            return
        if count > limit:
            wait = 60 - second
            raise Throttled(
                f"The limit is {counted(limit, 'call', 'calls')} per minute: try again in {wait} s.", retry_after=wait
            )

    def admit(self, space: Space, growth: Growth) -> None:
        """Raises Throttled for what would exceed the memories or bytes; what adds to neither is always admitted.

        `retry_after` is the time until the amount is measured again; `quota` is `memories` or `bytes`.
        """
        if not self._limits(growth):
            return
        amount = self._stored_amount(space)
        if amount is not None and self._exceeded(amount, growth):
            if self._now() - amount.measured_at >= MEASURED_AGAIN:
                amount = self._measured(space)
            if (refusal := self._exceeded(amount, growth)) is not None:
                raise refusal

    def note(self, growth: Growth) -> None:
        """Count what was written. Never raises: what is not counted is measured later."""
        if growth == Growth() or not (self.quotas.max_memories or self.quotas.max_bytes):
            return
        try:
            self.counters.add_amount(self.user, memories=growth.memories, bytes=growth.bytes)
        except SteeltrapError as error:
            _log.warning("an amount was not counted: %s", error.message)

    def _limits(self, growth: Growth) -> bool:
        return bool((self.quotas.max_memories and growth.memories > 0) or (self.quotas.max_bytes and growth.bytes > 0))

    def _stored_amount(self, space: Space) -> Amount | None:
        try:
            amount = self.counters.amount(self.user)
        except SteeltrapError as error:
            _log.warning("an amount was not checked: %s", error.message)
            return None
        if amount is None or self._now() - amount.measured_at >= MEASURED_FOR:
            return self._measured(space)
        return amount

    def _measured(self, space: Space) -> Amount:
        counts = space.statistics()
        amount = Amount(memories=memory_count(counts), bytes=counts["record_bytes"], measured_at=self._now())
        try:
            self.counters.set_amount(self.user, amount)
        except SteeltrapError as error:
            _log.warning("an amount was not kept: %s", error.message)
        return amount

    def _exceeded(self, amount: Amount, growth: Growth) -> Throttled | None:
        wait = max(1.0, (amount.measured_at - self._now() + MEASURED_AGAIN).total_seconds())
        memories, bytes = self.quotas.max_memories, self.quotas.max_bytes
        if memories and growth.memories > 0 and amount.memories + growth.memories > memories:
            sentence = (
                f"This would make {amount.memories + growth.memories:,} memories, and {counted(memories, 'is', 'are')} "
                "allowed: delete or consolidate some, or ask for a larger quota."
            )
            quota = "memories"
        elif bytes and growth.bytes > 0 and amount.bytes + growth.bytes > bytes:
            sentence = (
                f"This would make {amount.bytes + growth.bytes:,} bytes of memories, and {bytes:,} are allowed: forget "
                "some (a deletion frees its bytes when it can no longer be undone), or ask for a larger quota."
            )
            quota = "bytes"
        else:
            return None
        return OverQuota(sentence, retry_after=wait, quota=quota)

    def _now(self) -> datetime:
        return self.clock.now()


def growth_of(changes: Sequence[Change]) -> Growth:
    """The growth by changes. Only what the user wrote makes an update larger, not the links that are found for it."""
    memories = size = 0
    for change in changes:
        if isinstance(change, Close):
            continue
        memory = change.entry.memory
        counts = memory.source != "conversation"
        if isinstance(change, Create):
            memories += counts
            size += _bytes(record.encode(memory))
        elif memory.version == change.expected:
            continue  # the image stays; earlier ones count no more than the history of a creation
        elif change.history:
            size += _written_bytes(memory) - _written_bytes(change.history[-1].memory)
        else:
            memories += counts * (-1 if memory.deleted_at else 1)  # a deletion, or its undoing
    return Growth(memories, size)


def _written_bytes(memory: Memory) -> int:
    names = ("content", "context", "category", "agent_label", "scope", "tags", "metadata", "messages")
    encoded = record.encode(memory)
    return _bytes({name: encoded[name] for name in names if name in encoded})


def _bytes(encoded: object) -> int:
    return len(json.dumps(encoded, ensure_ascii=False, separators=(",", ":")).encode())
