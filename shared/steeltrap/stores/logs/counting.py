"""Counters over a log, for the quotas of users.

Amounts are in the user's own file, which each machine has brought up to date by the time that it writes. So none is
kept: each is measured there, and is exact on all machines.
"""

from typing import Protocol

from ...model import UserRef
from ...ports import Amount


class CountsCalls(Protocol):
    """Counts the calls of users: a table for all machines, or a file for this one."""

    def count_call(self, user: UserRef, minute: int) -> int: ...


class LogCounters:
    """Counters that store no amount, so that a caller measures it."""

    def __init__(self, calls: CountsCalls) -> None:
        self._calls = calls

    def count_call(self, user: UserRef, minute: int) -> int:
        return self._calls.count_call(user, minute)

    def amount(self, user: UserRef) -> None:
        """Always None."""

    def set_amount(self, user: UserRef, amount: Amount) -> None:
        """Nothing is kept."""

    def add_amount(self, user: UserRef, *, memories: int, bytes: int) -> None:
        """Nothing is kept."""
