"""Which memories are looked at: the one table of what can be filtered, and a filter."""

from collections.abc import Mapping
from dataclasses import field, fields
from datetime import UTC, date, datetime, timedelta
from operator import attrgetter
from types import MappingProxyType
from typing import Final, Literal

from .frozen import frozen
from .memory import ContentType, JsonObject, Memory, Tier, When

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
            later = self.as_of + _MOMENT
            end = later if end is None else min(end, later)
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
