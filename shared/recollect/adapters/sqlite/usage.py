"""How memories are read: buffered, so that reading never waits for a write.

Counts are added, a card is replaced only where it is still the one the review began from. What is in the
buffer when a process dies is lost, by contract.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import apsw

from ...model import Usage, from_micros, to_micros
from .rows import AMONG, to_key, to_keys

_FLUSH = """
INSERT INTO usage (n, access_count, last_accessed_at)
SELECT n, :count, :at FROM memory WHERE id = :key
ON CONFLICT (n) DO UPDATE SET
  access_count = access_count + excluded.access_count,
  last_accessed_at = max(coalesce(last_accessed_at, 0), excluded.last_accessed_at)
"""
_REVIEW = """
INSERT INTO usage (n, access_count, card) SELECT n, 0, :card FROM memory WHERE id = :key
ON CONFLICT (n) DO UPDATE SET card = excluded.card WHERE card IS :previous
"""

_READ = "SELECT id, access_count, last_accessed_at, card FROM usage JOIN memory USING (n)"
_MANY = 5_000
"""From so many ids on, reading all that was ever accessed is quicker than looking each one up."""


@dataclass(frozen=True, slots=True)
class _Pending:
    count: int = 0
    at: datetime | None = None
    reviews: tuple[tuple[str | None, str], ...] = ()


class UsageBuffer:
    """What was read since the last flush. Safe for threads."""

    def __init__(self) -> None:
        self._pending: dict[str, _Pending] = {}
        self._lock = threading.Lock()

    def add(self, ids: Iterable[str], at: datetime) -> None:
        with self._lock:
            for id in ids:
                known = self._pending.get(id, _Pending())
                self._pending[id] = replace(known, count=known.count + 1, at=at)

    def review(self, id: str, previous: str | None, card: str) -> None:
        with self._lock:
            known = self._pending.get(id, _Pending())
            self._pending[id] = replace(known, reviews=(*known.reviews, (previous, card)))

    def on_top_of(self, stored: Mapping[str, Usage], ids: Sequence[str]) -> dict[str, Usage]:
        """The stored usage with what is pending."""
        with self._lock:
            pending = {id: self._pending[id] for id in ids if id in self._pending}
        merged = dict(stored)
        for id, more in pending.items():
            usage = stored.get(id, Usage())
            card = usage.card
            for previous, reviewed in more.reviews:
                card = reviewed if card == previous else card
            merged[id] = Usage(
                access_count=usage.access_count + more.count,
                last_accessed_at=more.at or usage.last_accessed_at,
                card=card,
            )
        return merged

    def drop(self, ids: Iterable[str]) -> None:
        """Forget what is pending of these memories."""
        with self._lock:
            for id in ids:
                self._pending.pop(id, None)

    def take(self) -> dict[str, _Pending]:
        """Empty the buffer."""
        with self._lock:
            pending, self._pending = self._pending, {}
        return pending

    def __bool__(self) -> bool:
        return bool(self._pending)


def write(connection: apsw.Connection, pending: Mapping[str, _Pending]) -> None:
    """Put what was pending into the file, inside a transaction."""
    for id, more in pending.items():
        key = to_key(id)
        if more.count and more.at:
            connection.execute(_FLUSH, {"key": key, "count": more.count, "at": to_micros(more.at)})
        for previous, card in more.reviews:
            review(connection, id, previous, card)


def review(connection: apsw.Connection, id: str, previous: str | None, card: str) -> bool:
    """Put a card in place of `previous`; whether that was the one there."""
    before = connection.total_changes()
    connection.execute(_REVIEW, {"key": to_key(id), "card": card, "previous": previous})
    return connection.total_changes() > before


def read(connection: apsw.Connection, ids: Sequence[str]) -> dict[str, Usage]:
    """What the file knows of these memories."""
    keys = {to_key(id): id for id in ids}
    if len(keys) < _MANY:
        found = connection.execute(f"{_READ} WHERE {AMONG}", (to_keys(ids),))
    else:
        found = connection.execute(_READ)
    return {
        keys[key]: Usage(access_count=count, last_accessed_at=None if at is None else from_micros(at), card=card)
        for key, count, at, card in found
        if key in keys
    }
