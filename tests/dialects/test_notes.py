"""The document "Exposing Memory as an LLM-Callable Tool": four tools over a user's notes."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clock import SettableClock
from dialects.episodes import closed, episode, say
from spaces import space_of
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ports import Deadline
from steeltrap.toolsets import CATALOGUE

NOTES = CATALOGUE.toolset("notes")
UNKNOWN = "note-00000000-0000-4000-8000-000000000000"


def found(result: Any) -> list[str]:
    assert result.error is None, result.body
    return [note["text"] for note in result.body]


# "Proposed Tool Set": parameters, safety tiers, timeouts

SCHEMAS = {
    "memory_search": (
        {"query": "string", "top_k": "integer", "include_conversation": "boolean", "tags": "array"},
        ["query"],
    ),
    "memory_save": ({"content": "string", "tags": "array"}, ["content"]),
    "memory_update": ({"note_id": "string", "content": "string", "tags": "array"}, ["note_id", "content"]),
    "memory_delete": ({"note_id": "string"}, ["note_id"]),
}


def test_there_are_exactly_four_tools() -> None:
    assert list(NOTES.tools) == list(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_has_the_names_types_and_required_fields_of_the_document(name: str) -> None:
    schema = NOTES.tools[name].input_schema
    types, required = SCHEMAS[name]
    assert {field: entry["type"] for field, entry in schema["properties"].items()} == types
    assert schema["required"] == required


def test_defaults_are_those_of_the_document() -> None:
    properties = NOTES.tools["memory_search"].input_schema["properties"]
    assert (properties["top_k"]["default"], properties["include_conversation"]["default"]) == (5, False)


@pytest.mark.parametrize(
    ("name", "access", "timeout"),
    [
        ("memory_search", "read", 15),
        ("memory_save", "write", 10),
        ("memory_update", "write", 10),
        ("memory_delete", "write", 10),
    ],
)
def test_search_only_reads_and_each_tool_has_its_timeout(name: str, access: str, timeout: float) -> None:
    tool = NOTES.tools[name]
    assert (tool.access, tool.timeout) == (access, timeout)


# "Step 9: Add tool descriptions that guide LLM behavior"

DESCRIPTIONS = {
    "memory_search": "Search your persistent memory for relevant information. Use this when you need to recall user "
    "preferences, past decisions, stored facts, or anything previously saved. Results are ranked by relevance using "
    "semantic similarity and keyword matching. By default searches only your saved notes; set include_conversation "
    "to true to also search the current conversation history.",
    "memory_save": "Save an important piece of information to your persistent memory as a natural language note. Use "
    "this proactively whenever the user shares preferences, makes decisions, states facts, or tells you something "
    "worth remembering across conversations. Saved notes persist across all sessions and channels. Returns a note_id "
    "for future reference.",
    "memory_update": "Update a previously saved note with new content. Use this when the user corrects or changes "
    "previously stored information (e.g., a new preferred name, an updated preference). First use memory_search to "
    "find the note and its note_id, then call this with the note_id and the new content.",
    "memory_delete": "Delete a previously saved note from memory. Use this when the user asks you to forget specific "
    "information. First use memory_search to find the note and its note_id, then call this with the note_id to "
    "remove it.",
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_description_is_the_documents(name: str) -> None:
    assert NOTES.tools[name].description == DESCRIPTIONS[name]


# "Step 10: Tests"


def test_a_note_lives_through_save_search_update_search_delete_search(ana: Callable[..., Any]) -> None:
    saved = ana("notes.memory_save", content="User's name is Shantanu").body
    assert saved["note_id"].startswith("note-")
    assert saved["message"] == "Note saved successfully."
    assert found(ana("notes.memory_search", query="name")) == ["User's name is Shantanu"]

    updated = ana("notes.memory_update", note_id=saved["note_id"], content="User prefers to be called SG").body
    assert updated == {"note_id": saved["note_id"], "message": "Note updated successfully."}
    assert found(ana("notes.memory_search", query="name")) == ["User prefers to be called SG"]

    deleted = ana("notes.memory_delete", note_id=saved["note_id"]).body
    assert deleted == {"note_id": saved["note_id"], "message": "Note deleted successfully."}
    assert found(ana("notes.memory_search", query="name")) == []


def test_a_result_has_the_documents_four_fields(ana: Callable[..., Any], clock: SettableClock) -> None:
    note_id = ana("notes.memory_save", content="Likes chocolates", tags=["Food"]).body["note_id"]
    clock.advance(hours=1)
    ana("notes.memory_update", note_id=note_id, content="Likes dark chocolates")
    [note] = ana("notes.memory_search", query="chocolates").body
    assert note.pop("score") > 0
    assert note == {
        "note_id": note_id,
        "text": "Likes dark chocolates",
        "source": "user_memory",
    }


@pytest.mark.parametrize("name", ["memory_update", "memory_delete"])
@pytest.mark.parametrize("note_id", [UNKNOWN, "nonsense", "note-", "note-%"])
def test_an_unknown_note_is_an_error_that_quotes_it(ana: Callable[..., Any], name: str, note_id: str) -> None:
    arguments = {"note_id": note_id} | ({"content": "x"} if name == "memory_update" else {})
    assert ana(f"notes.{name}", **arguments).body == {"error": f"note `{note_id}` not found"}


@pytest.mark.parametrize("content", ["", " ", "\n\t"])
def test_empty_content_is_refused(ana: Callable[..., Any], content: str) -> None:
    note_id = ana("notes.memory_save", content="stays").body["note_id"]
    assert ana("notes.memory_save", content=content).body == {"error": "content must not be empty"}
    assert ana("notes.memory_update", note_id=note_id, content=content).body == {"error": "content must not be empty"}
    assert found(ana("notes.memory_search", query="stays")) == ["stays"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_without_a_user_every_tool_says_so(door: Door, name: str) -> None:
    result = door.invoke(f"notes.{name}", NOTES.tools[name].examples[0], None)
    assert result.body == {"error": "user context is not available"}


@pytest.mark.parametrize("query", ["", "  ", "\n"])
def test_a_blank_query_is_an_error(ana: Callable[..., Any], query: str) -> None:
    assert ana("notes.memory_search", query=query).body == {"error": "query must not be empty"}


def test_top_k_above_twenty_is_clamped_and_below_one_refused(ana: Callable[..., Any]) -> None:
    for i in range(25):
        ana("notes.memory_save", content=f"note number {i}")
    assert len(ana("notes.memory_search", query="note", top_k=1000).body) == 20
    assert len(ana("notes.memory_search", query="note").body) == 5
    assert ana("notes.memory_search", query="note", top_k=0).error.code == "invalid_input"
    assert ana("notes.memory_search", query="note", top_k=-3).error.code == "invalid_input"


# "Scoping Model: Per-User Memory Namespace"


def test_notes_of_one_channel_are_found_from_another(agent: Callable[..., Any]) -> None:
    agent("ana", "terminal")("notes.memory_save", content="The gate code is 4711")
    assert found(agent("ana", "phone")("notes.memory_search", query="gate code")) == ["The gate code is 4711"]


def test_notes_never_cross_users(agent: Callable[..., Any]) -> None:
    note_id = agent("ana")("notes.memory_save", content="Ana's secret").body["note_id"]
    ben = agent("ben")
    assert found(ben("notes.memory_search", query="secret")) == []
    for result in (
        ben("notes.memory_update", note_id=note_id, content="mine now"),
        ben("notes.memory_delete", note_id=note_id),
    ):
        assert result.body == {"error": f"note `{note_id}` not found"}
    assert found(agent("ana")("notes.memory_search", query="secret")) == ["Ana's secret"]


def test_the_conversation_is_searched_only_on_request_and_only_the_current_one(
    agent: Callable[..., Any],
) -> None:
    here, elsewhere = agent("ana", "here"), agent("ana", "elsewhere")
    here("core.append_messages", messages=[{"role": "user", "content": "My train leaves at nine"}])
    elsewhere("core.append_messages", messages=[{"role": "user", "content": "The train to Faro was late"}])
    here("notes.memory_save", content="Prefers the train to the plane")

    assert found(here("notes.memory_search", query="train")) == ["Prefers the train to the plane"]
    both = here("notes.memory_search", query="train", include_conversation=True)
    assert set(found(both)) == {"Prefers the train to the plane", "My train leaves at nine"}
    [said] = [note for note in both.body if note["source"] == "conversation"]
    assert said.pop("score") > 0
    assert said == {"note_id": "", "text": "My train leaves at nine", "source": "conversation"}


def test_conversations_that_are_closed_are_no_saved_notes(agent: Callable[..., Any], clock: SettableClock) -> None:
    here = agent("ana", "here")
    say(here, "My train leaves at nine", conversation="here")
    assert here("notes.memory_search", query="train").outcome.message == "No note is stored yet."
    assert closed(here, clock)
    nothing = here("notes.memory_search", query="train")
    assert (nothing.body, nothing.outcome.kind) == ([], "nothing_stored")
    assert nothing.outcome.message == "No note is stored yet."
    say(here, "My train leaves at ten", conversation="there")
    assert here("notes.memory_search", query="train").outcome.message == "No note is stored yet."
    saved = here("notes.memory_save", content="Prefers the bus to the train").body
    here("notes.memory_delete", note_id=saved["note_id"])
    nothing = here("notes.memory_search", query="train")
    assert nothing.outcome.message == "No note is stored; deleted memories can be restored."
    here("notes.memory_save", content="Prefers the train to the plane")
    assert found(here("notes.memory_search", query="train")) == ["Prefers the train to the plane"]


def test_many_conversations_leave_room_for_the_notes_that_match_less(ana: Callable[..., Any]) -> None:
    for i in range(130):
        episode(ana, f"User: the train {i}", f"the train {i}")
    ana("notes.memory_save", content="Prefers a long way by train to any plane, whatever the season")
    assert len(found(ana("notes.memory_search", query="the train"))) == 1


def test_what_was_said_stands_once_and_as_conversation_after_it_is_closed(
    agent: Callable[..., Any], clock: SettableClock
) -> None:
    here, elsewhere = agent("ana", "here"), agent("ana", "elsewhere")
    say(here, "My train leaves at nine", "The train is full", conversation="here")
    say(elsewhere, "The train to Faro was late", conversation="elsewhere")
    assert len(closed(here, clock)) == 2
    say(here, "I missed the train", conversation="here")
    here("notes.memory_save", content="Prefers the train to the plane")

    both = here("notes.memory_search", query="train", include_conversation=True, top_k=20).body
    assert {(note["text"], note["source"]) for note in both} == {
        ("My train leaves at nine", "conversation"),
        ("The train is full", "conversation"),
        ("I missed the train", "conversation"),
        ("Prefers the train to the plane", "user_memory"),
    }
    assert len(both) == 4
    assert all(note["note_id"] == "" for note in both if note["source"] == "conversation")


def test_an_episode_of_the_conversation_without_turns_is_labelled_conversation(agent: Callable[..., Any]) -> None:
    here = agent("ana", "here")
    said = [{"role": "user", "content": "My train leaves at nine"}]
    here("core.save", content="Ana's train leaves at nine", messages=said, conversation_id="here")
    [note] = here("notes.memory_search", query="train", include_conversation=True).body
    assert (note["text"], note["source"], note["note_id"]) == ("Ana's train leaves at nine", "conversation", "")


def test_a_full_answer_stays_full_where_episodes_repeat_their_turns(
    agent: Callable[..., Any], clock: SettableClock
) -> None:
    here = agent("ana", "here")
    for i in range(3):
        say(here, f"The train {i} is late", conversation="here")
        assert len(closed(here, clock)) == 1
    texts = found(here("notes.memory_search", query="The train is late", include_conversation=True, top_k=3))
    assert {text.removeprefix("User: ") for text in texts} == {f"The train {i} is late" for i in range(3)}


def test_a_new_text_in_place_of_an_episode_takes_what_was_said_away(ana: Callable[..., Any]) -> None:
    id = episode(ana, "User: I am called Shantanu", "I am called Shantanu")
    ana("notes.memory_update", note_id=f"note-{id}", content="Prefers to be called SG")
    assert ana("core.search", query="Shantanu", mode="keyword").body["results"] == []
    assert ana("core.get", id=id).body.get("messages", []) == []
    assert found(ana("notes.memory_search", query="called")) == ["Prefers to be called SG"]
    restored = ana("core.undo", id=id).body
    assert [said["content"] for said in restored["messages"]] == ["I am called Shantanu"]


def test_without_a_conversation_only_notes_are_searched(agent: Callable[..., Any]) -> None:
    agent("ana", "here")("core.append_messages", messages=[{"role": "user", "content": "My train leaves at nine"}])
    assert found(agent("ana")("notes.memory_search", query="train", include_conversation=True)) == []


# What a deletion keeps


def test_a_deleted_note_is_kept_for_undo_until_the_retention_time(ana: Callable[..., Any]) -> None:
    note_id = ana("notes.memory_save", content="Likes chocolates").body["note_id"]
    ana("notes.memory_delete", note_id=note_id)
    assert found(ana("notes.memory_search", query="chocolates")) == []
    assert "Likes chocolates" in str(ana("core.history", id=note_id).body)
    assert ana("core.undo", id=note_id).body["content"] == "Likes chocolates"


def test_without_a_retention_time_a_deleted_note_is_gone_with_its_history(door: Door) -> None:
    at_once = replace(door, rules=replace(door.rules, retention=timedelta(0)))

    def ana(tool: str, **arguments: Any) -> Any:
        return at_once.invoke(tool, arguments, Caller(UserRef("ana"), "assistant"))

    note_id = ana("notes.memory_save", content="Likes chocolates").body["note_id"]
    ana("notes.memory_update", note_id=note_id, content="Likes dark chocolates")
    assert ana("notes.memory_delete", note_id=note_id).body["message"] == "Note deleted successfully."
    assert ana("core.history", id=note_id).error.code == ana("core.undo", id=note_id).error.code == "not_found"
    assert space_of(door.store, "ana").traces(note_id.removeprefix("note-")) == []


# Tags


def test_the_tag_filter_wants_all_tags_in_any_case(ana: Callable[..., Any]) -> None:
    ana("notes.memory_save", content="coffee in the morning", tags=["Food", "habit"])
    ana("notes.memory_save", content="coffee from Brazil", tags=["food"])
    assert found(ana("notes.memory_search", query="coffee", tags=["FOOD", " Habit "])) == ["coffee in the morning"]
    assert len(found(ana("notes.memory_search", query="coffee", tags=["food"]))) == 2
    assert found(ana("notes.memory_search", query="coffee", tags=["foo"])) == []


def test_tags_are_trimmed_lowered_and_kept_once(ana: Callable[..., Any]) -> None:
    note_id = ana("notes.memory_save", content="tagged", tags=[" UI ", "ui", "Theme"]).body["note_id"]
    assert ana("core.get", id=note_id).body["tags"] == ["ui", "theme"]


@pytest.mark.parametrize("tags", [[f"t{i}" for i in range(17)], ["x" * 65], [""], [" "]])
def test_too_many_too_long_or_empty_tags_are_refused(ana: Callable[..., Any], tags: list[str]) -> None:
    assert ana("notes.memory_save", content="tagged", tags=tags).error.code == "invalid_input"
    assert found(ana("notes.memory_search", query="tagged")) == []


def test_an_update_keeps_tags_and_creation_unless_told_otherwise(ana: Callable[..., Any], clock: SettableClock) -> None:
    note_id = ana("notes.memory_save", content="first", tags=["a"]).body["note_id"]
    clock.advance(days=1)
    ana("notes.memory_update", note_id=note_id, content="second")
    note = ana("core.get", id=note_id).body
    assert (note["tags"], note["created_at"]) == (["a"], "2026-01-01T12:00:00Z")
    ana("notes.memory_update", note_id=note_id, content="third", tags=["b"])
    assert ana("core.get", id=note_id).body["tags"] == ["b"]


# What the original got wrong


def test_equal_scores_go_to_the_newest_then_the_smallest_id(ana: Callable[..., Any], clock: SettableClock) -> None:
    old = ana("notes.memory_save", content="the same words").body["note_id"]
    clock.advance(minutes=1)
    young = [ana("notes.memory_save", content="the same words").body["note_id"] for _ in range(3)]
    ranked = [note["note_id"] for note in ana("notes.memory_search", query="same words").body]
    assert ranked == [*sorted(young), old]


def test_equal_notes_stay_independent(ana: Callable[..., Any]) -> None:
    first = ana("notes.memory_save", content="twins").body["note_id"]
    second = ana("notes.memory_save", content="twins").body["note_id"]
    assert first != second
    ana("notes.memory_delete", note_id=first)
    assert [note["note_id"] for note in ana("notes.memory_search", query="twins").body] == [second]


def test_a_long_note_is_listed_once_with_the_chunk_that_answers(ana: Callable[..., Any]) -> None:
    text = " ".join(f"The harbour of place {i} lies behind the lighthouse." for i in range(200))
    text += " The pilot drinks oolong. " + text
    ana("notes.memory_save", content=text)
    for query in ("harbour lighthouse pilot oolong", "oolong"):
        result = ana("notes.memory_search", query=query, top_k=20)
        [shown] = found(result)
        assert "The pilot drinks oolong." in shown
        assert shown in text
        assert len(shown) <= 640
        assert text[text.index(shown) - 1] == " "
        assert "The best part of 1 long ones is shown." in result.outcome.message


def test_a_chunk_of_a_text_without_spaces_is_found_too(ana: Callable[..., Any]) -> None:
    text = "港の近くに灯台があります。" * 100 + "案内人は烏龍茶を飲みます。" + "港の近くに灯台があります。" * 100
    ana("notes.memory_save", content=text)
    [shown] = found(ana("notes.memory_search", query="烏龍茶"))
    assert "案内人は烏龍茶を飲みます。" in shown
    assert len(shown) <= 640


def test_twenty_long_notes_are_twenty_results(ana: Callable[..., Any]) -> None:
    for i in range(20):
        ana("notes.memory_save", content=f"note {i} " + "word " * 5900)
    texts = found(ana("notes.memory_search", query="note word", top_k=20))
    assert len(texts) == 20
    assert all(len(text) <= 640 for text in texts)


def test_an_update_is_one_transaction_with_the_same_id(ana: Callable[..., Any]) -> None:
    note_id = ana("notes.memory_save", content="before").body["note_id"]
    ana("notes.memory_update", note_id=note_id, content="after")
    assert [r["memory"]["content"] for r in ana("core.history", id=note_id).body["revisions"]] == ["before", "after"]


def test_a_broad_query_lists_notes_that_share_no_word(ana: Callable[..., Any]) -> None:
    ana("notes.memory_save", content="Prefers tea")
    ana("notes.memory_save", content="Lives in Braga")
    assert len(found(ana("notes.memory_search", query="what do you know about me?"))) == 2


@pytest.mark.parametrize("query", ["my notes", "everything", "Show me all my notes, please!", "what do you remember?"])
def test_a_broad_query_lists_the_newest_notes_and_those_that_mention_it(
    ana: Callable[..., Any], clock: SettableClock, query: str
) -> None:
    for text in ("Prefers tea", "Lives in Braga", "Works at Globex"):
        ana("notes.memory_save", content=text)
        clock.advance(minutes=1)
    assert found(ana("notes.memory_search", query=query)) == ["Works at Globex", "Lives in Braga", "Prefers tea"]
    assert found(ana("notes.memory_search", query=query, top_k=2)) == ["Works at Globex", "Lives in Braga"]
    assert found(ana("notes.memory_search", query=query, tags=["none"])) == []


def test_unrelated_notes_fill_no_answer(own_door: Door) -> None:
    """After a delete, the others were shown with a score of 0."""

    def ana(tool: str, **arguments: Any) -> Any:
        return own_door.invoke(tool, arguments, Caller(UserRef("ana"), "assistant"))

    note_id = ana("notes.memory_save", content="Likes chocolates").body["note_id"]
    for text in ("The staging server is called heron", "Weekly meeting is on Thursday", "Project uses Rust"):
        ana("notes.memory_save", content=text)
    assert found(ana("notes.memory_search", query="chocolates")) == ["Likes chocolates"]
    ana("notes.memory_delete", note_id=note_id)
    for query in ("chocolates", "qwxzv", "football results"):
        result = ana("notes.memory_search", query=query, top_k=20)
        assert (result.body, result.outcome.kind) == ([], "nothing_relevant")


def test_a_corrected_note_is_found_by_what_it_was_about(ana: Callable[..., Any]) -> None:
    """Roundtrip tests: search "name" finds the updated version, among other notes too."""
    ana("notes.memory_save", content="Prefers tea")
    note_id = ana("notes.memory_save", content="User's name is Shantanu").body["note_id"]
    ana("notes.memory_update", note_id=note_id, content="User prefers SG")
    assert found(ana("notes.memory_search", query="name")) == ["User prefers SG"]
    assert found(ana("notes.memory_search", query="surname")) == []
    ana("notes.memory_delete", note_id=note_id)
    assert found(ana("notes.memory_search", query="name")) == []


def test_an_empty_answer_says_why(ana: Callable[..., Any]) -> None:
    nothing = ana("notes.memory_search", query="anything")
    assert (nothing.body, nothing.outcome.kind) == ([], "nothing_stored")
    ana("notes.memory_save", content="something")
    filtered = ana("notes.memory_search", query="something", tags=["other"])
    assert (filtered.body, filtered.outcome.kind) == ([], "filtered_out")


class NoStore:
    """The store of a deployment without a configured memory."""

    def space(self, user: UserRef, deadline: Deadline) -> Any:
        raise Unavailable("No memory is configured: set STEELTRAP_DATA.", retryable=False, part="store")


@pytest.mark.parametrize("name", SCHEMAS)
def test_without_a_configured_memory_every_tool_is_a_clear_error(door: Door, name: str) -> None:
    unconfigured = replace(door, store=NoStore())  # type: ignore[arg-type]
    result = unconfigured.invoke(f"notes.{name}", NOTES.tools[name].examples[0], Caller(UserRef("ana"), "assistant"))
    assert result.body == {"error": "No memory is configured: set STEELTRAP_DATA."}
