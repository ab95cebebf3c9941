"""Two machines over one log, each with a cache of its own: what one has answered, the other one knows."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from contracts.entries import EMBEDDER
from contracts.log_places import KINDS, log_of
from faults.replica_history import ANA, logs_at
from steeltrap.invoke import Door
from steeltrap.model import Caller
from steeltrap.runtime.clock import SystemClock
from steeltrap.runtime.local import open_door
from steeltrap.settings import read_settings
from steeltrap.stores.replica import ReplicaStore

ROUNDS: Final = 1_000 if os.environ.get("STEELTRAP_TEST_HISTORY") else 25
"""All by hand, which takes minutes; some in each run of the tests."""


@contextmanager
def machines(folder: Path, url: str) -> Iterator[list[Door]]:
    """Two doors to the memories at a URL."""
    with ExitStack() as opened:
        door = open_door(read_settings(data=folder / "unused", store="sqlite"), embedder=EMBEDDER)
        opened.enter_context(closing(door.store))
        stores = [ReplicaStore(folder / name, logs_at(url), EMBEDDER, SystemClock()) for name in ("one", "two")]
        yield [replace(door, store=opened.enter_context(closing(store))) for store in stores]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_one_machine_saves_changes_or_deletes_the_other_finds_so_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with log_of(kind, tmp_path, monkeypatch) as url, machines(tmp_path, url) as doors:
        for number in range(ROUNDS):
            _round(number, doors[number % 2], doors[1 - number % 2])


def _round(number: int, here: Door, there: Door) -> None:
    """Save here, search there; and of some rounds change or delete it there, and search here."""
    saved = _ask(here, "save", content=f"heron{number} waits by the reeds")
    assert _found(there, f"heron{number}") == {saved["id"]: f"heron{number} waits by the reeds"}, number
    if number % 3 == 0:
        _ask(there, "update", id=saved["id"], content=f"egret{number} sleeps")
        assert _found(here, f"heron{number}") == {}, number
        assert _found(here, f"egret{number}") == {saved["id"]: f"egret{number} sleeps"}, number
    elif number % 3 == 1:
        _ask(there, "delete", id=saved["id"])
        assert _found(here, f"heron{number}") == {}, number


def _found(door: Door, word: str) -> dict[str, str]:
    hits = _ask(door, "search", query=word, mode="keyword", limit=5)["results"]
    return {hit["id"]: hit["content"] for hit in hits}


def _ask(door: Door, tool: str, **arguments: Any) -> Any:
    result = door.invoke(f"core.{tool}", arguments, Caller(ANA, "default"))
    assert result.error is None, result.error
    return result.body
