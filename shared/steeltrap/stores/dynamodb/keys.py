"""The two tables, the sort keys of a user's items, and the local indexes over them.

One partition per user. Within it: the user's own item, memories, their parts, earlier images, links as seen from
their target, conversations, sessions, imports.
"""

from collections.abc import Container
from hashlib import blake2b
from typing import Any, Final

USER: Final = "user"
GUARD: Final = "guard"

MEMORIES: Final = "m#"
TURNS: Final = "t#"
DELETED: Final = "d#"
"""Key prefixes of memories, turns and deleted memories in the index by creation."""

LAST_WRITE: Final = 10**17
"""The position of the user's own item in the index by write time: after every write, so that each look at the latest
writes brings it along."""

LAST_TIME: Final = LAST_WRITE - 10**15
"""The latest time that is taken from a clock, in the year 5107: what was written when a clock was wrong stays before
the user's own item."""

_LATEST: Final = 10**18
_LONGEST: Final = 1000


def memory(id: str) -> str:
    return f"m#{id}"


def id_of(key: str) -> str:
    """The memory that a memory's key names."""
    return key[2:]


def owner(key: str) -> str:
    """The memory that a key of it belongs to: its own, a piece's or an earlier image's."""
    return key.split("#")[1]


PIECES: Final = "b#"


def part(id: str, stamp: str, number: int) -> str:
    """A piece of what was too large for the memory's own item; a stamp is of one write only."""
    return f"{PIECES}{id}#{stamp}#{number:04d}"


def parts(id: str) -> str:
    return f"{PIECES}{id}#"


def revision(id: str, version: int) -> str:
    return f"r#{id}#{version:016d}"


def revisions(id: str) -> str:
    return f"r#{id}#"


REVISIONS: Final = "r#"


def link(target: str, source: str) -> str:
    """Says that an image of `source`, the current or an earlier one, may have a link to `target`."""
    return f"l#{target}#{source}"


def links_to(target: str) -> str:
    return f"l#{target}#"


def superseded(by: str, old: str) -> str:
    """A link of its own kind: says that an image of `old` may say that `by` superseded it."""
    return f"l#{by}#s#{old}"


def superseded_by(by: str) -> str:
    return f"l#{by}#s#"


def source_of(key: str) -> str:
    """The end of a link's key that has the link."""
    return key.rpartition("#")[2]


def conversation(conversation_id: str) -> str:
    return f"k#{digest(conversation_id)}"


def session(id: str) -> str:
    return f"s#{id}"


SESSIONS: Final = "s#"


def import_(id: str) -> str:
    return f"i#{id}"


IMPORTS: Final = "i#"


def digest(text: str) -> str:
    """32 characters for a text of any length, which a key could not hold."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def listed(prefix: str, created: int, id: str, position: int | None = None) -> str:
    """The position of a memory in the index by creation: newest first, then by id; turns the last said first."""
    place = "" if position is None else f"#{10**12 - 1 - position:012d}"
    return f"{prefix}{newest_first(created)}{place}#{id}"


def newest_first(created: int) -> str:
    """A sort key that puts later times first: a constant minus the time in microseconds, zero-padded."""
    return f"{_LATEST - created:019d}"


def deleted(at: int, id: str) -> str:
    """The position of a deleted memory in the index by creation: the earliest first."""
    return f"{DELETED}{_LATEST + at:019d}#{id}"


def deleted_before(at: int) -> str:
    return f"{DELETED}{_LATEST + at:019d}"


def open_turn(conversation_id: str, position: int, id: str) -> str:
    """The position of an open turn in the index of what waits."""
    return f"{digest(conversation_id)}#{position:012d}#{id}"


PENDING: Final = "p#"
"""Key prefix of memories that wait for their look-around. It sorts after every turn, because digests end at "f"."""


def pending(id: str) -> str:
    return f"{PENDING}{id}"


def speaker(name: str) -> str:
    """A speaker's name, cut to what a key can hold."""
    return name.encode()[:_LONGEST].decode(errors="ignore")


CREATED: Final = "by-creation"
WRITTEN: Final = "by-write"
SPEAKER: Final = "by-speaker"
OPEN: Final = "open"
"""The index of what waits: turns for an episode, memories for their look-around."""
FOLD: Final = "by-text"
EVERYONE: Final = "everyone"
HERE: Final = "user"
MOVED: Final = "moved"
"""The kinds of users in the index of everyone: their memories are here, or were moved or are being moved."""

_PLACE: Final = ("scope", "agent_id", "conversation_id", "expires_at", "deleted_at", "created_at")
LISTED: Final = (
    *_PLACE,
    *("tier", "category", "content_type", "agent_label", "occurred_at", "updated_at", "tags", "facts"),
    *("chunks", "image_bytes", "search_bytes"),
)
"""The attributes that the index by creation holds beside its keys: all that a filter asks for, and what is counted.

A table's local indexes are fixed when it is made, so this list is too. A text that became filterable later is among
the `facts` (`items.py`).
"""


def memory_table(name: str) -> dict[str, Any]:
    """The table of memories. The index by write time has keys alone, which keeps it small: DynamoDB fetches the rest
    from the table."""
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": kind}
            for attribute, kind in (
                *(("u", "S"), ("k", "S"), ("listed", "S"), ("w", "N")),
                *(("speaker", "S"), ("open", "S"), ("fold", "S"), ("everyone", "S")),
            )
        ],
        "KeySchema": _keys("u", "k"),
        "LocalSecondaryIndexes": [
            _index(CREATED, _keys("u", "listed"), LISTED),
            _index(WRITTEN, _keys("u", "w")),
            _index(SPEAKER, _keys("u", "speaker")),
            _index(OPEN, _keys("u", "open"), ("conversation_id", "created_at", "expires_at", "deleted_at")),
            _index(FOLD, _keys("u", "fold"), ("listed", *_PLACE)),
        ],
        "GlobalSecondaryIndexes": [_index(EVERYONE, _keys("everyone", "u"), ("user_id", "tenant"))],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def usage_table(name: str) -> dict[str, Any]:
    """The table of how memories are read, and of what users use. It has no stream: reading re-indexes nothing."""
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "u", "AttributeType": "S"},
            {"AttributeName": "k", "AttributeType": "S"},
        ],
        "KeySchema": _keys("u", "k"),
    }


TIME_TO_LIVE: Final = {"Enabled": True, "AttributeName": "ttl"}


def create_tables(
    client: Any,
    memory: str,
    usage: str,
    *,
    expire: bool = False,
    only: Container[str] | None = None,
) -> None:
    """Make both tables, or those named by `only`, and wait until they serve. `expire` turns the time to live on."""
    for table in (memory_table(memory), usage_table(usage)):
        if only is None or table["TableName"] in only:
            client.create_table(**table)
        client.get_waiter("table_exists").wait(TableName=table["TableName"], WaiterConfig={"Delay": 1})
        if expire and (only is None or table["TableName"] in only):
            client.update_time_to_live(TableName=table["TableName"], TimeToLiveSpecification=TIME_TO_LIVE)


def _keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


def _index(name: str, keys: list[dict[str, str]], attributes: tuple[str, ...] = ()) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": "INCLUDE" if attributes else "KEYS_ONLY"}
    if attributes:
        projection["NonKeyAttributes"] = list(attributes)
    return {"IndexName": name, "KeySchema": keys, "Projection": projection}
