"""The forms in which callers write: a new memory, the edit of a stored one; who writes, and what would change."""

from dataclasses import field, replace
from datetime import datetime, timedelta

from .frozen import frozen
from .memory import (
    DEFAULT_SCOPE,
    MAX_CONTENT_BYTES,
    ContentType,
    Importance,
    JsonObject,
    Link,
    Message,
    Source,
    Tier,
    When,
)


@frozen
class Draft:
    """A memory as a caller gives it; what is None is filled in. `ttl` counts from now; an `expires_at` goes first.

    `untrusted` says that its text comes from one that is marked so, whoever saves it. `max_bytes` bounds the content.
    """

    content: str
    messages: tuple[Message, ...] = ()
    content_type: ContentType = "text"
    tier: Tier = "long_term"
    category: str | None = None
    context: str | None = None
    confidence: float = 1.0
    tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)
    scope: str = DEFAULT_SCOPE
    source: Source = "user_memory"
    agent_label: str | None = None
    conversation_id: str | None = None
    occurred_at: When | None = None
    occurred_until: When | None = None
    ttl: timedelta | None = None
    expires_at: datetime | None = None
    surprise: float | None = None
    pinned: bool = False
    untrusted: bool = False
    supersedes: tuple[str, ...] = ()
    associate: bool = True
    max_bytes: int = MAX_CONTENT_BYTES


@frozen
class Edit:
    """The changes of a memory; None leaves a field as it is. `metadata` is merged, a key set to None is removed.

    `clear` names fields that have no value any more. `imported` says that a file is where the change is from.
    `max_bytes` bounds the content.
    """

    content: str | None = None
    tags: tuple[str, ...] | None = None
    metadata: JsonObject | None = None
    content_type: ContentType | None = None
    tier: Tier | None = None
    category: str | None = None
    context: str | None = None
    confidence: float | None = None
    scope: str | None = None
    agent_label: str | None = None
    occurred_at: When | None = None
    occurred_until: When | None = None
    surprise: float | None = None
    pinned: bool | None = None
    ttl: timedelta | None = None
    importance: Importance | None = None
    add_link: Link | None = None
    clear: tuple[str, ...] = ()
    imported: bool = False
    max_bytes: int = MAX_CONTENT_BYTES

    def is_empty(self) -> bool:
        """Whether it changes nothing, whatever it is applied to."""
        return replace(self, metadata=self.metadata or None) == Edit()


@frozen
class Author:
    """The agent that changes memories, and when; `import_id` is the import that the changes belong to."""

    agent_id: str | None
    at: datetime
    is_untrusted: bool = False
    import_id: str | None = None


@frozen
class Difference:
    """A memory that a restore changes: its text as it is now and as it was; None where there is none."""

    id: str
    now: str | None
    then: str | None
