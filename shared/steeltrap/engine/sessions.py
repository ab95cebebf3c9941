"""Sessions: times of work by name. What is saved in the scope `session/{id}` belongs to one, begun by name or not."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Final
from unicodedata import normalize

from ..errors import InvalidInput, Unavailable
from ..model import Filter, Session
from ..model.frozen import frozen
from ..rules.limits import is_name
from .call import Call
from .delete import Criteria, delete_matching
from .redact import check_name

SCOPE: Final = "session"
MAX_ID_CHARACTERS: Final = 128
_TICK: Final = timedelta(microseconds=1)


@frozen
class SessionUse:
    """A session with what is in it.

    `memories` counts what is directly in its scope, `total` what is in the scopes below too.
    `created_at` is None for one that has memories but was never begun by name.
    """

    id: str
    created_at: datetime | None
    last_activity: datetime
    memories: int = 0
    total: int = 0

    @property
    def scope(self) -> str:
        return f"{SCOPE}/{self.id}"

    def age(self, now: datetime) -> timedelta:
        """The time since it was begun or last written in; never below 0."""
        return max(now - self.last_activity, timedelta(0))


@frozen
class CleanedUp:
    """The sessions that were cleaned up, the ids that were deleted, how many pinned memories were spared,
    and whether time ran out before all was done."""

    sessions: list[SessionUse]
    deleted: list[str]
    spared: int = 0
    more: bool = False


def create_session(call: Call, id: str | None = None) -> tuple[SessionUse, bool]:
    """Begin a session; without an id it is named by the time, in UTC.

    Answers the session, and False where one of that id is there already, which is left as it is.
    Raises InvalidInput for an id that is no part of a scope.
    """
    now = call.now()
    known = {session.id: session for session in list_sessions(call)}

    def add(name: str) -> bool:
        return call.space.add_session(Session(id=name, created_at=now))

    if id is None:
        id, fresh = next(name for name in _names(now) if name not in known and add(name)), True
    else:
        check_name(call, "session_id", id)
        id = check_session_id(id)
        fresh = add(id)
    session = known.get(id) or SessionUse(id=id, created_at=now, last_activity=now)
    return (replace(session, created_at=now, last_activity=now) if fresh else session), fresh


def list_sessions(call: Call) -> list[SessionUse]:
    """Every session, the last active first, then by id."""
    found = {
        s.id: SessionUse(id=s.id, created_at=s.created_at, last_activity=s.created_at) for s in call.space.sessions()
    }
    for scope, use in call.space.scopes().items():
        root, _, below = scope.partition("/")
        if root != SCOPE or not below:
            continue
        id, _, deeper = below.partition("/")
        known = found.get(id) or SessionUse(id=id, created_at=None, last_activity=use.last_written_at)
        found[id] = replace(
            known,
            last_activity=max(known.last_activity, use.last_written_at),
            memories=known.memories + (0 if deeper else use.memories),
            total=known.total + use.memories,
        )
    return sorted(found.values(), key=lambda session: (-session.last_activity.timestamp(), session.id))


def cleanup_sessions(call: Call, max_age: timedelta, id: str | None = None) -> CleanedUp:
    """End the sessions without activity for `max_age` or longer, or only the one of an id if it is that old.

    Their memories, those of the scopes below too, are deleted as any memory is: undo brings them back
    until the retention time. Pinned ones are spared, and a session that keeps some is kept.
    """
    cutoff = call.now() - max_age
    id = id and normalize("NFC", id)
    idle = [s for s in list_sessions(call) if s.last_activity <= cutoff and id in (None, s.id)]
    ended: list[SessionUse] = []
    deleted: list[str] = []
    spared = 0
    for session in idle:
        try:
            done = _end(call, session, cutoff)
        except Unavailable:
            if not ended:
                raise
            return CleanedUp(sessions=ended, deleted=deleted, spared=spared, more=True)
        ended.append(session)
        deleted += done.deleted
        spared += done.spared
        if done.more:
            return CleanedUp(sessions=ended, deleted=deleted, spared=spared, more=True)
    return CleanedUp(sessions=ended, deleted=deleted, spared=spared)


def check_session_id(id: str) -> str:
    """One part of a scope, in NFC: 1 to 128 letters, digits, `_` and `-`. Raises InvalidInput."""
    if len(id) <= MAX_ID_CHARACTERS:
        id = normalize("NFC", id)
    if len(id) > MAX_ID_CHARACTERS or not is_name(id):
        raise InvalidInput(
            f"`session_id` must be 1 to {MAX_ID_CHARACTERS} letters, digits, '_' and '-', such as 'release-42'."
        )
    return id


def _end(call: Call, session: SessionUse, cutoff: datetime) -> CleanedUp:
    # What is saved while this runs is younger than the cutoff, and stays.
    old = Criteria(scope=session.scope, include_child_scopes=True, older_than=cutoff + _TICK)
    done = delete_matching(call, old)
    if done.more:
        return CleanedUp(sessions=[session], deleted=done.ids, more=True)
    left = call.space.page(Filter(scope=session.scope, include_child_scopes=True), limit=1).total
    if not left:
        call.space.remove_session(session.id)
    return CleanedUp(sessions=[session], deleted=done.ids, spared=left)


def _names(now: datetime) -> Iterator[str]:
    stem = f"session-{now:%Y%m%d-%H%M%S}"
    yield stem
    for number in count(2):
        yield f"{stem}-{number}"
