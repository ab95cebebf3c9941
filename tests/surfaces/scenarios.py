"""One story a toolset, which calls every tool of it with success."""

import re
from collections.abc import Callable
from typing import Any

Run = Callable[..., Any]
"""Calls a tool by its name with arguments and answers the body of the success that it must be."""


def _put(run: Run) -> None:
    own = {"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "content": "Ana works at Globex."}
    assert run("core.put", items=[own])["versions"] == [1]
    assert run("core.put", items=[{**own, "content": "Ana works at Initech."}])["versions"] == [2]
    assert run("core.forget", id=own["id"])["forgotten"] == [own["id"]]


def core(run: Run) -> None:
    before = run("core.stats")["memories"]
    dark = run("core.save", content="User prefers dark mode.", tags=["UI"])["id"]
    ana, lisbon = run(
        "core.batch_save", items=[{"content": "Ana works at Acme."}, {"content": "Ana moved to Lisbon in 2024."}]
    )["ids"]
    _put(run)
    assert run("core.get", id=dark)["tags"] == ["UI"]
    assert {memory["id"] for memory in run("core.list", limit=3)["memories"]} == {dark, ana, lisbon}

    found = run("core.search", query="dark mode", why=True)
    assert found["results"][0]["id"] == dark
    assert found["outcome"]["kind"] == "found"
    assert "User prefers dark mode." in run("core.retrieve_memory", query="dark mode", limit=2)

    assert run("core.update", id=dark, content="User prefers light mode.", metadata={"since": "May"})["version"] == 2
    assert len(run("core.history", id=dark)["revisions"]) == 2
    assert run("core.undo", id=dark)["content"] == "User prefers dark mode."
    assert run("core.batch_update", updates=[{"id": ana, "tags": ["work"]}])["ids"] == [ana]
    assert run("core.search", query="Acme", tags=["work"])["results"][0]["id"] == ana

    set_ = run("core.set_score", id=ana, score=0.9, reason="The user insists on it")
    assert (set_["id"], set_["score"], set_["previous"] > 0.5) == (ana, 0.9, True)
    assert run("core.score", id=ana)["reason"] == "The user insists on it"
    assert run("core.search", query="Lisbon", sort_by="importance")["results"][0]["id"] == ana

    assert run("core.associate", id=ana, target_id=lisbon, strength=0.9)["associations"][0]["id"] == lisbon
    assert ana in {linked["id"] for linked in run("core.associations", id=lisbon)["associations"]}
    assert run("core.move", ids=[lisbon], scope="people/ana")["moved"] == [lisbon]
    assert ("people/ana", 1) in {(used["scope"], used["memories"]) for used in run("core.list_scopes")["scopes"]}
    assert run("core.suggest_scope", content="Ana moved to Lisbon")["scope"] == "people/ana"

    assert run("core.create_session", session_id="trip")["scope"] == "session/trip"
    packed = run("core.save", content="The suitcase is packed.", scope="session/trip")["id"]
    assert ("trip", 1) in {(session["id"], session["memories"]) for session in run("core.list_sessions")["sessions"]}
    assert run("core.cleanup_sessions")["deleted"] == []
    assert run("core.cleanup_sessions", session_id="trip", max_age_days=0)["deleted"] == [packed]

    said = [{"role": "user", "content": "I adopted a cat called Miso."}]
    assert run("core.append_messages", messages=said, conversation_id="chat-7")["conversation_id"] == "chat-7"
    heard = run("core.search", query="cat", include_conversation=True, conversation_id="chat-7")
    assert heard["results"][0]["source"] == "conversation"
    told = [{"role": "user", "content": text, "id": text} for text in ("I bake bread.", "It takes a day.")]
    over = run("core.append_messages", messages=told, conversation_id="chat-8", ended=True)
    [episode] = over["episodes"]
    assert run("core.get", id=episode)["content"] == "User: I bake bread. It takes a day."
    assert run("core.append_messages", messages=told, conversation_id="chat-8")["existed"] == over["ids"]
    reviewed = run("core.review", id=episode, grade="easy")
    faded = run("core.simulate_decay", id=episode, at=reviewed["below_50_percent_at"])
    assert (reviewed["retrievability"], round(faded["retrievability"], 2)) == (1, 0.5)

    merged = run("core.consolidate", ids=[ana, lisbon])
    assert "Acme" in merged["content"]
    assert "Lisbon" in merged["content"]
    assert run("core.delete", id=merged["id"])["deleted"] == [merged["id"]]

    _import_twice(run, dark)
    assert run("core.stats")["memories"] == before + 4


def _import_twice(run: Run, dark: str) -> None:
    """Export all, forget one, import it, take that back, and import it again."""
    records = run("core.export")["records"]
    assert run("core.forget", id=dark)["verified"] is True
    assert run("core.search", query="dark", mode="keyword")["results"] == []
    assert run("core.import", records=records)["written"] == 1
    latest = run("core.list_imports", limit=1)["imports"][0]
    assert (latest["written"], latest["state"]) == (1, "complete")
    assert run("core.undo_import", id=latest["id"])["removed"] == 1
    assert run("core.import", records=records)["written"] == 1
    assert run("core.get", id=dark)["content"] == "User prefers dark mode."


def notes(run: Run) -> None:
    note = run("notes.memory_save", content="User's name is Shantanu", tags=["Name"])["note_id"]
    assert note.startswith("note-")
    found = run("notes.memory_search", query="what is the user's name")[0]
    assert found["note_id"] == note
    assert [each["note_id"] for each in run("notes.memory_search", query="user's name", tags=["name"])] == [note]
    assert run("notes.memory_update", note_id=note, content="User prefers to be called SG")["note_id"] == note
    assert run("notes.memory_search", query="called")[0]["text"] == "User prefers to be called SG"
    assert run("notes.memory_delete", note_id=note)["message"] == "Note deleted successfully."
    assert note not in {found["note_id"] for found in run("notes.memory_search", query="called")}


def categories(run: Run) -> None:
    endpoint, source = "API endpoint is https://api.example.com/v1", "API integration discussion"
    stored = run("categories.store_memory", category="fact", content=endpoint, context=source, confidence=0.9)
    assert stored == f"Stored fact memory: {endpoint}"
    assert run("categories.store_memory", category="preference", content="User prefers tea") == (
        "Stored preference memory: User prefers tea"
    )
    assert run("categories.search_memories", query="endpoint", limit=1) == (
        f"Found 1 memories for 'endpoint':\n- [fact] {endpoint}\n  Context: {source}"
    )
    assert run("categories.list_memories", category="preference") == (
        "My preference memories (1 total):\n- User prefers tea"
    )
    assert run("categories.list_memories", category="capability") == "No capability memories found."


def records(run: Run) -> None:
    dark = run("records.memory_store", content="User prefers dark mode", tags=["preferences", "ui"])["id"]
    assert run("records.memory_get", id=dark)["content_type"] == "text"
    assert run("records.memory_search", query="dark mode", tags=["ui"])["results"][0]["id"] == dark
    assert run("records.memory_list", tags=["PREFERENCES", "ui"])["total"] == 1
    assert run("records.memory_update", id=dark, metadata={"source": "settings"})["updated"] is True

    batch = run("records.memory_batch_store", items=[{"content": "Otters hold hands."}, {"content": "Otters swim."}])
    assert (batch["success"], batch["stored_count"], batch["errors"]) == (True, 2, [])
    first, second = batch["stored_ids"]
    refused = run("records.memory_batch_store", items=[{"content": "Otters sleep."}, {"contents": "typo"}])
    assert (refused["success"], refused["stored_ids"], refused["errors"][0]["index"]) == (False, [], 1)
    changed = run("records.memory_batch_update", updates=[{"id": first, "tags": ["animals"]}])
    assert changed["updated_ids"] == [first]

    assert run("records.memory_get_score", id=first)["access_count"] == 0
    assert run("records.memory_set_score", id=first, score=0.9, reason="Critical")["new_score"] == 0.9
    found = run("records.memory_search", query="otters", search_mode="hybrid", sort_by="importance", tags=["animals"])
    assert found["results"][0]["id"] == first

    merged = run("records.memory_consolidate", memory_ids=[first, second, first])
    assert (merged["original_count"], merged["preserved"]) == (2, True)
    doomed = [first, second, merged["consolidated_memory_id"]]
    assert run("records.memory_delete", ids=doomed) == {"deleted_count": 3, "deleted_ids": doomed}


def associative(run: Run) -> None:
    key = run("associative.memory_store", content="The deploy key rotates every 90 days.", scope="work/infra")
    assert key["scope"] == "work/infra"
    again = run("associative.memory_store", content="the deploy key rotates every 90 days.", scope="work/infra")
    assert (again["memory_id"], again["duplicate_of"]) == (key["memory_id"], key["memory_id"])
    near = run("associative.memory_store", content="The deploy key rotates every 30 days.", scope="work/infra")
    assert near["associations_count"] == 1

    found = run("associative.memory_search", query="deploy key", scope="work", include_child_scopes=True)
    assert found["total_count"] == 2
    discovered = run("associative.memory_discover_associations", memory_id=key["memory_id"])
    assert near["memory_id"] in {each["target_id"] for each in discovered["associations"]}
    listed = run("associative.memory_list_all", per_page=1, response_level="full")
    assert listed["pagination_info"]["has_next"] is True

    of_one = {"memory_id": near["memory_id"]}
    assert run("associative.memory_manage", operation="update", **of_one, tags=["old"])["affected_count"] == 1
    assert run("associative.memory_manage", operation="get", **of_one)["memory"]["id"] == near["memory_id"]
    moved = run("associative.memory_move", memory_ids=[near["memory_id"]], target_scope="work/archive")
    assert (moved["moved_count"], moved["target_scope"]) == (1, "work/archive")
    assert {"name": "work/archive", "memory_count": 1} in run("associative.scope_list", parent_scope="work")["scopes"]
    assert run("associative.scope_suggest", content="deploy key of staging")["suggested_scope"].startswith("work/")

    written = run("associative.memory_sync", operation="export", scope="work/infra", file_path="backup/work.json")
    assert (written["item_count"], written["file_path"]) == (1, "backup/work.json")
    read = run("associative.memory_sync", operation="import", file_path="backup/work.json", scope="imported")
    assert read["item_count"] == 1

    session = run("associative.session_manage", action="create", session_id="release-42", response_level="minimal")
    assert session == {"success": True, "session_id": "release-42"}
    run("associative.session_manage", action="list")
    run("associative.session_manage", action="cleanup", session_id="release-42", max_age_days=0)

    for memory in run("associative.memory_search", query="deploy key", limit=100)["results"]:
        run("associative.memory_manage", operation="delete", memory_id=memory["id"], response_level="minimal")
    assert run("associative.memory_search", query="deploy key")["results"] == []


def episodic(run: Run) -> None:
    said = ["I moved to Lisbon.", "How do you like it?", "I love the light of Lisbon.", "Good morning!"]
    for i, text in enumerate(said):
        message = {
            "role": ("user", "assistant")[i % 2],
            "content": text,
            "timestamp": 1714554000000 + i // 3 * 3600_000,
        }
        assert run("episodic.add_message", conversation_id="chat-9", message=message) == {"accepted": True}
    text = run("episodic.retrieve_memory", query="Lisbon", limit=1, detail="high")
    assert text.startswith("## Memory 1 [rank: 1, score: ")
    assert '- user: "I love the light of Lisbon."' in text
    [found] = run("episodic.retrieve_memory_raw", query="Lisbon", limit=1)
    assert [message["content"] for message in found["messages"]] == said[:3]
    assert found["score"] <= found["relevance"]


def agent(run: Run) -> None:
    porto = shown_id(run("agent.remember", content="The user lives in Porto.", occurred_at="2026-01-31"))
    assert f"[{porto}] 2026-01-31: The user lives in Porto." in run("agent.recall", query="where does the user live")
    faro = shown_id(run("agent.revise_memory", id=porto, content="The user lives in Faro."))
    recalled = run("agent.recall", query="where does the user live", max_tokens=500)
    assert (f"[{faro}]" in recalled, porto in recalled) == (True, False)
    assert faro in run("agent.recent_memories", limit=1)
    assert "recalled again" in run("agent.forget_memory", id=faro)
    assert "The user lives in Faro." in run("agent.undo_memory_change")
    assert "The user lives in Porto." in run("agent.undo_memory_change", id=porto)


def files(run: Run) -> None:
    def memory(command: str, **arguments: Any) -> str:
        return str(run("files.memory", command=command, **arguments))

    path = "/memories/user/likes.md"
    assert memory("create", path=path, file_text="Tea\nJazz") == f"File created successfully at: {path}"
    assert memory("view", path="/memories").endswith("8B\t/memories\n8B\t/memories/user/\n8B\t/memories/user/likes.md")
    assert memory("str_replace", path=path, old_str="Tea", new_str="Coffee").endswith("     1\tCoffee\n     2\tJazz")
    assert memory("insert", path=path, insert_line=2, insert_text="Rain") == f"The file {path} has been edited."
    assert memory("view", path=path, view_range=[3, -1]).endswith(":\n     3\tRain\n     4\t")
    renamed = memory("rename", old_path="/memories/user", new_path="/memories/people/ana")
    assert renamed == "Successfully renamed /memories/user to /memories/people/ana"
    assert memory("delete", path="/memories/people") == "Successfully deleted /memories/people"


def shown_id(text: str) -> str:
    """The first id that an answer of `agent` shows."""
    found = re.search(r"\[([0-9a-f-]{8,36})\]", text)
    assert found is not None, text
    return found[1]


SCENARIOS = {
    "agent": agent,
    "core": core,
    "notes": notes,
    "categories": categories,
    "records": records,
    "associative": associative,
    "episodic": episodic,
    "files": files,
}
