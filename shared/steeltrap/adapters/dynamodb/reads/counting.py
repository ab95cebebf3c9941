"""How much is stored, what lies in each scope, who speaks: read from the local indexes."""

from typing import Any, Final

from ....model import ScopeUse, from_micros
from ..client.table import READ_SECONDS, Deadline
from ..layout import keys
from ..layout.tables import CREATED, SPEAKER
from ..layout.typed import number, text
from .partition import Partition

_END: Final = "~"
_MOST_SPEAKERS: Final = 200
_UNEXPIRED: Final = "attribute_not_exists(expires_at) OR expires_at > :now"


def scopes(partition: Partition) -> dict[str, ScopeUse]:
    """What lies directly in each scope."""
    found: dict[str, ScopeUse] = {}
    for item in _listed(partition, keys.MEMORIES, FilterExpression=_UNEXPIRED, ProjectionExpression=_PLACE, **_NAMES):
        scope, written = text(item, "scope"), from_micros(number(item, "updated_at"))
        known = found.get(scope, ScopeUse(memories=0, last_written_at=written))
        found[scope] = ScopeUse(memories=known.memories + 1, last_written_at=max(known.last_written_at, written))
    return found


def statistics(partition: Partition) -> dict[str, int]:
    """The numbers of `Space.statistics`; `bytes` are those of records and vectors, about."""
    counts = dict.fromkeys(("memories", "turns", "deleted", "chunks", "bytes", "record_bytes"), 0)
    now = partition.now()
    for prefix, name in ((keys.MEMORIES, "memories"), (keys.TURNS, "turns"), (keys.DELETED, "deleted")):
        for item in _listed(partition, prefix, ProjectionExpression=_SIZES, now=None):
            expires = item.get("expires_at")
            counts["deleted" if expires is not None and int(expires) <= now else name] += 1
            counts["chunks"] += number(item, "chunks")
            counts["bytes"] += number(item, "image_bytes") + number(item, "search_bytes")
            counts["record_bytes"] += number(item, "image_bytes")
    return counts


def stale(partition: Partition, deleted_before: int) -> list[str]:
    """What was deleted before a time, and what has expired."""
    values = {":first": keys.DELETED, ":last": keys.deleted_before(deleted_before)}
    how: Any = {"IndexName": CREATED, "ProjectionExpression": "k"}
    found = [item["k"] for item in partition.items("listed BETWEEN :first AND :last", values, **how)]
    for prefix in (keys.MEMORIES, keys.TURNS, keys.DELETED):
        expired = _listed(partition, prefix, ProjectionExpression="k", FilterExpression="expires_at <= :now")
        found += [item["k"] for item in expired]
    return [keys.id_of(str(key)) for key in dict.fromkeys(found)]


def speakers(partition: Partition) -> frozenset[str]:
    """Those who say at least two memories. Each is found by a small request of its own: there are few."""
    found = set()
    after = " "
    for _ in range(_MOST_SPEAKERS):
        pages = partition.tables.query(
            partition.key,
            "speaker > :after",
            {":after": after},
            Deadline.after(READ_SECONDS),
            IndexName=SPEAKER,
            ProjectionExpression="speaker",
            Limit=2,
        )
        names = [item["speaker"]["S"] for item in next(iter(pages))["Items"]]
        if not names:
            break
        if len(names) == 2 and names[0] == names[1]:
            found.add(names[0])
        after = names[0]
    return frozenset(found)


_PLACE: Final = "#scope, updated_at"
_NAMES: Final[dict[str, Any]] = {"ExpressionAttributeNames": {"#scope": "scope"}}
_SIZES: Final = "expires_at, chunks, image_bytes, search_bytes"


def _listed(partition: Partition, prefix: str, *, now: bool | None = True, **how: Any) -> Any:
    values: Any = {":first": prefix, ":last": prefix + _END}
    if now:
        values[":now"] = partition.now()
    return partition.items("listed BETWEEN :first AND :last", values, IndexName=CREATED, **how)
