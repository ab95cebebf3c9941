"""Forget: remove for good, at once, to the bytes, and prove it."""

from datetime import datetime

from ..errors import Internal, NotFound
from ..model.frozen import frozen
from ..rules.limits import check_id
from .call import Call
from .get import find


@frozen
class Receipt:
    """Proof of a forgetting: what went, when, and that the store was looked through afterwards."""

    id: str
    forgotten_at: datetime
    verified: bool


def forget(call: Call, id: str) -> Receipt:
    """Purge record, vectors, tokens, revisions, usage and links of a memory, deleted and expired ones too.

    Raises NotFound; Internal when a trace was found afterwards.
    """
    try:
        memory = find(call, id, deleted=True)
    except NotFound:
        # A forgetting that was cut short is finished here, and what still names the id is mended.
        known = check_id(id)
        call.space.purge([known] if known else [])
        raise
    call.space.purge([memory.id])
    if left := call.space.traces(memory.id):
        raise Internal(f"Memory {memory.id} was purged, but traces are left in: {', '.join(left)}.", id=memory.id)
    return Receipt(id=memory.id, forgotten_at=call.now(), verified=True)
