"""Sweep: purge what expired or was deleted longer ago than the retention time, and close idle conversations."""

from .call import Call
from .close_conversations import close_idle


def sweep(call: Call) -> int:
    """How many memories went. The call's time bounds it. Raises Unavailable."""
    purged = len(call.space.purge(call.space.stale(call.now() - call.rules.retention), timeout=call.deadline.left()))
    while close_idle(call):
        call.deadline.left()
    return purged
