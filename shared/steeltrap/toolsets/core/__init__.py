"""`core`: steeltrap's own toolset for programs, which offers everything the engine can."""

from typing import Final

from ...errors import SteeltrapError
from ...model import JsonObject
from ...tools import Tool, Toolset

_TOOLS: Final = {
    "save": "writing",
    "get": "reading",
    "list": "reading",
    "search": "searching",
    "update": "writing",
    "delete": "forgetting",
    "retrieve_memory": "conversations",
    "consolidate": "writing",
    "batch_save": "writing",
    "put": "writing",
    "batch_update": "writing",
    "associate": "writing",
    "associations": "writing",
    "move": "writing",
    "list_scopes": "scoping",
    "suggest_scope": "scoping",
    "create_session": "scoping",
    "list_sessions": "scoping",
    "cleanup_sessions": "scoping",
    "append_messages": "conversations",
    "review": "reading",
    "simulate_decay": "reading",
    "score": "reading",
    "set_score": "reading",
    "history": "reading",
    "undo": "forgetting",
    "forget": "forgetting",
    "export": "transfer",
    "import": "transfer",
    "list_imports": "transfer",
    "undo_import": "transfer",
    "stats": "reading",
}
"""The module of each tool, in the order in which clients see them: a function imports only those that it serves."""


def error_body(error: SteeltrapError, tool: Tool) -> JsonObject:
    """`{"error": {code, message, retryable, ...}}`; over HTTP it becomes problem+json."""
    return {"error": {"code": error.code, "message": error.message, "retryable": error.can_retry, **error.details}}


CORE = Toolset(
    name="core",
    description="Everything steeltrap can do: save, find, correct, merge, link, forget and move memories.",
    instructions="This is the user's long-term memory; it outlasts this conversation. Call search before you answer "
    "anything that you may have learned earlier; an empty result says why it is empty. Call save when you "
    "learn something that will matter later (a preference, a decision, a fact): one full sentence per "
    "memory. If something changed, find the old memory with search and correct it with update. undo "
    "reverses a delete; forget is permanent, so call it only when the user asks for it.",
    render_error=error_body,
    omit_nulls=True,
    standard_errors=True,
    modules={name: f"{__package__}.{module}" for name, module in _TOOLS.items()},
)
