"""Turns that wait for an episode, memories that wait for their look-around, sessions that were created by name, and
imports."""

from collections.abc import Callable, Sequence

from ...model import Import, Memory, Session, from_micros, to_micros
from ...record import import_from_image, import_to_image
from . import keys, users
from .client import Action, Cancelled, run
from .items import Item, number, text
from .keys import OPEN
from .partition import USER, WRITE_SECONDS, Partition


def turn_places(partition: Partition, created: Sequence[Memory]) -> Callable[[], dict[str, int]]:
    """Take places for new memories in their conversations, counting from 0; what is answered waits for them.

    A place that is not used in the end stays empty.
    """
    by_conversation: dict[str, list[str]] = {}
    for memory in created:
        if memory.conversation_id is not None:
            by_conversation.setdefault(memory.conversation_id, []).append(memory.id)
    places = [
        (ids, partition.pool.submit(_take, partition, conversation, len(ids)))
        for conversation, ids in by_conversation.items()
    ]
    return lambda: {id: first.result() + i for ids, first in places for i, id in enumerate(ids)}


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


def idle_conversations(partition: Partition, since: int, now: int, limit: int) -> list[str]:
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


_OPEN = {"#open": "open"}
_VISIBLE = "attribute_not_exists(deleted_at) AND (attribute_not_exists(expires_at) OR expires_at > :now)"


def read_sessions(partition: Partition) -> list[Session]:
    """All sessions, oldest first, then by id."""
    sessions = [
        Session(id=text(item, "k")[len(keys.SESSIONS) :], created_at=from_micros(number(item, "created_at")))
        for item in partition.under(keys.SESSIONS)
    ]
    return sorted(sessions, key=lambda session: (session.created_at, session.id))


def add_session(partition: Partition, session: Session) -> bool:
    """Add a session, unless its id is there."""
    item: Item = {"u": partition.key, "k": keys.session(session.id), "created_at": to_micros(session.created_at)}
    put = Action(keys.session(session.id), "attribute_not_exists(#k)", put=item)
    try:
        _put(partition, put)
    except Cancelled:
        return False
    return True


def _put(partition: Partition, put: Action) -> None:
    """Put an item, with the user's own where this is their first. Raises Cancelled if the item's condition fails."""
    whole = partition
    while True:
        partition = whole.within(WRITE_SECONDS)
        read = partition.deadline.clock.monotonic()
        user = partition.user_item(USER)
        if not partition.admit(user):
            users.finish_forgetting(partition)
            continue
        actions = [put] if user is not None else [put, users.creation(partition)]
        try:
            run(partition.tables, partition.key, actions, partition.deadline)
        except Cancelled as cancelled:
            if cancelled.reasons[0] is not None:
                raise
        else:
            users.keep_known(partition, read)
            return


def remove_session(partition: Partition, id: str) -> bool:
    """Remove a session. False when there is none."""
    key = keys.session(id)
    request = {
        "TableName": partition.tables.memory,
        "Key": {"u": {"S": partition.key}, "k": {"S": key}},
        "ReturnValues": "ALL_OLD",
    }
    return bool(partition.tables.call("delete_item", request, partition.deadline).get("Attributes"))


def read_imports(partition: Partition) -> list[Import]:
    """All imports, the latest begun first, then by id."""
    imports = [import_from_image(text(item, "image")) for item in partition.under(keys.IMPORTS)]
    return sorted(imports, key=lambda each: (-to_micros(each.started_at), each.id))


def put_import(partition: Partition, record: Import) -> None:
    """Write an import, in place of the one of its id."""
    key = keys.import_(record.id)
    item: Item = {"u": partition.key, "k": key, "image": import_to_image(record)}
    _put(partition, Action(key, put=item))
