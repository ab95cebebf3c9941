"""Parts that fail: the error is clear, nothing is half-written, and reading goes on."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import apsw
import pytest

from clock import SettableClock
from contracts.entries import creation
from embedding import HashedWords
from faults.doors import ANA, answer, lines_of, open_door
from spaces import in_time, space_of
from steeltrap.engine.call import Call
from steeltrap.engine.saving import save
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Draft, Embedding
from steeltrap.stores.sqlite import SqliteStore


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    door = open_door(tmp_path)
    yield door
    door.store.close()


_FULL = """
import json, resource, sys
from pathlib import Path
from faults.doors import answer, open_door
from steeltrap.errors import Unavailable

door = open_door(Path(sys.argv[1]))
saved = [answer(door, "core.save", content="heron before")["id"]]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    for i in range(10_000):
        saved.append(answer(door, "core.save", content=f"heron {i} " + "reed " * 200)["id"])
except Unavailable as full:
    print(json.dumps([full.message, full.can_retry]))
found = answer(door, "core.search", query="heron", limit=1000)["results"]
print(json.dumps(sorted(m["id"] for m in found) == sorted(saved)))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
saved.append(answer(door, "core.save", content="heron after")["id"])
print(json.dumps(saved))
door.store.close()
"""


@pytest.mark.parametrize("limit", [150_000, 400_000])
def test_a_full_disk_is_a_clear_error_and_nothing_is_half_written(tmp_path: Path, limit: int) -> None:
    full, readable, saved = map(json.loads, lines_of(_FULL, tmp_path, limit))
    assert "disk" in full[0]
    assert readable
    door = open_door(tmp_path)
    there = answer(door, "core.list", limit=1000)["memories"]
    assert {memory["id"] for memory in there} == set(saved)
    assert answer(door, "core.stats")["memories"] == len(saved)
    [path] = tmp_path.rglob("*.db")
    connection = apsw.Connection(str(path))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()
    door.store.close()


def _writes(id: str, other: str) -> dict[str, dict[str, Any]]:
    record = {
        "id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b",
        "content": "imported",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    }
    return {
        "core.save": {"content": "new"},
        "core.batch_save": {"items": [{"content": "new"}, {"content": "newer"}]},
        "core.update": {"id": id, "content": "changed"},
        "core.batch_update": {"updates": [{"id": id, "content": "changed"}, {"id": other, "content": "changed"}]},
        "core.move": {"ids": [id], "scope": "elsewhere"},
        "core.consolidate": {"ids": [id, other], "preserve_originals": False},
        "core.append_messages": {"messages": [{"role": "user", "content": "said"}]},
        "core.undo": {"id": id},
        "core.import": {"records": [record]},
        "notes.memory_save": {"content": "new"},
        "notes.memory_update": {"note_id": id, "content": "changed"},
    }


@pytest.mark.parametrize("state", ["stuck", "broken"])
def test_an_embedder_that_fails_leaves_nothing_written(door: Door, state: Literal["stuck", "broken"]) -> None:
    id = answer(door, "core.save", content="the heron")["id"]
    answer(door, "core.update", id=id, content="the heron fishes")
    other = answer(door, "core.save", content="the otter")["id"]
    before = answer(door, "core.export")
    assert isinstance(door.embedder, HashedWords)
    door.embedder.state = state
    for tool, arguments in _writes(id, other).items():
        result = door.invoke(tool, arguments, ANA)
        if tool == "core.move":
            assert [failure["code"] for failure in result.body["failed"]] == ["unavailable"]
        else:
            assert isinstance(result.error, Unavailable), tool
            assert result.error.can_retry
        assert answer(door, "core.export") == before, tool
    assert isinstance(door.invoke("core.search", {"query": "heron"}, ANA).error, Unavailable)
    assert answer(door, "core.search", query="heron", mode="keyword")["results"]
    assert answer(door, "core.get", id=id)["content"] == "the heron fishes"


class _Slow(HashedWords):
    """Takes as long as it may, and a little longer."""

    def __init__(self, spend: Callable[[float], None]) -> None:
        super().__init__()
        self._spend = spend

    def embed(self, texts: Any, *, purpose: Any, timeout: float) -> list[Embedding]:
        self._spend(timeout + 0.001)
        return super().embed(texts, purpose=purpose, timeout=timeout)


def test_a_call_whose_time_ran_out_in_the_embedder_writes_nothing(tmp_path: Path, clock: SettableClock) -> None:
    clock.stand()
    store = SqliteStore(tmp_path, HashedWords(), clock)
    deadline = in_time(10, clock)
    call = Call(
        caller=ANA,
        space=store.space(ANA.user, deadline),
        embedder=_Slow(clock.sleep),
        clock=clock,
        deadline=deadline,
    )
    with pytest.raises(Unavailable, match="longer than 10 s"):
        save(call, Draft(content="the heron"))
    assert clock.slept == pytest.approx(10.001)
    assert list(store.users()) == []
    store.close()


def test_an_embedder_is_given_no_more_time_than_its_tool_has(tmp_path: Path) -> None:
    given: list[float] = []
    door = open_door(tmp_path, embedder=_Slow(given.append))
    answer(door, "core.save", content="the heron")
    answer(door, "core.search", query="heron")
    answer(door, "notes.memory_search", query="heron")
    assert given[0] <= 10.001
    assert max(given) <= 15.001
    door.store.close()


def test_reading_goes_on_when_readings_cannot_be_counted(
    door: Door, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    id = answer(door, "core.save", content="the heron fishes")["id"]
    [path] = tmp_path.rglob("*.db")
    connection = apsw.Connection(str(path))
    for event in ("INSERT", "UPDATE"):
        connection.execute(
            f"CREATE TRIGGER no_{event} BEFORE {event} ON usage BEGIN SELECT RAISE(ABORT, 'worn out'); END"
        )
    connection.close()
    assert isinstance(door.store, SqliteStore)
    for _ in range(3):
        assert answer(door, "core.get", id=id)["content"] == "the heron fishes"
        assert len(answer(door, "core.search", query="heron")["results"]) == 1
        assert "heron" in answer(door, "core.retrieve_memory", query="heron")
        assert len(answer(door, "notes.memory_search", query="heron")) == 1
        door.store.flush()
    assert answer(door, "core.update", id=id, content="the heron sleeps")["version"] == 2
    assert answer(door, "core.forget", id=id)["verified"]
    assert "reading statistics were not kept" in caplog.text
    assert "the memory store failed: ConstraintError: worn out" in caplog.text
    assert "heron" not in caplog.text


def test_a_writer_that_cannot_get_the_lock_in_time_is_told_so(door: Door, tmp_path: Path) -> None:
    answer(door, "core.save", content="the heron")
    [path] = tmp_path.rglob("*.db")
    holder = apsw.Connection(str(path))
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="busy") as refused:
        space_of(door.store, "ana", seconds=0.05).commit([creation("the otter")])
    assert refused.value.can_retry
    assert len(answer(door, "core.search", query="heron")["results"]) == 1
    holder.execute("ROLLBACK")
    holder.close()
    space_of(door.store, "ana").commit([creation("the otter")])
