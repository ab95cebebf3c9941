"""Sweep: purge what has expired and what was deleted longer ago than the retention time."""

from .call import Call


def sweep(call: Call) -> int:
    """How many memories went. The call's time bounds it."""
    return len(call.space.purge(call.space.stale(call.now() - call.rules.retention), timeout=call.deadline.left()))
