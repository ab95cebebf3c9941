"""The sessions that were begun by name."""

from ....model import Session, from_micros, to_micros
from ..client.table import Cancelled
from ..client.transaction import Action, run
from ..layout import keys
from ..layout.typed import Item, number, text
from ..reads.partition import USER, Partition
from . import users


def read(partition: Partition) -> list[Session]:
    """All sessions, oldest first, then by id."""
    found = [
        Session(id=text(item, "k")[len(keys.SESSIONS) :], created_at=from_micros(number(item, "created_at")))
        for item in partition.under(keys.SESSIONS)
    ]
    return sorted(found, key=lambda session: (session.created_at, session.id))


def add(partition: Partition, session: Session) -> bool:
    """Add a session, unless its id is there."""
    item: Item = {"u": partition.key, "k": keys.session(session.id), "created_at": to_micros(session.created_at)}
    put = Action(keys.session(session.id), "attribute_not_exists(#k)", put=item)
    while True:
        user = partition.tables.get(partition.key, [keys.USER], USER, partition.deadline).get(keys.USER)
        if not partition.admit(user):
            users.finish_forgetting(partition)
            continue
        actions = [put] if user is not None else [put, users.creation(partition)]
        try:
            run(partition.tables, partition.key, actions, partition.deadline)
        except Cancelled as cancelled:
            if cancelled.reasons[0] is not None:
                return False
        else:
            return True


def remove(partition: Partition, id: str) -> bool:
    """Remove a session. False when there is none."""
    key = keys.session(id)
    request = {
        "TableName": partition.tables.memory,
        "Key": {"u": {"S": partition.key}, "k": {"S": key}},
        "ReturnValues": "ALL_OLD",
    }
    return bool(partition.tables.call("delete_item", request, partition.deadline).get("Attributes"))
