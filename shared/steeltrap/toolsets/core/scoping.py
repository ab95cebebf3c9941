"""core: list_scopes, suggest_scope, create_session, list_sessions, cleanup_sessions."""

from datetime import datetime, timedelta
from typing import Any

from pydantic import Field

from ...engine import reading
from ...engine import scopes as sessions
from ...engine import scopes as suggesting
from ...engine.call import Call
from ...engine.scopes import SessionUse
from ...text.limits import check_scope
from ...tools import Answer, Input
from ..fields import Content, MemoryId, Scope
from . import CORE


class ListScopesInput(Input):
    parent: Scope | None = Field(None, description="Only this scope and the scopes below it.")


class ScopeView(Answer):
    scope: str
    memories: int
    last_written_at: datetime


class ScopesView(Answer):
    """The scopes that have memories, sorted by name. `memories` counts those directly in the scope."""

    scopes: list[ScopeView]


@CORE.tool("list", "read", examples=({}, {"parent": "work"}))
def list_scopes(call: Call, input: ListScopesInput) -> ScopesView:
    """List the scopes that have memories, each with its number of memories and the time of its last write."""
    used = reading.list_scopes(call, None if input.parent is None else check_scope(input.parent))
    return ScopesView(
        scopes=[
            ScopeView(scope=scope, memories=use.memories, last_written_at=use.last_written_at)
            for scope, use in used.items()
        ]
    )


class SuggestScopeInput(Input):
    content: Content = Field(description="The text to file.")
    current_scope: Scope | None = Field(
        None, description="The scope of the current task; preferred if the choice is close."
    )


class GuessView(Answer):
    scope: str
    confidence: float


class SuggestionView(Answer):
    """The suggested scope, the confidence (0 to 1) and the basis: stored_memories, described_scopes (common scopes,
    used if no similar memory is stored), current_scope or default."""

    scope: str
    confidence: float
    basis: str
    alternatives: list[GuessView]


@CORE.tool(
    "suggest_scope", "read", needs="index", examples=({"content": "The login page crashes on an empty password."},)
)
def suggest_scope(call: Call, input: SuggestScopeInput) -> SuggestionView:
    """Suggest a scope for a text: the scope of similar memories, otherwise a common scope for such texts."""
    suggested = suggesting.suggest_scope(call, input.content, input.current_scope)
    return SuggestionView(
        scope=suggested.scope,
        confidence=suggested.confidence,
        basis=suggested.basis,
        alternatives=[GuessView(scope=guess.scope, confidence=guess.confidence) for guess in suggested.others],
    )


class SessionView(Answer):
    """A session. Its memories have the scope `session/{id}`. There is no `created_at` if nobody created it."""

    id: str
    scope: str
    created_at: datetime | None = None
    last_activity: datetime
    memories: int = Field(description="Number of memories directly in its scope.")
    total: int = Field(description="Number in its scope and the scopes below.")


class CreateSessionInput(Input):
    session_id: str | None = Field(
        None,
        min_length=1,
        max_length=sessions.MAX_ID_CHARACTERS,
        description="Letters, digits, '_' and '-'. Default: session-YYYYMMDD-HHMMSS.",
    )


class CreatedSessionView(SessionView):
    existed: bool = Field(description="True if it already existed; it was not changed.")


@CORE.tool("sessions", "write", examples=({}, {"session_id": "release-42"}))
def create_session(call: Call, input: CreateSessionInput) -> CreatedSessionView:
    """Create a session: a scope for memories of the current task only. cleanup_sessions ends it once it is idle."""
    session, fresh = sessions.create_session(call, input.session_id)
    return CreatedSessionView(**_fields(session), existed=not fresh)


class ListSessionsInput(Input):
    """No arguments."""


class SessionsView(Answer):
    """The sessions, most recently active first."""

    sessions: list[SessionView]


@CORE.tool("list", "read", examples=({},))
def list_sessions(call: Call, input: ListSessionsInput) -> SessionsView:
    """List the sessions, each with its number of memories and its last activity."""
    return SessionsView(sessions=[SessionView(**_fields(session)) for session in sessions.list_sessions(call)])


class CleanupSessionsInput(Input):
    max_age_days: float = Field(7, ge=0, le=36_500, description="End sessions without activity for this many days.")
    session_id: str | None = Field(
        None,
        min_length=1,
        max_length=sessions.MAX_ID_CHARACTERS,
        description="Only this session, if it is that old. Default: all sessions.",
    )


class CleanedUpView(Answer):
    """The ended sessions and the deleted memories. `more` is true if time ran out: call again to continue."""

    sessions: list[str]
    deleted: list[MemoryId]
    spared: int = Field(description="Number of pinned memories kept.")
    more: bool = False


@CORE.tool("sessions", "write", destructive=True, timeout=30.0, examples=({"max_age_days": 7},))
def cleanup_sessions(call: Call, input: CleanupSessionsInput) -> CleanedUpView:
    """End idle sessions and delete their memories, except pinned ones. undo restores deleted memories."""
    cleaned = sessions.cleanup_sessions(call, timedelta(days=input.max_age_days), input.session_id)
    ended = [session.id for session in cleaned.sessions]
    return CleanedUpView(sessions=ended, deleted=cleaned.deleted, spared=cleaned.spared, more=cleaned.more)


def _fields(session: SessionUse) -> dict[str, Any]:
    return {
        "id": session.id,
        "scope": session.scope,
        "created_at": session.created_at,
        "last_activity": session.last_activity,
        "memories": session.memories,
        "total": session.total,
    }
