"""associative: session_manage."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from ....engine import scopes
from ....engine.call import Call
from ....engine.scopes import CleanedUp, SessionUse
from ....errors import counted
from ...fields import Moment
from . import ASSOCIATIVE
from .views import Full, Levelled, LevelledInput, Minimal, Standard, Succeeded, answered


class SessionManageInput(LevelledInput):
    action: Literal["create", "list", "cleanup"] = Field(
        # `operation` is what the other tools here call it.
        validation_alias=AliasChoices("action", "operation"),
        description="create: start a session; list: list all; cleanup: end idle sessions.",
    )
    session_id: Annotated[str, Field(min_length=1, max_length=scopes.MAX_ID_CHARACTERS)] | None = Field(
        None,
        description="With create: letters, digits, '_' and '-'. Default: session-YYYYMMDD-HHMMSS. With cleanup: end "
        "only this session, if it is that old.",
    )
    max_age_days: int = Field(
        7, ge=0, le=36_500, description="With cleanup: end sessions without activity for this many days."
    )


class SessionInfo(Levelled):
    """A session: the number of memories in exactly the scope `session/{session_id}`, and the days since the last write
    there."""

    session_id: str
    memory_count: int
    age_days: float


class SessionDetails(SessionInfo):
    """All about a session. `total_memory_count` includes the scopes below it. `created_at` is left out if the session
    has memories but was never created."""

    scope: str
    total_memory_count: int
    created_at: Moment | None = None
    last_activity: Moment


class CleanupStats(Levelled):
    """Counts of a cleanup; zeros for the other actions. If `more` is true, time ran out: call again."""

    sessions: int
    deleted: int
    spared: int = Field(description="Number of pinned memories kept.")
    more: bool


class SessionAnswer(Succeeded):
    """`session_info` and `session_details` are one session for create, all sessions for list, and the ended sessions
    for cleanup. `affected_memories` are the ids of the deleted memories."""

    ids = ("affected_memories",)

    session_id: Minimal[str] = None
    session_info: Standard[SessionInfo | list[SessionInfo]] = None
    action_summary: Standard[str] = None
    session_details: Full[SessionDetails | list[SessionDetails]] = None
    affected_memories: Full[list[str]] = None
    cleanup_stats: Full[CleanupStats] = None


@ASSOCIATIVE.tool(
    "sessions",
    "write",
    destructive=True,
    timeout=30.0,
    examples=(
        {"action": "create", "session_id": "release-42"},
        {"action": "list"},
        {"action": "cleanup", "max_age_days": 14},
    ),
)
def session_manage(call: Call, input: SessionManageInput) -> SessionAnswer:
    """Manage sessions: scopes for memories of the current task only. Store those in the scope `session/{session_id}`.

    A cleanup ends idle sessions and deletes their memories, except pinned ones. core.undo restores deleted memories.
    """
    match input.action:
        case "create":
            answer = _create(call, input.session_id)
        case "list":
            answer = _list(call)
        case "cleanup":
            answer = _cleanup(call, input)
    return answered(call, input.response_level, answer)


def _create(call: Call, id: str | None) -> SessionAnswer:
    session, fresh = scopes.create_session(call, id)
    now = call.now()
    did = "Created" if fresh else "There already"
    return SessionAnswer(
        session_id=session.id,
        session_info=_info(session, now),
        action_summary=f"{did}: store its memories in {session.scope}.",
        session_details=_details(session, now),
        affected_memories=[],
        cleanup_stats=_stats(CleanedUp(sessions=[], deleted=[])),
    )


def _list(call: Call) -> SessionAnswer:
    sessions = scopes.list_sessions(call)
    now = call.now()
    return SessionAnswer(
        session_info=[_info(session, now) for session in sessions],
        action_summary=f"{counted(len(sessions), 'session', 'sessions')}.",
        session_details=[_details(session, now) for session in sessions],
        affected_memories=[],
        cleanup_stats=_stats(CleanedUp(sessions=[], deleted=[])),
    )


def _cleanup(call: Call, input: SessionManageInput) -> SessionAnswer:
    now = call.now()
    cleaned = scopes.cleanup_sessions(call, timedelta(days=input.max_age_days), input.session_id)
    deleted = counted(len(cleaned.deleted), "memory", "memories")
    summary = f"{counted(len(cleaned.sessions), 'session', 'sessions')} ended, {deleted} deleted"
    summary += f", {cleaned.spared} pinned kept" * bool(cleaned.spared)
    summary += "; time ran out, call again" * cleaned.more
    return SessionAnswer(
        session_info=[_info(session, now) for session in cleaned.sessions],
        action_summary=f"{summary}.",
        session_details=[_details(session, now) for session in cleaned.sessions],
        affected_memories=cleaned.deleted,
        cleanup_stats=_stats(cleaned),
    )


def _info(session: SessionUse, now: datetime) -> SessionInfo:
    return SessionInfo(session_id=session.id, memory_count=session.memories, age_days=_days(session, now))


def _details(session: SessionUse, now: datetime) -> SessionDetails:
    return SessionDetails(
        session_id=session.id,
        memory_count=session.memories,
        age_days=_days(session, now),
        scope=session.scope,
        total_memory_count=session.total,
        created_at=session.created_at,
        last_activity=session.last_activity,
    )


def _days(session: SessionUse, now: datetime) -> float:
    return round(session.age(now) / timedelta(days=1), 1)


def _stats(cleaned: CleanedUp) -> CleanupStats:
    return CleanupStats(
        sessions=len(cleaned.sessions), deleted=len(cleaned.deleted), spared=cleaned.spared, more=cleaned.more
    )
