"""How long a memory holds, as other products say it: an end that has passed, or one that is to come.

mem0 has `expiration_date` and `state`, Graphiti and Zep `invalid_at` and `expired_at`, mcp-memory-service `deleted_at`
and `superseded_by`; many have flags. What has ended is left out, and an end in the future becomes ours.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, Final

from ...model.frozen import frozen
from ...text.dates import from_zone
from .filing import Filing
from .times import moment

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
_STATES: Final = {what.split()[0]: what for what in _FLAGS} | {"invalid": "invalidated memories"}
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
    for what, flags in _FLAGS.items():
        if any(body.get(flag) in (True, 1, "true", "True") for flag in flags):
            return Validity(ended=what)
    if body.get("superseded_by") not in (None, "", [], False):
        return Validity(ended="superseded memories")
    for key in ("status", "state"):
        state = body.get(key)
        if isinstance(state, str) and (ended := _STATES.get(state.strip().lower())):
            return Validity(ended=ended)
    now = filing.now or datetime.now(UTC)
    ends: list[datetime] = []
    for what, keys in _ENDS.items():
        for key in keys:
            if isinstance(body.get(key), bool) or (told := moment(body.get(key), filing.zone)) is None:
                continue
            at = told if isinstance(told, datetime) else _end_of(told, filing.zone)
            if at <= now:
                return Validity(ended=what)
            ends.append(at)
    return Validity(until=min(ends, default=None))


def _end_of(day: date, zone: tzinfo | None) -> datetime:
    """The moment at which a day is over in a zone."""
    if day == date.max:
        return datetime.max.replace(tzinfo=UTC)
    return from_zone(datetime.combine(day + timedelta(days=1), time.min), zone).astimezone(UTC)
