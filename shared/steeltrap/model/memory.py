"""The stored records: a memory and what belongs to it."""

from dataclasses import field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, Literal

from .frozen import frozen

JsonObject = dict[str, Any]
"""A JSON object as Python sees it: string keys, JSON values."""

Embedding = bytes
"""One unit vector: little-endian float32, `4 * dimension` bytes. All zeros where a text has no vector."""

When = datetime | date
"""A moment in UTC, or a day that was given without a time. Such a day has no zone: it is the same date everywhere."""

Days = tuple[date, date]
"""The first and the last day of a span."""

Tier = Literal["short_term", "long_term", "working"]
ContentType = Literal["text", "image", "code", "json", "yaml"]
Source = Literal["user_memory", "conversation"]

DEFAULT_SCOPE: Final = "user/default"
PROJECTS: Final = "git"
"""The scope above those of the repositories that agents work in."""
MAX_CONTENT_BYTES: Final = 32 * 1024
MAX_FILE_BYTES: Final = 128 * 1024
"""The content of a memory that is a file."""
MAX_MESSAGES_BYTES: Final = 128 * 1024
MAX_METADATA_BYTES: Final = 16 * 1024
MAX_LINKS: Final = 10


@frozen
class Message:
    """One thing said in a conversation."""

    role: str
    content: str
    time: When | None = None
    speaker: str | None = None


@frozen
class Importance:
    """A manual importance in 0 to 1, with why and when it was set."""

    score: float
    reason: str
    set_at: datetime


@frozen
class Link:
    """An association as stored on one side: the other memory's id and a strength in 0 to 1."""

    target_id: str
    strength: float
    manual: bool = False


@frozen
class Memory:
    """The single stored thing; every dialect is a view of it.

    `version` counts 1, 2, 3 ... and is the optimistic lock. `surprise` (0 to 1) is None where the
    look-around could not be done. Expired or deleted means absent at read time. `restored_version` is
    the version that an undo brought back, so that the next undo goes one further. `lookaround_pending`
    says that the index did not answer when it was written: a sweep makes up for it.

    `untrusted` says that its text is from an agent whose key or gateway is marked so. It is a label, and no judgement
    of the text.

    `agent_id` wrote it, `updated_by` changed it last: both are the calling agent, never an argument.
    `imported_at` is when a tool's import wrote it, `imported_by` for which agent: the times and the
    history of such a memory are as the import told them. `import_id` is the import that brought it or changed it last,
    and `import_version` the version that the import wrote.

    `superseded_by` is the memory that was saved in its place, `superseded_at` when that one was created: from then on
    it is shown only on request. `supersedes` are the memories that it was itself saved in place of.
    """

    id: str
    content: str
    created_at: datetime
    updated_at: datetime
    version: int = 1
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
    agent_id: str | None = None
    agent_label: str | None = None
    updated_by: str | None = None
    imported_by: str | None = None
    imported_at: datetime | None = None
    import_id: str | None = None
    import_version: int | None = None
    conversation_id: str | None = None
    occurred_at: When | None = None
    occurred_until: When | None = None
    expires_at: datetime | None = None
    deleted_at: datetime | None = None
    surprise: float | None = None
    importance: Importance | None = None
    pinned: bool = False
    untrusted: bool = False
    links: tuple[Link, ...] = ()
    superseded_by: str | None = None
    superseded_at: datetime | None = None
    supersedes: tuple[str, ...] = ()
    restored_version: int | None = None
    lookaround_pending: bool = False

    @property
    def is_episode(self) -> bool:
        """Whether it sums up what was said: it has messages, and is not a turn itself."""
        return bool(self.messages) and self.source != "conversation"

    def is_visible(self, now: datetime) -> bool:
        """Whether a reader sees it: neither deleted nor expired."""
        return self.deleted_at is None and (self.expires_at is None or self.expires_at > now)

    def is_current(self, as_of: datetime | None = None) -> bool:
        """Whether no other memory has taken its place, by a time or at all."""
        return self.superseded_at is None or (as_of is not None and self.superseded_at > as_of)

    def as_current(self) -> "Memory":
        """The same memory with no other in its place."""
        return replace(self, superseded_by=None, superseded_at=None)


@frozen
class Revision:
    """An image that an update replaced, with when and by which agent."""

    memory: Memory
    replaced_at: datetime
    replaced_by: str | None = None


@frozen
class Usage:
    """How often and when a memory was read, and its FSRS card as that package's own JSON.

    Best effort by contract: the last second of it may be lost, and no read waits for it.
    """

    access_count: int = 0
    last_accessed_at: datetime | None = None
    card: str | None = None


@frozen
class Association:
    """A link seen from one memory, whichever side stores it."""

    memory_id: str
    strength: float
    manual: bool


@frozen
class ScopeUse:
    """The memories in exactly one scope: their number, and the last write to one of them."""

    memories: int
    last_written_at: datetime


@frozen
class Session:
    """A named session; its memories have the scope `session/{id}`."""

    id: str
    created_at: datetime


@frozen
class Import:
    """One import: its source, who made it, and its counts so far. The memories that it wrote have its id.

    `busy_until` is the time until which it may still write, `process` names the process that does. Without
    `finished_at` it is running, or was stopped. `kept` counts what an undo left because it was changed since. `files`
    has the counts of the first files, of `file_count`; imports of before they were counted have none.
    """

    id: str
    name: str
    started_at: datetime
    formats: tuple[str, ...] = ()
    agent_id: str | None = None
    found: int = 0
    written: int = 0
    updated: int = 0
    skipped: int = 0
    failed: int = 0
    episodes: int = 0
    busy_until: datetime | None = None
    process: str | None = None
    finished_at: datetime | None = None
    undone_at: datetime | None = None
    kept: int = 0
    files: tuple[JsonObject, ...] = ()
    file_count: int = 0


MICROS_PER_DAY: Final = 86_400_000_000
RETENTION: Final = timedelta(days=30)
"""How long a deleted memory can be brought back where nothing else is set."""


def to_moment(at: When) -> datetime:
    """The moment itself; of a day without a time its midnight in UTC, to order it among moments."""
    return at if isinstance(at, datetime) else datetime.combine(at, time(), UTC)


def to_micros(at: When) -> int:
    """Microseconds since 1970-01-01 UTC, exact; of a day without a time those of its midnight in UTC."""
    delta = to_moment(at) - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def later(at: datetime, by: timedelta) -> datetime:
    """The time that is so much later; at most the last one that there is, in the year 9999."""
    last = datetime.max.replace(tzinfo=at.tzinfo)
    return at + by if by < last - at else last


def from_micros(micros: int) -> datetime:
    """The inverse of `to_micros`."""
    seconds, rest = divmod(micros, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)
