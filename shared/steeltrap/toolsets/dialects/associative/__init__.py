"""`associative`: ten tools over scoped, associated memories, each with three levels of detail.

The dialect's document says what each level answers.
"""

from typing import Final

from ....errors import SteeltrapError
from ....model import JsonObject
from ....tools import Tool, Toolset

_TOOLS: Final = {
    "memory_store": "writing",
    "memory_search": "searching",
    "memory_manage": "writing",
    "memory_discover_associations": "searching",
    "memory_move": "scopes",
    "memory_list_all": "scopes",
    "memory_sync": "syncing",
    "scope_list": "scopes",
    "scope_suggest": "scopes",
    "session_manage": "sessions",
}
"""The module of each tool, in the document's order: a function imports only those that it serves."""


def error_body(error: SteeltrapError, tool: Tool) -> JsonObject:
    """`{"success": false, "error": {code, message}}`."""
    return {"success": False, "error": {"code": error.code, "message": error.message}}


ASSOCIATIVE = Toolset(
    name="associative",
    description="Ten tools over memories in scopes, linked to each other; each answers in three levels of detail.",
    instructions="This is the user's long-term memory, kept in scopes such as work/project-x, with links between "
    "similar memories. Call memory_search before you answer anything that may be stored, and "
    "memory_discover_associations to see what is related to a memory. Call memory_store when you learn something that "
    "will matter later, one full sentence; call scope_suggest if you are unsure of its scope. Correct a memory with "
    "memory_manage, operation update. Answers show previews: memory_manage, operation get, response_level full, "
    "shows the whole text.",
    render_error=error_body,
    omit_nulls=True,
    modules={name: f"{__package__}.{module}" for name, module in _TOOLS.items()},
)
