"""Sweep the search index: what is gone for good leaves no tombstone there either."""

from datetime import datetime, timedelta
from typing import Final

from ...model import to_micros
from ...ports import TOMBSTONE_SECONDS, IndexUpkeep, Truth

_KEPT: Final = timedelta(seconds=TOMBSTONE_SECONDS)


def sweep_index(truth: Truth, index: IndexUpkeep, now: datetime) -> int:
    """Remove tombstones that are older than any replay; how many went. Raises Unavailable, Throttled.

    The truth's own go first: as long as it knows an id, the index's tombstone shows that the index is not behind.
    """
    return index.drop_tombstones(before=to_micros(now - _KEPT), known=truth.known)
