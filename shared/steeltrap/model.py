"""The nouns: what is stored, who asks, what is asked and what is found.

Frozen dataclasses without behaviour beyond their own arithmetic. Times are timezone-aware UTC.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

JsonObject = dict[str, Any]
"""A JSON object as Python sees it: string keys, JSON values."""

Embedding = bytes
"""One unit vector: little-endian float32, `4 * dimension` bytes. All zeros where a text has no vector."""

Tier = Literal["short_term", "long_term", "working"]
ContentType = Literal["text", "image", "code", "json", "yaml"]
Source = Literal["user_memory", "conversation"]

DEFAULT_SCOPE: Final = "user/default"
MAX_CONTENT_BYTES: Final = 32 * 1024
MAX_MESSAGES_BYTES: Final = 128 * 1024
MAX_METADATA_BYTES: Final = 16 * 1024
MAX_LINKS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """Which tools a caller may use: all, only those that read, only those of some toolsets."""

    read_only: bool = False
    toolsets: tuple[str, ...] = ()


EVERYTHING: Final = Permissions()


@dataclass(frozen=True, slots=True)
class UserRef:
    """Whose memories: a user's id, and the tenant that keeps two customers' equal ids apart."""

    user_id: str
    tenant: str = ""

    @property
    def key(self) -> str:
        """64 hexadecimal digits that no two users share: what names a user's place. Any id works."""
        # JSON is an unambiguous encoding of the pair: ("a", "b/c") and ("a/b", "c") stay apart.
        return sha256(json.dumps([self.tenant, self.user_id]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as the surface's authenticated context says; never read from a tool's arguments.

    `agent_id` and `conversation_id` are None where the surface knows none. `permissions` say what the
    caller may do among their own memories.
    """

    user: UserRef
    agent_id: str | None = None
    conversation_id: str | None = None
    permissions: Permissions = EVERYTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One thing said in a conversation."""

    role: str
    content: str
    time: datetime | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Importance:
    """A manual importance in 0 to 1, with why and when it was set."""

    score: float
    reason: str
    set_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An association as stored on one side: the other memory's id and a strength in 0 to 1."""

    target_id: str
    strength: float
    manual: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The single stored thing; every dialect is a view of it.

    `version` counts 1, 2, 3 ... and is the optimistic lock. `surprise` (0 to 1) is None where the
    look-around could not be done. Expired or deleted means absent at read time. `restored_version` is
    the version that an undo brought back, so that the next undo goes one further. `lookaround_pending`
    says that the index did not answer when it was written: a sweep makes up for it.

    `agent_id` wrote it, `updated_by` changed it last: both are the calling agent, never an argument.
    `imported_at` is when a tool's import wrote it, `imported_by` for which agent: the times and the
    history of such a memory are as the import told them.
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
    conversation_id: str | None = None
    occurred_at: datetime | None = None
    occurred_until: datetime | None = None
    expires_at: datetime | None = None
    deleted_at: datetime | None = None
    surprise: float | None = None
    importance: Importance | None = None
    pinned: bool = False
    links: tuple[Link, ...] = ()
    restored_version: int | None = None
    lookaround_pending: bool = False

    @property
    def is_episode(self) -> bool:
        """Whether it sums up what was said: it has messages, and is not a turn itself."""
        return bool(self.messages) and self.source != "conversation"

    def is_visible(self, now: datetime) -> bool:
        """Whether a reader sees it: neither deleted nor expired."""
        return self.deleted_at is None and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """An image that an update replaced, with when and by which agent."""

    memory: Memory
    replaced_at: datetime
    replaced_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How often and when a memory was read, and its FSRS card as that package's own JSON.

    Best effort by contract: the last second of it may be lost, and no read waits for it.
    """

    access_count: int = 0
    last_accessed_at: datetime | None = None
    card: str | None = None


FilterKind = Literal["text", "time", "scope", "tags", "metadata"]
FILTERABLE: Final[Mapping[str, FilterKind]] = MappingProxyType(
    {
        "tier": "text",
        "category": "text",
        "content_type": "text",
        "agent_id": "text",
        "agent_label": "text",
        "conversation_id": "text",
        "created_at": "time",
        "occurred_at": "time",
        "scope": "scope",
        "tags": "tags",
        "metadata": "metadata",
    }
)
"""The fields of `Memory` that a `Filter` can ask for; every store and index derives from this table what it keeps.

A `text` is compared for equality with the filter's field of the same name. A `time`, `{name}_at`, is compared with
`{name}_after` and `{name}_before`. The other kinds have one field each.
"""
TEXTS: Final = tuple(name for name, kind in FILTERABLE.items() if kind == "text")
TIMES: Final = tuple(name for name, kind in FILTERABLE.items() if kind == "time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories are looked at. Everything given must hold; None or () means any.

    `tags` must all be there, compared case-insensitively; of `categories` any one will do. `scope`
    takes its child scopes in with `include_child_scopes`. `metadata` compares top-level keys for
    equality. Turns (source `conversation`) are seen only with `include_turns`, and then only those of
    the conversation `turns_of` where one is given beside it. With `episodes` False the same holds for
    episodes, the memories with messages.
    """

    tags: tuple[str, ...] = ()
    tier: Tier | None = None
    category: str | None = None
    categories: tuple[str, ...] = ()
    content_type: ContentType | None = None
    scope: str | None = None
    include_child_scopes: bool = False
    agent_id: str | None = None
    agent_label: str | None = None
    conversation_id: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    occurred_after: datetime | None = None
    occurred_before: datetime | None = None
    metadata: JsonObject = field(default_factory=dict)
    include_turns: bool = False
    turns_of: str | None = None
    episodes: bool = True

    def between(self, time: str) -> tuple[datetime | None, datetime | None]:
        """The first time that it admits and the first that it no longer does, for one of TIMES; None is no bound."""
        name = time.removesuffix("_at")
        return getattr(self, f"{name}_after"), getattr(self, f"{name}_before")

    def is_open(self) -> bool:
        """Whether it lets every memory through, turns and episodes aside."""
        plain = replace(self, include_turns=False, turns_of=None, episodes=True, include_child_scopes=False)
        return plain == Filter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What a store searches for: analysed tokens, an embedding, or both.

    `per_leg` is how many distinct memories each leg returns at most; None means every match. Of more than 64 distinct
    tokens the 64 rarest are looked for. With `by_term` candidates say what each token adds to their score.
    """

    tokens: tuple[str, ...] = ()
    embedding: Embedding | None = None
    filter: Filter = field(default_factory=Filter)
    per_leg: int | None = 100
    by_term: bool = False


NO_TERMS: Final[Mapping[int, float]] = MappingProxyType({})


class Candidate(NamedTuple):
    """A memory that a leg returned, with its true score in both legs.

    `cosine` is the best chunk's, -1 to 1, None without a semantic leg; `bm25` is 0 or more, None
    without a keyword leg. `terms` is what query tokens add to it, by the token's number in the query; only what was
    said in a conversation has it, where the query asks `by_term`. `conversation` stands for that conversation, None
    for none, and `position` counts up along it. `created` is in microseconds since 1970, `importance` the one set by
    hand.
    """

    id: str
    cosine: float | None
    bm25: float | None
    created: int
    pinned: bool = False
    surprise: float | None = None
    terms: Mapping[int, float] = NO_TERMS
    conversation: int | None = None
    position: int = 0
    speaker: str | None = None
    importance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """What a store found: candidates in no order, and why there may be few.

    `stored` counts what the caller could see without any filter, `admitted` what the filter lets through.
    `degraded` names a leg that failed and why.
    """

    candidates: tuple[Candidate, ...]
    stored: int
    admitted: int
    degraded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A found memory. `score` ranks, 0 to 1; the rest says why it is there."""

    memory: Memory
    score: float
    cosine: float | None = None
    bm25: float | None = None
    keyword_score: float = 0.0
    semantic_score: float = 0.0
    importance: float | None = None
    boosts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A stored memory near a text: its id and the cosine of their nearest chunks."""

    id: str
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a look-around found: the nearest memory anywhere, and those near enough in the same scope."""

    nearest: Neighbour | None
    near: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """A link seen from one memory, whichever side stores it."""

    memory_id: str
    strength: float
    manual: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeUse:
    """What lies directly in a scope: how many memories, and when one of them was last written."""

    memories: int
    last_written_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A time of work that was begun by name; its memories have the scope `session/{id}`."""

    id: str
    created_at: datetime


class OutcomeKind(StrEnum):
    """What happened in a search, told apart so that broken never looks like empty."""

    FOUND = "found"
    NOTHING_STORED = "nothing_stored"
    NOTHING_MATCHED = "nothing_matched"
    BELOW_FLOOR = "below_floor"
    FILTERED_OUT = "filtered_out"
    DEGRADED = "degraded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What happened, in a word and a sentence; `best_score` where everything lay below a floor."""

    kind: OutcomeKind
    message: str
    best_score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a list, newest first then id, and the exact total."""

    memories: tuple[Memory, ...]
    total: int


def to_micros(at: datetime) -> int:
    """Microseconds since 1970-01-01 UTC, exact."""
    delta = at - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_micros(micros: int) -> datetime:
    """The inverse of `to_micros`."""
    seconds, rest = divmod(micros, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)
