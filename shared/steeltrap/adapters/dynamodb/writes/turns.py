"""What waits: turns, in their places in a conversation, for an episode; memories for their look-around."""

from collections.abc import Callable, Sequence

from ....model import Memory
from ..layout import keys
from ..layout.tables import OPEN
from ..layout.typed import Value, number, text
from ..reads.partition import Partition


def places(partition: Partition, created: Sequence[Memory]) -> Callable[[], dict[str, int]]:
    """Take places for new memories in their conversations, counting from 0; what is answered waits for them.

    A place that is not used in the end stays empty.
    """
    by_conversation: dict[str, list[str]] = {}
    for memory in created:
        if memory.conversation_id is not None:
            by_conversation.setdefault(memory.conversation_id, []).append(memory.id)
    taken = [
        (ids, partition.pool.submit(_take, partition, conversation, len(ids)))
        for conversation, ids in by_conversation.items()
    ]
    return lambda: {id: first.result() + i for ids, first in taken for i, id in enumerate(ids)}


def _take(partition: Partition, conversation_id: str, count: int) -> int:
    request = {
        "TableName": partition.tables.memory,
        "Key": {"u": {"S": partition.key}, "k": {"S": keys.conversation(conversation_id)}},
        "UpdateExpression": "ADD said :count",
        "ExpressionAttributeValues": {":count": {"N": str(count)}},
        "ReturnValues": "UPDATED_NEW",
    }
    answer = partition.tables.call("update_item", request, partition.deadline)
    return int(answer["Attributes"]["said"]["N"]) - count


def of(partition: Partition, conversation_id: str) -> list[Memory]:
    """The open turns of a conversation in the order of writing, deleted and expired ones too."""
    values = {":place": f"{keys.digest(conversation_id)}#"}
    found = partition.items("begins_with(#open, :place)", values, IndexName=OPEN, ExpressionAttributeNames=_OPEN)
    ids = [keys.id_of(text(item, "k")) for item in found]
    read = partition.memories(ids)
    return [read[id] for id in ids if id in read]


def idle(partition: Partition, since: int, now: int, limit: int) -> list[str]:
    """The conversations whose last visible open turn was written at or before `since` (microseconds)."""
    last: dict[str, int] = {}
    for item in partition.items(
        "#open < :pending",
        {":pending": keys.PENDING, ":now": now},
        IndexName=OPEN,
        ExpressionAttributeNames=_OPEN,
        FilterExpression=_VISIBLE,
    ):
        conversation, created = text(item, "conversation_id"), number(item, "created_at")
        last[conversation] = max(created, last.get(conversation, created))
    old = sorted((created, conversation) for conversation, created in last.items() if created <= since)
    return [conversation for _, conversation in old[:limit]]


def pending(partition: Partition) -> list[str]:
    """The ids of visible memories that wait for their look-around."""
    values: dict[str, Value] = {":pending": keys.PENDING, ":now": partition.now()}
    found = partition.items(
        "begins_with(#open, :pending)",
        values,
        IndexName=OPEN,
        ExpressionAttributeNames=_OPEN,
        FilterExpression=_VISIBLE,
    )
    return [keys.id_of(text(item, "k")) for item in found]


_OPEN = {"#open": "open"}
_VISIBLE = "attribute_not_exists(deleted_at) AND (attribute_not_exists(expires_at) OR expires_at > :now)"
