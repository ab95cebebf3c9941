"""Requests to DynamoDB: deadlines, repeats, transactions, and the one map of foreign errors."""

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import Any, Final, TypeVar
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from ...aws_client import DYNAMODB_THROTTLED, DYNAMODB_TRANSIENT, code_of, fix_hint, is_transient, status_of
from ...errors import Internal, SteeltrapError, Throttled, TooLarge, Unavailable
from ...ports import Clock, Deadline
from . import items
from .items import Attributes, Item, Value, from_attributes, text, to_attributes

_log = logging.getLogger("steeltrap")

_BUSY: Final = "The memory store is busy; try again."
_SILENT = "The memory store does not answer; try again."
_MISCONFIGURED = "The memory store can't be reached with these settings: fix {what}; the log has the cause."

THROTTLED: Final = DYNAMODB_THROTTLED
BUSY: Final = DYNAMODB_TRANSIENT | {
    "TransactionConflict",
    "TransactionInProgressException",
    "LimitExceededException",
}
"""Codes of what may pass in a moment. A conflict is another transaction over one of the same items."""
FULL: Final = frozenset({"ItemCollectionSizeLimitExceededException", "ItemCollectionSizeLimitExceeded"})
PERMANENT: Final = {
    "ResourceNotFoundException": "the table",
    "AccessDeniedException": "the permissions",
    "UnrecognizedClientException": "the credentials",
    "InvalidClientTokenId": "the credentials",
    "InvalidSignatureException": "the credentials or the clock",
    "IncompleteSignatureException": "the credentials",
    "MissingAuthenticationTokenException": "the credentials",
    "ExpiredTokenException": "the credentials",
    "RequestExpired": "the clock",
    "OptInRequired": "the account",
    "KMSAccessDeniedException": "the permissions",
}
MISTAKES: Final = frozenset(
    {"ValidationException", "ValidationError", "IdempotentParameterMismatchException", "SerializationException"}
)
"""Codes that only a mistake in this adapter earns."""
ASKED_FOR: Final = frozenset({"ConditionalCheckFailedException", "TransactionCanceledException"})
"""The answers that writes reckon with; whoever asks looks at them first."""


def codes_of(error: Exception) -> set[str]:
    """The codes that say why: of a cancelled transaction those of its actions."""
    reasons = {str(reason["Code"]) for reason in cancelled(error) if reason.get("Code") not in (None, "None")}
    return reasons or {code_of(error)}


def may_pass(error: Exception) -> bool:
    """Whether the same request may succeed in a moment."""
    if not code_of(error):
        return is_transient(error)
    return status_of(error) >= 500 or codes_of(error) <= THROTTLED | BUSY


def translate(error: Exception) -> SteeltrapError:
    """The error of ours that stands for one of botocore's or DynamoDB's."""
    codes = codes_of(error)
    if codes <= THROTTLED:
        return Throttled("The memory store is throttled; try again in a second.", retry_after=1, part="store")
    if codes & FULL:
        return TooLarge(
            "This user's memories have reached 10 GB, the maximum per user in DynamoDB: forget some of them."
        )
    if may_pass(error):
        return Unavailable(_SILENT, part="store")
    hint = next((PERMANENT[code] for code in codes if code in PERMANENT), None)
    hint = hint or fix_hint(error)
    # DynamoDB's messages may quote values; the codes and the kind are enough to find the place.
    _log.error("the memory store failed: %s %s", type(error).__name__, " ".join(sorted(codes)))
    if hint is not None:
        return Unavailable(_MISCONFIGURED.format(what=hint), retryable=False, part="store")
    return Internal("The memory store failed in an unexpected way; the log has the cause.")


def cancelled(error: Exception) -> list[dict[str, Any]]:
    """Why a transaction was cancelled: a reason for each action, `Code` and perhaps `Item`; [] for other errors."""
    if code_of(error) != "TransactionCanceledException":
        return []
    return list(error.response.get("CancellationReasons", ()))  # type: ignore[attr-defined]


T = TypeVar("T")

Connect = Callable[[float], Any]
"""Makes a client of DynamoDB that gives each request so many seconds, and repeats none."""

READ_SECONDS: Final = 5.0
_PATIENCE: Final = (6.0, 3.0, 1.5, 0.75, 0.25)
"""How long one request may take: the longest of these that leaves some time. Each has a client of its own."""
_SHARE: Final = 0.75
_FIRST_PAUSE: Final = 0.025
_LONGEST_PAUSE: Final = 1.0
_KEYS_AT_ONCE: Final = 100
_PUTS_AT_ONCE: Final = 25


class Cancelled(Exception):
    """A conditional write that did not happen: for each action None, or the code and the item that was there."""

    def __init__(self, reasons: Sequence[tuple[str, Item | None] | None]) -> None:
        super().__init__("cancelled")
        self.reasons = list(reasons)


class Contended(Exception):
    """A transaction that did not happen, because another one was at one of the same items."""


class Tables:
    """The two tables and the clients to them, each made at its first use. Safe for threads."""

    def __init__(
        self, connect: Connect, memory: str, usage: str, clock: Clock, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self.memory = memory
        self.usage = usage
        self._connect = connect
        self._clock = clock
        self._pause = pause
        self._clients: dict[float, Any] = {}
        self._lock = Lock()

    def within(self, seconds: float) -> Deadline:
        """A deadline for what no call waits for."""
        return Deadline.after(seconds, self._clock)

    def call(self, operation: str, request: Attributes, deadline: Deadline) -> Any:
        """One request, repeated while that may help. Raises SteeltrapError, Cancelled, Contended."""
        for pause in pauses():
            seconds_left = deadline.left()
            try:
                return getattr(self._client(seconds_left), operation)(**request)
            except (ClientError, BotoCoreError) as error:
                refused = _refusal(error)
                if refused is not None:
                    raise refused from None
                if not may_pass(error) or pause >= deadline.before():
                    raise translate(error) from error
            self._pause(pause)
        raise AssertionError("pauses never end")

    def get(self, user: str, keys: Iterable[str], names: Sequence[str], deadline: Deadline) -> dict[str, Item]:
        """The items of a user by sort key, read consistently, with these attributes only (none: all)."""
        return self._get(self.memory, user, keys, names, deadline)

    def get_usage(self, user: str, keys: Iterable[str], deadline: Deadline) -> dict[str, Item]:
        """How memories were read, by id."""
        return self._get(self.usage, user, keys, (), deadline)

    def query(self, user: str, condition: str, values: Mapping[str, Value], deadline: Deadline, **options: Any) -> Any:
        """Pages of a user's items, read consistently: `Items`, `Count` of each, as they come."""
        request = {
            "TableName": self.memory,
            "ConsistentRead": True,
            "KeyConditionExpression": f"u = :u AND {condition}",
            "ExpressionAttributeValues": to_attributes({":u": user, **values}),
            **options,
        }
        while True:
            page = self.call("query", request, deadline)
            yield page
            if "LastEvaluatedKey" not in page:
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def items(
        self, user: str, condition: str, values: Mapping[str, Value], deadline: Deadline, **options: Any
    ) -> Iterator[Item]:
        for page in self.query(user, condition, values, deadline, **options):
            yield from map(from_attributes, page["Items"])

    def put_all(self, items: Iterable[Item], deadline: Deadline) -> None:
        """Write items without a condition, in batches; what DynamoDB leaves undone is repeated."""
        self._write_all(self.memory, ({"PutRequest": {"Item": to_attributes(item)}} for item in items), deadline)

    def delete_all(self, user: str, keys: Iterable[str], deadline: Deadline) -> None:
        """Delete items without a condition, in batches."""
        self._write_all(self.memory, _deletions(user, keys), deadline)

    def usage_items(self, user: str, deadline: Deadline) -> Iterator[Item]:
        """How all of a user's memories were read."""
        return self.items(user, "k > :first", {":first": " "}, deadline, TableName=self.usage)

    def delete_usage(self, user: str, ids: Iterable[str], deadline: Deadline) -> None:
        """Remove how memories were read."""
        self._write_all(self.usage, _deletions(user, ids), deadline)

    def _write_all(self, table: str, requests: Iterator[Attributes], deadline: Deadline) -> None:
        while block := list(islice(requests, _PUTS_AT_ONCE)):
            waits = pauses()
            while block:
                answer = self.call("batch_write_item", {"RequestItems": {table: block}}, deadline)
                block = answer.get("UnprocessedItems", {}).get(table, [])
                if block:
                    self.wait(next(waits), deadline)

    def _get(
        self, table: str, user: str, keys: Iterable[str], names: Sequence[str], deadline: Deadline
    ) -> dict[str, Item]:
        pending_keys = iter(dict.fromkeys(keys))
        items_by_key: dict[str, Item] = {}
        while block := list(islice(pending_keys, _KEYS_AT_ONCE)):
            request: Attributes = {
                "Keys": [to_attributes({"u": user, "k": key}) for key in block],
                "ConsistentRead": True,
            }
            if names:
                # "#n" stands for a name: many are reserved words.
                request["ProjectionExpression"] = ", ".join(f"#{i}" for i in range(len(names)))
                request["ExpressionAttributeNames"] = {f"#{i}": name for i, name in enumerate(names)}
            waits = pauses()
            while request:
                page = self.call("batch_get_item", {"RequestItems": {table: request}}, deadline)
                for item in map(from_attributes, page["Responses"].get(table, ())):
                    items_by_key[text(item, "k")] = item
                request = page.get("UnprocessedKeys", {}).get(table, {})
                if request:
                    self.wait(next(waits), deadline)
        return items_by_key

    def wait(self, pause: float, deadline: Deadline, *, why: str = _BUSY) -> None:
        """Wait, if the deadline allows it. Raises Unavailable, which says why, where it doesn't."""
        if pause >= deadline.left():
            raise Unavailable(why, part="store")
        self._pause(pause)

    def load(self) -> None:
        """Make every client now. Nothing is asked of DynamoDB."""
        for patience in _PATIENCE:
            self._client(patience / _SHARE)

    def _client(self, seconds_left: float) -> Any:
        patience = next((seconds for seconds in _PATIENCE if seconds <= _SHARE * seconds_left), _PATIENCE[-1])
        with self._lock:
            client = self._clients.get(patience)
            if client is None:
                client = self._clients[patience] = self._connect(patience)
        return client

    def close(self) -> None:
        """Let go of connections."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()


def _deletions(user: str, keys: Iterable[str]) -> Iterator[Attributes]:
    return ({"DeleteRequest": {"Key": to_attributes({"u": user, "k": key})}} for key in dict.fromkeys(keys))


def pauses() -> Iterator[float]:
    """Seconds to wait before each next attempt."""
    longest = _FIRST_PAUSE
    while True:
        # Full jitter: those who met once must not meet again.
        yield random.uniform(0, longest)
        longest = min(2 * longest, _LONGEST_PAUSE)


def _refusal(error: Exception) -> Cancelled | Contended | None:
    """The refusal that a condition means, or another transaction; None for any other failure."""
    if code_of(error) == "ConditionalCheckFailedException":
        item = error.response.get("Item")  # type: ignore[attr-defined]
        return Cancelled([("ConditionalCheckFailed", from_attributes(item) if item else None)])
    reasons = cancelled(error)
    if reasons and codes_of(error) == {"TransactionConflict"}:
        return Contended()
    if not any(reason.get("Code") == "ConditionalCheckFailed" for reason in reasons):
        return None
    return Cancelled(
        [
            (reason["Code"], from_attributes(reason["Item"]) if reason.get("Item") else None)
            if reason.get("Code") == "ConditionalCheckFailed"
            else None
            for reason in reasons
        ]
    )


MOST_ACTIONS: Final = 100
MOST_BYTES: Final = 3_500_000
"""Below DynamoDB's 4 MB, because it counts some bytes differently."""


class ChangedSinceRead(Exception):
    """An item changed after it was read: read again and retry."""


@dataclass(frozen=True, slots=True)
class Action:
    """One conditional write to one item.

    `put` replaces the whole item; `set` and `remove` change attributes; `delete` removes it; with none of them, only
    the condition is checked. `own` says that no other writer writes the same values.
    """

    key: str
    condition: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    put: Item | None = None
    set: Mapping[str, Value] = field(default_factory=dict)
    remove: Sequence[str] = ()
    table: str | None = None
    own: bool = False
    delete: bool = False
    replaced_bytes: int = 0
    """The most that the item has that it replaces or removes. DynamoDB doesn't say whether the limit of a transaction
    counts it."""

    @classmethod
    def on(
        cls,
        item: Item,
        *,
        put: Item | None = None,
        set: Mapping[str, Value] | None = None,
        remove: Sequence[str] = (),
        own: bool = False,
    ) -> "Action":
        """A write to an item as it was read: refused where another writer came between."""
        return cls(text(item, "k"), "#w = :seen", {":seen": item["w"]}, put=put, set=set or {}, remove=remove, own=own)

    @property
    def size(self) -> int:
        """Approximate number of bytes."""
        return items.size(dict(self.put or self.set)) + self.replaced_bytes + 200

    def is_applied(self, item: Item | None) -> bool:
        """Whether the item is as this write leaves it, because an earlier attempt succeeded and its answer got lost."""
        if item is None:
            return False
        if self.put is not None:
            return item == self.put
        return bool(self.set) and all(item.get(name) == value for name, value in self.set.items())


def run(tables: Tables, user: str, actions: Sequence[Action], deadline: Deadline, *, gives_way: bool = False) -> None:
    """Write all of the actions or none. Where another transaction is at one of the same items, it is tried again, or
    with `gives_way` refused. Raises Cancelled with the reason of each, Contended, SteeltrapError."""
    if len(actions) == 1 and (actions[0].put is not None or actions[0].set or actions[0].remove):
        operation, request = _single(tables, user, actions[0])
    else:
        requests = [_in_transaction(tables, user, action) for action in actions]
        operation = "transact_write_items"
        request = {"TransactItems": requests, "ClientRequestToken": str(uuid4())}
    waits = pauses()
    while True:
        try:
            tables.call(operation, request, deadline)
        except Cancelled as cancelled:
            if not _was_done(actions, cancelled):
                raise
        except Contended:
            if gives_way:
                raise
            tables.wait(next(waits), deadline)
            continue
        return


def _was_done(actions: Sequence[Action], cancelled: Cancelled) -> bool:
    """Whether an earlier attempt wrote all of this, and only its answer got lost."""
    own = [pair for pair in zip(actions, cancelled.reasons, strict=True) if pair[0].own]
    return bool(own) and all(reason is not None and action.is_applied(reason[1]) for action, reason in own)


def groups(actions: Iterable[Action], *, beside: int = 0) -> Iterator[list[Action]]:
    """The actions in groups that one transaction can hold, `beside` so many other ones."""
    group: list[Action] = []
    size = 0
    for action in actions:
        if group and (len(group) == MOST_ACTIONS - beside or size + action.size > MOST_BYTES):
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
        kind = "Delete" if action.delete else "Update" if action.set or action.remove else "ConditionCheck"
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
