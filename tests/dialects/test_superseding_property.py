"""Whatever is saved, superseded, deleted, undone and purged: what is superseded never appears unasked."""

import dataclasses
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clock import SettableClock
from embedding import HashedWords
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.toolsets import CATALOGUE

ANA = Caller(UserRef("ana"), "assistant")
_STEP = st.one_of(
    st.tuples(st.just("save"), st.lists(st.integers(0, 7), max_size=3)),
    st.tuples(st.sampled_from(["delete", "delete_for_good", "undo", "forget", "update"]), st.integers(0, 7)),
    st.tuples(st.just("consolidate"), st.lists(st.integers(0, 7), min_size=2, max_size=3)),
)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(_STEP, max_size=14))
def test_superseded_memories_never_appear_unasked(steps: list[tuple[str, Any]]) -> None:
    clock, embedder = SettableClock(), HashedWords(dimension=64)
    with TemporaryDirectory() as folder, closing(SqliteStore(Path(folder), embedder, clock)) as store:
        door = Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock)
        at_once = dataclasses.replace(door, rules=dataclasses.replace(door.rules, retention=timedelta(0)))
        made = ["00000000-0000-4000-8000-000000000000"]
        for step in steps:
            clock.advance(seconds=1)
            _take(door, at_once, step, made)
            _check(door, set(made))


def _take(door: Door, at_once: Door, step: tuple[str, Any], made: list[str]) -> None:
    """One step; what is refused changes nothing, which the checks after it see."""
    does, which = step
    if does in ("save", "consolidate"):
        ids = list(dict.fromkeys(made[n % len(made)] for n in which))
        arguments = {"content": f"the heron number {len(made)}", "supersedes": ids}
        if does == "consolidate":
            arguments = {"ids": ids, "preserve_originals": False}
        result = door.invoke(f"core.{does}", arguments, ANA)
        if result.error is None:
            made.append(result.body["id"])
        return
    id = made[which % len(made)]
    if does == "delete_for_good":
        at_once.invoke("core.delete", {"id": id}, ANA)
        return
    text = {"content": f"the heron flies from {len(made)}"} if does == "update" else {}
    door.invoke(f"core.{does}", {"id": id, **text}, ANA)


def _check(door: Door, made: set[str]) -> None:
    ask: Callable[..., Any] = lambda tool, **arguments: door.invoke(tool, arguments, ANA).body  # noqa: E731
    every = ask("core.list", include_superseded=True)["memories"]
    there = {memory["id"] for memory in every}
    current = {memory["id"] for memory in every if "superseded_by" not in memory}
    assert there <= made
    assert {memory["superseded_by"] for memory in every if "superseded_by" in memory} <= there
    assert bool(current) == bool(there)  # a chain always has an end, so something is current
    shown = ask("core.list")
    assert ({memory["id"] for memory in shown["memories"]}, shown["total"]) == (current, len(current))
    for tool in ("core.search", "records.memory_search", "notes.memory_search", "core.retrieve_memory"):
        answer = ask(tool, query="the heron")
        for hit in answer["results"] if tool == "core.search" else ():
            hit.pop("supersedes", None)  # the newer one may name what it was saved in place of
        assert not [id for id in there - current if id in str(answer)], tool
    found = ask("core.search", query="the heron", limit=100)["results"]
    assert {hit["id"] for hit in found} == current
    assert sum(use["memories"] for use in ask("core.list_scopes")["scopes"]) == len(current)
