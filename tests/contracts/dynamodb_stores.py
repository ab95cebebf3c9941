"""DynamoDB stores as tests open them: tables of their own, and an index that is told of every write."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from functools import cache
from hashlib import sha256
from itertools import count
from typing import Any
from unittest.mock import patch

from clock import SettableClock
from components import check_wanted
from spaces import in_time
from steeltrap.ports import Clock, Deadline, Embedder, Index, MemoryStore
from steeltrap.stores.dynamodb import DynamoStore
from steeltrap.stores.dynamodb.client import Connect
from steeltrap.stores.dynamodb.documents import documents
from steeltrap.stores.dynamodb.keys import WRITTEN, memory_table, usage_table
from steeltrap.stores.dynamodb.store import connecting

SECONDS = 60.0
_ACCOUNT = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
_PATIENCE = 20.0
_numbers = count()

Opening = Callable[[Clock, Embedder], MemoryStore]
Indexing = Callable[[Embedder], Index]


@contextmanager
def emulated() -> Iterator[Connect]:
    """DynamoDB in this process, by moto."""
    check_wanted("dynamodb")
    from moto import mock_aws

    with mock_aws(), _copying_once(), _telling_what_is_there(), _projecting_what_is_asked(), _comparing_plainly():
        yield _to_moto()


@cache
def _to_moto() -> Connect:
    # One for all tests: botocore reads megabytes of what it knows of the service. Only made once moto is imported.
    return connecting(**_ACCOUNT)


@contextmanager
def _copying_once() -> Iterator[None]:
    """moto copies the whole table for each action of a transaction, before the first: one copy does."""
    from moto.dynamodb.models import DynamoDBBackend
    from moto.dynamodb.models import copy as copying

    class Once:
        def __init__(self) -> None:
            self.copies: dict[int, Any] = {}

        def deepcopy(self, original: Any) -> Any:
            if type(original).__name__ != "Table":
                return copying.deepcopy(original)
            return self.copies.setdefault(id(original), None) or self._keep(original)

        def _keep(self, original: Any) -> Any:
            self.copies[id(original)] = copying.deepcopy(original)
            return self.copies[id(original)]

    write = DynamoDBBackend.transact_write_items

    def writing(backend: DynamoDBBackend, actions: Any) -> None:
        with patch("moto.dynamodb.models.copy", Once()):
            write(backend, actions)

    with patch.object(DynamoDBBackend, "transact_write_items", writing):
        yield


@contextmanager
def _telling_what_is_there() -> Iterator[None]:
    """moto looks in each value for each of the ten types that a value may have, under each of their names: the one
    that it has is enough."""
    from moto.core.serialize import BaseJSONSerializer

    serialize = BaseJSONSerializer._serialize_type_structure

    def serializing(self: BaseJSONSerializer, serialized: Any, value: Any, shape: Any, key: str) -> None:
        if shape.name != "AttributeValue" or not isinstance(value, dict):
            serialize(self, serialized, value, shape, key)
            return
        serialized[key] = {}
        for kind, inner in value.items():
            self._serialize(serialized[key], inner, shape.members[kind], kind)

    with patch.object(BaseJSONSerializer, "_serialize_type_structure", serializing):
        yield


@contextmanager
def _projecting_what_is_asked() -> Iterator[None]:
    """moto reads a whole item as Python's values for each attribute that it shows, and writes them anew: a copy of the
    attributes does."""
    from moto.dynamodb.models.dynamo_type import Item

    project = Item.project

    def projecting(self: Item, paths: list[list[str]]) -> Item:
        if any(len(path) > 1 for path in paths):
            return project(self, paths)
        projected = Item(self.hash_key, self.range_key, {})
        shown = {name: deepcopy(self.attrs[name]) for (name,) in paths if name in self.attrs}
        dict.update(projected.attrs, shown)  # their size was looked at when they were written
        return projected

    with patch.object(Item, "project", projecting):
        yield


@contextmanager
def _comparing_plainly() -> Iterator[None]:
    """moto asks each value that it compares whether it has one of five other types: texts and bytes are their own."""
    from moto.dynamodb.models.dynamo_type import DynamoType

    cast = DynamoType.cast_value.fget
    plain = property(lambda self: self.value if self.type in ("S", "B") else cast(self))
    with patch.object(DynamoType, "cast_value", plain):
        yield


def local(url: str) -> Connect:
    """DynamoDB Local at an address, with patience: on a busy machine it may take seconds."""
    connect = connecting(endpoint_url=url, **_ACCOUNT)
    return lambda seconds: connect(max(seconds, _PATIENCE))


@contextmanager
def tables(connect: Connect, *, fetches: bool) -> Iterator[tuple[str, str]]:
    """The two tables under names of their own, gone in the end. `fetches` says whether queries of an index can read
    attributes that only the table has.

    They have no stream: DynamoDB Local looks through all there ever were at each write.
    """
    name = f"steeltrap-{os.getpid()}-{next(_numbers)}"
    client = connect(3.0)
    memories = memory_table(name)
    for table in (memories if fetches else projecting_all(memories), usage_table(f"{name}-usage")):
        client.create_table(**{key: value for key, value in table.items() if key != "StreamSpecification"})
    yield name, f"{name}-usage"
    for each in (name, f"{name}-usage"):
        client.delete_table(TableName=each)
    client.close()


def projecting_all(table: dict[str, Any]) -> dict[str, Any]:
    """A table whose index by write time has all attributes: moto and ministack fetch none from the table."""
    indexes = [
        index | {"Projection": {"ProjectionType": "ALL"}} if index["IndexName"] == WRITTEN else index
        for index in table["LocalSecondaryIndexes"]
    ]
    return table | {"LocalSecondaryIndexes": indexes}


@contextmanager
def stores(connect: Connect, names: tuple[str, str], indexing: Indexing, window: timedelta) -> Iterator[Opening]:
    """Opens stores over the same tables. Each write is told to the index behind it at once."""
    opened: list[DynamoStore] = []

    def open_store(clock: Clock, embedder: Embedder) -> MemoryStore:
        index = indexing(embedder)
        pause = clock.sleep if isinstance(clock, SettableClock) else time.sleep
        opened.append(DynamoStore(*names, embedder, clock, index, connect=connect, window=window, pause=pause))
        tell(opened[-1], index)
        return opened[-1]

    yield open_store
    for each in opened:
        each.close()


def tell(store: DynamoStore, index: Index) -> None:
    """Tell an index of each memory that a request to DynamoDB wrote, as the stream and its indexer do elsewhere."""
    tables, call = store.tables, store.tables.call

    def telling(operation: str, request: Any, deadline: Deadline) -> Any:
        answer = call(operation, request, deadline)
        by_user: dict[str, set[str]] = {}
        for user, key in _written(operation, request):
            if key.startswith("m#"):
                by_user.setdefault(user, set()).add(key)
        for user, written in by_user.items():
            ends = tables.within(SECONDS)
            items = list(tables.get(user, written, (), ends).values())
            assert index.write(list(documents(tables, user, items, ends)), deadline=in_time(SECONDS)) == {}
        return answer

    tables.call = telling  # type: ignore[method-assign]


def _written(operation: str, request: Any) -> Iterator[tuple[str, str]]:
    match operation:
        case "put_item":
            actions = [request["Item"]]
        case "update_item":
            actions = [request["Key"]]
        case "transact_write_items":
            actions = [one.get("Item", one.get("Key")) for each in request["TransactItems"] for one in each.values()]
        case "batch_write_item":
            writes = [each for some in request["RequestItems"].values() for each in some]
            actions = [each["PutRequest"]["Item"] for each in writes if "PutRequest" in each]
        case _:
            actions = []
    return ((each["u"]["S"], each["k"]["S"]) for each in actions)


class Apart:
    """One test's part of an index that many share: users get names of their own."""

    def __init__(self, index: Any, part: str, refresh: Callable[[], None]) -> None:
        self._index = index
        self._part = part
        self._refresh = refresh

    def write(self, documents: Any, deadline: Deadline) -> Any:
        errors = self._index.write([replace(d, user=self._user(d.user)) for d in documents], deadline=deadline)
        self._refresh()
        return errors

    def search(self, user: str, *arguments: Any, **named: Any) -> Any:
        return self._index.search(self._user(user), *arguments, **named)

    def look_around(self, user: str, *arguments: Any, **named: Any) -> Any:
        return self._index.look_around(self._user(user), *arguments, **named)

    def check(self) -> None:
        self._index.check()

    def _user(self, user: str) -> str:
        return sha256(f"{self._part}/{user}".encode()).hexdigest()
