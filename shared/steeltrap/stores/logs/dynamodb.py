"""Logs whose entries are items of a DynamoDB table, and all else of them is in a bucket.

    table   u = <prefix>/<user's key>, n = 1, 2, 3 ...    e = the entry, or o = the token of its body
                                       n = 0              c = how many calls there were in the minute m
    bucket  u/<key>/o/<n>-<token>    entries too large for an item
            bases, users and the log's id, as `BucketLogs` has them

An item costs a third of what creating an object does, and takes a quarter of the time.
"""

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from secrets import token_hex
from threading import Lock
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from ...aws_client import DYNAMODB_THROTTLED, DYNAMODB_TRANSIENT, code_of, fix_hint, is_transient, kind_of, status_of
from ...errors import StoreUnreachable, Unavailable
from ...model import UserRef
from ..objects import AT_ONCE, Objects
from .bucket import BucketLog, BucketLogs
from .names import LOG_ID, bodies_of, entry_name
from .probing import Fault, Place

_log = logging.getLogger("steeltrap")

_LARGEST_ITEM: Final = 300 * 1024
"""Bytes of an entry in an item, at most. DynamoDB takes 400 KB."""
_GETS_AT_ONCE: Final = 100
_PUTS_AT_ONCE: Final = 25
_CONNECT_SECONDS: Final = 1.0
_READ_SECONDS: Final = 3.0
_ATTEMPTS: Final = 2
_PAUSES: Final = (0.05, 0.1, 0.2, 0.4, 0.8)
"""How long to wait, at most, before what a batch left undone is asked for again."""

_Item = dict[str, Any]


def log_table(name: str) -> dict[str, Any]:
    """The arguments of `create_table` for the table."""
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "u", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
        "AttributeDefinitions": [
            {"AttributeName": "u", "AttributeType": "S"},
            {"AttributeName": "n", "AttributeType": "N"},
        ],
    }


class DynamoLogs(BucketLogs):
    """The logs at `dynamodb://table/prefix?bases=s3://bucket/prefix`; the table's prefix may be left out.

    `options` are botocore's (region, endpoint, credentials). Rights beside the bucket's: dynamodb:PutItem, Query,
    GetItem, BatchGetItem and BatchWriteItem on the table, and UpdateItem where calls are counted.
    """

    def __init__(self, url: str, *, pause: Callable[[float], None] = time.sleep, **options: Any) -> None:
        parts = urlsplit(url)
        bases = parse_qs(parts.query).get("bases", [""])[0]
        if parts.scheme != "dynamodb" or not parts.netloc or not bases:
            raise Unavailable(
                "The store's URL names no table and bucket; write dynamodb://table?bases=s3://bucket/prefix.",
                retryable=False,
                part="store",
            )
        super().__init__(bases)
        self._prefix = parts.path.strip("/")
        self._table = _Table(parts.netloc, options, pause)

    def of(self, user: UserRef) -> "DynamoLog":
        return DynamoLog(self.objects, user, self._table, self._partition(user.key))

    def is_begun(self) -> bool:
        return self.objects.get(LOG_ID) is not None  # the first entries of a log are in the table alone

    def check(self) -> None:
        super().check()
        self._table.put({"u": {"S": self._partition("check")}, "n": {"N": "0"}})

    def count_call(self, user: UserRef, minute: int) -> int:
        """Count a call of a user in a minute, or a later one; the number of calls including it. Raises Unavailable."""
        return self._table.count({"u": {"S": self._partition(user.key)}, "n": {"N": "0"}}, minute)

    def places(self, user: UserRef) -> list[Place]:
        return [*super().places(user), _TablePlace(self._table, self._partition(user.key))]

    def close(self) -> None:
        super().close()
        self._table.close()

    def _partition(self, key: str) -> str:
        return f"{self._prefix}/{key}" if self._prefix else key


class DynamoLog(BucketLog):
    """One user's log. Safe for threads and processes."""

    def __init__(self, objects: Objects, user: UserRef, table: "_Table", partition: str) -> None:
        super().__init__(objects, user)
        self._bodies = bodies_of(user)
        self._table = table
        self._partition = partition

    def create(self, n: int, entry: bytes) -> bool:
        if len(entry) <= _LARGEST_ITEM:
            return self._table.create(self._key(n) | {"e": {"B": entry}})
        body = f"{entry_name(n)}-{token_hex(16)}"
        self._objects.put(self._body(body), entry)
        if self._table.create(self._key(n) | {"o": {"S": body}}):
            return True
        with suppress(Unavailable):  # else the next overwriting does it
            self._objects.delete(self._body(body))
        return False

    def read(self, numbers: Sequence[int]) -> list[bytes | None]:
        items = self._table.get([self._key(n) for n in dict.fromkeys(numbers)])
        entries = dict(zip(items, self._entries_of(list(items.values())), strict=True))
        return [entries.get(n) for n in numbers]

    def read_on(self, n: int, *, are_many: bool = False) -> list[bytes]:
        items: list[_Item] = []
        for item in self._table.query(self._partition, n):
            if int(item["n"]["N"]) != n + len(items):
                break
            items.append(item)
        return self._entries_of(items)

    def overwrite(self, stubs: Mapping[int, bytes]) -> None:
        self._table.put_all([self._key(n) | {"e": {"B": stub}} for n, stub in stubs.items()])
        self._clear_bodies()

    def _clear_bodies(self) -> None:
        """Delete each body of a number that is taken by an entry that isn't in it."""
        for page in self._objects.names(self._bodies):
            numbers = {body: int(number) for body in page if (number := body.partition("-")[0]).isdecimal()}
            items = self._table.get([self._key(n) for n in set(numbers.values())])
            orphans = [
                self._body(body) for body, n in numbers.items() if n in items and items[n].get("o", {}).get("S") != body
            ]
            self._objects.side_by_side(self._objects.delete, orphans)

    def _entries_of(self, items: list[_Item]) -> list[bytes]:
        """The entries of items, in their order, from the bucket where they are large."""
        apart = [at for at, item in enumerate(items) if "o" in item]
        if not apart:
            return [bytes(item["e"]["B"]) for item in items]
        bodies = dict(zip(apart, self._objects.get_all([self._body(items[at]["o"]["S"]) for at in apart]), strict=True))
        return [
            (bodies[at] or self._overwritten(item)) if at in bodies else bytes(item["e"]["B"])
            for at, item in enumerate(items)
        ]

    def _overwritten(self, item: _Item) -> bytes:
        """The stub of an entry whose body went after its item was read."""
        [now] = self._table.get([{"u": item["u"], "n": item["n"]}]).values()
        if "e" not in now:
            raise Unavailable(
                f"The body of entry {item['n']['N']} is missing from the bucket of the memories: restore it from a "
                "copy.",
                retryable=False,
                part="store",
            )
        return bytes(now["e"]["B"])

    def _key(self, n: int) -> _Item:
        return {"u": {"S": self._partition}, "n": {"N": str(n)}}

    def _body(self, body: str) -> str:
        return f"{self._bodies}/{body}"


class _Table:
    """Requests to the table. Its client is made at the first use. Safe for threads. All methods raise Unavailable."""

    def __init__(self, name: str, options: Mapping[str, Any], pause: Callable[[float], None]) -> None:
        self._name = name
        self._options = options
        self._pause = pause
        self._client: Any = None
        self._lock = Lock()

    def create(self, item: _Item) -> bool:
        """Put an item where none is. False where one is."""
        try:
            self._call("put_item", TableName=self._name, Item=item, ConditionExpression="attribute_not_exists(u)")
        except _Refused:
            return False
        return True

    def put(self, item: _Item) -> None:
        """Put an item in place of what is there."""
        self._call("put_item", TableName=self._name, Item=item)

    def put_all(self, items: Sequence[_Item]) -> None:
        """Put items in place of what is there."""
        for block in _parts(items, _PUTS_AT_ONCE):
            pending = {self._name: [{"PutRequest": {"Item": item}} for item in block]}
            for _ in self._rounds():
                pending = self._call("batch_write_item", RequestItems=pending).get("UnprocessedItems", {})
                if not pending:
                    break

    def count(self, key: _Item, minute: int) -> int:
        """Add one to an item's count in a minute, which a later minute begins anew; the count."""
        now = {":m": {"N": str(minute)}, ":one": {"N": "1"}}
        request = {"TableName": self._name, "Key": key, "ExpressionAttributeValues": now, "ReturnValues": "ALL_NEW"}
        for _ in self._rounds():
            for condition, change in (
                ("m >= :m", "ADD c :one"),
                ("attribute_not_exists(m) OR m < :m", "SET c = :one, m = :m"),
            ):
                with suppress(_Refused):
                    expressions = {"ConditionExpression": condition, "UpdateExpression": change}
                    return int(self._call("update_item", **request, **expressions)["Attributes"]["c"]["N"])
        raise AssertionError("rounds end with an error")

    def delete(self, key: _Item) -> None:
        """Remove an item, if it is there, by the right that putting many needs."""
        self._call("batch_write_item", RequestItems={self._name: [{"DeleteRequest": {"Key": key}}]})

    def get(self, keys: Sequence[_Item]) -> dict[int, _Item]:
        """The items of one user that are there, by number."""
        items_by_number: dict[int, _Item] = {}
        if len(keys) == 1:
            answer = self._call("get_item", TableName=self._name, Key=keys[0], ConsistentRead=True)
            return {int(answer["Item"]["n"]["N"]): answer["Item"]} if "Item" in answer else {}
        for block in _parts(keys, _GETS_AT_ONCE):
            pending = {self._name: {"Keys": block, "ConsistentRead": True}}
            for _ in self._rounds():
                answer = self._call("batch_get_item", RequestItems=pending)
                items_by_number |= {int(item["n"]["N"]): item for item in answer["Responses"].get(self._name, ())}
                pending = answer.get("UnprocessedKeys", {})
                if not pending:
                    break
        return items_by_number

    def query(self, partition: str, first: int) -> Iterator[_Item]:
        """A user's items from a number on, in their order."""
        request: dict[str, Any] = {
            "TableName": self._name,
            "ConsistentRead": True,
            "KeyConditionExpression": "u = :u AND n >= :n",
            "ExpressionAttributeValues": {":u": {"S": partition}, ":n": {"N": str(first)}},
        }
        while True:
            page = self._call("query", **request)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def close(self) -> None:
        """Let go of connections."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None

    def _rounds(self) -> Iterator[None]:
        """Attempts at a batch, with pauses between them. Raises Unavailable when there were enough."""
        yield
        for longest in _PAUSES:
            self._pause(random.uniform(0, longest))  # those who met once must not meet again
            yield
        raise _busy()

    def _call(self, operation: str, **request: Any) -> Any:
        try:
            return getattr(self._opened(), operation)(**request)
        except (ClientError, BotoCoreError) as error:
            if code_of(error) == "ConditionalCheckFailedException":
                raise _Refused from None
            raise translate(error, operation) from error

    def _opened(self) -> Any:
        from botocore.config import Config
        from botocore.session import get_session

        with self._lock:
            if self._client is None:
                config = Config(
                    connect_timeout=_CONNECT_SECONDS,
                    read_timeout=_READ_SECONDS,
                    retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
                    max_pool_connections=AT_ONCE,
                    tcp_keepalive=True,
                )
                self._client = get_session().create_client("dynamodb", config=config, **self._options)
            return self._client


class _TablePlace:
    """A table as something to be tried, by the requests that logs make."""

    unseen = "Turn off point-in-time recovery of the table: forgotten memories would stay in it for up to 35 days."

    def __init__(self, table: _Table, partition: str) -> None:
        self._table = table
        self._partition = partition

    def warnings(self) -> list[Fault]:
        return []

    def create(self, name: str, content: bytes) -> bool:
        return self._table.create(self._key(name) | {"e": {"B": content}})

    def read(self, name: str) -> bytes | None:
        self._table.get([self._key(name), self._key("0")])  # a request of another right than that for one
        return next((bytes(item["e"]["B"]) for item in self._table.get([self._key(name)]).values()), None)

    def overwrite(self, name: str, content: bytes) -> bool:
        self._table.put_all([self._key(name) | {"e": {"B": content}}])
        return False

    def write_times(self) -> Mapping[str, None]:
        numbers = (int(item["n"]["N"]) for item in self._table.query(self._partition, _FIRST_PROBE))
        return {f"{-n:016x}": None for n in takewhile(lambda n: n < 0, numbers)}

    def delete(self, name: str) -> None:
        self._table.delete(self._key(name))

    def _key(self, name: str) -> _Item:
        return {"u": {"S": self._partition}, "n": {"N": str(-int(name, 16))}}


_FIRST_PROBE: Final = -(16**16)
"""Numbers of probes are below those of entries."""


class _Refused(Exception):
    """The condition of a write doesn't hold."""


def _parts(all: Sequence[_Item], size: int) -> Iterable[Sequence[_Item]]:
    return (all[at : at + size] for at in range(0, len(all), size))


# Foreign errors

BUSY: Final = DYNAMODB_THROTTLED | {"LimitExceededException"}
TRANSIENT: Final = DYNAMODB_TRANSIENT
_UNREACHABLE: Final = ("slow", "lost", "unreachable")
PERMANENT: Final[Mapping[str, str]] = {
    "ResourceNotFoundException": "there is no such table in this region; create it, or correct the store's URL",
    "ValidationException": "its partition key must be `u` (a string) and its sort key `n` (a number); create one so",
    "ItemCollectionSizeLimitExceededException": "a local secondary index limits it; create one without",
    "AccessDeniedException": "these credentials may not use it; grant dynamodb:{action}",
    "UnrecognizedClientException": "its credentials are refused; check them",
    "InvalidClientTokenId": "its credentials are refused; check them",
    "InvalidSignatureException": "its credentials are refused; check them and the clock",
    "IncompleteSignatureException": "its credentials are refused; check them",
    "MissingAuthenticationTokenException": "its credentials are refused; check them",
    "ExpiredTokenException": "its credentials are refused; check them",
    "RequestExpired": "this machine's clock is wrong; set it",
    "OptInRequired": "the account has no access to DynamoDB; ask its owner",
    "KMSAccessDeniedException": "its encryption key can't be used; check the key and the right to use it",
}
"""The reasons that no retry ends, by DynamoDB's codes."""


def translate(error: Exception, operation: str) -> Unavailable:
    """The error of ours that stands for one of botocore's or DynamoDB's. DynamoDB's messages may quote values."""
    code = code_of(error)
    status = status_of(error)
    if code in BUSY:
        return _busy()
    # Half an answer has no code but its status, and so has that of a proxy.
    if code in TRANSIENT or status >= 500 or code.isdigit() or is_transient(error):
        kind = StoreUnreachable if kind_of(error) in _UNREACHABLE else Unavailable
        return kind("The table of the memories does not answer; try again.", part="store")
    mend = fix_hint(error)
    why = PERMANENT.get(code) or (f"fix {mend}" if mend else f"it refuses the request ({code or type(error).__name__})")
    action = "".join(word.capitalize() for word in operation.split("_"))
    _log.error("the table failed: %s %s", type(error).__name__, code)
    return Unavailable(
        f"The table of the memories can't be used: {why.format(action=action)}.", retryable=False, part="store"
    )


def _busy() -> Unavailable:
    return Unavailable("The table of the memories is busy; try again in a second.", part="store")
