"""Every dialect over the same memories: who sees what, who changes what, what counts as reading."""

from collections.abc import Callable
from typing import Any

import pytest

from clock import SettableClock
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.toolsets import CATALOGUE

TEXT = "The heron fishes by the lighthouse at dawn"
ANA = Caller(UserRef("ana"), "assistant", "chat-1")
OTHER_AGENT = Caller(UserRef("ana"), "gardener", "chat-1")

SAVING: dict[str, tuple[str, dict[str, Any]]] = {
    "core": ("core.save", {"content": TEXT}),
    "core, of a category": ("core.save", {"content": TEXT, "category": "fact"}),
    "core, of another category": ("core.save", {"content": TEXT, "category": "birds"}),
    "agent": ("agent.remember", {"content": TEXT}),
    "notes": ("notes.memory_save", {"content": TEXT, "tags": ["bird"]}),
    "categories": ("categories.store_memory", {"category": "fact", "content": TEXT, "context": "a walk"}),
    "records": ("records.memory_store", {"content": TEXT, "tags": ["bird"], "metadata": {"by": "eye"}}),
    "associative": ("associative.memory_store", {"content": TEXT, "scope": "work/birds"}),
    "associative, of a category": ("associative.memory_store", {"content": TEXT, "category": "fact"}),
    "files": ("files.memory", {"command": "create", "path": "/memories/birds.md", "file_text": TEXT}),
}
SEARCHING: dict[str, tuple[str, dict[str, Any]]] = {
    "core": ("core.search", {"query": "heron"}),
    "agent": ("agent.recall", {"query": "heron"}),
    "notes": ("notes.memory_search", {"query": "heron"}),
    "categories": ("categories.search_memories", {"query": "heron"}),
    "records": ("records.memory_search", {"query": "heron"}),
    "associative": ("associative.memory_search", {"query": "heron", "response_level": "full"}),
    "episodic": ("episodic.retrieve_memory", {"query": "heron"}),
}
ALL = frozenset(SEARCHING)

Run = Callable[..., Any]


@pytest.fixture
def run(door: Door) -> Run:
    def run(tool: str, caller: Caller = ANA, **arguments: Any) -> Any:
        result = door.invoke(tool, arguments, caller)
        assert result.error is None, result.body
        return result.body

    return run


def seen_by(run: Run, caller: Caller = ANA, text: str = TEXT) -> frozenset[str]:
    """The dialects whose search finds a text."""
    found = {name: run(tool, caller, **arguments) for name, (tool, arguments) in SEARCHING.items()}
    return frozenset(name for name, answer in found.items() if text in str(answer))


def the_memory(run: Run) -> dict[str, Any]:
    [memory] = run("core.list")["memories"]
    return dict(memory)


def test_every_dialect_has_its_place_in_these_tables() -> None:
    assert set(SEARCHING) == set(CATALOGUE.toolsets) - {"files"}, "which has no search"
    assert {tool.split(".")[0] for tool, _ in SAVING.values()} == set(CATALOGUE.toolsets) - {"episodic"}


# Who sees what


@pytest.mark.parametrize(
    ("saved", "seen"),
    [
        ("core", ALL - {"categories"}),
        ("core, of a category", ALL),
        ("core, of another category", ALL - {"categories"}),
        ("agent", ALL - {"categories"}),
        ("notes", ALL - {"categories"}),
        ("categories", ALL),
        ("records", ALL - {"categories"}),
        ("associative", ALL - {"categories"}),
        ("associative, of a category", ALL),
        ("files", ALL - {"categories"}),
    ],
)
def test_what_is_saved_through_one_is_found_through_the_others(run: Run, saved: str, seen: frozenset[str]) -> None:
    tool, arguments = SAVING[saved]
    run(tool, **arguments)
    assert seen_by(run) == seen


def test_what_another_agent_of_the_user_saved_is_seen_by_all_but_categories(run: Run) -> None:
    for tool, arguments in (SAVING["categories"], SAVING["core, of a category"]):
        run(tool, OTHER_AGENT, **arguments)
        assert seen_by(run) == ALL - {"categories"}
        assert seen_by(run, OTHER_AGENT) == ALL
        run("core.forget", id=the_memory(run)["id"])


def test_what_was_said_is_seen_as_an_episode_once_the_conversation_rests(run: Run, clock: SettableClock) -> None:
    for content in (TEXT, "How lovely.", "It caught a trout."):
        run("episodic.add_message", conversation_id="chat-1", message={"role": "user", "content": content})
    assert seen_by(run) == frozenset()
    assert TEXT in str(run("notes.memory_search", query="heron", include_conversation=True))
    clock.advance(minutes=16)
    run("episodic.retrieve_memory", query="heron")
    assert seen_by(run) == ALL - {"categories", "notes"}
    assert len(run("core.list")["memories"]) == 1
    [said] = run("notes.memory_search", query="heron fishes lighthouse", include_conversation=True, top_k=1)
    assert (said["text"], said["source"]) == (TEXT, "conversation")


@pytest.mark.parametrize("saved", SAVING)
def test_no_other_user_sees_it(run: Run, saved: str) -> None:
    tool, arguments = SAVING[saved]
    run(tool, **arguments)
    assert seen_by(run, Caller(UserRef("ben"), "assistant", "chat-1")) == frozenset()


@pytest.mark.parametrize("form", ["{}", "note-{}"])
def test_every_dialect_takes_an_id_in_both_forms(run: Run, form: str) -> None:
    id = form.format(run("core.save", content=TEXT)["id"])
    assert run("core.get", id=id)["content"] == TEXT
    assert run("records.memory_get", id=id)["content"] == TEXT
    assert run("associative.memory_manage", operation="get", memory_id=id, response_level="minimal")["exists"] is True
    assert run("notes.memory_update", note_id=id, content=TEXT)["note_id"].startswith("note-")


# Who changes what

NEW = "The otter sleeps in the reeds"
UPDATING: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "core": lambda id: ("core.update", {"id": id, "content": NEW}),
    "core, in a batch": lambda id: ("core.batch_update", {"updates": [{"id": id, "content": NEW}]}),
    "notes": lambda id: ("notes.memory_update", {"note_id": f"note-{id}", "content": NEW}),
    "records": lambda id: ("records.memory_update", {"id": id, "content": NEW}),
    "records, in a batch": lambda id: ("records.memory_batch_update", {"updates": [{"id": id, "content": NEW}]}),
    "associative": lambda id: (
        "associative.memory_manage",
        {"operation": "update", "memory_id": id, "content": NEW},
    ),
}
DELETING: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "core": lambda id: ("core.delete", {"id": id}),
    "agent": lambda id: ("agent.forget_memory", {"id": id}),
    "notes": lambda id: ("notes.memory_delete", {"note_id": id}),
    "records": lambda id: ("records.memory_delete", {"id": id}),
    "associative": lambda id: ("associative.memory_manage", {"operation": "delete", "memory_id": id}),
}
# A memory with every field that a save can give.
WHOLE = {
    "content": TEXT,
    "messages": [{"role": "user", "content": "I saw a heron", "speaker": "Ana"}],
    "content_type": "code",
    "tier": "working",
    "category": "fact",
    "context": "a walk",
    "confidence": 0.5,
    "tags": ["bird", "Dawn"],
    "metadata": {"by": "eye", "deep": {"list": [1, None]}},
    "scope": "work/birds",
    "agent_label": "scout",
    "conversation_id": "chat-9",
    "occurred_at": "2025-12-01T06:00:00Z",
    "occurred_until": "2025-12-01T07:00:00Z",
    "ttl_seconds": 86_400,
    "surprise": 0.9,
    "pinned": True,
}


@pytest.mark.parametrize("through", UPDATING)
@pytest.mark.parametrize("saved", [*SAVING, "whole"])
def test_a_change_through_any_dialect_keeps_every_other_field(
    run: Run, clock: SettableClock, saved: str, through: str
) -> None:
    tool, arguments = SAVING[saved] if saved != "whole" else ("core.save", WHOLE)
    run(tool, **arguments)
    before = the_memory(run)
    clock.advance(minutes=5)
    tool, arguments = UPDATING[through](before["id"])
    run(tool, **arguments)
    after = the_memory(run)
    changed = {"content": NEW, "updated_at": "2026-01-01T12:05:00Z", "updated_by": before["agent_id"], "version": 2}
    # What an episode's messages say, the new text replaces too.
    kept = {name: value for name, value in before.items() if name != "messages"}
    assert after == kept | changed
    assert run("core.undo", id=before["id"])["content"] == TEXT


@pytest.mark.parametrize("through", DELETING)
@pytest.mark.parametrize("saved", SAVING)
def test_what_one_dialect_deletes_is_gone_from_all_and_can_be_brought_back(run: Run, saved: str, through: str) -> None:
    tool, arguments = SAVING[saved]
    run(tool, **arguments)
    before, id = seen_by(run), the_memory(run)["id"]
    tool, arguments = DELETING[through](id)
    run(tool, **arguments)
    assert seen_by(run) == frozenset()
    run("core.undo", id=id)
    assert seen_by(run) == before


# What counts as reading

READING: list[tuple[str, dict[str, Any], int]] = [
    ("core.search", {"query": "heron"}, 1),
    ("core.retrieve_memory", {"query": "heron"}, 1),
    ("core.get", {"id": "ID"}, 1),
    ("core.list", {}, 0),
    ("core.export", {}, 0),
    ("core.history", {"id": "ID"}, 0),
    ("core.associations", {"id": "ID"}, 0),
    ("core.score", {"id": "ID"}, 0),
    ("core.simulate_decay", {"id": "ID", "at": "2026-02-01T00:00:00Z"}, 0),
    ("agent.recall", {"query": "heron"}, 1),
    ("agent.recent_memories", {}, 0),
    ("notes.memory_search", {"query": "heron"}, 1),
    ("categories.search_memories", {"query": "heron"}, 1),
    ("categories.list_memories", {"category": "fact"}, 1),
    ("records.memory_search", {"query": "heron"}, 1),
    ("records.memory_get", {"id": "ID"}, 1),
    ("records.memory_list", {}, 0),
    ("records.memory_get_score", {"id": "ID"}, 0),
    ("associative.memory_search", {"query": "heron"}, 1),
    ("associative.memory_manage", {"operation": "get", "memory_id": "ID"}, 1),
    ("associative.memory_list_all", {}, 0),
    ("associative.memory_discover_associations", {"memory_id": "ID"}, 0),
    ("episodic.retrieve_memory", {"query": "heron"}, 1),
    ("episodic.retrieve_memory_raw", {"query": "heron"}, 1),
]


@pytest.mark.parametrize(("tool", "arguments", "counts"), READING, ids=[f"{tool}" for tool, _, _ in READING])
def test_reading_counts_as_access_and_changes_no_version(
    run: Run, tool: str, arguments: dict[str, Any], counts: int
) -> None:
    run("core.save", content=TEXT, category="fact")
    before = the_memory(run)
    filled = {name: before["id"] if value == "ID" else value for name, value in arguments.items()}
    for nth in (1, 2):
        run(tool, **filled)
        assert run("records.memory_get_score", id=before["id"])["access_count"] == nth * counts
    assert the_memory(run) == before
