"""The two tables, as an account needs them; `infra` and tests make them from the same words."""

from collections.abc import Container
from typing import Any, Final

CREATED: Final = "by-creation"
WRITTEN: Final = "by-write"
SPEAKER: Final = "by-speaker"
OPEN: Final = "open"
"""What waits: turns for an episode, memories for their look-around."""
FOLD: Final = "by-text"
EVERYONE: Final = "everyone"

_PLACE: Final = ("scope", "agent_id", "conversation_id", "expires_at", "deleted_at", "created_at")
LISTED: Final = (
    *_PLACE,
    *("tier", "category", "content_type", "agent_label", "occurred_at", "updated_at", "tags", "facts"),
    *("chunks", "image_bytes", "search_bytes"),
)
"""What the index by creation holds beside its keys: all that a filter asks for, and what is counted.

A table's local indexes are fixed when it is made, so this list is too. A text that became filterable later is among
the `facts` (`filters.py`).
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


def _index(name: str, keys: list[dict[str, str]], held: tuple[str, ...] = ()) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": "INCLUDE" if held else "KEYS_ONLY"}
    if held:
        projection["NonKeyAttributes"] = list(held)
    return {"IndexName": name, "KeySchema": keys, "Projection": projection}
