"""A usage table that refuses every write: reading goes on, through every dialect, as if nothing were wrong."""

import logging
from pathlib import Path
from typing import Any

import apsw
import pytest

from clock import SettableClock
from embedding import HashedWords
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.toolsets import CATALOGUE

ANA = Caller(UserRef("ana"), "assistant")
REFUSING = """
CREATE TRIGGER no_insert BEFORE INSERT ON usage BEGIN SELECT RAISE(ABORT, 'refused'); END;
CREATE TRIGGER no_update BEFORE UPDATE ON usage BEGIN SELECT RAISE(ABORT, 'refused'); END;
"""
READING: list[tuple[str, dict[str, Any]]] = [
    ("core.search", {"query": "heron"}),
    ("core.retrieve_memory", {"query": "heron"}),
    ("core.get", {"id": "ID"}),
    ("notes.memory_search", {"query": "heron"}),
    ("categories.search_memories", {"query": "heron"}),
    ("categories.list_memories", {"category": "fact"}),
    ("records.memory_search", {"query": "heron", "sort_by": "importance"}),
    ("records.memory_get", {"id": "ID"}),
    ("associative.memory_search", {"query": "heron", "response_level": "full"}),
    ("associative.memory_manage", {"operation": "get", "memory_id": "ID", "response_level": "full"}),
    ("episodic.retrieve_memory", {"query": "heron"}),
    ("episodic.retrieve_memory_raw", {"query": "heron"}),
]


@pytest.mark.parametrize(("tool", "arguments"), READING, ids=[tool for tool, _ in READING])
def test_reading_through_any_dialect_survives_a_usage_table_that_refuses_writes(
    tmp_path: Path, clock: SettableClock, caplog: pytest.LogCaptureFixture, tool: str, arguments: dict[str, Any]
) -> None:
    embedder = HashedWords()
    store = SqliteStore(tmp_path, embedder, clock)
    door = Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock)
    id = door.invoke("core.save", {"content": "The heron fishes", "category": "fact"}, ANA).body["id"]
    before = door.invoke("core.export", {}, ANA).body
    connection = apsw.Connection(str(store.path(UserRef("ana"))))
    connection.execute(REFUSING)
    clock.advance(days=2)  # so that a retrieval is a review, too

    filled = {name: id if value == "ID" else value for name, value in arguments.items()}
    for _ in range(2):
        result = door.invoke(tool, filled, ANA)
        assert result.error is None, result.body
        assert "The heron fishes" in str(result.body)
        with caplog.at_level(logging.WARNING, "steeltrap"):
            store.flush()
    assert "reading statistics were not kept" in caplog.text
    assert "heron" not in caplog.text
    assert door.invoke("records.memory_get_score", {"id": id}, ANA).body["access_count"] == 0
    assert door.invoke("core.export", {}, ANA).body == before

    connection.execute("DROP TRIGGER no_insert; DROP TRIGGER no_update")
    connection.close()
    assert door.invoke(tool, filled, ANA).error is None
    store.flush()
    assert door.invoke("records.memory_get_score", {"id": id}, ANA).body["access_count"] == 1
    store.close()
