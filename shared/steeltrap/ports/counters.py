"""What users have used, counted beside their memories."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ..model import UserRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much a user has: memories, and the bytes of all records. Counted at `measured_at`, kept up since."""

    memories: int
    bytes: int
    measured_at: datetime


class Counters(Protocol):
    """Counts of calls and amounts, outside of every transaction: best effort, and never another user's.

    Every method raises Unavailable or Throttled when the counters don't answer.
    """

    def count_call(self, user: UserRef, minute: int) -> int:
        """Count one more call in a minute (its number since 1970); how many there were with it."""
        ...

    def amount(self, user: UserRef) -> Amount | None:
        """What was set last and added since; None when nothing is known, or no longer."""
        ...

    def set_amount(self, user: UserRef, amount: Amount) -> None:
        """Remember what was measured."""
        ...

    def add_amount(self, user: UserRef, *, memories: int, bytes: int) -> None:
        """Add what a write added, or took away. Nothing happens where no amount is known."""
        ...
