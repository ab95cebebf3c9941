"""Counters for quotas, stored separately from the memories."""

from datetime import datetime
from typing import Protocol

from ..model import UserRef
from ..model.frozen import frozen


@frozen
class Amount:
    """A user's number of memories and bytes of records: measured at `measured_at`, updated since."""

    memories: int
    bytes: int
    measured_at: datetime


class Counters(Protocol):
    """Counts of calls and amounts per user, outside of transactions: best effort.

    Every method raises Unavailable or Throttled if the counters don't answer.
    """

    def count_call(self, user: UserRef, minute: int) -> int:
        """Count a call in a minute (minutes since 1970); return the number of calls including it."""
        ...

    def amount(self, user: UserRef) -> Amount | None:
        """The last amount set, plus what was added since; None if unknown or expired."""
        ...

    def set_amount(self, user: UserRef, amount: Amount) -> None:
        """Store a measured amount."""
        ...

    def add_amount(self, user: UserRef, *, memories: int, bytes: int) -> None:
        """Add what a write added or removed. Does nothing if no amount is known."""
        ...
