"""Score: how important a memory is, and setting that manually."""

from datetime import datetime

from ..errors import VersionConflict
from ..model import Edit, Importance, Memory, Usage, to_micros
from ..model.frozen import frozen
from ..rules import limits
from ..rules.importance import UNREAD, importance
from .call import Call
from .get import find
from .update import commit_edits


@frozen
class Scored:
    """A memory with its importance now, 0 to 1, and the reading that it follows from unless it was set manually."""

    memory: Memory
    importance: float
    usage: Usage


@frozen
class Rescored:
    """A memory whose importance was set, and what it was just before."""

    memory: Memory
    previous: float


def score(call: Call, id: str) -> Scored:
    """The importance of a memory, to four places unless it was set manually. Raises NotFound.

    Asking does not count as a reading.
    """
    memory = find(call, id)
    usage = call.space.usage([memory.id]).get(memory.id, UNREAD)
    return Scored(memory=memory, importance=_of(memory, usage, call.now()), usage=usage)


def set_score(call: Call, id: str, value: float, reason: str) -> Rescored:
    """Set the importance manually, 0 to 1; it stays until it is set again. The reason is kept with it.

    Raises NotFound, InvalidInput.
    """
    limits.check_range("score", value, 0, 1)
    limits.check_length("reason", reason, limits.MAX_CONTEXT_CHARACTERS)
    while True:
        current = find(call, id)
        now = call.now()
        usage = call.space.usage([current.id]).get(current.id, UNREAD)
        edit = Edit(importance=Importance(score=value, reason=reason, set_at=now))
        try:
            [memory] = commit_edits(call, [(current, edit)])
        except VersionConflict:
            call.deadline.left()
        else:
            return Rescored(memory=memory, previous=_of(current, usage, now))


def _of(memory: Memory, usage: Usage, now: datetime) -> float:
    if memory.importance is not None:
        return memory.importance.score
    return round(importance(created=to_micros(memory.created_at), usage=usage, now=to_micros(now)), 4)
