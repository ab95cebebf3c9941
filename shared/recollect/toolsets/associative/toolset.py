"""The toolset object that the modules of `associative` register their tools with."""

from ...errors import RecollectError
from ...model import JsonObject
from ...tools import Tool, Toolset


def error_body(error: RecollectError, tool: Tool) -> JsonObject:
    """`{"success": false, "error": {code, message}}`."""
    return {"success": False, "error": {"code": error.code, "message": error.message}}


ASSOCIATIVE = Toolset(
    name="associative",
    description="Ten tools over memories in scopes, linked to each other; each answers in three levels of detail.",
    render_error=error_body,
    omit_nulls=True,
)
