"""Two machines over one log, each with a cache of its own: what one has answered, the other one knows."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.entries import EMBEDDER
from contracts.log_places import KINDS, log_of
from faults.replica_history import ANA, logs_at, rows
from steeltrap.invoke import Door
from steeltrap.model import Caller
from steeltrap.runtime import SystemClock
from steeltrap.runtime.local import open_door
from steeltrap.settings import read_settings
from steeltrap.stores.replica import ReplicaStore

ROUNDS: Final = 1_000 if os.environ.get("STEELTRAP_TEST_HISTORY") else 25
"""All by hand, which takes minutes; some in each run of the tests."""
CALLER: Final = Caller(ANA, "default")


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


def test_a_machine_that_comes_back_takes_a_tag_that_was_taken_off_and_put_back_meanwhile(tmp_path: Path) -> None:
    with machines(tmp_path, f"file://{tmp_path}/log") as (here, there):
        saved = _ask(here, "save", content="A heron waits by the reeds.", tags=["bird"])
        assert _ask(there, "list")["total"] == 1
        for tags in ([], ["bird"]):
            _ask(here, "update", id=saved["id"], tags=tags)
        assert [memory["tags"] for memory in _ask(there, "list", tags=["bird"])["memories"]] == [["bird"]]


@given(changes=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=25))
def test_a_machine_that_comes_back_after_any_changes_has_the_rows_of_the_other(changes: list[tuple[int, int]]) -> None:
    with TemporaryDirectory() as folder, machines(Path(folder), f"file://{folder}/log") as (here, there):
        ids = [_ask(here, "save", content=f"heron {number}", tags=["bird"])["id"] for number in range(4)]
        _ask(there, "list")  # it has a file from here on, and merges what comes next
        for kind, number in changes:
            _change(here, kind, ids, number)
        assert _ask(there, "export", limit=100) == _ask(here, "export", limit=100)
        stores = here.store, there.store
        assert isinstance(stores[0], ReplicaStore)
        assert isinstance(stores[1], ReplicaStore)
        assert rows(stores[0]) == rows(stores[1])


def _change(door: Door, kind: int, ids: list[str], number: int) -> None:
    """One of the changes that take rows away or put them back; one that isn't possible now changes nothing."""
    id = ids[number]
    match kind:
        case 0:
            door.invoke("core.update", {"id": id, "tags": []}, CALLER)
        case 1:
            door.invoke("core.update", {"id": id, "tags": ["bird", "river"]}, CALLER)
        case 2:
            door.invoke("core.delete", {"id": id}, CALLER)
        case 3:
            door.invoke("core.undo", {"id": id}, CALLER)
        case 4:
            door.invoke("core.forget", {"id": id}, CALLER)
        case _:
            egret = {"content": f"egret {number}", "tags": ["bird"], "supersedes": [ids[number - 1]]}
            result = door.invoke("core.save", egret, CALLER)
            if result.error is None:
                ids[number] = result.body["id"]


def _found(door: Door, word: str) -> dict[str, str]:
    hits = _ask(door, "search", query=word, mode="keyword", limit=5)["results"]
    return {hit["id"]: hit["content"] for hit in hits}


def _ask(door: Door, tool: str, **arguments: Any) -> Any:
    result = door.invoke(f"core.{tool}", arguments, CALLER)
    assert result.error is None, result.error
    return result.body
