"""A buffer of the reads that are not written down yet, for a store that keeps usage apart from memories.

Counts are added, a card is replaced only where it is still the one the review began from. What is in the buffer when
a process dies is lost, by contract.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from ..model import Usage


@dataclass(slots=True)
class Pending:
    """The readings of one memory, and its reviews in order: each a card and the one it takes the place of."""

    count: int = 0
    at: datetime | None = None
    reviews: tuple[tuple[str | None, str], ...] = ()


class UsageBuffer:
    """The reads since the last flush. Safe for threads."""

    def __init__(self) -> None:
        self._pending: dict[str, Pending] = {}
        self._lock = threading.Lock()

    def add(self, ids: Iterable[str], at: datetime) -> None:
        with self._lock:
            for id in ids:
                entry = self._pending.get(id)
                if entry is None:
                    entry = self._pending[id] = Pending()
                entry.count += 1
                entry.at = at

    def review(self, id: str, previous: str | None, card: str) -> None:
        with self._lock:
            entry = self._pending.setdefault(id, Pending())
            entry.reviews = (*entry.reviews, (previous, card))

    def on_top_of(self, usages: Mapping[str, Usage], ids: Sequence[str]) -> dict[str, Usage]:
        """The stored usage with what is pending."""
        merged = dict(usages)
        with self._lock:
            for id in ids:
                if (more := self._pending.get(id)) is not None:
                    merged[id] = _together(usages.get(id, _UNUSED), more)
        return merged

    def drop(self, ids: Iterable[str]) -> None:
        """Forget what is pending of these memories."""
        with self._lock:
            for id in ids:
                self._pending.pop(id, None)

    def take(self, most: int | None = None) -> dict[str, Pending]:
        """Take out the pending reads, of at most `most` memories."""
        with self._lock:
            ids = list(islice(self._pending, most))
            return {id: self._pending.pop(id) for id in ids}

    def put_back(self, pending: Mapping[str, Pending]) -> None:
        """Put back what could not be written, before what has come since."""
        with self._lock:
            for id, more in pending.items():
                entry = self._pending.setdefault(id, Pending())
                entry.count += more.count
                entry.at = entry.at or more.at
                entry.reviews = (*more.reviews, *entry.reviews)

    def take_one(self, id: str) -> dict[str, Pending]:
        """Take out what is pending of a memory."""
        with self._lock:
            return {id: self._pending.pop(id)} if id in self._pending else {}

    def __bool__(self) -> bool:
        return bool(self._pending)


_UNUSED: Final = Usage()


def _together(usage: Usage, more: Pending) -> Usage:
    """The usage after what was pending is added."""
    card = usage.card
    for previous, reviewed in more.reviews:
        card = reviewed if card == previous else card
    return Usage(
        access_count=usage.access_count + more.count,
        last_accessed_at=more.at or usage.last_accessed_at,
        card=card,
    )
