"""Counters in memory, which earn the contract of counters."""

import threading
from dataclasses import replace
from typing import Final

from steeltrap.model import UserRef
from steeltrap.ports import Amount

_MOST_USERS: Final = 100_000


class ProcessCounters:
    """Calls of the current minute and the amount of each user, in this process. Safe for threads."""

    def __init__(self) -> None:
        self._minute = 0
        self._calls: dict[UserRef, int] = {}
        self._amounts: dict[UserRef, Amount] = {}
        self._lock = threading.Lock()

    def count_call(self, user: UserRef, minute: int) -> int:
        with self._lock:
            if minute not in (self._minute, self._minute - 1):  # a late call of the last minute clears nothing
                self._minute = minute
                self._calls.clear()
            count = self._calls[user] = self._calls.get(user, 0) + 1
            return count

    def amount(self, user: UserRef) -> Amount | None:
        with self._lock:
            return self._amounts.get(user)

    def set_amount(self, user: UserRef, amount: Amount) -> None:
        with self._lock:
            if len(self._amounts) >= _MOST_USERS:
                self._amounts.clear()
            self._amounts[user] = amount

    def add_amount(self, user: UserRef, *, memories: int, bytes: int) -> None:
        with self._lock:
            if (known := self._amounts.get(user)) is not None:
                self._amounts[user] = replace(known, memories=known.memories + memories, bytes=known.bytes + bytes)
