"""The sessions that were begun by name, and the imports."""

from ....model import Import, Session, from_micros, to_micros
from ....record import import_from_image, import_to_image
from ..client.table import Cancelled
from ..client.transaction import Action, run
from ..layout import keys
from ..layout.filters import of_import
from ..layout.tables import CREATED
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
    try:
        _put(partition, put)
    except Cancelled:
        return False
    return True


def _put(partition: Partition, put: Action) -> None:
    """Put an item, with the user's own where this is their first. Raises Cancelled if the item's condition fails."""
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
                raise
        else:
            return


def remove(partition: Partition, id: str) -> bool:
    """Remove a session. False when there is none."""
    key = keys.session(id)
    request = {
        "TableName": partition.tables.memory,
        "Key": {"u": {"S": partition.key}, "k": {"S": key}},
        "ReturnValues": "ALL_OLD",
    }
    return bool(partition.tables.call("delete_item", request, partition.deadline).get("Attributes"))


def imports(partition: Partition) -> list[Import]:
    """All imports, the latest begun first, then by id."""
    found = [import_from_image(text(item, "image")) for item in partition.under(keys.IMPORTS)]
    return sorted(found, key=lambda each: (-to_micros(each.started_at), each.id))


def put_import(partition: Partition, given: Import) -> None:
    """Write an import, in place of the one of its id."""
    key = keys.import_(given.id)
    item: Item = {"u": partition.key, "k": key, "image": import_to_image(given)}
    _put(partition, Action(key, put=item))


def brought_by(partition: Partition, import_id: str) -> list[str]:
    """The ids of the memories and turns of an import. The index by creation has the deleted ones too."""
    found = partition.items(
        "listed >= :first",
        {":first": " ", ":import": of_import(import_id)},
        IndexName=CREATED,
        FilterExpression="contains(#facts, :import)",
        ExpressionAttributeNames={"#facts": "facts"},
        ProjectionExpression="k",
    )
    return [keys.id_of(text(item, "k")) for item in found]
