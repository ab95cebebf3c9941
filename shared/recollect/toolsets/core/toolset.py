"""The toolset object that the modules of `core` register their tools with."""

from ...errors import RecollectError
from ...model import JsonObject
from ...tools import Tool, Toolset


def error_body(error: RecollectError, tool: Tool) -> JsonObject:
    """`{"error": {code, message, retryable, ...}}`; over HTTP it becomes problem+json."""
    return {"error": {"code": error.code, "message": error.message, "retryable": error.can_retry, **error.details}}


CORE = Toolset(
    name="core",
    description="Everything recollect can do: save, find, correct, merge, link, forget and move memories.",
    render_error=error_body,
    omit_nulls=True,
    standard_errors=True,
)
