"""How memories are read: buffered, so that reading never waits for a write.

Counts are added, a card is replaced only where it is still the one the review began from. What is in the
buffer when a process dies is lost, by contract.
"""

from collections.abc import Mapping, Sequence

import apsw

from ...model import Usage, from_micros, to_micros
from ...text.limits import to_key
from ..reading import Pending
from .rows import AMONG, to_keys

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


def write(connection: apsw.Connection, pending: Mapping[str, Pending]) -> None:
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
