"""The user's own item: who it is, and which embedder made the vectors. And counters and levels."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

from ...errors import SteeltrapError
from ...model import UserRef, from_micros, to_micros
from ...ports import TOMBSTONE_SECONDS, Amount, Levels
from ...text.words import WORDS_VERSION
from . import items, keys
from .client import Action, Cancelled, Tables, run
from .items import Item, Value, from_attributes, number, text, to_attributes
from .partition import Partition, require_here

_SECONDS: Final = 1.0
"""How long a call waits for its counter at most."""
_AMOUNT_LIVES: Final = timedelta(days=1)
_AMOUNT: Final = "amount"


class DynamoCounters:
    """One item for each minute in which a user calls, one for the amount. They are in a partition of their own, so
    that what is counted never looks like something that the user has."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def count_call(self, user: UserRef, minute: int) -> int:
        answer = self._update(
            user,
            f"calls#{minute}",
            UpdateExpression="ADD calls :one SET #ttl = :ttl",
            ExpressionAttributeNames={"#ttl": "ttl"},
            ExpressionAttributeValues=to_attributes({":one": 1, ":ttl": 60 * (minute + 2)}),
            ReturnValues="UPDATED_NEW",
        )
        return number(from_attributes(answer["Attributes"]), "calls")

    def amount(self, user: UserRef) -> Amount | None:
        item = self._tables.get_usage(counter_key(user.key), [_AMOUNT], self._tables.within(_SECONDS)).get(_AMOUNT)
        if item is None:
            return None
        measured_at = from_micros(number(item, "measured_at"))
        return Amount(memories=number(item, "memories"), bytes=number(item, "bytes"), measured_at=measured_at)

    def set_amount(self, user: UserRef, amount: Amount) -> None:
        ends = amount.measured_at + _AMOUNT_LIVES
        values: Mapping[str, Value] = {
            ":memories": amount.memories,
            ":bytes": amount.bytes,
            ":measured_at": to_micros(amount.measured_at),
            ":ttl": int(ends.timestamp()),
        }
        self._update(
            user,
            _AMOUNT,
            UpdateExpression="SET memories = :memories, #bytes = :bytes, measured_at = :measured_at, #ttl = :ttl",
            ExpressionAttributeNames={"#bytes": "bytes", "#ttl": "ttl"},
            ExpressionAttributeValues=to_attributes(values),
        )

    def add_amount(self, user: UserRef, *, memories: int, bytes: int) -> None:
        with suppress(Cancelled):
            self._update(
                user,
                _AMOUNT,
                UpdateExpression="ADD memories :memories, #bytes :bytes",
                ConditionExpression="attribute_exists(measured_at)",
                ExpressionAttributeNames={"#bytes": "bytes"},
                ExpressionAttributeValues=to_attributes({":memories": memories, ":bytes": bytes}),
            )

    def _update(self, user: UserRef, key: str, **options: Any) -> Any:
        request = {
            "TableName": self._tables.usage,
            "Key": to_attributes({"u": counter_key(user.key), "k": key}),
            **options,
        }
        return self._tables.call("update_item", request, self._tables.within(_SECONDS))


def counter_key(user: str) -> str:
    """The partition of a user's counters."""
    return f"counters#{user}"


PARTITION: Final = "levels"


class DynamoLevels:
    """Levels that all functions of a stage share. Two that learn at once write the same."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def read(self, key: str) -> Levels | None:
        item = self._tables.get_usage(PARTITION, [key], self._tables.within(_SECONDS)).get(key)
        if item is None:
            return None
        try:
            return Levels(**json.loads(text(item, "levels")))
        except (TypeError, ValueError):  # another version wrote it
            return None

    def write(self, key: str, levels: Levels) -> None:
        request = {
            "TableName": self._tables.usage,
            "Key": to_attributes({"u": PARTITION, "k": key}),
            "UpdateExpression": "SET #levels = :levels",
            "ExpressionAttributeNames": {"#levels": "levels"},
            "ExpressionAttributeValues": to_attributes({":levels": json.dumps(asdict(levels))}),
        }
        self._tables.call("update_item", request, self._tables.within(_SECONDS))


_BLOCK: Final = 100


def creation(partition: Partition) -> Action:
    """Make the user's own item; refused when it is there."""
    item: Item = {
        "u": partition.key,
        "k": keys.USER,
        "w": keys.LAST_WRITE,
        "everyone": keys.HERE,
        "user_id": partition.user.user_id,
        "tenant": partition.user.tenant,
        "embedder": partition.embedder,
        "dimension": partition.dimension,
        "analysis": WORDS_VERSION,
        "purges": 0,
        "speakers": frozenset({""}),
    }
    return Action(keys.USER, "attribute_not_exists(#k)", put=item)


def unpurged(user: Item) -> Action:
    """Check that nothing was purged since the user's item was read."""
    return Action(keys.USER, "#purges = :purges", {":purges": user["purges"]})


def count_purge(partition: Partition) -> Item | None:
    """Let writes that began before know of a purge; the user's own item after it. None when there is no such user.

    Raises Unavailable for one whose memories were moved away.
    """
    request: Any = {
        "TableName": partition.tables.memory,
        "Key": {"u": {"S": partition.key}, "k": {"S": keys.USER}},
        "UpdateExpression": "SET purges = purges + :one",
        "ConditionExpression": "attribute_exists(k)",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
        "ReturnValues": "ALL_NEW",
    }
    try:
        user = from_attributes(partition.tables.call("update_item", request, partition.deadline)["Attributes"])
    except Cancelled:
        return count_purge(partition) if recreate(partition) else None
    require_here(user)
    return user


def recreate(partition: Partition) -> bool:
    """Make the item of a user of whom something is there without it. False when there is nothing.

    Of a write and a forgetting that meet, the write may come last and leave that; the next commit makes it, too.
    """
    if not _is_left(partition):
        return False
    with suppress(Cancelled):
        run(partition.tables, partition.key, [creation(partition)], partition.deadline)
    return True


def forget(partition: Partition) -> bool:
    """Remove everything of a user. False when there was nothing.

    Nothing of it is read from the first moment on; whoever writes meanwhile finishes the forgetting first. Raises
    Unavailable for one whose memories are being moved elsewhere: they would be forgotten here only.
    """
    forget_counters(partition)
    condition = "attribute_exists(#k) AND (attribute_not_exists(#moved_to) OR #everyone = :moved)"
    mark = Action(keys.USER, condition, {":moved": keys.MOVED}, set={"forgetting": 1})
    try:
        run(partition.tables, partition.key, [mark], partition.deadline)
    except Cancelled as cancelled:
        [reason] = cancelled.reasons
        require_here(reason and reason[1])
        return recreate(partition) and forget(partition)
    finish_forgetting(partition)
    return True


def forget_counters(partition: Partition) -> None:
    """Remove a user's counters, which exist even if the user saved nothing."""
    counter_partition = counter_key(partition.key)
    counter_keys = [text(item, "k") for item in partition.tables.usage_items(counter_partition, partition.deadline)]
    partition.tables.delete_usage(counter_partition, counter_keys, partition.deadline)


def finish_forgetting(partition: Partition) -> None:
    """Remove all items of a user whose forgetting was begun; the user's own is the last, unless another call has
    finished it and the user came back, or was moved, since."""
    tables, user = partition.tables, partition.key
    ttl = partition.now() // 1_000_000 + TOMBSTONE_SECONDS
    obsolete_keys: list[str] = []
    projection = {"ProjectionExpression": "k, w, made, gone"}
    for item in tables.items(user, "k >= :first", {":first": " "}, partition.deadline, **projection):
        key = text(item, "k")
        if key.startswith(keys.MEMORIES):
            _replace_by_tombstone(partition, item, ttl)
        elif key != keys.USER:
            obsolete_keys.append(key)
        if len(obsolete_keys) >= _BLOCK:
            tables.delete_all(user, obsolete_keys, partition.deadline)
            obsolete_keys.clear()
    tables.delete_all(user, obsolete_keys, partition.deadline)
    forget_usage(partition)
    with suppress(Cancelled):
        last = Action(keys.USER, "attribute_exists(#forgetting)", delete=True)
        run(tables, user, [last], partition.deadline)


def forget_usage(partition: Partition) -> None:
    """Remove how a user's memories were read."""
    usage_keys = [text(item, "k") for item in partition.tables.usage_items(partition.key, partition.deadline)]
    partition.tables.delete_usage(partition.key, usage_keys, partition.deadline)


def _is_left(partition: Partition) -> bool:
    """Whether anything is stored of a user, tombstones aside."""
    tables, user = partition.tables, partition.key
    request = {"ProjectionExpression": "k", "FilterExpression": "attribute_not_exists(gone)"}
    stored_items = tables.items(user, "k >= :first", {":first": " "}, partition.deadline, **request)
    return any(True for _ in stored_items) or any(True for _ in tables.usage_items(user, partition.deadline))


def _replace_by_tombstone(partition: Partition, item: Item, ttl: int) -> None:
    if "gone" in item:
        return
    id = keys.id_of(text(item, "k"))
    w = partition.stamp(number(item, "w"))
    stone = items.tombstone(partition.key, id, w=w, created=number(item, "made"), ttl=ttl)
    partition.tables.put_all([stone], partition.deadline)


def move_embedder(partition: Partition) -> int:
    """Record that the user's vectors are the embedder's of this store, and are being put in place; when that was, in
    microseconds. Raises SteeltrapError."""
    now = partition.now()
    values: Any = {"embedder": partition.embedder, "dimension": partition.dimension, "taking": now}
    action = Action(keys.USER, "attribute_exists(#k) AND attribute_not_exists(#moved_to)", set=values)
    try:
        run(partition.tables, partition.key, [action], partition.deadline)
    except Cancelled as cancelled:
        [reason] = cancelled.reasons
        require_here(reason and reason[1])
        raise SteeltrapError("The user was forgotten in the meantime; nothing is left to re-embed.") from None
    return now


def set_analysis(partition: Partition, version: int) -> None:
    """Record by which version of the analysis all of the user's memories are found. Raises Unavailable for one whose
    memories were moved away."""
    condition = "attribute_exists(#k) AND attribute_not_exists(#moved_to)"
    try:
        action = Action(keys.USER, condition, set={"analysis": version})
        run(partition.tables, partition.key, [action], partition.deadline)
    except Cancelled as cancelled:
        [reason] = cancelled.reasons
        require_here(reason and reason[1])


def end_move(partition: Partition) -> None:
    """Record that all vectors are in place."""
    with suppress(Cancelled):
        action = Action(keys.USER, "attribute_exists(#k)", remove=["taking"])
        run(partition.tables, partition.key, [action], partition.deadline)
