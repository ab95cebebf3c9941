"""import: what people bring from other products, each format once, twice, and grown."""

import json
import lzma
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pytest

from cli import exports

BROUGHT = Path(__file__).parent / "brought"
LISBON = ("I moved to Lisbon in March.", "How do you like it?", "The light is wonderful.", "Enjoy it!")
BIRCH = ("Our staging database is called birch.", "Noted.")


@pytest.fixture(autouse=True)
def in_utc(monkeypatch):
    monkeypatch.setenv("STEELTRAP_TIMEZONE", "UTC")


def counts(done):
    return done["written"], done["skipped"], done["failed"]


def stored(run, *, turns=True):
    records = [json.loads(line) for line in run("export", "-").stdout.splitlines()]
    return records if turns else [record for record in records if record.get("source") != "conversation"]


def texts(run):
    return [record["content"] for record in stored(run)]


def chatgpt_files(folder):
    one, two = exports.chatgpt("c1", *LISBON, title="Lisbon"), exports.chatgpt("c2", *BIRCH, title="Staging")
    yield exports.as_json(folder / "conversations.json", [one, two])
    yield exports.as_zip(folder / "export.zip", **{"conversations.json": [one, two], "user.json": {"id": "user-1"}})
    several = {
        "conversations-000.json": [one],
        "conversations-001.json": [two],
        "chat.html": "<html>",
        "a.png": b"\x89",
    }
    yield exports.as_zip(folder / "new.zip", **several)
    yield exports.as_json(folder / "no-suffix", [one, two])


def claude_files(folder):
    one, two = exports.claude("c1", *LISBON, title="Lisbon"), exports.claude("c2", *BIRCH, title="Staging")
    yield exports.as_json(folder / "conversations.json", [one, two])
    others = {
        "users.json": [{"uuid": "u", "full_name": "Ana"}],
        "projects.json": [{"uuid": "p", "docs": [], "prompt_template": ""}],
    }
    yield exports.as_zip(folder / "export.zip", **{"conversations.json": [one, two], **others})


def claude_code_files(folder):
    one, two = exports.claude_code("c1", *LISBON), exports.claude_code("c2", *BIRCH)
    exports.as_lines(folder / "projects" / "-home-ana" / "c1.jsonl", one)
    exports.as_lines(folder / "projects" / "-home-ana" / "c2.jsonl", two)
    yield folder / "projects"


@pytest.mark.parametrize(
    ("files", "source"),
    [(chatgpt_files, "ChatGPT"), (claude_files, "Claude"), (claude_code_files, "Claude Code")],
)
def test_chats_come_in_once_and_recall_finds_them_at_once(run, load, tmp_path, files, source):
    first, *others = files(tmp_path)
    done = load(first)
    assert (counts(done), done["episodes"]) == ((6, 0, 0), 2)
    assert "Lisbon" in run("recall", "Where did I move?").stdout
    assert "birch" in run("recall", "staging database").stdout
    lisbon, birch = stored(run, turns=False)
    assert [message["content"] for message in lisbon["messages"]] == list(LISBON)
    assert [message["role"] for message in birch["messages"]] == ["user", "assistant"]
    assert lisbon["metadata"] == {"imported_from": source}
    assert lisbon["occurred_at"].startswith("2025-03-03T11:")
    assert lisbon["conversation_id"] == "c1"
    for again in (first, *others):
        done = load(again)
        assert (counts(done), done["episodes"]) == ((0, 6, 0), 0), again


def test_a_conversation_that_has_grown_gets_what_is_new(run, load, tmp_path):
    path = exports.as_json(tmp_path / "c.json", [exports.chatgpt("c1", *LISBON)])
    load(path)
    more = (*LISBON, "By the way, my sister Rita visits in May.", "Lovely.")
    exports.as_json(path, [exports.chatgpt("c1", *more), exports.chatgpt("c3", "A new chat.")])
    done = load(path)
    assert (counts(done), done["episodes"]) == ((3, 4, 0), 2)
    assert "Rita" in run("recall", "Who visits in May?").stdout
    assert sorted(texts(run)).count("The light is wonderful.") == 1


def test_the_title_of_a_chat_is_its_context_and_tags_and_scope_are_kept_in_episodes(run, load, tmp_path):
    path = exports.as_json(tmp_path / "c.json", [exports.chatgpt("c1", *LISBON, title="Moving abroad")])
    load(path, "--tag", "old", "--scope", "chats/gpt")
    [episode] = stored(run, turns=False)
    assert (episode["context"], episode["tags"], episode["scope"]) == ("Moving abroad", ["old"], "chats/gpt")


def test_only_the_branch_that_is_shown_comes_in_and_nothing_hidden(run, load, tmp_path):
    chat = exports.chatgpt("c1", "Which one?")
    hidden = {"is_visually_hidden_from_conversation": True}
    for extra in (
        exports.node("old", "c1-0", "assistant", "The first answer."),
        exports.node("sys", "c1-0", "system", "You are ChatGPT."),
        exports.node("think", "sys", "assistant", content={"content_type": "thoughts", "thoughts": [{"summary": "s"}]}),
        exports.node("about", "think", "user", content={"content_type": "user_editable_context", "user_profile": "x"}),
        exports.node("secret", "about", "user", "Hidden from view.", metadata=hidden),
        exports.node("call", "secret", "assistant", "search(1)", recipient="browser"),
        exports.node("tool", "call", "tool", "A page."),
        exports.node(
            "voice",
            "tool",
            content={
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "audio_transcription", "text": "I said this aloud."},
                    {"content_type": "image_asset_pointer", "asset_pointer": "file-service://1"},
                ],
            },
        ),
        exports.node("end", "voice", "assistant", "The second answer.\ue200cite\ue202turn0search0\ue201", None),
    ):
        chat["mapping"] |= extra
    chat["current_node"] = "end"
    done = load(exports.as_json(tmp_path / "c.json", [chat]))
    assert texts(run)[:3] == ["Which one?", "I said this aloud.", "The second answer."]
    left = {"hidden messages": 4, "tool calls and their results": 2, "messages of branches that were left": 1}
    assert done["left_out"] == left


def test_without_a_current_node_the_last_message_is_the_end_and_a_circle_ends(run, load, tmp_path):
    chat = exports.chatgpt("c1", *LISBON)
    del chat["current_node"]
    circle = exports.chatgpt("c2", "Round", "and round")
    circle["mapping"]["c2-0"]["parent"] = "c2-1"
    assert counts(load(exports.as_json(tmp_path / "c.json", [chat, circle]))) == (6, 0, 0)


def test_one_bad_conversation_costs_no_other_and_is_named(run, load, tmp_path):
    bad = {"title": "Broken one", "conversation_id": "c0", "create_time": 1, "mapping": {"a": 5}, "current_node": "a"}
    path = exports.as_json(tmp_path / "c.json", [exports.chatgpt("c1", *LISBON), bad, exports.chatgpt("c2", *BIRCH)])
    done = load(path, code=6)
    assert counts(done) == (6, 0, 1)
    assert done["errors"] == [
        {"where": 'c.json:1 conversation 2 "Broken one"', "message": "one of its messages is not an object."}
    ]


def test_what_claude_remembers_about_a_user_comes_in_too(run, load, tmp_path):
    memories = [{"conversations_memory": "**Work**\n\nAna builds bridges.", "project_memories": {"p": "Uses Rust."}}]
    path = exports.as_zip(
        tmp_path / "c.zip", **{"memories.json": memories, "conversations.json": [exports.claude("c1", "Hello")]}
    )
    load(path)
    assert {"**Work**\n\nAna builds bridges.", "Uses Rust."} <= set(texts(run))


def test_a_message_without_blocks_has_its_text_and_one_of_other_blocks_none(run, load, tmp_path):
    chat = exports.claude("c1", "a", "b")
    chat["chat_messages"][0] |= {"text": "Plain text.", "content": []}
    chat["chat_messages"][1] |= {"text": "This block is not supported.", "content": [{"type": "tool_use", "name": "x"}]}
    load(exports.as_json(tmp_path / "c.json", [chat]))
    assert "Plain text." in texts(run)
    assert not any("not supported" in text for text in texts(run))


def test_a_transcript_of_a_repository_is_filed_under_it(run, load, tmp_path):
    repository = tmp_path / "work"
    (repository / ".git").mkdir(parents=True)
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    path = exports.as_lines(tmp_path / "s.jsonl", exports.claude_code("s1", *LISBON, folder=str(repository)))
    load(path)
    [episode] = stored(run, turns=False)
    assert episode["scope"].partition("/")[2].startswith("work-")
    assert episode["context"] == "work"
    other = exports.as_lines(tmp_path / "t.jsonl", exports.claude_code("s2", *BIRCH, folder=str(repository)))
    load(other, "--scope", "mine")
    assert {record["scope"] for record in stored(run, turns=False)} == {episode["scope"], "mine"}


def test_messages_that_were_appended_under_the_same_ids_are_not_imported_again(run, ask, load, tmp_path):
    said = [{"role": "user", "content": LISBON[0], "id": "s1-0"}]
    ask("core.append_messages", conversation_id="s1", messages=said, ended=True)
    done = load(exports.as_lines(tmp_path / "s1.jsonl", exports.claude_code("s1", *LISBON)))
    assert counts(done) == (3, 1, 0)
    assert texts(run).count(LISBON[0]) == 1


def test_a_long_message_comes_in_whole(run, load, tmp_path):
    long = " ".join(f"word{n}" for n in range(12_000))
    done = load(exports.as_json(tmp_path / "c.json", [exports.chatgpt("c1", long)]))
    assert done["failed"] == 0
    turns = [record["content"] for record in stored(run) if record.get("source") == "conversation"]
    assert len(turns) > 2
    assert " ".join(turns).split() == long.split()


def test_memories_of_server_memory_come_in_as_lines_and_as_one_object(run, load, tmp_path):
    path = BROUGHT / "server-memory.jsonl"
    assert counts(load(path)) == (7, 0, 0)
    assert counts(load(path)) == (0, 7, 0)
    assert set(texts(run)) == {
        "Ana Souza: Lives in Lisbon",
        "Ana Souza: Is allergic to peanuts",
        "Ana Souza: Prefers metric units",
        "ACME: company",
        "birch: Is the staging database; 寿司 🍵",
        "Ana Souza works at ACME",
        "ACME uses birch",
    }
    values = [json.loads(line) for line in path.read_text().splitlines()]
    graph = {
        "entities": [value for value in values if value["type"] == "entity"],
        "relations": [value for value in values if value["type"] == "relation"],
    }
    assert counts(load(exports.as_json(tmp_path / "memory.json", graph))) == (0, 7, 0)
    [lives] = [record for record in stored(run) if record["content"].endswith("Lives in Lisbon")]
    assert lives["metadata"] == {"imported_from": "server-memory", "entity": "Ana Souza", "entity_type": "person"}


def test_memories_of_mem0_come_in_in_each_of_its_forms(run, load, tmp_path):
    path = BROUGHT / "mem0.json"
    assert counts(load(path)) == (5, 0, 0)
    answer = json.loads(path.read_text())
    for other in (answer["results"], {"memories": answer["results"]}):
        assert counts(load(exports.as_json(tmp_path / "m.json", other))) == (0, 5, 0)
    peanuts = next(record for record in stored(run) if "peanuts" in record["content"])
    assert peanuts["metadata"] == {"imported_from": "mem0", "category": "facts", "user_id": "ana"}
    assert peanuts["occurred_at"] == "2026-11-23T06:27:04.800605Z"
    assert "peanuts" in run("recall", "allergic").stdout


def test_a_database_of_mcp_memory_service_is_read_without_its_extension_and_not_changed(run, load, tmp_path):
    path = tmp_path / "sqlite_vec.db"
    before = lzma.decompress((BROUGHT / "mcp-memory-service.db.xz").read_bytes())
    path.write_bytes(before)
    done = load(path)
    assert (counts(done), done["left_out"]) == ((3, 0, 0), {"deleted memories": 1})
    assert counts(load(path)) == (0, 3, 0)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir() if found.name.startswith("sqlite")] == ["sqlite_vec.db"]
    moved = next(record for record in stored(run) if "Lisbon" in record["content"])
    assert (moved["tags"], moved["occurred_at"]) == (["ana", "move"], "2025-03-03T11:06:40Z")
    assert moved["metadata"] == {"imported_from": "mcp-memory-service", "memory_type": "note", "origin": "test"}
    assert not any("Deleted" in text for text in texts(run))


def branched(*messages, **more):
    """A Claude.ai conversation of (id, parent, text, minute), the user first and then in turns by depth."""
    depth = {}
    said = []
    for id, parent, text, minute in messages:
        depth[id] = depth.get(parent, -1) + 1
        one = exports.claude("c1", text)["chat_messages"][0]
        sender = "assistant" if depth[id] % 2 else "human"
        at = f"2025-03-03T11:{minute:02}:00.000000Z"
        said.append({**one, "uuid": id, "parent_message_uuid": parent, "sender": sender, "created_at": at})
    return {**exports.claude("c1"), "chat_messages": said, **more}


ROOT = "00000000-0000-4000-8000-000000000000"
EDITED = (
    ("q1", ROOT, "Where is Porto?", 0),
    ("a1", "q1", "In Spain.", 1),
    ("a2", "q1", "In Portugal.", 2),
    ("q2", "a2", "And Braga?", 3),
    ("b1", "q2", "There too.", 4),
    ("q3", "a2", "And Vigo?", 5),
    ("b2", "q3", "In Spain.", 6),
)


def test_of_edited_questions_and_repeated_answers_of_claude_the_last_branch_comes_in(run, load, tmp_path):
    done = load(exports.as_json(tmp_path / "c.json", [branched(*EDITED)]))
    assert texts(run)[:4] == ["Where is Porto?", "In Portugal.", "And Vigo?", "In Spain."]
    assert (counts(done), done["left_out"]) == ((4, 0, 0), {"messages of branches that were left": 3})


def test_the_branch_of_claude_that_was_current_comes_in(run, load, tmp_path):
    load(exports.as_json(tmp_path / "c.json", [branched(*EDITED, current_leaf_message_uuid="b1")]))
    assert texts(run)[:4] == ["Where is Porto?", "In Portugal.", "And Braga?", "There too."]


def test_a_first_question_of_claude_that_was_edited_comes_in_as_it_was_asked_last(run, load, tmp_path):
    chat = branched(("q1", ROOT, "Where is Porta?", 0), ("q2", ROOT, "Where is Porto?", 1))
    assert load(exports.as_json(tmp_path / "c.json", [chat]))["left_out"]["messages of branches that were left"] == 1
    assert texts(run)[0] == "Where is Porto?"


def test_a_message_of_claude_whose_parent_is_missing_follows_the_one_before_it(run, load, tmp_path):
    chat = branched(*(message for message in EDITED[2:] if message[0] != "b1"))
    done = load(exports.as_json(tmp_path / "c.json", [chat]))
    assert texts(run)[:3] == ["In Portugal.", "And Vigo?", "In Spain."]
    assert done["left_out"] == {"messages of branches that were left": 1}


def test_a_chatgpt_conversation_without_times_and_current_node_comes_in_to_its_last_leaf(run, load, tmp_path):
    chat = exports.chatgpt("c1", *LISBON)
    chat["mapping"] |= exports.node("again", "c1-0", "assistant", "Tell me more.")
    for each in chat["mapping"].values():
        if each["message"]:
            each["message"]["create_time"] = None
    for current in (None, "gone"):
        done = load(exports.as_json(tmp_path / "c.json", [{**chat, "create_time": None, "current_node": current}]))
    assert texts(run)[:2] == [LISBON[0], "Tell me more."]
    assert (counts(done), done["left_out"]) == ((0, 2, 0), {"messages of branches that were left": 3})


def test_a_chatgpt_message_whose_parent_is_missing_follows_the_one_before_it(run, load, tmp_path):
    chat = exports.chatgpt("c1", *LISBON)
    chat["mapping"]["c1-2"]["parent"] = "gone"
    assert counts(load(exports.as_json(tmp_path / "c.json", [chat]))) == (4, 0, 0)
    assert texts(run)[:4] == [*LISBON]


def test_a_session_whose_line_is_missing_or_damaged_loses_nothing_else(run, load, tmp_path):
    lines = exports.claude_code("s1", *LISBON)
    path = exports.as_lines(tmp_path / "s1.jsonl", [line for line in lines if line.get("uuid") != "s1-1-t"])
    done = load(path)
    assert (counts(done), done["left_out"]) == ((4, 0, 0), {"tool calls and their results": 3})
    damaged = "".join(
        json.dumps(line)[: 60 if line.get("uuid") == "s2-1" else None] + "\n" for line in claude_lines("s2")
    )
    (tmp_path / "s2.jsonl").write_text(damaged)
    assert counts(load(tmp_path / "s2.jsonl", code=6)) == (3, 0, 1)


def claude_lines(session):
    return exports.claude_code(session, *(f"{session}: {text}" for text in LISBON))


def uuid_of(name):
    return str(uuid5(NAMESPACE_URL, name))


def as_uuids(lines):
    """The lines with ids as Claude Code writes them."""
    named = {"uuid", "parentUuid"}
    return [{k: uuid_of(v) if k in named and v else v for k, v in line.items()} for line in lines]


@pytest.mark.parametrize("as_written", [as_uuids, list])
def test_messages_of_a_session_that_was_continued_in_another_file_are_stored_once(run, load, tmp_path, as_written):
    first = as_written(exports.claude_code("s1", *LISBON))
    more = as_written(exports.claude_code("s1", *LISBON, *BIRCH))[len(first) :]
    continued = [{**line, "sessionId": "s2"} if "sessionId" in line else line for line in [*first, *more]]
    forked = [
        {**line, "uuid": f"new-{line['uuid']}", "forkedFrom": {"sessionId": "s1", "messageUuid": line["uuid"]}}
        for line in first
        if "uuid" in line
    ]
    folder = tmp_path / "projects"
    for name, lines in (("s1", first), ("s2", continued), ("s3", forked)):
        exports.as_lines(folder / f"{name}.jsonl", lines)
    done = load(folder)
    assert counts(done) == (6, 8, 0)
    assert sorted(turn["content"] for turn in stored(run) if turn.get("source") == "conversation") == sorted(
        LISBON + BIRCH
    )
    episodes = [record["content"] for record in stored(run, turns=False)]
    assert sum(LISBON[0] in text for text in episodes) == 1
    assert run("recall", "Lisbon").stdout.count(LISBON[0]) == 1
    assert counts(load(folder)) == (0, 14, 0)


def test_one_id_with_two_texts_is_two_messages(run, load, tmp_path):
    for session in ("s1", "s2"):
        lines = [{**line, "uuid": "u1", "parentUuid": None} for line in claude_lines(session)[1:2]]
        exports.as_lines(tmp_path / "all" / f"{session}.jsonl", lines)
    assert counts(load(tmp_path / "all")) == (2, 0, 0)
    assert counts(load(tmp_path / "all")) == (0, 2, 0)


def test_a_later_export_with_a_copy_of_a_chat_adds_what_is_new(run, load, tmp_path):
    for export in (exports.chatgpt, exports.claude):
        chat = json.loads(json.dumps(export("c1", *LISBON)).replace("c1-", f"{export.__name__}-"))
        load(exports.as_json(tmp_path / "c.json", [chat]))
        copy = json.loads(json.dumps(chat).replace('"c1"', '"c9"'))
        assert counts(load(exports.as_json(tmp_path / "d.json", [chat, copy]))) == (0, 8, 0)
