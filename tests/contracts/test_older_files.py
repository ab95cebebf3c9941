"""A folder that an earlier release wrote answers as one that was written today, once a server or a sweep has had it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from clock import NOON, SettableClock
from steeltrap.embedders.static import StaticEmbedder
from steeltrap.invoke import Door
from steeltrap.maintenance import Run
from steeltrap.model import Caller, UserRef
from steeltrap.runtime.local import open_door
from steeltrap.settings import read_settings
from steeltrap.stores.sqlite.records import to_terms
from steeltrap.stores.sqlite.schema import _NOTES_DAYS, APPLICATION, MIGRATIONS
from steeltrap.text.words import WORDS_VERSION

ME = Caller(UserRef("ana"), "assistant")
ZONE = "America/New_York"
EMBEDDER = StaticEmbedder()
CHANGED = "Летом мы видели цаплю у пруда.", "गर्मियों में हमने तालाब पर बगुला देखा।"
"""Texts that the analysis of today reads otherwise."""
SAVED: tuple[dict[str, Any], ...] = (
    *({"content": content} for content in CHANGED),
    {"content": "My sister moves to Lisbon in June.", "tags": ["Café", "family"], "category": "Fact"},
    {"content": "Wir haben am Teich einen Reiher gesehen.", "occurred_at": "2025-12-24"},
    {"content": "I ran along the river with Bruno.", "occurred_at": "2025-12-24T01:00:00Z"},
    {"content": "I ran in the park with Carla.", "occurred_at": "2025-12-25T01:00:00Z", "scope": "work/runs"},
    {"content": "祖母は京都に住んでいます。", "metadata": {"page": 3}},
)
_SUPERSEDES = 5
"""The schema since which a memory can supersede another."""
QUESTIONS = (
    "Where does my sister move to?",
    "Who did I run with on 24 December 2025?",
    "видели цаплю летом",
    "तालाब पर बगुला",
    "What bird was at the pond?",
    "Where does my grandmother live?",
    "What did Bruno say about the bridge?",
)


def write(folder: Path, *, superseding: bool) -> None:
    """Write a folder by the code of today."""
    with opened(folder) as door:
        ids = [ask(door, "core.save", **one)["id"] for one in SAVED]
        messages = [{"role": "user", "content": f"Bruno says that the bridge is {state}."} for state in ("old", "shut")]
        ask(door, "core.append_messages", conversation_id="talk", messages=messages)
        if superseding:
            ask(door, "core.save", content="My sister moves to Porto in June.", supersedes=[ids[2]])
        ask(door, "core.update", id=ids[4], content="I ran along the river with Bruno and his dog.")
        ask(door, "core.delete", id=ask(door, "core.save", content="A deleted heron.")["id"])


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Door]:
    door = open_door(read_settings({}, data=folder), embedder=EMBEDDER, clock=SettableClock(NOON))
    try:
        yield door
    finally:
        door.store.close()


def ask(door: Door, tool: str, **arguments: Any) -> Any:
    result = door.invoke(tool, arguments, ME, timezone=ZONE)
    assert result.error is None, result.body
    return result.body


def answers(door: Door) -> list[Any]:
    """All that is asked of a folder, and what it says."""
    asked: list[tuple[str, dict[str, Any]]] = [("core.search", {"query": query, "why": True}) for query in QUESTIONS]
    asked += [("core.search", {"query": query, "include_conversation": True}) for query in QUESTIONS]
    asked += [("agent.recall", {"query": query}) for query in QUESTIONS]
    asked += [
        ("core.list", {"include_superseded": True, "limit": 50}),
        ("core.list", {"order": "happened", "happened_after": "2025-12-24", "happened_before": "2025-12-25"}),
        ("core.list", {"occurred_after": "2025-12-24"}),
        ("core.list", {"deleted": True}),
        ("core.list", {"tags": ["CAFÉ"], "category": "fact", "include_superseded": True}),
    ]
    return [(tool, arguments, ask(door, tool, **arguments)) for tool, arguments in asked]


def make_older(today: Path, folder: Path, version: int) -> None:
    """Write a folder with what another one has, in the tables of an earlier schema and by the analysis of then."""
    [source] = today.glob("users/*/*.db")
    path = folder / source.relative_to(today)
    path.parent.mkdir(parents=True)
    with contextlib.closing(apsw.Connection(str(path))) as old:
        old.create_scalar_function("fold_tag", lambda tag: tag, 1)
        old.create_scalar_function("fold_category", lambda category: category, 1)
        for migration in MIGRATIONS[:version]:
            old.execute(migration)
        old.execute("ATTACH ? AS today", (str(source),))
        for table in [name for (name,) in old.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")]:
            own = {name for (name,) in old.execute(f"SELECT name FROM pragma_table_info('{table}', 'main')")}
            names = [name for (name,) in old.execute(f"SELECT name FROM pragma_table_info('{table}', 'today')")]
            both = ", ".join(name for name in names if name in own)
            old.execute(f"INSERT INTO main.{table} ({both}) SELECT {both} FROM today.{table}")
        old.execute("DETACH today")
        old.execute("DELETE FROM meta WHERE key IN ('words_version', 'analysis')")
        for n, text, vectors in old.execute(
            "SELECT n, image ->> '$.content', vectors FROM search JOIN memory USING (n)"
        ).fetchall():
            old.execute("UPDATE search SET terms = ? WHERE n = ?", (to_terms(["earlier"]), n))
            if EMBEDDER.has_changed(str(text), 0):
                old.execute("UPDATE search SET vectors = ? WHERE n = ?", (bytes(len(bytes(vectors))), n))
        if version < _NOTES_DAYS:
            for written, then in (('"2025-12-24"', '"2025-12-24T00:00:00+00:00"'), ("01:00:00Z", "01:00:00+00:00")):
                old.execute("UPDATE memory SET image = replace(image, ?, ?)", (written, then))
        old.pragma("application_id", APPLICATION)
        old.pragma("user_version", version)


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_a_folder_of_every_earlier_schema_answers_as_one_of_today(tmp_path: Path, version: int) -> None:
    assert all(EMBEDDER.has_changed(text, 0) for text in CHANGED)
    fresh, older = tmp_path / "fresh", tmp_path / "older"
    write(fresh, superseding=version >= _SUPERSEDES)
    make_older(fresh, older, version)
    with opened(fresh) as door:
        answers(door)  # reading is counted, and shown: as often as below
        wanted = answers(door)
    with opened(older) as door:
        before = answers(door)
        assert [tool for tool, _, _ in before] == [tool for tool, _, _ in wanted]
        failures: list[Any] = []
        run = Run(store=door.store, call_for=door.call_for, report=lambda *failure: failures.append(failure))
        run.reanalyse(run.everyone())
        assert failures == []
        assert run.memories > 0
        assert door.store.space(ME.user, door.call_for(ME, seconds=60).deadline).analysis() == WORDS_VERSION
        for mine, theirs in zip(answers(door), wanted, strict=True):
            assert mine == theirs
        assert before != wanted
