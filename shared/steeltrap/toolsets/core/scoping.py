"""core: list_scopes, suggest_scope, create_session, list_sessions, cleanup_sessions."""

from datetime import datetime, timedelta
from typing import Any

from pydantic import Field

from ...engine import list as listing
from ...engine import sessions
from ...engine import suggest_scope as suggesting
from ...engine.call import Call
from ...engine.sessions import SessionUse
from ...rules.limits import check_scope
from ...tools import Answer, Input
from ..fields import Content, MemoryId, Scope
from .toolset import CORE


class ListScopesInput(Input):
    parent: Scope | None = Field(None, description="Only this scope and those below it.")


class ScopeView(Answer):
    scope: str
    memories: int
    last_written_at: datetime


class ScopesView(Answer):
    """The scopes that have memories, by name, each with how many lie directly in it."""

    scopes: list[ScopeView]


@CORE.tool("list", "read", examples=({}, {"parent": "work"}))
def list_scopes(call: Call, input: ListScopesInput) -> ScopesView:
    """List the scopes that memories are filed under, with how many each has and when it was last written."""
    used = listing.list_scopes(call, None if input.parent is None else check_scope(input.parent))
    return ScopesView(
        scopes=[
            ScopeView(scope=scope, memories=use.memories, last_written_at=use.last_written_at)
            for scope, use in used.items()
        ]
    )


class SuggestScopeInput(Input):
    content: Content = Field(description="The text that is to be filed.")
    current_scope: Scope | None = Field(None, description="The scope of the work at hand; it wins a close call.")


class GuessView(Answer):
    scope: str
    confidence: float


class SuggestionView(Answer):
    """The scope to file a text under, how sure that is (0 to 1), and what it stands on: stored_memories,
    described_scopes (common ones, while nothing like the text is stored), current_scope or default."""

    scope: str
    confidence: float
    basis: str
    alternatives: list[GuessView]


@CORE.tool(
    "suggest_scope", "read", needs="index", examples=({"content": "The login page crashes on an empty password."},)
)
def suggest_scope(call: Call, input: SuggestScopeInput) -> SuggestionView:
    """Suggest the scope to file a text under: where the memories like it are, else a common place for such texts."""
    suggested = suggesting.suggest_scope(call, input.content, input.current_scope)
    return SuggestionView(
        scope=suggested.scope,
        confidence=suggested.confidence,
        basis=suggested.basis,
        alternatives=[GuessView(scope=guess.scope, confidence=guess.confidence) for guess in suggested.others],
    )


class SessionView(Answer):
    """A session: its memories have the scope `session/{id}`. `created_at` is left out where nobody created it."""

    id: str
    scope: str
    created_at: datetime | None = None
    last_activity: datetime
    memories: int = Field(description="How many lie directly in its scope.")
    total: int = Field(description="How many lie in its scope and those below.")


class CreateSessionInput(Input):
    session_id: str | None = Field(
        None,
        min_length=1,
        max_length=sessions.MAX_ID_CHARACTERS,
        description="Letters, digits, '_' and '-'; left out: session-YYYYMMDD-HHMMSS.",
    )


class CreatedSessionView(SessionView):
    existed: bool = Field(description="True when it was there already; it is left as it was.")


@CORE.tool("sessions", "write", examples=({}, {"session_id": "release-42"}))
def create_session(call: Call, input: CreateSessionInput) -> CreatedSessionView:
    """Begin a session, a scope for what matters only to the work at hand; cleanup_sessions ends it when it is idle."""
    session, fresh = sessions.create_session(call, input.session_id)
    return CreatedSessionView(**_fields(session), existed=not fresh)


class ListSessionsInput(Input):
    """Takes nothing."""


class SessionsView(Answer):
    """The sessions, the last active first."""

    sessions: list[SessionView]


@CORE.tool("list", "read", examples=({},))
def list_sessions(call: Call, input: ListSessionsInput) -> SessionsView:
    """List the sessions with how much lies in each and when it was last active."""
    return SessionsView(sessions=[SessionView(**_fields(session)) for session in sessions.list_sessions(call)])


class CleanupSessionsInput(Input):
    max_age_days: float = Field(7, ge=0, le=36_500, description="End those without activity for this many days.")
    session_id: str | None = Field(
        None,
        min_length=1,
        max_length=sessions.MAX_ID_CHARACTERS,
        description="Only this session, if it is that old; left out: every one.",
    )


class CleanedUpView(Answer):
    """The sessions that were ended and the memories that were deleted; `more` says that time ran out: call again."""

    sessions: list[str]
    deleted: list[MemoryId]
    spared: int = Field(description="How many pinned memories stayed.")
    more: bool = False


@CORE.tool("sessions", "write", destructive=True, timeout=30.0, examples=({"max_age_days": 7},))
def cleanup_sessions(call: Call, input: CleanupSessionsInput) -> CleanedUpView:
    """End sessions that have been idle: their memories are deleted, which undo takes back; pinned ones stay."""
    done = sessions.cleanup_sessions(call, timedelta(days=input.max_age_days), input.session_id)
    ended = [session.id for session in done.sessions]
    return CleanedUpView(sessions=ended, deleted=done.deleted, spared=done.spared, more=done.more)


def _fields(session: SessionUse) -> dict[str, Any]:
    return {
        "id": session.id,
        "scope": session.scope,
        "created_at": session.created_at,
        "last_activity": session.last_activity,
        "memories": session.memories,
        "total": session.total,
    }
