"""The toolset object that the modules of `records` register their tools with, and the form of its errors."""

from typing import Final

from ...errors import SteeltrapError
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
_TOOLS: Final = {
    "memory_store": "writing",
    "memory_search": "reading",
    "memory_get": "reading",
    "memory_update": "writing",
    "memory_delete": "writing",
    "memory_list": "reading",
    "memory_batch_store": "batches",
    "memory_batch_update": "batches",
    "memory_get_score": "scoring",
    "memory_set_score": "scoring",
    "memory_consolidate": "writing",
}
"""The module of each tool, in the document's order: a function imports only those that it serves."""


def error_type(error: SteeltrapError) -> str:
    """The document's name for a kind of error."""
    return _TYPES[error.code]


def error_body(error: SteeltrapError, tool: Tool) -> JsonObject:
    """`{"error": true, "error_type": ..., "message": ...}`."""
    return {"error": True, "error_type": error_type(error), "message": error.message}


RECORDS = Toolset(
    name="records",
    description="Eleven tools over memories with tiers, expiry and importance: store, search, get, update, delete, "
    "list, batches, scores, consolidate.",
    instructions="This is the user's long-term memory, kept as records with a tier and importance. Call memory_search "
    "before you answer anything that may be stored; search_mode hybrid also finds exact words such as names and "
    "numbers. Call memory_store when you learn something that will matter later, one full sentence: long_term for "
    "what stays, short_term with ttl_seconds for what expires, working for the current task. Correct a record with "
    "memory_update rather than storing it again, and merge related ones with memory_consolidate.",
    render_error=error_body,
    modules={name: f"{__package__}.{module}" for name, module in _TOOLS.items()},
)
