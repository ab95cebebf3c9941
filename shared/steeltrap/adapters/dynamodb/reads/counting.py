"""How much is stored, what is in each scope, who speaks: read from the local indexes."""

from typing import Any, Final

from ....model import ScopeUse, from_micros
from ..layout import keys
from ..layout.filters import SUPERSEDED
from ..layout.tables import CREATED, SPEAKER
from ..layout.typed import Item, number, text
from .partition import Partition

_END: Final = "~"
MOST_SPEAKERS: Final = 200
_UNEXPIRED: Final = "attribute_not_exists(expires_at) OR expires_at > :now"
_CURRENT: Final = f"({_UNEXPIRED}) AND (attribute_not_exists(facts) OR NOT contains(facts, :superseded))"


def scopes(partition: Partition) -> dict[str, ScopeUse]:
    """The memories in each scope, without the scopes below it."""
    found: dict[str, ScopeUse] = {}
    for item in _listed(partition, keys.MEMORIES, FilterExpression=_CURRENT, ProjectionExpression=_PLACE, **_NAMES):
        scope, written = text(item, "scope"), from_micros(number(item, "updated_at"))
        known = found.get(scope, ScopeUse(memories=0, last_written_at=written))
        found[scope] = ScopeUse(memories=known.memories + 1, last_written_at=max(known.last_written_at, written))
    return found


def statistics(partition: Partition) -> dict[str, int]:
    """The numbers of `Space.statistics`; `bytes` are those of records and vectors, about."""
    counts = dict.fromkeys(("memories", "superseded", "turns", "deleted", "chunks", "bytes", "record_bytes"), 0)
    now = partition.now()
    for prefix, name in ((keys.MEMORIES, "memories"), (keys.TURNS, "turns"), (keys.DELETED, "deleted")):
        for item in _listed(partition, prefix, ProjectionExpression=_SIZES, now=None):
            expires = item.get("expires_at")
            kind = "superseded" if name == "memories" and SUPERSEDED in _facts(item) else name
            counts["deleted" if expires is not None and int(expires) <= now else kind] += 1
            counts["chunks"] += number(item, "chunks")
            counts["bytes"] += number(item, "image_bytes") + number(item, "search_bytes")
            counts["record_bytes"] += number(item, "image_bytes")
    return counts


def stale(partition: Partition, deleted_before: int) -> list[str]:
    """The memories deleted before a time, and the expired ones."""
    values = {":first": keys.DELETED, ":last": keys.deleted_before(deleted_before)}
    how: Any = {"IndexName": CREATED, "ProjectionExpression": "k"}
    found = [item["k"] for item in partition.items("listed BETWEEN :first AND :last", values, **how)]
    for prefix in (keys.MEMORIES, keys.TURNS, keys.DELETED):
        expired = _listed(partition, prefix, ProjectionExpression="k", FilterExpression="expires_at <= :now")
        found += [item["k"] for item in expired]
    return [keys.id_of(str(key)) for key in dict.fromkeys(found)]


def kept_speakers(user: Item) -> frozenset[str] | None:
    """The names that a user's own item keeps; None where it keeps none yet. An empty name stands for "none said so
    far", since DynamoDB has no empty sets."""
    kept = user.get("speakers")
    return kept - {""} if isinstance(kept, frozenset) else None


def speakers(partition: Partition) -> frozenset[str]:
    """Those who say at least two memories, counted: one small request for each name there is."""
    found = set()
    after = " "
    for _ in range(MOST_SPEAKERS):
        names = _first_two(partition, "speaker > :name", after)
        if not names:
            break
        if len(names) == 2 and names[0] == names[1]:
            found.add(names[0])
        after = names[0]
    return frozenset(found)


def says_two(partition: Partition, name: str) -> bool:
    """Whether at least two memories are said by a name."""
    return len(_first_two(partition, "speaker = :name", name)) == 2


def _first_two(partition: Partition, condition: str, name: str) -> list[str]:
    how: Any = {"IndexName": SPEAKER, "ProjectionExpression": "speaker", "Limit": 2}
    found = partition.tables.query(partition.key, condition, {":name": name}, partition.deadline, **how)
    return [item["speaker"]["S"] for item in next(iter(found))["Items"]]


_PLACE: Final = "#scope, updated_at"
_NAMES: Final[dict[str, Any]] = {"ExpressionAttributeNames": {"#scope": "scope"}}
_SIZES: Final = "expires_at, facts, chunks, image_bytes, search_bytes"


def _facts(item: Item) -> frozenset[str]:
    found = item.get("facts")
    return found if isinstance(found, frozenset) else frozenset()


def _listed(partition: Partition, prefix: str, *, now: bool | None = True, **how: Any) -> Any:
    values: Any = {":first": prefix, ":last": prefix + _END}
    if ":superseded" in how.get("FilterExpression", ""):
        values[":superseded"] = SUPERSEDED
    if now:
        values[":now"] = partition.now()
    return partition.items("listed BETWEEN :first AND :last", values, IndexName=CREATED, **how)
