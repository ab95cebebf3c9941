"""Requests of tools to DynamoDB, the embedder and the index while their stories run, by tool."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from contracts.dynamodb_stores import emulated, tables
from contracts.memory_index import MemoryIndex
from steeltrap.embedders.static import StaticEmbedder
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ports import Levels
from steeltrap.runtime import SystemClock
from steeltrap.stores.dynamodb import DynamoStore, usage, users
from steeltrap.stores.dynamodb.client import Tables
from steeltrap.stores.dynamodb.users import DynamoLevels
from steeltrap.stores.files.folder import FolderFiles
from steeltrap.toolsets import CATALOGUE
from surfaces import scenarios

Asked = Mapping[str, set[tuple[str, str]]]
"""By a tool's full name: IAM's action, and `memories`, `usage`, `embedder` or `index`."""

_WRITES = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}


@cache
def recorded() -> Asked:
    """Every tool's story, on DynamoDB in this process: with few memories, and as with many."""
    asked: dict[str, set[tuple[str, str]]] = defaultdict(set)
    with _door(asked) as door:
        for many in (usage._MANY, 1):
            with patch.object(usage, "_MANY", many):
                for story in CATALOGUE.toolsets:
                    getattr(scenarios, story)(partial(_run, door, Caller(UserRef(f"{story}-{many}"), "agent", "chat")))
        _finish_a_forgetting(door)
    return asked


def _finish_a_forgetting(door: Door) -> None:
    """Save for a user whose forgetting was cut short."""
    ana = Caller(UserRef("ana"), "agent", "chat")
    _run(door, ana, "core.get", id=_run(door, ana, "core.save", content="the heron")["id"])
    _now[0] = ""  # no tool forgets a user
    with patch.object(users, "finish_forgetting"):
        door.store.forget_user(ana.user)
    _run(door, ana, "core.save", content="the otter")


@cache
def asked_for_levels() -> set[tuple[str, str]]:
    """The requests to DynamoDB of a function with a remote embedder when it starts."""
    asked: set[tuple[str, str]] = set()
    with emulated() as connect, tables(connect, fetches=False) as names:
        made = Tables(connect, *names, SystemClock())
        call = made.call

        def noting(operation: str, request: Any, deadline: Any) -> Any:
            for table, action in _actions(operation, request):
                asked.add((action, {names[0]: "memories", names[1]: "usage"}[table]))
            return call(operation, request, deadline)

        made.call = noting  # type: ignore[method-assign]
        shared = DynamoLevels(made)
        shared.write("key", Levels(dimension=256, unrelated=0.1, unrelated_japanese=0.4, novel=0.5, slope=0.05))
        assert shared.read("key") is not None
        made.close()
    return asked


def _run(door: Door, caller: Caller, name: str, **arguments: Any) -> Any:
    _now[0] = name
    result = door.invoke(name, arguments, caller)
    door.store.flush()
    assert result.error is None, result.error
    return result.body


_now = [""]


@contextmanager
def _door(asked: dict[str, set[tuple[str, str]]]) -> Iterator[Door]:
    with emulated() as connect, tables(connect, fetches=False) as names, TemporaryDirectory() as folder:

        def note(action: str, where: str) -> None:
            asked[_now[0]].add((action, where))

        embedder, index = _Noting(StaticEmbedder(), "embedder", note), _Noting(MemoryIndex(), "index", note)
        store = DynamoStore(*names, embedder, SystemClock(), index, connect=connect)
        call = store.tables.call

        def noting(operation: str, request: Any, deadline: Any) -> Any:
            for table, action in _actions(operation, request):
                note(action, {names[0]: "memories", names[1]: "usage"}[table])
            return call(operation, request, deadline)

        store.tables.call = noting  # type: ignore[method-assign]
        files = FolderFiles(Path(folder))
        yield Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=SystemClock(), files=files)
        _now[0] = ""
        store.close()


def _actions(operation: str, request: Any) -> Iterator[tuple[str, str]]:
    """(table, action) that a request asks for: a transaction's own permissions are those of its parts."""
    if operation == "transact_write_items":
        for each in request["TransactItems"]:
            for kind, what in each.items():
                yield what["TableName"], f"dynamodb:{_WRITES[kind]}"
        return
    action = "dynamodb:" + "".join(part.title() for part in operation.split("_"))
    for table in request.get("RequestItems", ()) or [request["TableName"]]:
        yield table, action


class _Noting:
    """Tells which of another's methods are called."""

    def __init__(self, of: Any, name: str, note: Any) -> None:
        self._of, self._name, self._note = of, name, note

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._of, name)
        if name in ("embed", "search", "look_around"):
            self._note(name, self._name)
        return value
