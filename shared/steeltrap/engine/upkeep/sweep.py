"""Sweep: purge what expired or was deleted longer ago than the retention time, close idle conversations and
what is due in the others, and make up for what was saved while the index did not answer."""

from ...rules.segmentation import PAUSE
from ..call import Call
from ..conversations.close_conversations import close_since
from .complete import complete


def sweep(call: Call) -> int:
    """How many memories went. The call's time bounds it. Raises Unavailable."""
    purged = len(call.space.purge(call.space.stale(call.now() - call.rules.retention)))
    while close_since(call, call.now() - PAUSE):
        call.deadline.left()
    close_since(call, call.now())
    complete(call)
    return purged
