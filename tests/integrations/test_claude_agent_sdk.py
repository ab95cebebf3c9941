"""The Claude Agent SDK: its suite for session stores, transcripts to the letter, runs of a scripted Claude Code."""

import asyncio
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk.testing", reason="claude-agent-sdk is not installed")

from claude_agent_sdk import MirrorErrorMessage, get_session_messages_from_store, project_key_for_directory
from claude_agent_sdk.testing import run_session_store_conformance

from integrations.claude_agent import ScriptedClaudeCode, Tools, mirrored, requests_of, run
from integrations.modules import is_lazy, run_page
from integrations.seams import Seam, lose_answer
from integrations.story import LIBRARIES, tell
from steeltrap.client import Client
from steeltrap.errors import InvalidInput, TooLarge, Unavailable
from steeltrap.integrations import INSTRUCTIONS, claude_agent_sdk
from steeltrap.integrations.claude_agent_sdk import MAX_ENTRY_BYTES, SteeltrapSessionStore, memory_server, scope_of
from steeltrap.servers.schemas import mcp
from steeltrap.toolsets import CATALOGUE

KEY: Any = {"project_key": "-home-ana-shop", "session_id": "0b1c"}
SUB: Any = KEY | {"subpath": "subagents/agent-1"}
ENTRIES: list[Any] = [
    {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Where is Zoë's parcel? 📦"}},
    {"type": "assistant", "uuid": "u2", "message": {"content": [{"type": "text", "text": "In Porto."}]}},
    {"type": "assistant", "uuid": "u3", "message": {"content": [{"type": "tool_use", "input": {"n": 1.0}}]}},
    {"type": "mode", "value": None, "nested": [[{"a": "  \n"}]]},
    {"type": "mode", "value": None, "nested": [[{"a": "  \n"}]]},
    {"type": "user", "uuid": "u4", "message": {"content": "half a pair \ud83d, a zero \x00, e\u0301 and \u00e9"}},
    {"type": "", "message": ["no", 1]},
]


def store_of(seam: Seam, user: str = "ana") -> SteeltrapSessionStore:
    return SteeltrapSessionStore(seam.client(user))


def append(seam: Seam, store: SteeltrapSessionStore, *entries: Any, key: Any = KEY) -> None:
    seam.run(store.append(key, list(entries)))


def load(seam: Seam, store: SteeltrapSessionStore, key: Any = KEY) -> list[Any] | None:
    return seam.run(store.load(key))


def fail_puts(client: Client, plan: Sequence[str]) -> None:
    """Let a client's first puts be "done", be done with their answer "lost", or meet a store that is "down"."""
    call, outcomes = client.call, iter(plan)

    def failing(tool: str, /, **arguments: Any) -> Any:
        outcome = next(outcomes, "done") if tool == "core.put" else "done"
        if outcome == "down":
            raise Unavailable("The store is down; try again.", part="store")
        answer = call(tool, **arguments)
        if outcome == "lost":
            raise Unavailable("The answer was lost; try again.", part="store")
        return answer

    client.call = failing  # type: ignore[method-assign]


def test_it_passes_the_suite_of_the_sdk(seam: Seam) -> None:
    users = count()
    seam.run(run_session_store_conformance(lambda: store_of(seam, f"user{next(users)}")))
    assert next(users) > 10, "each contract has a store of its own"


def test_its_tools_tell_the_common_story(seam: Seam) -> None:
    tell(LIBRARIES["claude-agent-sdk"], seam)


def test_entries_come_back_to_the_letter(seam: Seam) -> None:
    append(seam, store_of(seam), *ENTRIES[:3])
    append(seam, store_of(seam), *ENTRIES[3:])
    assert load(seam, store_of(seam)) == ENTRIES
    found = seam.client("ana").core.search(query="Where is the parcel?")["results"][0]
    assert found["content"] == "Where is Zoë's parcel? 📦"


def test_a_large_entry_is_whole_and_a_larger_one_refused(seam: Seam) -> None:
    store = store_of(seam)
    large = {"type": "user", "uuid": "big", "toolUseResult": 'é"\\\n📦' * 130_000}
    append(seam, store, ENTRIES[0], large, ENTRIES[1])
    with pytest.raises(TooLarge, match=r"Entry 2 has .* fit. Nothing of this call is stored"):
        append(seam, store, ENTRIES[2], {"type": "user", "text": "x" * MAX_ENTRY_BYTES})
    with pytest.raises(InvalidInput, match="Entry 1 is no JSON"):
        append(seam, store, {"type": "user", "n": float("nan")})
    assert load(seam, store) == [ENTRIES[0], large, ENTRIES[1]]


def test_what_the_sdk_repeats_is_stored_once(seam: Seam) -> None:
    client = seam.client("ana")
    lose_answer(client, at=2)  # after the question for the last place
    store = SteeltrapSessionStore(client)
    batch = [ENTRIES[0], {"type": "user", "uuid": "big", "text": "x" * 40_000}, ENTRIES[1], ENTRIES[0]]
    with pytest.raises(Unavailable, match="answer was lost"):
        append(seam, store, *batch)
    append(seam, store, *batch)
    append(seam, store, ENTRIES[2])
    assert load(seam, store) == [*batch[:3], ENTRIES[2]]


SMALL: list[Any] = [{"type": "user", "uuid": f"{n}"} for n in range(60)]
LARGE: list[Any] = [ENTRIES[0], {"type": "user", "uuid": "big", "text": "x" * 900_000}, ENTRIES[1]]


@pytest.mark.parametrize("batch", [SMALL, LARGE], ids=["small", "large"])
def test_an_outage_after_an_unsure_answer_takes_no_entry_and_no_order(seam: Seam, batch: list[Any]) -> None:
    client = seam.client("ana")
    fail_puts(client, ["done", "lost", "done", "down"])
    store = SteeltrapSessionStore(client)
    for message in ("answer was lost", "store is down"):
        with pytest.raises(Unavailable, match=message):
            append(seam, store, *batch)
        assert load(seam, store) == batch
    append(seam, store, *batch)
    append(seam, store, ENTRIES[2])
    assert load(seam, store) == [*batch, ENTRIES[2]]


def test_an_entry_that_moves_only_in_part_stays_whole_at_its_place(seam: Seam) -> None:
    append(seam, store_of(seam), *LARGE)
    client = seam.client("ana")
    fail_puts(client, ["done", "down"])
    with pytest.raises(Unavailable):
        append(seam, SteeltrapSessionStore(client), LARGE[1])
    assert load(seam, store_of(seam)) == LARGE


def test_an_entry_that_is_stored_becomes_a_shorter_one_at_the_end(seam: Seam) -> None:
    append(seam, store_of(seam), *LARGE)
    shorter = LARGE[1] | {"text": "x" * 40_000}
    append(seam, store_of(seam), shorter)
    assert load(seam, store_of(seam)) == [LARGE[0], LARGE[2], shorter]


def test_an_entry_that_is_stored_in_part_is_not_loaded(seam: Seam) -> None:
    client = seam.client("ana")
    lose_answer(client, at=2)
    large = {"type": "user", "uuid": "big", "text": "x" * 900_000}
    with pytest.raises(Unavailable):
        append(seam, SteeltrapSessionStore(client), ENTRIES[0], large)
    assert load(seam, store_of(seam)) == ENTRIES[:1]
    append(seam, store_of(seam), ENTRIES[0], large)
    assert load(seam, store_of(seam)) == [ENTRIES[0], large]


def test_the_order_holds_when_a_clock_goes_back(seam: Seam) -> None:
    times = iter([2_000.0, 1_000.0, 500.0])
    entries = [{"type": "user", "n": n} for n in range(130)]
    for part in (entries[:60], entries[60:61], entries[61:]):
        store = SteeltrapSessionStore(seam.client("ana"), now=lambda: next(times))
        append(seam, store, *part)
    assert load(seam, store_of(seam)) == entries


def test_the_order_holds_when_machines_with_other_clocks_take_turns(seam: Seam) -> None:
    ahead = SteeltrapSessionStore(seam.client("ana"), now=lambda: 2_000.0)
    behind = SteeltrapSessionStore(seam.client("ana"), now=lambda: 1_000.0)
    entries: list[Any] = [{"type": "user", "n": n} for n in range(4)]
    for n, store in enumerate([behind, ahead, behind, ahead]):
        assert load(seam, store) == (entries[:n] or None)
        append(seam, store, entries[n])
    assert load(seam, store_of(seam)) == entries


def test_the_order_holds_in_a_process_of_more_transcripts_than_it_remembers(
    seam: Seam, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_agent_sdk, "_SCOPES", 2)
    times = count(2_000, -1)
    store = SteeltrapSessionStore(seam.client("ana"), now=lambda: next(times))
    keys: list[Any] = [KEY | {"session_id": name} for name in "abc"]
    for entry in ENTRIES[:2]:
        for key in keys:
            append(seam, store, entry, key=key)
    assert [load(seam, store, key) for key in keys] == [ENTRIES[:2]] * 3
    assert len(store._last) == 2


def test_a_transcript_whose_end_is_asked_for_holds_up_no_other(seam: Seam) -> None:
    client = seam.client("ana")
    call, is_asking, may_answer = client.call, Event(), Event()

    def slow(tool: str, /, **arguments: Any) -> Any:
        if tool == "core.list" and arguments["scope"] == scope_of(KEY):
            is_asking.set()
            assert may_answer.wait(30), "another transcript's append waited"
        return call(tool, **arguments)

    client.call = slow  # type: ignore[method-assign]
    store = SteeltrapSessionStore(client)

    async def other() -> None:
        await asyncio.to_thread(is_asking.wait, 5)
        await store.append(SUB, ENTRIES[1:2])
        may_answer.set()

    async def both() -> None:
        await asyncio.gather(store.append(KEY, ENTRIES[:1]), other())

    seam.run(both())
    assert load(seam, store_of(seam), SUB) == ENTRIES[1:2]


def test_memories_of_others_in_its_scope_are_no_entries(seam: Seam) -> None:
    append(seam, store_of(seam), *ENTRIES[:2])
    ours: dict[str, Any] = {"entry": "e", "place": 1, "piece": 0, "pieces": 1, "json": "{}"}
    others: list[Any] = [{"json": "no JSON"}, {"json": "[1]"}, {"json": 1}, {"entry": ["e"]}, {"pieces": 10**12}]
    for n, wrong in enumerate(others):
        metadata = ours | {"entry": f"e{n}"} | wrong
        seam.client("ana").core.save(content=f"Tea {n}", scope=scope_of(KEY), metadata=metadata)
    assert load(seam, store_of(seam)) == ENTRIES[:2]


def test_two_that_append_at_once_keep_all(seam: Seam) -> None:
    one, two = store_of(seam), store_of(seam)

    async def both() -> None:
        await asyncio.gather(one.append(KEY, ENTRIES[:3]), two.append(KEY, ENTRIES[3:6]))

    seam.run(both())
    loaded = load(seam, one) or []
    assert [entry for entry in loaded if entry in ENTRIES[:3]] == ENTRIES[:3]
    assert [entry for entry in loaded if entry in ENTRIES[3:6]] == ENTRIES[3:6]
    assert len(loaded) == 6


def test_any_key_is_one_and_lists_as_itself(seam: Seam) -> None:
    store = store_of(seam)
    project = "C:\\Zoë's shop/" + "x" * 400
    for session in ("a/b", "a_2Fb", "ü.~_%"):
        for more in ({}, {"subpath": "subagents/workflows/ü/agent-1"}):
            key = {"project_key": project, "session_id": session} | more
            append(seam, store, {"type": session, **more}, key=key)
            assert load(seam, store, key) == [{"type": session, **more}]
        subkeys = seam.run(store.list_subkeys({"project_key": project, "session_id": session}))
        assert subkeys == ["subagents/workflows/ü/agent-1"]
    assert {row["session_id"] for row in seam.run(store.list_sessions(project))} == {"a/b", "a_2Fb", "ü.~_%"}
    for wrong in ({"session_id": ""}, {"session_id": "x" * 400}, {"session_id": "\ud83d"}, {"subpath": ""}):
        with pytest.raises(InvalidInput, match="must be whole Unicode text of 1 to"):
            load(seam, store, KEY | wrong)


def test_a_key_is_the_same_in_any_order_and_with_no_subpath_or_none(seam: Seam) -> None:
    store = store_of(seam)
    turned: Any = dict(reversed(SUB.items()))
    append(seam, store, ENTRIES[0], key=KEY | {"subpath": None})
    append(seam, store, ENTRIES[1], key=turned)
    assert load(seam, store, KEY) == ENTRIES[:1]
    assert load(seam, store, SUB) == ENTRIES[1:2]
    assert seam.run(store.list_subkeys(KEY)) == [SUB["subpath"]]
    wrongs: list[Any] = [{"session_id": None}, {"project_key": None}, {"subpath": 1}]
    for wrong in wrongs:
        with pytest.raises(InvalidInput, match="must be whole Unicode text"):
            seam.run(store.delete(KEY | wrong))
    seam.run(store.delete(KEY | {"subpath": None}))
    assert load(seam, store, SUB) is None


def test_a_delete_can_be_undone_and_appended_to(seam: Seam) -> None:
    store, client = store_of(seam), seam.client("ana")
    append(seam, store, *ENTRIES[:3])
    append(seam, store, ENTRIES[5], key=SUB)
    seam.run(store.delete(KEY))
    assert load(seam, store) is None
    assert load(seam, store, SUB) is None
    for row in client.core.list(deleted=True)["memories"]:
        client.core.undo(id=row["id"])
    assert load(seam, store) == ENTRIES[:3]
    assert load(seam, store, SUB) == ENTRIES[5:6]
    seam.run(store.delete(KEY))
    append(seam, store, *ENTRIES[:2])
    assert load(seam, store) == ENTRIES[:2]


def test_a_model_that_revises_an_entry_takes_none_from_the_transcript(seam: Seam) -> None:
    append(seam, store_of(seam), *ENTRIES[:2])
    [first] = [row for row in seam.client("ana").core.list()["memories"] if "Zoë" in row["content"]]
    Tools(seam, "ana").correct(first["id"], "Zoë's parcel is in Porto.")
    assert load(seam, store_of(seam)) == ENTRIES[:2]


def test_users_are_apart(seam: Seam) -> None:
    append(seam, store_of(seam), *ENTRIES[:2])
    bob = store_of(seam, "bob")
    assert load(seam, bob) is None
    assert seam.run(bob.list_sessions(KEY["project_key"])) == []
    seam.run(bob.delete(KEY))
    assert load(seam, store_of(seam)) == ENTRIES[:2]


def test_a_failure_is_no_empty_transcript(seam: Seam) -> None:
    store = store_of(seam)
    append(seam, store, ENTRIES[0])
    seam.store.is_broken = True
    project = KEY["project_key"]
    for call in (
        lambda: store.load(KEY),
        lambda: store.append(KEY, ENTRIES[:1]),
        lambda: store.delete(KEY),
        lambda: store.list_sessions(project),
        lambda: store.list_subkeys(KEY),
    ):
        with pytest.raises(Unavailable, match="does not answer"):
            seam.run(call())


def test_what_a_run_writes_down_the_sdk_reads_from_the_store(seam: Seam, tmp_path: Path) -> None:
    session = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"
    said = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "Where is it?"}},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": {"role": "assistant", "content": "Here."}},
    ]
    entries = [entry | {"sessionId": session, "timestamp": "2026-05-31T09:00:00.000Z"} for entry in said]
    frame = mirrored(tmp_path, project_key_for_directory(str(tmp_path)), session, *entries)
    store = store_of(seam)
    environment = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    messages = seam.run(run(ScriptedClaudeCode(frame), session_store=store, env=environment))
    assert not any(isinstance(message, MirrorErrorMessage) for message in messages)
    read = seam.run(get_session_messages_from_store(store_of(seam), session, directory=str(tmp_path)))
    assert [message.message["content"] for message in read] == ["Where is it?", "Here."]


def test_claude_gets_the_tools_of_the_toolset_agent(seam: Seam) -> None:
    code = ScriptedClaudeCode(requests=requests_of("recent_memories", {}))
    seam.run(run(code, mcp_servers={"memory": memory_server(seam.client("ana"))}))
    agent = CATALOGUE.toolsets["agent"]
    assert agent.instructions == INSTRUCTIONS
    ours = {each.name: mcp(each) for each in agent.tools.values()}
    assert {tool["name"] for tool in code.answers[2]["tools"]} == set(ours)
    for tool in code.answers[2]["tools"]:
        expected = ours[tool["name"]]
        assert " ".join(tool["description"].split()) == " ".join(expected["description"].split())
        assert tool["inputSchema"] == expected["inputSchema"]
        assert tool["annotations"] == expected["annotations"]


def test_claude_reads_a_failure_as_one(seam: Seam) -> None:
    tools = Tools(seam, "ana")
    failed, text = tools.result("forget_memory", id="3f2b8c1e")
    assert failed
    assert text == "No memory with id 3f2b8c1e; recall and recent_memories show ids."
    failed, text = tools.result("recall", query="tea", max_tokens="many")
    assert failed
    assert "many" in text
    seam.store.is_broken = True
    failed, text = tools.result("recall", query="tea")
    assert failed
    assert "does not answer" in text


def test_it_is_imported_only_when_it_is_asked_for() -> None:
    assert is_lazy("claude_agent_sdk", "claude_agent_sdk")


def test_the_code_on_the_page_runs(tmp_path: Path) -> None:
    done = run_page("claude-agent-sdk.md", tmp_path)
    assert done.returncode == 0, done.stderr
