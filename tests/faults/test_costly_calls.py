"""Calls that a known user can make costly: what each of them takes is bounded, by counting what it does and holds."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clock import SettableClock
from embedding import HashedWords
from recollect.adapters.sqlite import SqliteStore, likeness
from recollect.invoke import Door
from recollect.model import Caller, JsonObject
from recollect.toolsets import CATALOGUE

MB = 1024 * 1024
ANA = Caller("ana", "assistant")


@pytest.fixture
def door(tmp_path: Path, clock: SettableClock) -> Iterator[Door]:
    embedder = HashedWords()
    store = SqliteStore(tmp_path, embedder, clock)
    yield Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock)
    store.close()


def answer(door: Door, tool: str, **arguments: Any) -> JsonObject:
    result = door.invoke(tool, arguments, ANA)
    assert result.error is None
    body: JsonObject = result.body
    return body


def fill(door: Door, *texts: str, **fields: Any) -> None:
    for start in range(0, len(texts), 100):
        items = [{"content": text, **fields} for text in texts[start : start + 100]]
        answer(door, "core.batch_save", items=items, on_error="rollback")


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Holds what happens in the block to so many bytes at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def test_choosing_among_alike_memories_holds_no_table_of_all_pairs(door: Door) -> None:
    fill(door, *["The heron waits at the pond at dawn."] * 1000)
    with at_most(20 * MB):
        found = answer(door, "core.search", query="heron", limit=200, diversity_threshold=0)
    assert len(found["results"]) == 1


def test_what_is_like_a_chosen_memory_is_compared_no_further(monkeypatch: pytest.MonkeyPatch, door: Door) -> None:
    compared = []
    near = likeness._near

    def counted(ones: Any, others: Any, *how: Any) -> Any:
        compared.append(len(ones) * len(others))
        return near(ones, others, *how)

    monkeypatch.setattr(likeness, "_near", counted)
    fill(door, *["The heron waits at the pond at dawn."] * 1000)
    answer(door, "core.search", query="heron", limit=200, diversity_threshold=0)
    assert sum(compared) < 1000 + likeness.TILE**2
