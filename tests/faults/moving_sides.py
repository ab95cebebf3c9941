"""Places that memories are moved between, and the tools over each of them as a process has them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import pytest

from components import dynamodb_url
from contracts.dynamodb_stores import local, tables, tell
from contracts.memory_index import MemoryIndex
from embedding import HashedWords
from faults.doors import answer
from spaces import in_time
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.runtime import SystemClock
from steeltrap.stores.dynamodb import DynamoStore
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore
from steeltrap.stores.replica.moving import FilePlace, move_user
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.stores.table_place import TablePlace
from steeltrap.toolsets import CATALOGUE

ANA = UserRef("ana")
KEPT = timedelta(days=30)
Open = Callable[[str], "Side"]


class Side:
    """A place, and the tools over it as one process has them. `calls` is held by each call."""

    def __init__(self, place: FilePlace | TablePlace, calls: Lock) -> None:
        self.place = place
        self.store = place.store
        self.door = Door(catalogue=CATALOGUE, store=place.store, embedder=HashedWords(), clock=SystemClock())
        self._calls = calls

    def ask(self, tool: str, **arguments: Any) -> Any:
        """The answer of a tool; an error is raised."""
        with self._calls:
            return answer(self.door, tool, Caller(ANA), **arguments)

    def contents(self) -> set[str]:
        return {memory["content"] for memory in self.ask("core.list", limit=1000)["memories"]}


@contextmanager
def sides(tmp_path: Path) -> Iterator[Open]:
    """Opens a process over a place by its name: `folder`, `log`, `aws`, or another one of these kinds."""
    opened: list[Side] = []
    calls = Lock()
    parts = ExitStack()
    names: dict[str, tuple[str, str]] = {}
    index = MemoryIndex()

    def pause(seconds: float) -> None:
        """Until each call that began before has ended."""
        with calls:
            pass

    def open_tables(name: str) -> TablePlace:
        connect = local(dynamodb_url())
        if name not in names:
            names[name] = parts.enter_context(tables(connect, fetches=True))
        store = DynamoStore(*names[name], HashedWords(), SystemClock(), index, connect=connect)
        tell(store, index)
        return TablePlace(name, store, HashedWords(), SystemClock(), pause)

    def open_side(name: str) -> Side:
        place: FilePlace | TablePlace
        if name.startswith("aws"):
            place = open_tables(name)
        elif name.startswith("log"):
            cache = tmp_path / f"cache-{len(opened)}"
            logs = FolderLogs(tmp_path / name)
            place = FilePlace(name, ReplicaStore(cache, logs, HashedWords(), SystemClock(), retention=KEPT))
        else:
            place = FilePlace(name, SqliteStore(tmp_path / name, HashedWords(), SystemClock(), retention=KEPT))
        opened.append(Side(place, calls))
        return opened[-1]

    with parts:
        yield open_side
        for each in opened:
            each.store.close()


def move(source: Side, target: Side) -> int | None:
    count = move_user(ANA, source.place, target.place, in_time())
    source.store.unlist(ANA)
    return count


def killed(*_: object) -> None:
    raise SystemExit


def cut_short(source: Side, target: Side, step: Literal["mark", "take"]) -> None:
    """A move that is killed before a step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(source.place if step == "mark" else target.place), step, killed)
        patch.setattr(type(target.place), "withdraw", killed)
        with pytest.raises(SystemExit):
            move_user(ANA, source.place, target.place, in_time())
