"""`records`: memories with tiers and expiry, found by meaning or words, weighed by importance, written in batches.

The dialect's document is in Japanese; descriptions are its words in English. Limits are refused, never clamped; every
failure is `{error: true, error_type, message}`.
"""

from typing import Annotated, Final

from pydantic import Field

from ....errors import InvalidInput, SteeltrapError
from ....model import ContentType, JsonObject, Tier
from ....tools import Tool, Toolset
from ...fields import AnyText, MemoryId, Metadata, Tags

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
    "memory_batch_store": "writing",
    "memory_batch_update": "writing",
    "memory_get_score": "reading",
    "memory_set_score": "reading",
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


Id = Annotated[MemoryId, Field(description="Memory id (UUID)")]
StoreTier = Annotated[
    Tier, Field(description="Memory tier: short_term expires, long_term stays, working is for the active session")
]
StoreType = Annotated[ContentType, Field(description="Content type")]
StoreTags = Annotated[Tags, Field(description="Tags for classification")]
StoreMetadata = Annotated[Metadata, Field(description="Additional metadata")]
NewContent = Annotated[AnyText, Field(description="New content (the embedding is regenerated)")]
NewTags = Annotated[Tags, Field(description="New tag list (replaces the existing one)")]
MoreMetadata = Annotated[
    Metadata, Field(description="Additional metadata (merged into the existing; null removes a key)")
]
NewTier = Annotated[Tier, Field(description="New tier (to promote or demote; long_term removes the expiry)")]
OfTier = Annotated[Tier, Field(description="Filter by tier")]
OfTags = Annotated[Tags, Field(description="Filter by tags (all must match)")]
OfType = Annotated[ContentType, Field(description="Filter by content type")]


def checked_content(content: str) -> str:
    """The text, if it isn't empty. Raises InvalidInput in the document's words."""
    if not content.strip():
        raise InvalidInput("Content cannot be empty")
    return content
