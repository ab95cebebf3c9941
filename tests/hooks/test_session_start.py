"""A session's start is given what matters where it is, in few tokens, and nothing rather than noise."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hooks.conftest import Computer
from hooks.test_recorded_sessions import context
from steeltrap.client.in_process import Memory, open_memory
from steeltrap.invoke import Door
from steeltrap.model import Caller, Permissions, UserRef
from steeltrap.project import project_of
from steeltrap.ranking.budget import estimate_tokens
from steeltrap.servers.hooks import answering
from steeltrap.servers.hooks.answering import answer


@pytest.fixture
def memory(computer: Computer) -> Iterator[Memory]:
    with open_memory(computer.data) as opened:
        yield opened


def hook(
    memory: Memory, computer: Computer, folder: Path, session: str, event: str = "session-start", **given: str
) -> str:
    """The text that a hook adds to a session of Claude Code, noted as given as its own process does."""
    door: Door = memory._door
    asked = {"session_id": session, "transcript_path": "/none.jsonl", "cwd": str(folder), **given}
    answered = answer(door, "local", computer.data, event, {"client": "claude-code", "input": asked})
    with (computer.data / "hooks" / answered["file"]).open("a") as file:
        file.write(json.dumps({"offered": answered["offered"]}) + "\n")
    return context(answered["print"])


def scope_of(folder: Path) -> str:
    project = project_of(folder)
    assert project is not None
    return project.scope


def test_a_start_has_what_the_project_remembers_and_what_is_pinned(
    memory: Memory, computer: Computer, shop: Path, blog: Path
) -> None:
    here = scope_of(shop)
    memory.core.save(content="The shop deploys with make ship.", scope=here)
    memory.core.save(content="The blog is written in Hugo.", scope=scope_of(blog))
    memory.core.save(content="The user likes green tea.")
    memory.core.save(content="The user writes British English.", pinned=True)
    memory.core.save(content="The shop's tests need Redis.", scope=here, pinned=True)
    started = hook(memory, computer, shop, "s1")
    order = [started.find(text) for text in ("need Redis", "British English", "make ship")]
    assert -1 not in order
    assert order == sorted(order)
    assert "Hugo" not in started
    assert "green tea" not in started


def test_a_start_says_nothing_where_nothing_is_known_of_the_place(
    memory: Memory, computer: Computer, shop: Path
) -> None:
    memory.core.save(content="The user likes green tea.")
    assert hook(memory, computer, shop, "s1") == ""


def test_a_start_shows_no_import_unless_it_was_pinned_or_corrected_since(
    memory: Memory, computer: Computer, shop: Path
) -> None:
    here = scope_of(shop)
    memory.core.save(content="The shop deploys with make ship.", scope=here)
    for number in range(400):
        memory.core.save(content=f"Old note {number} of the shop.", scope=here)
    records = memory.core.export(limit=1000)["records"]
    notes = [record for record in records if record["content"].startswith("Old note")]
    memory.core.forget(ids=[note["id"] for note in notes])
    assert memory.core.import_(records=notes)["written"] == 400
    started = hook(memory, computer, shop, "s1")
    assert "make ship" in started
    assert "Old note" not in started
    [first, second] = [note["id"] for note in notes if note["content"].startswith(("Old note 7 ", "Old note 8 "))]
    memory.core.update(id=first, content="Note 7 of the shop was corrected.")
    memory.core.update(id=second, pinned=True)
    started = hook(memory, computer, shop, "s2")
    assert "Note 7 of the shop was corrected" in started
    assert started.count("Old note") == 1


def test_an_old_memory_that_was_corrected_or_pinned_just_now_is_found_among_thousands(
    memory: Memory, computer: Computer, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "_NEWEST", 2)
    here = scope_of(shop)
    old = memory.core.save(content="The shop's port is 80.", scope=here)["id"]
    for number in range(12):
        memory.core.save(content=f"Decision {number} of the shop.", scope=here)
    memory.core.update(id=old, content="The shop's port is 8080.")
    assert "8080" in hook(memory, computer, shop, "s1")


def test_a_start_has_the_last_session_of_the_project_and_a_resumed_one_has_it_already(
    memory: Memory, computer: Computer, shop: Path
) -> None:
    for talk in ("first", "second"):
        said = [{"role": "user", "content": f"We looked at the {talk} crash."}]
        memory.core.append_messages(conversation_id=talk, messages=said, scope=scope_of(shop), ended=True)
    started = hook(memory, computer, shop, "s1", source="startup")
    assert "second crash" in started
    assert "first crash" not in started
    assert hook(memory, computer, shop, "s2", source="resume") == ""
    assert hook(memory, computer, shop, "second", source="startup").count("second crash") == 0


def test_what_was_said_outside_of_every_project_is_no_news_there(memory: Memory, computer: Computer) -> None:
    said = [{"role": "user", "content": "We looked at the first crash."}]
    memory.core.append_messages(conversation_id="talk", messages=said, ended=True)
    assert hook(memory, computer, computer.home, "s1") == ""


def test_an_untrusted_agents_memories_wait_for_a_prompt(memory: Memory, computer: Computer, shop: Path) -> None:
    door: Door = memory._door
    stranger = Caller(UserRef("local"), "stranger", permissions=Permissions(untrusted=True))
    told = {"content": "Always deploy with make ship.", "scope": scope_of(shop), "pinned": True}
    assert door.invoke("core.save", told, stranger).error is None
    assert hook(memory, computer, shop, "s1") == ""
    assert "make ship" in hook(memory, computer, shop, "s1", "prompt", prompt="How do we deploy with make ship?")


@pytest.mark.parametrize("text", ["The shop needs Redis. ", "店舗のサービスは毎週火曜日に公開されます。", "x" * 50])
@pytest.mark.parametrize("most", [400, 160])
def test_a_start_keeps_to_its_tokens(memory: Memory, computer: Computer, shop: Path, text: str, most: int) -> None:
    memory = Memory(replace(memory._door, rules=replace(memory._door.rules, start_tokens=most)), memory._caller)
    for number in range(12):
        memory.core.save(content=f"{number} {text * 40}", scope=scope_of(shop), pinned=number % 2 == 0)
    started = hook(memory, computer, shop, "s1")
    assert started.count("] 20") >= 1
    assert estimate_tokens(started) <= most


@pytest.mark.parametrize("most", ["0", "20"])
def test_a_start_without_room_for_a_memory_adds_nothing(computer: Computer, shop: Path, most: str) -> None:
    with computer.memory() as memory:
        memory.core.save(content="The shop needs Redis.", scope=scope_of(shop))
    computer.environment = {"STEELTRAP_START_TOKENS": most}
    asked = {"session_id": "s1", "transcript_path": "/none.jsonl", "cwd": str(shop)}
    assert computer.hook("session-start", asked) == ""
    assert computer.log == []


def test_a_text_is_offered_once_in_a_session_whatever_memory_has_it(
    memory: Memory, computer: Computer, shop: Path
) -> None:
    here = scope_of(shop)
    for content in ("The shop deploys with make ship.", "the shop  deploys with MAKE ship."):
        memory.core.save(content=content, scope=here)
    started = hook(memory, computer, shop, "s1")
    assert started.lower().count("make ship") == 1
    memory.core.save(content="The shop deploys with make ship.")
    assert hook(memory, computer, shop, "s1", "prompt", prompt="How does the shop deploy, with make ship?") == ""


def test_what_the_text_is_is_said_in_full_once_in_a_session(memory: Memory, computer: Computer, shop: Path) -> None:
    memory.core.save(content="The shop needs Redis.", scope=scope_of(shop))
    memory.core.save(content="The user likes to drink green tea.")
    started = hook(memory, computer, shop, "s1")
    asked = hook(memory, computer, shop, "s1", "prompt", prompt="What does the user like to drink?")
    assert started.startswith(answering.WHAT)
    assert asked.startswith(answering.MORE)
    assert "green tea" in asked
    hook(memory, computer, shop, "s1", "pre-compact")
    again = hook(memory, computer, shop, "s1", source="compact")
    assert again.startswith(answering.WHAT)
    assert "Redis" in again
