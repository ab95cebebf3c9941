"""Inputs that fit their types and are far from what anyone means: each is answered, or refused in a sentence."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from clock import SettableClock
from contracts.entries import EMBEDDER
from faults.doors import open_door
from steeltrap.errors import Conflict, InvalidInput
from steeltrap.model import Caller, UserRef
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore

ME = Caller(UserRef("ana"), "agent")


class Memories:
    def __init__(self, folder: Path, **parts: Any) -> None:
        self.door = open_door(folder, **parts)

    def __call__(self, tool: str, *, key: str | None = None, **arguments: Any) -> Any:
        result = self.door.invoke(tool, arguments, ME, idempotency_key=key)
        if result.error is not None:
            raise result.error
        return result.body


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Memories]:
    memories = Memories(tmp_path)
    yield memories
    memories.door.store.close()


@pytest.mark.parametrize("tool", ["core.consolidate", "records.memory_consolidate"])
def test_a_saves_idempotency_key_merges_nothing(ask: Memories, tool: str) -> None:
    ids = [ask("core.save", content=text, key=key)["id"] for text, key in (("Tea.", "k"), ("Coffee.", None))]
    field = "ids" if tool.startswith("core") else "memory_ids"
    with pytest.raises(Conflict, match="use a new key to merge these memories"):
        ask(tool, **{field: ids}, preserve_originals=False, key="k")
    assert ask("core.list")["total"] == 2


def test_a_merges_own_key_repeats_it_after_the_result_was_edited(ask: Memories) -> None:
    ids = [ask("core.save", content=text)["id"] for text in ("Tea.", "Coffee.", "Milk.")]
    merged = ask("records.memory_consolidate", memory_ids=[*ids[:2], ids[0]], preserve_originals=False, key="k")
    id = merged["consolidated_memory_id"]
    ask("core.update", id=id, metadata={"source_count": None, "consolidated_from": None})
    again = ask("records.memory_consolidate", memory_ids=[*ids[:2], ids[0]], preserve_originals=False, key="k")
    assert (again["consolidated_memory_id"], again["original_count"], merged["original_count"]) == (id, 2, 2)
    with pytest.raises(Conflict, match="used for something else"):
        ask("records.memory_consolidate", memory_ids=ids[1:], key="k")


@pytest.mark.parametrize("at", ["9999-12-31T00:00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z"])
def test_a_memory_at_the_end_of_time_is_one_like_any_other(ask: Memories, at: str) -> None:
    id = str(uuid4())
    record = {"id": id, "content": "Far away.", "created_at": at, "updated_at": at, "surprise": 1.0}
    assert ask("core.import", records=[record])["written"] == 1
    for day in ("9999-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z"):
        assert 0 <= ask("core.simulate_decay", id=id, at=day)["retrievability"] <= 1
    ask("core.delete", ids=[id])
    assert ask("core.undo", id=id)["id"] == id
    ask("core.review", id=id, grade="good")
    assert "Far away." in ask("core.retrieve_memory", query="far away")


@pytest.mark.parametrize("at", ["9999-12-05T12:00:00+00:00", "9999-12-31T23:59:59+00:00"])
@pytest.mark.parametrize("kind", ["folder", "log"])
def test_a_clock_at_the_end_of_time_fails_no_call(tmp_path: Path, kind: str, at: str) -> None:
    clock, store = SettableClock(datetime.fromisoformat(at)), None
    if kind == "log":
        logs, kept = FolderLogs(tmp_path / "log"), timedelta(days=30)
        store = ReplicaStore(tmp_path / "cache", logs, EMBEDDER, clock, retention=kept)
    ask = Memories(tmp_path, clock=clock, embedder=EMBEDDER, store=store)
    ids = [ask("core.save", content=f"Tea {n}.", tier="short_term")["id"] for n in range(3)]
    ask("core.review", id=ids[0], grade="easy")
    ask("core.update", id=ids[0], tier="long_term")
    ask("core.update", id=ids[0], tier="short_term")
    ask("core.append_messages", conversation_id="c", messages=[{"role": "user", "content": "I moved to Lisbon."}])
    for question in ("tea tomorrow", "tea in three months", "tea next year"):
        ask("core.retrieve_memory", query=question)
    ask("core.delete", id=ids[1])
    assert [memory["id"] for memory in ask("core.list", deleted=True)["memories"]] == [ids[1]]
    ask("core.undo", id=ids[1])
    ask("associative.memory_manage", operation="delete", memory_id=ids[2])
    assert ask("core.simulate_decay", id=ids[0], at=at)["retrievability"] == 1
    assert {memory["id"] for memory in ask("core.list")["memories"]} >= set(ids[:2])
    ask.door.store.close()


@pytest.mark.parametrize("tool", ["core.list", "core.search", "core.retrieve_memory"])
def test_too_many_conditions_are_refused_in_a_sentence(ask: Memories, tool: str) -> None:
    query = {} if tool == "core.list" else {"query": "tea"}
    ask("core.save", content="Tea.", metadata={"k1": 1})
    conditions = {f"k{n}": n for n in range(1000)}
    with pytest.raises(InvalidInput, match="`metadata` has 1,000 conditions; at most 64 fit in a filter"):
        ask(tool, **query, metadata=conditions)
    most = dict(list(conditions.items())[:64])
    ask(tool, **query, metadata=most, tags=[f"t{n}" for n in range(64)])
    with pytest.raises(InvalidInput) as refused:
        ask(tool, **query, metadata={"k" * 10_000: []})
    assert len(refused.value.message) < 300
