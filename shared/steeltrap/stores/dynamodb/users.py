"""The user's own item: who it is, and which embedder made the vectors. And counters and levels."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import timedelta
from secrets import token_hex
from typing import Any, Final

from ...errors import SteeltrapError
from ...model import UserRef, from_micros, later, to_micros
from ...ports import TOMBSTONE_SECONDS, Amount, Levels
from ...text.words import WORDS_VERSION
from . import items, keys
from .client import Action, Cancelled, Contended, Tables, groups, pauses, run
from .items import Item, Value, from_attributes, number, text, to_attributes
from .partition import Partition, require_here

_SECONDS: Final = 1.0
"""How long a call waits for its counter at most."""
_AMOUNT_LIVES: Final = timedelta(days=1)
_AMOUNT: Final = "amount"
LATE_SECONDS: Final = 1.0
"""A write that takes longer looks once more whether its user was forgotten meanwhile."""
_BEING_FORGOTTEN: Final = "All memories of this user are being forgotten right now; try again in a moment."


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
        ends = later(amount.measured_at, _AMOUNT_LIVES)
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
    """Check that nothing was purged since the user's item was read, and that the user isn't being forgotten."""
    condition = "#purges = :purges AND attribute_not_exists(#forgetting)"
    return Action(keys.USER, condition, {":purges": user["purges"]})


def is_here() -> Action:
    """Check that the user's memories are here, and that the user isn't being forgotten."""
    return Action(
        keys.USER,
        "attribute_exists(#k) AND attribute_not_exists(#forgetting) AND attribute_not_exists(#moved_to)",
    )


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
    mark = Action(keys.USER, condition, {":moved": keys.MOVED}, set={"forgetting": token_hex(8)})
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
    """Remove all items of a user whose forgetting was begun, the user's own last.

    Each transaction checks that this forgetting still goes on. Where another call has finished it, what the user saved
    since stays. Of several calls that do this at once, DynamoDB lets one write: the others wait, and look at what is
    left.
    """
    tables, clock = partition.tables, partition.deadline.clock
    began: dict[Value, float] = {}
    waits = pauses()
    while forgetting := (partition.user_item(("k", "forgetting")) or {}).get("forgetting"):
        ends = began.setdefault(forgetting, clock.monotonic()) + LATE_SECONDS
        is_forgotten = Action(keys.USER, "#forgetting = :forgetting", {":forgetting": forgetting})
        try:
            remove_all(partition, is_forgotten, gives_way=True)
            if (left := ends - clock.monotonic()) > 0:
                tables.wait(left, partition.deadline, why=_BEING_FORGOTTEN)
                remove_all(partition, is_forgotten, gives_way=True)
            last = replace(is_forgotten, delete=True)
            run(tables, partition.key, [last], partition.deadline, gives_way=True)
        except Cancelled:
            continue  # another one has finished it, or goes on
        except Contended:
            tables.wait(next(waits), partition.deadline, why=_BEING_FORGOTTEN)


def keep_known(partition: Partition, read: float) -> None:
    """Make sure that a user to whom something was written is known of, though the user's own item, which was read at a
    time, was not checked with it.

    A forgetting waits for `LATE_SECONDS` for who has read the item before, so only a write that took longer can have
    come too late for it.
    """
    if partition.deadline.clock.monotonic() - read < LATE_SECONDS:
        return
    with suppress(SteeltrapError, Cancelled):  # it is written, whatever comes of this
        user = partition.user_item()
        if user is None:
            run(partition.tables, partition.key, [creation(partition)], partition.deadline)
        elif "forgetting" in user:
            finish_forgetting(partition)


def run_beside(check: Action, actions: Iterable[Action], partition: Partition, *, gives_way: bool = False) -> None:
    """Run actions in transactions, each of which checks the same. Raises Cancelled, Contended."""
    for group in groups(actions, beside=1):
        run(partition.tables, partition.key, [check, *group], partition.deadline, gives_way=gives_way)


def remove_all(partition: Partition, check: Action, *, gives_way: bool = False) -> None:
    """Remove all items of a user but the user's own, in transactions each of which checks the same; tombstones stand
    where memories were. Raises Cancelled where the check fails, Contended."""
    while True:
        try:
            run_beside(check, _removals(partition), partition, gives_way=gives_way)
            return
        except Cancelled as cancelled:
            if cancelled.reasons[0] is not None:
                raise
            # A memory was written after it was listed.


def _removals(partition: Partition) -> Iterator[Action]:
    ttl = partition.now() // 1_000_000 + TOMBSTONE_SECONDS
    for item in partition.items("k >= :first", {":first": " "}, ProjectionExpression="k, w, made, gone"):
        key = text(item, "k")
        if not key.startswith(keys.MEMORIES) and key != keys.USER:
            yield Action(key, delete=True, replaced_bytes=_largest(key))
        elif key != keys.USER and "gone" not in item:
            w, created = partition.stamp(number(item, "w")), number(item, "made")
            stone = items.tombstone(partition.key, keys.id_of(key), w=w, created=created, ttl=ttl)
            # An index takes no tombstone that is older than what it replaces.
            is_newer = "attribute_not_exists(#k) OR #w < :w"
            yield Action(key, is_newer, {":w": w}, put=stone, replaced_bytes=_largest(key))
    for item in partition.tables.usage_items(partition.key, partition.deadline):
        yield Action(text(item, "k"), delete=True, table=partition.tables.usage)


def _largest(key: str) -> int:
    """The number of bytes that the item of a key may have."""
    return items.PIECE if key.startswith(keys.PIECES) else items.IMAGE_INLINE + items.SEARCH_INLINE


def _is_left(partition: Partition) -> bool:
    """Whether anything is stored of a user, tombstones aside."""
    tables, user = partition.tables, partition.key
    request = {"ProjectionExpression": "k", "FilterExpression": "attribute_not_exists(gone)"}
    stored_items = tables.items(user, "k >= :first", {":first": " "}, partition.deadline, **request)
    return any(True for _ in stored_items) or any(True for _ in tables.usage_items(user, partition.deadline))


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
