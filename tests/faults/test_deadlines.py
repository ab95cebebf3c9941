"""A call with many items looks at its deadline before each, and ends there with an error.

The clock goes on by one tick each time it is looked at, so a deadline in ticks is a number of looks.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clock import NOON, SettableClock
from embedding import HashedWords
from steeltrap.engine.call import Call
from steeltrap.engine.conversations import IncomingMessage, append_messages
from steeltrap.engine.exporting import export_file, export_page
from steeltrap.engine.importing import Conversation, import_conversations, import_drafts, import_records, import_texts
from steeltrap.engine.saving import batch_save
from steeltrap.engine.syncing import import_file
from steeltrap.engine.updating import batch_update
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Draft, Edit, Message, UserRef
from steeltrap.ports import Deadline
from steeltrap.stores.files.folder import FolderFiles
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.toolsets import CATALOGUE

ITEMS = 90
ANA = Caller(UserRef("ana"), "assistant", "talk")
IDS = [f"10000000-0000-4000-8000-{i:012}" for i in range(ITEMS)]
Calling = Callable[[int], Call]


class _Ticking(SettableClock):
    """Goes on by one second each time it is looked at."""

    def monotonic(self) -> float:
        self.sleep(1)
        return self.slept


@pytest.fixture
def calling(tmp_path: Path, clock: SettableClock) -> Iterator[Calling]:
    """`calling(ticks)` is a call of Ana's that may look at the clock so many times."""
    embedder = HashedWords()
    store = SqliteStore(tmp_path, embedder, clock)
    door = Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock, files=FolderFiles(tmp_path))

    def call(ticks: int) -> Call:
        made = door.call_for(ANA, seconds=60, files=True)
        made.deadline = Deadline.after(ticks + 0.5, _Ticking())
        return made

    yield call
    store.close()


def _records(call: Call) -> list[dict[str, Any]]:
    times = {"created_at": NOON.isoformat(), "updated_at": NOON.isoformat()}
    return [{"id": id, "content": f"heron {id}", **times} for id in IDS]


def _file(call: Call, *, scope: str = "a") -> str:
    memories = [{"memory_id": id, "content": f"heron {id}", "scope": scope} for id in IDS]
    assert call.files is not None
    call.files.write("all.json", json.dumps({"format_version": "1.0", "memories": memories}).encode())
    return "all.json"


_DRAFTS = [Draft(content=f"heron {i}") for i in range(ITEMS)]
_CONVERSATION = Conversation(
    id="c",
    messages=tuple(IncomingMessage(message=Message(role="user", content="heron"), id=str(i)) for i in range(ITEMS)),
)
_WRITES: dict[str, Callable[[Call], object]] = {
    "batch save": lambda call: batch_save(call, _DRAFTS, "continue"),
    "append messages": lambda call: append_messages(
        call, [IncomingMessage(message=Message(role="user", content="heron"))] * ITEMS
    ),
    "import conversations": lambda call: import_conversations(call, [_CONVERSATION]),
    "import records": lambda call: import_records(call, _records(call)),
    "import texts": lambda call: import_texts(call, _DRAFTS),
    "import turns": lambda call: import_drafts(call, _DRAFTS, Counter()),
    "import a file": lambda call: import_file(call, _file(call)),
}
_READS: dict[str, Callable[[Call], object]] = {
    "export a page": lambda call: export_page(call, limit=ITEMS),
    "export a file": lambda call: export_file(call, name="new.json"),
    "import what is there": lambda call: import_file(call, _file(call)),
    "read a batch of edits": lambda call: batch_update(call, [(id, Edit(pinned=True)) for id in IDS[:50]], "rollback"),
}


@pytest.mark.parametrize("ticks", [10, ITEMS - 10])
@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES)
def test_a_write_of_many_items_that_runs_out_of_time_writes_nothing(
    calling: Calling, write: Callable[[Call], object], ticks: int
) -> None:
    with pytest.raises(Unavailable) as refused:
        write(calling(ticks))
    assert refused.value.details["part"] == "deadline"
    assert list(calling(1).space.walk(turns=True)) == []


@pytest.mark.parametrize("read", _READS.values(), ids=_READS)
def test_a_read_of_many_memories_ends_with_its_time(calling: Calling, read: Callable[[Call], object]) -> None:
    import_records(calling(1000), _records(calling(1)))
    with pytest.raises(Unavailable):
        read(calling(40))
    assert calling(1).space.statistics()["memories"] == ITEMS
    assert not any(memory.pinned for memory in calling(1).space.walk())


def test_an_import_compares_with_what_a_scope_has_as_long_as_there_is_time(calling: Calling) -> None:
    filled = calling(5000)
    for start in range(0, 10 * ITEMS, ITEMS):
        drafts = [Draft(content=f"otter {start + i}", scope="a") for i in range(ITEMS)]
        import_drafts(filled, drafts, Counter())
    with pytest.raises(Unavailable):
        import_file(calling(6 * ITEMS), _file(calling(1)))
    assert calling(1).space.get(IDS) == {}


def test_what_an_import_wrote_before_its_time_was_over_is_said(calling: Calling) -> None:
    memories = [{"memory_id": f"20000000-0000-4000-8000-{i:012}", "content": f"otter {i}"} for i in range(250)]
    whole = calling(1)
    assert whole.files is not None
    whole.files.write("all.json", json.dumps({"format_version": "1.0", "memories": memories}).encode())
    with pytest.raises(
        Unavailable, match=r"^100 of 250 memories were imported, then: .*Import the file again to go on"
    ):
        import_file(calling(1400), "all.json")
    assert calling(1).space.statistics()["memories"] == 100
    assert import_file(calling(9999), "all.json").actions == {"new": 150, "skipped": 100}
