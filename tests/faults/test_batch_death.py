"""A process that dies in the middle of a batch: all or nothing is nothing, and one by one is what was written."""

import signal
from pathlib import Path

import pytest

from faults.doors import answer, open_door, running

_DIES = """
import os, signal, sys
from pathlib import Path
from faults.doors import answer, open_door
from steeltrap.stores.sqlite import writes

door = open_door(Path(sys.argv[1]))
at, tool, on_error = int(sys.argv[2]), sys.argv[3], sys.argv[4]
ids = answer(door, "records.memory_batch_store", items=[{"content": f"reed {i}"} for i in range(20)])["stored_ids"]
count = 0

def dying(write):
    def written(*arguments, **options):
        global count
        write(*arguments, **options)
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
    return written

writes.create, writes.replace = dying(writes.create), dying(writes.replace)
if tool == "memory_batch_store":
    answer(door, "records." + tool, items=[{"content": f"otter {i}"} for i in range(20)], on_error=on_error)
elif tool == "memory_batch_update":
    answer(door, "records." + tool, updates=[{"id": id, "content": "otter"} for id in ids], on_error=on_error)
else:
    answer(door, "records." + tool, memory_ids=ids, preserve_originals=False)
"""


@pytest.mark.parametrize(
    ("tool", "on_error", "at", "written"),
    [
        ("memory_batch_store", "rollback", 1, 0),
        ("memory_batch_store", "rollback", 20, 0),
        ("memory_batch_store", "continue", 8, 7),
        ("memory_batch_update", "rollback", 10, 0),
        ("memory_batch_update", "stop", 10, 9),
        ("memory_consolidate", "", 11, 0),
    ],
)
def test_a_batch_killed_in_the_middle_keeps_its_word(
    tmp_path: Path, tool: str, on_error: str, at: int, written: int
) -> None:
    with running(_DIES, tmp_path, at, tool, on_error) as process:
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
    door = open_door(tmp_path)
    listed = answer(door, "records.memory_list", limit=1000)
    assert listed["total"] == 20 + (written if tool == "memory_batch_store" else 0)
    assert sum("otter" in memory["content"] for memory in listed["memories"]) == written
    found = answer(door, "records.memory_search", query="otter", search_mode="keyword", top_k=1000)
    assert found["total"] == written
    changed = [memory["id"] for memory in answer(door, "core.list", limit=1000)["memories"] if memory["version"] > 1]
    assert len(changed) == (written if tool == "memory_batch_update" else 0)
    assert answer(door, "core.stats")["deleted"] == 0
    again = answer(door, "records.memory_batch_store", items=[{"content": "writing goes on"}])
    assert again["success"] is True
    door.store.close()
