"""Requests to DynamoDB: within a deadline, repeated with jitter where that helps, errors translated."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import Any, Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from ....errors import Unavailable
from ....ports import Clock, Deadline
from ...aws_client import code_of
from ..layout.typed import Attributes, Item, Value, from_attributes, text, to_attributes
from . import errors

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
        """One request, repeated while that may help. Raises SteeltrapError, Cancelled."""
        for pause in _pauses():
            left = deadline.left()
            try:
                return getattr(self._client(left), operation)(**request)
            except (ClientError, BotoCoreError) as error:
                refused = _refusal(error)
                if refused is not None:
                    raise refused from None
                if not errors.may_pass(error) or pause >= deadline.before():
                    raise errors.translate(error) from error
            self._pause(pause)
        raise AssertionError("pauses never end")

    def get(self, user: str, keys: Iterable[str], names: Sequence[str], deadline: Deadline) -> dict[str, Item]:
        """The items of a user by sort key, read consistently, with these attributes only (none: all)."""
        return self._get(self.memory, user, keys, names, deadline)

    def get_usage(self, user: str, keys: Iterable[str], deadline: Deadline) -> dict[str, Item]:
        """How memories were read, by id."""
        return self._get(self.usage, user, keys, (), deadline)

    def query(self, user: str, condition: str, values: Mapping[str, Value], deadline: Deadline, **how: Any) -> Any:
        """Pages of a user's items, read consistently: `Items`, `Count` of each, as they come."""
        request = {
            "TableName": self.memory,
            "ConsistentRead": True,
            "KeyConditionExpression": f"u = :u AND {condition}",
            "ExpressionAttributeValues": to_attributes({":u": user, **values}),
            **how,
        }
        while True:
            page = self.call("query", request, deadline)
            yield page
            if "LastEvaluatedKey" not in page:
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def items(
        self, user: str, condition: str, values: Mapping[str, Value], deadline: Deadline, **how: Any
    ) -> Iterator[Item]:
        """The items of `query`, one by one."""
        for page in self.query(user, condition, values, deadline, **how):
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
        while some := list(islice(requests, _PUTS_AT_ONCE)):
            pauses = _pauses()
            while some:
                done = self.call("batch_write_item", {"RequestItems": {table: some}}, deadline)
                some = done.get("UnprocessedItems", {}).get(table, [])
                if some:
                    self._wait(next(pauses), deadline)

    def _get(
        self, table: str, user: str, keys: Iterable[str], names: Sequence[str], deadline: Deadline
    ) -> dict[str, Item]:
        wanted = iter(dict.fromkeys(keys))
        found: dict[str, Item] = {}
        while some := list(islice(wanted, _KEYS_AT_ONCE)):
            asked: Attributes = {"Keys": [to_attributes({"u": user, "k": key}) for key in some], "ConsistentRead": True}
            if names:
                # "#n" stands for a name: many are reserved words.
                asked["ProjectionExpression"] = ", ".join(f"#{i}" for i in range(len(names)))
                asked["ExpressionAttributeNames"] = {f"#{i}": name for i, name in enumerate(names)}
            pauses = _pauses()
            while asked:
                page = self.call("batch_get_item", {"RequestItems": {table: asked}}, deadline)
                for item in map(from_attributes, page["Responses"].get(table, ())):
                    found[text(item, "k")] = item
                asked = page.get("UnprocessedKeys", {}).get(table, {})
                if asked:
                    self._wait(next(pauses), deadline)
        return found

    def _wait(self, pause: float, deadline: Deadline) -> None:
        if pause >= deadline.left():
            raise Unavailable("The memory store is busy; try again.", part="store")
        self._pause(pause)

    def load(self) -> None:
        """Make every client now. Nothing is asked of DynamoDB."""
        for patience in _PATIENCE:
            self._client(patience / _SHARE)

    def _client(self, left: float) -> Any:
        patience = next((seconds for seconds in _PATIENCE if seconds <= _SHARE * left), _PATIENCE[-1])
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


def _pauses() -> Iterator[float]:
    longest = _FIRST_PAUSE
    while True:
        # Full jitter: those who met once must not meet again.
        yield random.uniform(0, longest)
        longest = min(2 * longest, _LONGEST_PAUSE)


def _refusal(error: Exception) -> Cancelled | None:
    """What a condition said; None for any other failure."""
    if code_of(error) == "ConditionalCheckFailedException":
        there = error.response.get("Item")  # type: ignore[attr-defined]
        return Cancelled([("ConditionalCheckFailed", from_attributes(there) if there else None)])
    reasons = errors.cancelled(error)
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
