"""Transactions: all of their writes happen, or none."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from ....ports import Deadline
from ..layout import items
from ..layout.typed import Attributes, Item, Value, to_attributes
from .table import Cancelled, Tables

MOST_ACTIONS: Final = 100
MOST_BYTES: Final = 3_500_000
"""Below DynamoDB's 4 MB, because it counts some bytes differently."""


class ChangedSinceRead(Exception):
    """An item changed after it was read: read again and retry."""


@dataclass(frozen=True, slots=True)
class Action:
    """One conditional write to one item.

    `put` replaces the whole item; `set` and `remove` change attributes; with none of them, only the condition is
    checked. `own` says that no other writer writes the same values.
    """

    key: str
    condition: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    put: Item | None = None
    set: Mapping[str, Value] = field(default_factory=dict)
    remove: Sequence[str] = ()
    table: str | None = None
    own: bool = False

    @property
    def size(self) -> int:
        """Approximate number of bytes."""
        return items.size(dict(self.put or self.set)) + 200

    def is_applied(self, there: Item | None) -> bool:
        """Whether the item is as this write leaves it, because an earlier attempt succeeded and its answer got lost."""
        if there is None:
            return False
        if self.put is not None:
            return there == self.put
        return bool(self.set) and all(there.get(name) == value for name, value in self.set.items())


def run(tables: Tables, user: str, actions: Sequence[Action], deadline: Deadline) -> None:
    """Write all of the actions or none. Raises Cancelled with the reason of each, SteeltrapError."""
    if len(actions) == 1 and (actions[0].put is not None or actions[0].set or actions[0].remove):
        operation, request = _single(tables, user, actions[0])
    else:
        requests = [_in_transaction(tables, user, action) for action in actions]
        operation = "transact_write_items"
        request = {"TransactItems": requests, "ClientRequestToken": str(uuid4())}
    try:
        tables.call(operation, request, deadline)
    except Cancelled as cancelled:
        if not _was_done(actions, cancelled):
            raise


def _was_done(actions: Sequence[Action], cancelled: Cancelled) -> bool:
    """Whether an earlier attempt wrote all of this, and only its answer got lost."""
    own = [pair for pair in zip(actions, cancelled.reasons, strict=True) if pair[0].own]
    return bool(own) and all(reason is not None and action.is_applied(reason[1]) for action, reason in own)


def groups(actions: Iterable[Action]) -> Iterator[list[Action]]:
    """The actions in groups that one transaction can hold."""
    group: list[Action] = []
    size = 0
    for action in actions:
        if group and (len(group) == MOST_ACTIONS or size + action.size > MOST_BYTES):
            yield group
            group, size = [], 0
        group.append(action)
        size += action.size
    if group:
        yield group


def _single(tables: Tables, user: str, action: Action) -> tuple[str, Attributes]:
    kind, request = next(iter(_in_transaction(tables, user, action).items()))
    return {"Put": "put_item", "Update": "update_item"}[kind], request


def _in_transaction(tables: Tables, user: str, action: Action) -> Attributes:
    request: Attributes = {"TableName": action.table or tables.memory}
    values = dict(action.values)
    names: dict[str, str] = {}
    if action.put is not None:
        kind = "Put"
        request["Item"] = to_attributes(action.put)
    else:
        request["Key"] = to_attributes({"u": user, "k": action.key})
        kind = "Update" if action.set or action.remove else "ConditionCheck"
        if kind == "Update":
            request["UpdateExpression"] = _update(action, names, values)
    if action.condition:
        request["ConditionExpression"] = action.condition
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        names |= {name: name[1:] for name in _placeholders(action.condition)}
    if names:
        request["ExpressionAttributeNames"] = names
    if values:
        request["ExpressionAttributeValues"] = to_attributes(values)
    return {kind: request}


def _update(action: Action, names: dict[str, str], values: dict[str, Value]) -> str:
    parts = []
    if action.set:
        names |= {f"#{name}": name for name in action.set}
        values |= {f":set_{name}": value for name, value in action.set.items()}
        parts.append("SET " + ", ".join(f"#{name} = :set_{name}" for name in action.set))
    if action.remove:
        names |= {f"#{name}": name for name in action.remove}
        parts.append("REMOVE " + ", ".join(f"#{name}" for name in action.remove))
    return " ".join(parts)


def _placeholders(condition: str) -> set[str]:
    """The names in a condition: each is written as "#name"."""
    return {word.strip("(),") for word in condition.replace("(", " ").split() if word.startswith("#")}
