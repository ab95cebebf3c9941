"""The toolset object that the modules of `records` register their tools with, and the form of its errors."""

from typing import Final

from ...errors import RecollectError
from ...model import JsonObject
from ...tools import Tool, Toolset

_TYPES: Final = {
    "invalid_input": "ValidationError",
    "not_found": "NotFoundError",
    "conflict": "ConflictError",
    "identity_missing": "PermissionError",
    "access_denied": "PermissionError",
    "too_large": "TooLargeError",
    "throttled": "ThrottledError",
    "unavailable": "UnavailableError",
    "internal": "InternalError",
}


def error_type(error: RecollectError) -> str:
    """The document's name for a kind of error."""
    return _TYPES[error.code]


def error_body(error: RecollectError, tool: Tool) -> JsonObject:
    """`{"error": true, "error_type": ..., "message": ...}`."""
    return {"error": True, "error_type": error_type(error), "message": error.message}


RECORDS = Toolset(
    name="records",
    description="Eleven tools over memories with tiers, expiry and importance: store, search, get, update, delete, "
    "list, batches, scores, consolidate.",
    render_error=error_body,
)
