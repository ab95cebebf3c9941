"""The models that core's writing tools share: a message, a memory, an edit; each builds the engine's form of itself."""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from ...model import MAX_CONTENT_BYTES, MAX_MESSAGES_BYTES, ContentType, Draft, Edit, Message, Tier
from ...text.limits import MAX_MESSAGES, MAX_SUPERSEDED
from ...text.schemas import MaxBytes
from ...tools import Input
from ..fields import Content, Context, Label, MemoryId, Metadata, NewTags, OuterId, Role, Scope, Unit, When

_AROUND_A_MESSAGE: Final = 128
"""Bytes for the names of its fields, its time and the marks between them."""

Seconds = Annotated[
    int,
    Field(ge=0, le=10**10, description="Seconds until it expires; 0 is at once. Default: never (short_term: a day)."),
]
StoredMetadata = Annotated[Metadata, Field(description="Any JSON object to store with the text, up to 16 KiB.")]


Clearable = Literal["category", "context", "occurred_at", "occurred_until", "expires_at"]


class MessageInput(Input):
    """One message."""

    role: Role = Field(description="Who spoke: user, assistant, tool, system or another role.")
    content: str = Field(min_length=1, max_length=MAX_CONTENT_BYTES, description="Text of the message.")
    time: When | None = Field(None, description="When it was sent.")
    speaker: Label | None = Field(None, description="The speaker's name.")

    def to_message(self) -> Message:
        return Message(role=self.role, content=self.content, time=self.time, speaker=self.speaker)


class WholeMemoryInput(Input):
    """A memory as it is to be stored."""

    content: Content
    messages: Annotated[list[MessageInput], MaxBytes(MAX_MESSAGES_BYTES + MAX_MESSAGES * _AROUND_A_MESSAGE)] = Field(
        [], max_length=MAX_MESSAGES, description="The messages that it summarises, if any."
    )
    content_type: ContentType = Field("text", description="Type of the content.")
    tier: Tier = Field("long_term", description="short_term expires; long_term stays; working is for the current task.")
    category: Label | None = Field(None, description="Any category, such as 'fact' or 'preference'.")
    context: Context | None = Field(None, description="When or why this matters.")
    confidence: Unit = Field(1.0, description="How certain it is, 0 to 1.")
    tags: NewTags = []
    metadata: StoredMetadata = {}
    scope: Scope = "user/default"
    agent_label: Label | None = Field(None, description="Label of the agent that it is about.")
    conversation_id: OuterId | None = Field(None, description="The conversation it is from.")
    occurred_at: When | None = Field(None, description="When the event happened, if not now.")
    occurred_until: When | None = Field(None, description="When the event ended.")
    ttl_seconds: Seconds | None = None
    surprise: Unit | None = Field(
        None, description="How surprising it is, 0 to 1. Default: computed from stored memories."
    )
    pinned: bool = Field(False, description="Pinned: it never decays, and deleting by criteria skips it.")

    def to_draft(self) -> Draft:
        values = {name: getattr(self, name) for name in type(self).model_fields if name in Draft.__dataclass_fields__}
        values["messages"] = tuple(message.to_message() for message in self.messages)
        values["tags"] = tuple(self.tags)
        return Draft(**values, ttl=_ttl(self.ttl_seconds))


class MemoryInput(WholeMemoryInput):
    """A memory to save."""

    supersedes: Annotated[list[MemoryId], Field(max_length=MAX_SUPERSEDED)] = Field(
        [], description="Ids of up to 20 memories that it corrects. They stay stored, but searches leave them out."
    )

    def to_draft(self) -> Draft:
        return replace(super().to_draft(), supersedes=tuple(self.supersedes))


class EditInput(Input):
    """The changes; omitted fields stay as they are."""

    id: MemoryId
    content: Content | None = None
    tags: NewTags | None = Field(None, description="New tags; they replace the old ones.")
    metadata: StoredMetadata | None = Field(None, description="Merged into the stored metadata; null removes a key.")
    content_type: ContentType | None = Field(None, description="Type of the content.")
    tier: Tier | None = Field(None, description="The new tier; changing it from short_term removes the expiry.")
    category: Label | None = Field(None, description="The new category.")
    context: Context | None = Field(None, description="The new context.")
    confidence: Unit | None = Field(None, description="How certain it is, 0 to 1.")
    scope: Scope | None = None
    agent_label: Label | None = Field(None, description="The new label.")
    occurred_at: When | None = Field(None, description="When the event happened.")
    occurred_until: When | None = Field(None, description="When the event ended.")
    ttl_seconds: Seconds | None = None
    surprise: Unit | None = Field(None, description="How surprising it is, 0 to 1.")
    pinned: bool | None = Field(None, description="Pinned: it never decays, and deleting by criteria skips it.")
    clear: list[Clearable] = Field([], max_length=5, description="Fields that are to have no value any more.")

    def to_edit(self) -> Edit:
        values: dict[str, Any] = {
            name: getattr(self, name) for name in type(self).model_fields if name in Edit.__dataclass_fields__
        }
        values["tags"] = None if self.tags is None else tuple(self.tags)
        values["clear"] = tuple(self.clear)
        return Edit(**values, ttl=_ttl(self.ttl_seconds))


def _ttl(seconds: int | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
