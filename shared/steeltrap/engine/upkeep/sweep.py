"""Sweep: purge what expired or was deleted longer ago than the retention time, close idle conversations, and make
up for what was saved while the index did not answer."""

from ..call import Call
from ..conversations.close_conversations import close_idle
from .complete import complete


def sweep(call: Call) -> int:
    """How many memories went. The call's time bounds it. Raises Unavailable."""
    purged = len(call.space.purge(call.space.stale(call.now() - call.rules.retention)))
    while close_idle(call):
        call.deadline.left()
    complete(call)
    return purged
