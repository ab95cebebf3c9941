"""A process that dies while it supersedes, or brings back: all of it is there afterwards, or nothing."""

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
does, at = sys.argv[2], int(sys.argv[3])
olds = [answer(door, "core.save", content=f"heron {i}")["id"] for i in range(5)]
new = None if does == "save" else answer(door, "core.save", content="all herons", supersedes=olds)["id"]
if does == "undelete":
    answer(door, "core.delete", id=new)
keep, count = writes._write_around, 0

def dying(*arguments, **options):
    global count
    keep(*arguments, **options)
    count += 1
    if count == at:
        os.kill(os.getpid(), signal.SIGKILL)

writes._write_around = dying
if does == "save":
    answer(door, "core.save", content="all herons", supersedes=olds)
elif does == "delete":
    answer(door, "core.delete", id=new)
else:
    answer(door, "core.undo", id=new)
"""


@pytest.mark.parametrize("at", [1, 3, 6])
@pytest.mark.parametrize("does", ["save", "delete", "undelete"])
def test_a_death_while_superseding_leaves_all_as_it_was(tmp_path: Path, does: str, at: int) -> None:
    with running(_DIES, tmp_path, does, str(at)) as process:
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
    door = open_door(tmp_path)
    shown = {memory["content"] for memory in answer(door, "core.list")["memories"]}
    before = {f"heron {i}" for i in range(5)}
    assert shown == ({"all herons"} if does == "delete" else before)
    hidden = answer(door, "core.list", include_superseded=True)["memories"]
    assert len(hidden) == (6 if does == "delete" else 5)
    assert {memory.get("superseded_by") is None for memory in hidden if memory["content"] in before} == {
        does != "delete"
    }
    door.store.close()
