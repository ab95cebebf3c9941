"""Google's ADK: runs of its Runner with a scripted model, sessions that are added again, users and apps, failures."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="google-adk is not installed")

from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from integrations.google_adk_memory import APP, calls, content, run
from integrations.modules import is_lazy, run_page
from integrations.seams import Seam
from integrations.story import LIBRARIES, tell
from steeltrap.client import connect
from steeltrap.errors import IndexUnavailable, InvalidInput, Unavailable
from steeltrap.integrations.google_adk import SteeltrapMemoryService, scope_of

TEA = "I drink green tea in the morning."
NEW_YEAR = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def event(id: str, *parts: types.Part | str, author: str = "user") -> Event:
    given = [types.Part(text=part) if isinstance(part, str) else part for part in parts]
    return Event(id=id, author=author, timestamp=NEW_YEAR, content=types.Content(role="user", parts=given))


def session(*events: Event, id: str = "s1", user: str = "ana", app: str = APP) -> Session:
    return Session(id=id, app_name=app, user_id=user, events=list(events))


@pytest.fixture
def service(seam: Seam) -> SteeltrapMemoryService:
    return SteeltrapMemoryService(seam.client)


def found(seam: Seam, service: SteeltrapMemoryService, query: str, user: str = "ana", app: str = APP) -> Any:
    return seam.run(service.search_memory(app_name=app, user_id=user, query=query)).memories


def texts(entries: list[MemoryEntry]) -> list[str]:
    return [str((entry.content.parts or [])[0].text) for entry in entries]


def test_the_story_of_all_libraries(seam: Seam) -> None:
    tell(LIBRARIES["google-adk"], seam)


@pytest.mark.parametrize("pasted", ["nul \x00", "half \ud83d"])
def test_a_paste_with_characters_that_no_store_keeps_costs_no_session(
    seam: Seam, service: SteeltrapMemoryService, pasted: str
) -> None:
    seam.run(service.add_session_to_memory(session(event("e1", f"{TEA} {pasted}"), event("e2", "Noted."))))
    [first, *_] = texts(found(seam, service, f"{TEA} {pasted}"))
    assert TEA in first
    assert "\ufffd" in first


def test_a_long_question_is_searched_for_by_its_end(seam: Seam, service: SteeltrapMemoryService) -> None:
    seam.run(service.add_session_to_memory(session(event("e1", TEA))))
    assert TEA in texts(found(seam, service, "word " * 5000 + "What do I drink in the morning?"))


def test_an_earlier_session_is_in_the_prompt_of_a_later_one(seam: Seam, service: SteeltrapMemoryService) -> None:
    _, said = seam.run(run(service, "ana", TEA, types.Part(text="Noted, green tea.")))
    seam.run(service.add_session_to_memory(said))
    question = "What do I drink in the morning?"
    model, _ = seam.run(run(service, "ana", question, types.Part(text="Green tea."), tools=[PreloadMemoryTool()]))
    prompt = str(model.requests[0].contents)
    assert f"user: {TEA}" in prompt
    assert "<PAST_CONVERSATIONS>" in prompt


def test_a_session_that_is_added_again_is_stored_once(seam: Seam, service: SteeltrapMemoryService) -> None:
    first = event("e1", TEA)
    call = event("e2", calls("track", number=17), author="helper")
    thought = event("e3", types.Part(text="Hm.", thought=True), "In Porto.", author="helper")
    silent = Event(id="e4", author="helper")
    seam.run(service.add_session_to_memory(session(first, first)))
    seam.run(service.add_session_to_memory(session(first, call, thought, silent)))
    seam.run(service.add_session_to_memory(session()))
    memories = seam.client("ana").core.list()["memories"]
    assert {memory["content"] for memory in memories} == {TEA, "In Porto."}
    assert {memory["version"] for memory in memories} == {1}
    seam.run(service.add_session_to_memory(session(first, id="s" * 500)))
    for _ in range(2):
        seam.run(service.add_events_to_memory(app_name=APP, user_id="ana", events=[first]))
    assert seam.client("ana").core.list()["total"] == 4


def test_an_entry_shows_author_time_and_metadata(seam: Seam) -> None:
    service = SteeltrapMemoryService(seam.client, precision="all")
    events = [event("e1", TEA), event("e2", "Green tea, noted.", author="helper")]
    seam.run(
        service.add_events_to_memory(
            app_name=APP, user_id="ana", events=events, session_id="s", custom_metadata={"author": 1, "tags": ["a"]}
        )
    )
    entries = {entry.author: entry for entry in found(seam, service, "green tea")}
    assert entries["user"].content.role == "user"
    assert entries["helper"].content.role == "model"
    assert entries["user"].timestamp == "2026-01-01T00:00:00Z"
    assert entries["user"].custom_metadata == {"author": 1, "tags": ["a"]}


def test_what_was_deleted_stays_deleted_until_it_is_undone(seam: Seam, service: SteeltrapMemoryService) -> None:
    said = session(event("e1", TEA), event("e2", "My sister lives in Porto."))
    seam.run(service.add_session_to_memory(said))
    [entry] = [each for each in found(seam, service, TEA) if texts([each]) == [TEA]]
    other = session(event("e9", TEA), app="other")
    seam.run(service.add_session_to_memory(other))
    for id in (entry.id, entry.id, "no id", None, found(seam, service, TEA, app="other")[0].id):
        seam.run(service.delete_memory(app_name=APP, user_id="ana", memory_id=id))
    assert texts(found(seam, service, TEA, app="other")) == [TEA], "another app's entry stays"
    seam.run(service.add_session_to_memory(said))
    assert TEA not in texts(found(seam, service, TEA))
    seam.client("ana").core.undo(id=entry.id)
    assert TEA in texts(found(seam, service, TEA))


def test_entries_are_added_and_replaced_by_their_ids(seam: Seam, service: SteeltrapMemoryService) -> None:
    def add(*entries: MemoryEntry) -> None:
        seam.run(service.add_memory(app_name=APP, user_id="ana", memories=entries, custom_metadata={"by": "test"}))

    add(MemoryEntry(content=content(TEA)), MemoryEntry(id="city", content=content("I live in Porto.")))
    add(MemoryEntry(id="city", content=content("I live in Faro."), timestamp="2026-05-31", author="user"))
    [best, *_] = found(seam, service, "Where do I live?")
    assert texts([best]) == ["I live in Faro."]
    assert (best.timestamp[:10], best.author, best.custom_metadata) == ("2026-05-31", "user", {"by": "test"})
    assert len(seam.client("ana").core.history(id=best.id)["revisions"]) == 2
    assert seam.client("ana").core.list()["total"] == 2
    with pytest.raises(InvalidInput, match="needs a part with text"):
        add(MemoryEntry(content=types.Content(parts=[calls("track")])))
    with pytest.raises(InvalidInput, match="is no JSON"):
        add(MemoryEntry(content=content(TEA), custom_metadata={"x": {1}}))


def test_users_and_apps_are_apart(seam: Seam, service: SteeltrapMemoryService) -> None:
    seam.run(service.add_session_to_memory(session(event("e1", TEA))))
    assert texts(found(seam, service, TEA)) == [TEA]
    for user, app in (("bob", APP), ("ana", "support2"), ("ana", "Unterstützung/1")):
        assert found(seam, service, TEA, user, app) == []
        seam.run(service.add_session_to_memory(session(event("e1", TEA), user=user, app=app)))
        assert texts(found(seam, service, TEA, user, app)) == [TEA]
    assert found(seam, service, " ") == []
    assert len({scope_of(app) for app in ("support", "Unterstützung", "a/b", "a.b", "")}) == 5


def test_a_long_text_is_stored_in_parts(seam: Seam, service: SteeltrapMemoryService) -> None:
    said = "\n".join(f"Line {n} of a long talk, über Tee und 茶." for n in range(1_500))
    seam.run(service.add_session_to_memory(session(event("e1", said))))
    stored = seam.client("ana").core.list()["memories"]
    assert len(stored) > 1
    assert sum(memory["content"].count("Line ") for memory in stored) == 1_500


def test_a_part_of_the_index_that_does_not_answer_is_no_empty_answer(
    seam: Seam, service: SteeltrapMemoryService
) -> None:
    seam.store.is_blind = True
    with pytest.raises(IndexUnavailable, match="vectors do not answer"):
        seam.run(service.search_memory(app_name=APP, user_id="ana", query="tea"))


def test_a_failure_is_no_empty_answer(seam: Seam, service: SteeltrapMemoryService) -> None:
    seam.store.is_broken = True
    named = {"app_name": APP, "user_id": "ana"}
    for call in (
        service.search_memory(**named, query="tea"),
        service.add_session_to_memory(session(event("e1", TEA))),
        service.add_memory(**named, memories=[MemoryEntry(content=content(TEA))]),
        service.delete_memory(**named, memory_id="0d6f5a52-77c5-5b0e-8f6d-51f1e1a4c6b3"),
    ):
        with pytest.raises(Unavailable, match="does not answer"):
            seam.run(call)


def test_one_client_serves_all_users_of_a_folder(tmp_path: Path, seam: Seam) -> None:
    with connect(str(tmp_path / "data"), user="nobody") as client:
        service = SteeltrapMemoryService(client)
        seam.run(service.add_session_to_memory(session(event("e1", TEA))))
        assert texts(found(seam, service, "What do I drink?")) == [TEA]
        assert found(seam, service, "What do I drink?", user="bob") == []
        assert client.core.list()["total"] == 0


def test_the_code_on_the_page_runs(tmp_path: Path) -> None:
    done = run_page("google-adk.md", tmp_path)
    assert done.returncode == 0, done.stderr


def test_nothing_of_adk_is_imported_until_asked_for() -> None:
    assert is_lazy("google.adk", "google_adk")
