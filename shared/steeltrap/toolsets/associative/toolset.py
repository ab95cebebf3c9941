"""The toolset object that the modules of `associative` register their tools with."""

from ...errors import SteeltrapError
from ...model import JsonObject
from ...tools import Tool, Toolset


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
)
