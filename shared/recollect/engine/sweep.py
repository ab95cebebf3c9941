"""Sweep: purge what has expired and what was deleted longer ago than the retention time."""

from .call import Call

_BLOCK = 100


def sweep(call: Call) -> int:
    """Purge in blocks; how many memories went."""
    ids = call.space.stale(call.now() - call.rules.retention)
    return sum(
        len(call.space.purge(ids[i : i + _BLOCK], timeout=call.deadline.left())) for i in range(0, len(ids), _BLOCK)
    )
