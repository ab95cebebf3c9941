"""A process that dies at any moment: what it acknowledged is there, what it did not is whole or absent."""

import os
import random
import signal
from pathlib import Path

import apsw
import pytest

from clock import SettableClock
from contracts.entries import EMBEDDER, embed, found, save, search
from faults.doors import ANA, answer, open_door, running
from spaces import space_of
from steeltrap.model import UserRef
from steeltrap.stores.sqlite import SqliteStore

ROUNDS = 20
ACKNOWLEDGED = 1000

_WRITERS = """
import os, sys
from pathlib import Path
from clock import SettableClock
from contracts.entries import EMBEDDER, save, update
from spaces import space_of
from steeltrap.stores.sqlite import SqliteStore

def write(round_):
    space = space_of(SqliteStore(Path(sys.argv[1]), EMBEDDER, SettableClock()), "ana")
    for i in range(10_000):
        memory = save(space, f"heron {round_} {i} " + "reed " * (i % 400), tags=("wet",))
        os.write(1, f"saved {memory.id}\\n".encode())
        if i % 5 == 0:
            update(space, memory, content=memory.content + "at dawn")
            os.write(1, f"updated {memory.id}\\n".encode())

# A process a round, forked from one that has imported everything.
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        write(line.strip())
    os.write(1, f"writer {child}\\n".encode())
    os.waitpid(child, 0)
    os.write(1, b"dead -\\n")
"""


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill_at_any_moment(tmp_path: Path) -> None:
    pick = random.Random(3)
    said: dict[str, set[str]] = {"saved": set(), "updated": set()}
    saved, updated = said["saved"], said["updated"]
    with running(_WRITERS, tmp_path) as writers:
        assert writers.stdin is not None
        assert writers.stdout is not None
        for round_ in range(ROUNDS):
            left = ACKNOWLEDGED - len(saved)
            enough = len(saved) + (left if round_ == ROUNDS - 1 else pick.randrange(1, 2 * left // (ROUNDS - round_)))
            print(round_, file=writers.stdin, flush=True)
            child = None
            for line in writers.stdout:
                kind, what = line.split()
                if kind == "dead":
                    break
                if kind == "writer":
                    child = int(what)
                else:
                    said[kind].add(what)
                if child is not None and len(saved) >= enough:
                    os.kill(child, signal.SIGKILL)
                    enough = 10**9
    assert len(saved) >= ACKNOWLEDGED
    store = SqliteStore(tmp_path, EMBEDDER, SettableClock())
    space = space_of(store, "ana")
    there = {memory.id: memory for memory in space.walk()}
    assert saved <= set(there)
    assert len(there) <= len(saved) + ROUNDS
    assert found(search(space, "heron", per_leg=None, tags=("wet",))) == set(there)
    assert found(search(space, near=embed("heron")[0], per_leg=None)) == set(there)
    for memory in there.values():
        revisions = space.revisions(memory.id)
        assert len(revisions) == memory.version - 1
        assert memory.content.endswith("at dawn") == (memory.version == 2)
        if memory.id in updated:
            assert memory.version == 2
    assert space.statistics()["chunks"] == sum(len(embed(memory.content)) for memory in there.values())
    path = store.path(UserRef("ana"))
    store.close()
    connection = apsw.Connection(str(path))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


_DIES_IN_A_BATCH = """
import os, signal, sys
from pathlib import Path
from faults.doors import answer, open_door
from steeltrap.stores.sqlite import writes

door = open_door(Path(sys.argv[1]))
answer(door, "core.save", content="the heron was there before")
keep, at, kind = writes._write_around, int(sys.argv[2]), sys.argv[3]
ids = answer(door, "core.batch_save", items=[{"content": f"reed {i}"} for i in range(50)])["ids"]
count = 0

def dying(*arguments, **options):
    global count
    keep(*arguments, **options)
    count += 1
    if count == at:
        os.kill(os.getpid(), signal.SIGKILL)

writes._write_around = dying
if kind == "save":
    answer(door, "core.batch_save", items=[{"content": f"otter {i}"} for i in range(50)])
else:
    answer(door, "core.batch_update", updates=[{"id": id, "content": "otter"} for id in ids])
"""


@pytest.mark.parametrize(("at", "kind"), [(1, "save"), (50, "save"), (25, "update")])
def test_a_batch_killed_in_the_middle_leaves_no_trace(tmp_path: Path, at: int, kind: str) -> None:
    with running(_DIES_IN_A_BATCH, tmp_path, at, kind) as process:
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
    door = open_door(tmp_path)
    stored = answer(door, "core.list", ANA, limit=1000)
    assert stored["total"] == 51
    assert not any("otter" in memory["content"] for memory in stored["memories"])
    assert {memory["version"] for memory in stored["memories"]} == {1}
    assert answer(door, "core.search", query="otter", mode="keyword")["results"] == []
    assert answer(door, "core.stats")["chunks"] == 51
    save(space_of(door.store, "ana"), "writing goes on")
    door.store.close()
