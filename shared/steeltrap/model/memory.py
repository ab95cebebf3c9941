"""A memory: the stored record and what belongs to it; the forms in which callers write one; and the one table of what
can be filtered, with the filter.

A new field of a memory is added here: to `Memory`, to `Draft` and `Edit` if callers may give it, to `FILTERABLE` if
they may ask for it.
"""

from collections.abc import Mapping
from dataclasses import field, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from operator import attrgetter
from types import MappingProxyType
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
        return self.deleted_at is None and not self.has_expired(now)

    def has_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def is_current(self, as_of: datetime | None = None) -> bool:
        """Whether no other memory has taken its place, by a time or at all."""
        return self.superseded_at is None or (as_of is not None and self.superseded_at > as_of)

    def as_current(self) -> "Memory":
        """The same memory with no other in its place."""
        return replace(self, superseded_by=None, superseded_at=None)


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


FilterKind = Literal["text", "flag", "time", "scope", "tags", "metadata"]
FILTERABLE: Final[Mapping[str, FilterKind]] = MappingProxyType(
    {
        "tier": "text",
        "category": "text",
        "content_type": "text",
        "agent_id": "text",
        "agent_label": "text",
        "conversation_id": "text",
        "import_id": "text",
        "untrusted": "flag",
        "created_at": "time",
        "occurred_at": "time",
        "scope": "scope",
        "tags": "tags",
        "metadata": "metadata",
    }
)
"""The fields of `Memory` that a `Filter` can ask for; every store and index derives from this table what it keeps.

A `text` is compared for equality with the filter's field of the same name. A `flag` is true or false there, and any
by default. A `time`, `{name}_at`, is compared with
`{name}_after` and `{name}_before`. The other kinds have one field each.
"""
TEXTS: Final = tuple(name for name, kind in FILTERABLE.items() if kind == "text")
FLAGS: Final = tuple(name for name, kind in FILTERABLE.items() if kind == "flag")
TIMES: Final = tuple(name for name, kind in FILTERABLE.items() if kind == "time")
_MOMENT: Final = timedelta(microseconds=1)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


@frozen
class Filter:
    """Which memories are looked at. Everything given must hold; None or () means any.

    `tags` must all be there, compared case-insensitively; of `categories` any one will do. `scope`
    takes its child scopes in with `include_child_scopes`. `project` hides the scopes of other projects (those
    below PROJECTS); all other scopes are visible. `metadata` compares top-level keys for
    equality. Turns (source `conversation`) are seen only with `include_turns`, and then only those of
    the conversation `turns_of` where one is given beside it. With `episodes` False the same holds for
    episodes, the memories with messages. What another memory superseded is seen only with `include_superseded`; None
    leaves that to the search, which includes it if the query asks for the past; elsewhere None hides it.

    What happened on a day without a time is compared with `first_day` and `end_day` instead of `occurred_after` and
    `occurred_before`: in which days these moments are depends on the zone of who asks.

    `as_of` is for searches alone: what was superseded later is seen, and what was created later is left out.
    """

    tags: tuple[str, ...] = ()
    tier: Tier | None = None
    category: str | None = None
    categories: tuple[str, ...] = ()
    content_type: ContentType | None = None
    scope: str | None = None
    project: str | None = None
    include_child_scopes: bool = False
    agent_id: str | None = None
    agent_label: str | None = None
    conversation_id: str | None = None
    import_id: str | None = None
    untrusted: bool | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    occurred_after: datetime | None = None
    occurred_before: datetime | None = None
    first_day: date | None = None
    end_day: date | None = None
    metadata: JsonObject = field(default_factory=dict)
    include_turns: bool = False
    turns_of: str | None = None
    episodes: bool = True
    include_superseded: bool | None = False
    as_of: datetime | None = None

    def between(self, time: str, *, days: bool = False) -> tuple[When | None, When | None]:
        """The first time that it admits and the first that it no longer does, for one of TIMES; None is no bound.
        `days` asks for the bounds of days without a time."""
        name = time.removesuffix("_at")
        first, end = getattr(self, f"{name}_after"), getattr(self, f"{name}_before")
        if time == "created_at" and self.as_of is not None and self.as_of < _LATEST:
            after = self.as_of + _MOMENT
            end = after if end is None else min(end, after)
        if days and time == "occurred_at":
            return self.first_day or first, self.end_day or end
        return first, end

    def hides(self, memory: Memory) -> bool:
        """Whether it leaves a memory out because another one superseded it."""
        return not self.include_superseded and not memory.is_current(self.as_of)

    def is_open(self) -> bool:
        """Whether it lets every memory through, turns, episodes and what was superseded aside."""
        return self.scope is None and self.project is None and self.is_open_within_scopes()

    def is_open_within_scopes(self) -> bool:
        """The same, but for the conditions on scopes."""
        return _conditions(self) == _OPEN


_conditions: Final = attrgetter(
    *sorted(
        {each.name for each in fields(Filter)}
        - {"include_turns", "turns_of", "episodes", "include_child_scopes", "include_superseded", "scope", "project"}
    )
)
_OPEN: Final = _conditions(Filter())


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
