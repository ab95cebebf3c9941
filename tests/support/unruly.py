"""A client of DynamoDB that misbehaves as it is told: refuses, loses answers, leaves things undone."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from steeltrap.stores.dynamodb.client import Connect

Fault = Callable[[Callable[..., Any], dict[str, Any]], Any]
"""A fault in place of a request: given how to make it, and its arguments."""


def refused(code: str, status: int = 400) -> Fault:
    """DynamoDB refuses the request."""

    def fault(call: Callable[..., Any], request: dict[str, Any]) -> Any:
        answer = {"Error": {"Code": code, "Message": ""}, "ResponseMetadata": {"HTTPStatusCode": status}}
        raise ClientError(answer, "")  # type: ignore[arg-type]

    return fault


def conflicting(call: Callable[..., Any], request: dict[str, Any]) -> Any:
    """Another transaction is at the item of the first action."""
    others = [{"Code": "None"} for _ in request["TransactItems"][1:]]
    answer = {
        "Error": {"Code": "TransactionCanceledException", "Message": ""},
        "ResponseMetadata": {"HTTPStatusCode": 400},
        "CancellationReasons": [{"Code": "TransactionConflict"}, *others],
    }
    raise ClientError(answer, "TransactWriteItems")  # type: ignore[arg-type]


def down(call: Callable[..., Any], request: dict[str, Any]) -> Any:
    """Nothing answers."""
    raise EndpointConnectionError(endpoint_url="http://nowhere")


def raising(error: Callable[[], Exception]) -> Fault:
    """The client raises what `error` makes, each time."""

    def fault(call: Callable[..., Any], request: dict[str, Any]) -> Any:
        raise error()

    return fault


def unheard(call: Callable[..., Any], request: dict[str, Any]) -> Any:
    """The request is done and its answer is lost."""
    call(**request)
    raise ReadTimeoutError(endpoint_url="http://nowhere")


def halved(call: Callable[..., Any], request: dict[str, Any]) -> Any:
    """Only the first half of a batch is done; the rest comes back as not processed."""
    [(table, asked)] = request["RequestItems"].items()
    some = asked["Keys"] if isinstance(asked, dict) else asked
    half = -(-len(some) // 2)

    def part(of: Any) -> Any:
        return {table: {**asked, "Keys": of} if isinstance(asked, dict) else of}

    answer = call(RequestItems=part(some[:half]))
    left = "UnprocessedKeys" if isinstance(asked, dict) else "UnprocessedItems"
    return {**answer, left: part(some[half:]) if some[half:] else {}}


def nothing_done(call: Callable[..., Any], request: dict[str, Any]) -> Any:
    """Nothing of a batch is done."""
    [(_, asked)] = request["RequestItems"].items()
    if isinstance(asked, dict):
        return {"Responses": {}, "UnprocessedKeys": request["RequestItems"]}
    return {"UnprocessedItems": request["RequestItems"]}


class Unruly:
    """Makes clients. `faults` has, for an operation, what happens to its next requests (None: nothing unusual);
    `always` what happens to all of them, to those of "*" too. `asked` counts requests by operation, and `before`
    is called before each."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self.faults: dict[str, list[Fault | None]] = {}
        self.always: dict[str, Fault] = {}
        self.asked: Counter[str] = Counter()
        self.before: Callable[[str, dict[str, Any]], None] = lambda operation, request: None
        self._lock = threading.Lock()

    def __call__(self, seconds: float) -> Any:
        return _Client(self._connect(seconds), self)

    def request(self, client: Any, operation: str, request: dict[str, Any]) -> Any:
        with self._lock:
            self.asked[operation] += 1
            waiting = self.faults.get(operation, [])
            fault = waiting.pop(0) if waiting else self.always.get(operation, self.always.get("*"))
        self.before(operation, request)
        call = getattr(client, operation)
        return call(**request) if fault is None else fault(call, request)


class _Client:
    def __init__(self, client: Any, unruly: Unruly) -> None:
        self._client = client
        self._unruly = unruly

    def __getattr__(self, name: str) -> Any:
        if name in ("close", "create_table", "delete_table", "get_waiter", "update_time_to_live"):
            return getattr(self._client, name)
        return lambda **request: self._unruly.request(self._client, name, request)
