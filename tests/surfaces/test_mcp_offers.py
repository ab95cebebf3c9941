"""MCP offers more than tools: resources, prompts, progress; and the forms of a request that it takes or refuses."""

import json
import re
from collections.abc import Awaitable, Callable
from threading import Event
from typing import Any

import anyio
import httpx
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST

from steeltrap.invoke import Door
from steeltrap.model import Caller, Permissions, UserRef
from steeltrap.servers import mcp
from surfaces.mcp_client import ME, ask

OTHER = Caller(UserRef("ben"), "default")
JSON_OR_EVENTS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def ask_agent(door: Door, question: Callable[[Client], Awaitable[Any]], caller: Caller = ME) -> Any:
    return ask(door, "agent", question, caller)


def save(door: Door, content: str, **fields: Any) -> str:
    id: str = door.invoke("core.save", {"content": content, **fields}, ME).body["id"]
    return id


def read(door: Door, uri: str, caller: Caller = ME) -> Any:
    [contents] = ask_agent(door, lambda client: client.read_resource(uri), caller).contents
    assert contents.uri == uri
    return json.loads(contents.text)


def test_the_newest_memories_and_each_of_them_are_resources(door: Door) -> None:
    tea, long = save(door, "Ana drinks\ngreen tea."), save(door, "Ana " + "likes long walks " * 20)
    listed = ask_agent(door, lambda client: client.list_resources()).resources
    assert [each.uri for each in listed] == [
        "memory://recent",
        f"memory://memories/{long}",
        f"memory://memories/{tea}",
    ]
    assert listed[2].title == "Ana drinks green tea."
    assert len(listed[1].title) == 80
    assert {each.mime_type for each in listed} == {"application/json"}
    assert [memory["id"] for memory in read(door, "memory://recent")["memories"]] == [long, tea]
    assert read(door, listed[2].uri)["content"] == "Ana drinks\ngreen tea."


def test_a_scope_is_a_resource_with_the_scopes_below_it(door: Door) -> None:
    save(door, "Elsewhere.")
    inside = [save(door, "At work.", scope="work"), save(door, "On the website.", scope="work/web")]
    templates = ask_agent(door, lambda client: client.list_resource_templates()).resource_templates
    assert [each.uri_template for each in templates] == ["memory://memories/{id}", "memory://scopes/{+scope}"]
    assert {m["id"] for m in read(door, "memory://scopes/work")["memories"]} == set(inside)
    assert [m["id"] for m in read(door, "memory://scopes/work%2Fweb")["memories"]] == inside[1:]


def test_resources_are_listed_in_pages(door: Door) -> None:
    ids = {save(door, f"Fact number {number}.") for number in range(51)}

    async def listed(client: Client) -> Any:
        first = await client.list_resources()
        return first, await client.list_resources(cursor=first.next_cursor)

    first, second = ask_agent(door, listed)
    assert len(first.resources) == 51
    assert second.next_cursor is None
    assert {each.name for page in (first, second) for each in page.resources} == ids | {"recent"}


@pytest.mark.parametrize("cursor", ["", "x", "-50", "7", "\u0665\u0660", "9" * 40])
def test_a_cursor_that_no_answer_gave_is_refused(door: Door, cursor: str) -> None:
    for listed in (
        lambda client: client.list_resources(cursor=cursor),
        lambda client: client.list_tools(cursor=cursor),
        lambda client: client.list_prompts(cursor=cursor),
        lambda client: client.list_resource_templates(cursor=cursor),
    ):
        with pytest.raises(MCPError, match="cursor") as refused:
            ask_agent(door, listed)
        assert refused.value.code == INVALID_PARAMS


@pytest.mark.parametrize("uri", ["memory://nothing", "file:///etc/passwd", "memory://memories/", "memory://memories/x"])
def test_an_unknown_resource_is_refused(door: Door, uri: str) -> None:
    with pytest.raises(MCPError) as refused:
        ask_agent(door, lambda client: client.read_resource(uri))
    assert refused.value.code in (INVALID_PARAMS, INVALID_REQUEST)
    assert refused.value.data == {"uri": uri}


def test_another_users_memory_is_no_resource(door: Door) -> None:
    uri = f"memory://memories/{save(door, 'A secret of mine.')}"
    assert [each.uri for each in ask_agent(door, lambda client: client.list_resources(), OTHER).resources] == [
        "memory://recent"
    ]
    with pytest.raises(MCPError, match="No memory with id") as refused:
        read(door, uri, OTHER)
    assert refused.value.code == INVALID_PARAMS


def test_resources_ask_for_permission_as_tools_do(door: Door) -> None:
    limited = Caller(UserRef("ana"), "default", permissions=Permissions(toolsets=("notes",)))
    with pytest.raises(MCPError, match="your key is for the toolset `notes` only"):
        ask_agent(door, lambda client: client.list_resources(), limited)


def test_prompts_say_how_to_use_memory_and_ask_about_a_topic(door: Door) -> None:
    listed = ask_agent(door, lambda client: client.list_prompts()).prompts
    assert {each.name: [a.name for a in each.arguments or []] for each in listed} == {
        "use_memory": [],
        "what_do_you_know": ["topic"],
    }
    [use] = ask_agent(door, lambda client: client.get_prompt("use_memory")).messages
    assert door.catalogue.toolset("agent").instructions in use.content.text
    [know] = ask_agent(door, lambda client: client.get_prompt("what_do_you_know", {"topic": "Porto"})).messages
    assert "this subject: Porto" in know.content.text


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("nothing", {}, "there are: use_memory, what_do_you_know"),
        ("what_do_you_know", {}, "needs the argument `topic`"),
        ("what_do_you_know", {"topic": " "}, "needs the argument `topic`"),
    ],
)
def test_a_wrong_prompt_is_refused(door: Door, name: str, arguments: dict[str, str], said: str) -> None:
    with pytest.raises(MCPError, match=re.escape(said)) as refused:
        ask_agent(door, lambda client: client.get_prompt(name, arguments))
    assert refused.value.code == INVALID_PARAMS


def call(client: httpx.Client, arguments: Any, path: str = "/mcp/core") -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "save", "arguments": arguments}}
    return client.post(path, json=message, headers=JSON_OR_EVENTS).json()


def test_arguments_written_as_a_text_of_json_are_read(local: httpx.Client) -> None:
    saved = call(local, '{"content": "Ana likes tea."}')["result"]
    assert not saved.get("isError")
    assert json.loads(saved["content"][0]["text"])["version"] == 1
    for empty in ("", "{}"):
        assert "`content` is required" in call(local, empty)["result"]["content"][0]["text"]


@pytest.mark.parametrize("arguments", ["tea", "[1]", '{"content"', "[" * 100_000, "{" + '"a":1,' * 200_000 + '"a":1}'])
def test_a_text_that_is_no_object_is_refused(local: httpx.Client, arguments: str) -> None:
    error = call(local, arguments)["error"]
    assert error["code"] == INVALID_PARAMS
    assert "JSON" in error["message"]


@pytest.mark.parametrize("path", ["/mcp/", "/mcp/core/"])
def test_a_slash_behind_the_path_is_taken(local: httpx.Client, path: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    there, same = (local.post(at, json=message, headers=JSON_OR_EVENTS).json() for at in (path, path.rstrip("/")))
    assert there == same
    assert there["result"]["tools"]


@pytest.mark.parametrize("path", ["/mcp/nothing", "/mcp/nothing/", "/mcp/core/save"])
def test_an_unknown_toolset_names_what_there_is(local: httpx.Client, path: str) -> None:
    answer = local.post(path, json={}, headers=JSON_OR_EVENTS)
    assert answer.status_code == 404
    if "nothing" in path:
        assert "there are: " in answer.json()["detail"]


def test_a_slow_call_reports_progress_until_it_is_done(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "_PROGRESS_SECONDS", 0.001)
    reported, embed = Event(), door.embedder.embed

    def slow(*given: Any, **named: Any) -> Any:
        assert reported.wait(30)
        return embed(*given, **named)

    monkeypatch.setattr(door.embedder, "embed", slow)
    told: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        if len(told) == 3:
            reported.set()

    async def remember(client: Client) -> Any:
        return await client.call_tool("remember", {"content": "A fact."}, progress_callback=on_progress)

    assert not ask_agent(door, remember).is_error
    assert told == sorted(told)


def test_a_cancelled_call_leaves_the_server_free(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, embed = Event(), Event(), door.embedder.embed

    def slow(*given: Any, **named: Any) -> Any:
        begun.set()
        assert go_on.wait(30)
        return embed(*given, **named)

    async def cancelled(client: Client) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(door.embedder, "embed", slow)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "remember", {"content": "A fact."})
                await anyio.to_thread.run_sync(begun.wait, 30)
                tasks.cancel_scope.cancel()
        answer = await client.call_tool("recall", {"query": "fact"})
        go_on.set()
        return answer

    assert not ask_agent(door, cancelled).is_error
