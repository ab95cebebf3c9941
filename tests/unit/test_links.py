"""Which memories a new one is linked to, and how strongly."""

from pathlib import Path

import pytest

from clock import SettableClock
from embedding import Placed
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.toolsets import CATALOGUE

ANA = Caller(UserRef("ana"), "assistant")


@pytest.mark.parametrize(("cosine", "strengths"), [(0.69, []), (0.7001, [0.7001]), (0.98765432, [0.9877])])
def test_a_memory_is_linked_from_a_cosine_of_0_7_on(
    tmp_path: Path, clock: SettableClock, cosine: float, strengths: list[float]
) -> None:
    embedder = Placed("the first")
    embedder.cosines["the second"] = cosine
    store = SqliteStore(tmp_path, embedder, clock)
    door = Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock)
    first = door.invoke("core.save", {"content": "the first"}, ANA).body["id"]
    second = door.invoke("core.save", {"content": "the second"}, ANA).body["id"]
    for id, other in ((first, second), (second, first)):
        linked = door.invoke("core.associations", {"id": id}, ANA).body["associations"]
        assert [(memory["id"], memory["strength"]) for memory in linked] == [(other, each) for each in strengths]
    store.close()
