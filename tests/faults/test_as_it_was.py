"""A user's memories over a log, put back as they were at a time."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from clock import SettableClock
from embedding import HashedWords
from faults.doors import answer
from spaces import in_time
from steeltrap.errors import InvalidInput
from steeltrap.invoke import Door
from steeltrap.model import Caller, Difference, UserRef
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore
from steeltrap.stores.replica.history import differences, put_back
from steeltrap.toolsets import CATALOGUE

ANA = UserRef("ana")


class Machine:
    """A machine with a cache of its own over one log."""

    def __init__(self, folder: Path, name: str, clock: SettableClock) -> None:
        self.store = ReplicaStore(folder / name, FolderLogs(folder / "log"), HashedWords(), clock)
        self.door = Door(catalogue=CATALOGUE, store=self.store, embedder=HashedWords(), clock=clock)

    def ask(self, tool: str, **arguments: Any) -> Any:
        return answer(self.door, tool, Caller(ANA), **arguments)

    def contents(self) -> set[str]:
        return {memory["content"] for memory in self.ask("core.list", limit=100)["memories"]}

    def found(self, query: str) -> list[str]:
        return [hit["content"] for hit in self.ask("core.search", query=query, mode="keyword")["results"]]


@pytest.fixture
def machine(tmp_path: Path, clock: SettableClock) -> Machine:
    return Machine(tmp_path, "one", clock)


def restore(machine: Machine, at: datetime, folder: Path) -> list[Difference]:
    then = folder / "then.db"
    then.unlink(missing_ok=True)
    file = machine.store.open_file(ANA, in_time())
    machine.store.build(ANA, at, then)
    found = differences(file.path, then)
    put_back(file, then, in_time())
    return found


@pytest.mark.parametrize("with_base", [False, True], ids=["by entries", "from a base"])
def test_memories_are_as_they_were_on_every_machine(
    tmp_path: Path, clock: SettableClock, machine: Machine, with_base: bool
) -> None:
    other = Machine(tmp_path, "two", clock)
    heron = machine.ask("core.save", content="The heron stands in the reeds.")["id"]
    otter = machine.ask("core.save", content="The otter swims.")["id"]
    if with_base:
        file = machine.store.open_file(ANA, in_time())
        file.put_base()  # type: ignore[attr-defined]
    clock.advance(minutes=1)
    then = clock.now()
    clock.advance(minutes=1)
    machine.ask("core.update", id=heron, content="The heron flew away.")
    machine.ask("core.delete", id=otter)
    tern = machine.ask("core.save", content="A tern dives.")["id"]
    assert other.found("heron") == ["The heron flew away."]
    assert restore(machine, then, tmp_path) == sorted(
        [
            Difference(id=heron, now="The heron flew away.", then="The heron stands in the reeds."),
            Difference(id=otter, now=None, then="The otter swims."),
            Difference(id=tern, now="A tern dives.", then=None),
        ],
        key=lambda each: each.id,
    )
    for each in (machine, other, Machine(tmp_path, "three", clock)):
        assert each.contents() == {"The heron stands in the reeds.", "The otter swims."}
        assert each.found("heron") == ["The heron stands in the reeds."]
        assert each.found("tern") == []
    saved = other.ask("core.save", content="A gull cries.")["id"]
    assert machine.ask("core.get", id=saved)["content"] == "A gull cries."


def test_a_restore_is_taken_back_by_another(tmp_path: Path, clock: SettableClock, machine: Machine) -> None:
    machine.ask("core.save", content="one")
    early = clock.advance(minutes=1)
    clock.advance(minutes=1)
    machine.ask("core.save", content="two")
    late = clock.advance(minutes=1)
    clock.advance(minutes=1)
    restore(machine, early, tmp_path)
    assert machine.contents() == {"one"}
    restore(machine, late, tmp_path)
    assert machine.contents() == {"one", "two"}


def test_what_was_forgotten_never_comes_back(tmp_path: Path, clock: SettableClock, machine: Machine) -> None:
    secret = machine.ask("core.save", content="The code of the safe is 4711.")["id"]
    machine.ask("core.save", content="one")
    early = clock.advance(minutes=1)
    clock.advance(minutes=1)
    machine.ask("core.forget", id=secret)
    late = clock.advance(minutes=1)
    clock.advance(minutes=1)
    machine.ask("core.save", content="two")
    with pytest.raises(InvalidInput, match=r"The history of these memories begins at .* UTC: name a later time\."):
        restore(machine, early, tmp_path)
    assert machine.contents() == {"one", "two"}
    restore(machine, late, tmp_path)
    assert machine.contents() == {"one"}


def test_a_time_before_the_first_memory_is_refused(tmp_path: Path, clock: SettableClock, machine: Machine) -> None:
    before = clock.now()
    clock.advance(minutes=1)
    machine.ask("core.save", content="one")
    with pytest.raises(InvalidInput, match="begins at"):
        restore(machine, before, tmp_path)
    assert machine.contents() == {"one"}
