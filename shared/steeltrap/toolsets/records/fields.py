"""The fields that several tools of `records` share."""

from typing import Annotated

from pydantic import Field

from ...errors import InvalidInput
from ...model import ContentType, Tier
from ..fields import AnyText, MemoryId, Metadata, Tags

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
