"""The contents of a file: items to import, flaws to report, what is left out on purpose, and what is metadata.

Also what all formats share: how the user wants items filed, times, and how long a memory holds as other products say
it. mem0 has `expiration_date` and `state`, Graphiti and Zep `invalid_at` and `expired_at`, mcp-memory-service
`deleted_at` and `superseded_by`; many have flags. What has ended is left out, and an end in the future becomes ours.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final, Literal

from ..errors import InvalidInput
from ..model import Draft, JsonObject, When
from ..model.frozen import frozen
from ..text.dates import from_zone

if TYPE_CHECKING:
    from ..engine.importing import Conversation


@frozen
class Item:
    """Something to import: a `record` of our own export, a whole `conversation`, else a `draft`. `where` is its place.

    `at` is the number of bytes of the whole import up to its end; `size` is its approximate size. `file` is the
    document that it is in.
    """

    where: str
    at: int
    size: int
    record: "JsonObject | None" = None
    conversation: "Conversation | None" = None
    draft: "Draft | None" = None
    file: str = ""


@frozen
class Flaw:
    """Something that can't be imported, and the sentence that says why; or `count` of such things in one sentence."""

    where: str
    at: int
    sentence: str
    count: int = 1
    file: str = ""


def flaw_of_file(name: str, message: str, at: int = 0) -> Flaw:
    """The flaw that a file's error is: the place says the file's name, and the sentence doesn't say it again."""
    where, sentence = name, message
    if message.startswith(f"{name}:"):
        where, _, sentence = message.partition(": ")
    elif message.startswith(f"{name} "):
        sentence = f"it {message.removeprefix(f'{name} ')}"
    return Flaw(where=where, at=at, sentence=sentence, file=name)


@frozen
class LeftOut:
    """Parts of one kind that are left out on purpose, such as tool calls, and how many."""

    kind: str
    count: int = 1
    file: str = ""


@frozen
class Kept:
    """Columns or keys that hold no field of a memory, and are kept as its metadata."""

    names: tuple[str, ...]


Part = Item | Flaw | LeftOut | Kept

OTHER_FILES: Final = "files of other formats"


Split = Literal["sections", "bullets", "lines"]


@frozen
class Filing:
    """The scope and the tags of everything, and how files are read that don't say it themselves.

    With `by_project`, what was said in a git repository is filed under the repository's own scope instead. `zone` is
    that of times without one; None is this machine's own. `columns` tells a table's column by the field that it holds,
    and `split` what becomes one memory of a text (None: what suits the format). What has ended before `now` is left
    out; None is this machine's own time. `place` stands for the path of a file that has none of its own: messages
    without ids are told apart by the place that they are from.
    """

    scope: str
    tags: tuple[str, ...] = ()
    by_project: bool = False
    zone: tzinfo | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    split: Split | None = None
    now: datetime | None = None
    place: str = ""


_MILLISECONDS: Final = 1e11
"""Seconds reach this number in the year 5138, milliseconds reached it in 1973."""
_MICROSECONDS: Final = 1e14
_EPOCH: Final = re.compile(r"\d{9,16}(\.\d+)?")
_DAY: Final = re.compile(r"\d{4}-?\d{2}-?\d{2}")


def moment(value: Any, zone: tzinfo | None) -> When | None:
    """The UTC time of an ISO date or time, or of seconds, milliseconds or microseconds since 1970; None for nothing.

    A date alone is that day, without a time. A time without a zone is in `zone`; None is this machine's own. Raises
    InvalidInput.
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            return _of_text(value.strip(), zone)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _of_number(value)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInput(f"{str(value)[:60]!r} is no time; write it like '2026-01-31T09:30:00Z'.")


def _of_text(text: str, zone: tzinfo | None) -> When:
    if _EPOCH.fullmatch(text):
        return _of_number(float(text))
    text = text.removesuffix(" UTC").replace("/", "-") + ("+00:00" if text.endswith(" UTC") else "")
    if _DAY.fullmatch(text):
        return date.fromisoformat(text)
    if text.isdigit():  # a year, or a number of something: nobody can tell
        raise ValueError
    return _in_utc(datetime.fromisoformat(text), zone)


def _of_number(number: float) -> datetime:
    if number <= 0:
        raise ValueError
    if number >= _MICROSECONDS:
        number /= 1e6
    elif number >= _MILLISECONDS:
        number /= 1e3
    return datetime.fromtimestamp(number, UTC)


def _in_utc(at: datetime, zone: tzinfo | None) -> datetime:
    return (from_zone(at, zone) if at.tzinfo is None else at).astimezone(UTC)


_ENDS: Final = {
    "expired memories": ("expires_at", "expiration_date", "expires", "expiry", "expired_at", "valid_until", "valid_to"),
    "invalidated memories": ("invalid_at", "invalidated_at"),
    "deleted memories": ("deleted_at",),
    "archived memories": ("archived_at",),
    "superseded memories": ("superseded_at",),
}
_FLAGS: Final = {
    "expired memories": ("expired", "is_expired"),
    "invalidated memories": ("invalid", "is_invalid", "invalidated"),
    "deleted memories": ("deleted", "is_deleted"),
    "archived memories": ("archived", "is_archived"),
    "superseded memories": ("superseded", "is_superseded"),
}
_STATES: Final = {kind.split()[0]: kind for kind in _FLAGS} | {"invalid": "invalidated memories"}
ENDED_BY: Final = ("deleted_at", "superseded_by")
"""The columns in which a table says that a memory has ended."""
KEYS: Final = frozenset(
    key for keys in (*_ENDS.values(), *_FLAGS.values(), ("superseded_by", "status", "state")) for key in keys
)


@frozen
class Validity:
    """The word that a memory that has ended counts as, "" if it holds; and until when it holds, if that is known."""

    ended: str = ""
    until: datetime | None = None


def validity_of(body: Mapping[str, Any], filing: Filing) -> Validity:
    """The validity that a memory's keys tell. Raises InvalidInput for an end that is no time."""
    for kind, flags in _FLAGS.items():
        if any(body.get(flag) in (True, 1, "true", "True") for flag in flags):
            return Validity(ended=kind)
    if body.get("superseded_by") not in (None, "", [], False):
        return Validity(ended="superseded memories")
    for key in ("status", "state"):
        state = body.get(key)
        if isinstance(state, str) and (ended := _STATES.get(state.strip().lower())):
            return Validity(ended=ended)
    now = filing.now or datetime.now(UTC)
    ends: list[datetime] = []
    for kind, keys in _ENDS.items():
        for key in keys:
            if isinstance(body.get(key), bool) or (end := moment(body.get(key), filing.zone)) is None:
                continue
            at = end if isinstance(end, datetime) else _end_of(end, filing.zone)
            if at <= now:
                return Validity(ended=kind)
            ends.append(at)
    return Validity(until=min(ends, default=None))


def _end_of(day: date, zone: tzinfo | None) -> datetime:
    """The moment at which a day is over in a zone."""
    if day == date.max:
        return datetime.max.replace(tzinfo=UTC)
    return from_zone(datetime.combine(day + timedelta(days=1), time.min), zone).astimezone(UTC)
