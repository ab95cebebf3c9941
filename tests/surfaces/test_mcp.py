"""MCP adds the list of tools, structured content, `_meta`, protocol errors, a clean stdout."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from secret_examples import token
from steeltrap.errors import NotFound
from steeltrap.invoke import Door
from steeltrap.ranking.budget import estimate_tokens
from steeltrap.servers.mcp import IDEMPOTENCY_KEY, OUTCOME, create_server
from steeltrap.toolsets import CATALOGUE
from surfaces.callers import ROOT
from surfaces.mcp_client import ME, ask


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets)
def test_tools_are_listed_as_the_catalogue_has_them(door: Door, toolset: str) -> None:
    listed = ask(door, toolset, lambda client: client.list_tools()).tools
    tools = CATALOGUE.toolset(toolset).tools
    assert [each.name for each in listed] == list(tools)
    for each in listed:
        tool = tools[each.name]
        assert each.description == tool.description
        assert each.input_schema == tool.input_schema
        assert each.input_schema["type"] == "object"
        assert (each.title, each.annotations.title) == (None, None), "a title would repeat the name"
        assert each.annotations.read_only_hint is (tool.access == "read")
        assert each.annotations.destructive_hint is tool.destructive
        assert each.annotations.idempotent_hint is tool.idempotent
        assert each.annotations.open_world_hint is False
        assert each.output_schema is None, "answers are text"


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets)
def test_the_server_says_in_a_few_words_when_to_call_which_of_its_tools(door: Door, toolset: str) -> None:
    async def about(client: Client) -> Any:
        return client.server_info, client.instructions

    info, instructions = ask(door, toolset, about)
    assert info.name == "steeltrap"
    assert estimate_tokens(instructions) < 150
    tools = CATALOGUE.toolset(toolset).tools
    operations = {tool.operation for name, tool in tools.items() if re.search(rf"\b{name}\b", instructions)}
    saving, searching = {"save", "append_messages", "files"}, {"search", "retrieve_memory", "files"}
    assert operations & saving
    assert operations & searching
    named = set(re.findall(r"\b[a-z]+_[a-z_]+\b", instructions))
    arguments = {name for tool in tools.values() for name in tool.input_schema["properties"]}
    assert named <= tools.keys() | arguments | {"short_term", "long_term"}


def test_no_two_toolsets_give_the_same_instructions() -> None:
    given = [toolset.instructions for toolset in CATALOGUE.toolsets.values()]
    assert len(set(given)) == len(given)


def test_an_answer_is_text_and_not_structured_content_beside_it(door: Door) -> None:
    async def listed(client: Client) -> Any:
        return await client.call_tool("memory_search", {"query": "x"})

    async def read(client: Client) -> Any:
        return await client.call_tool("retrieve_memory", {"query": "x"})

    answer = ask(door, "notes", listed)
    assert answer.structured_content is None
    assert answer.content[0].text == "[]"
    answer = ask(door, "core", read)
    assert answer.structured_content is None
    assert answer.content[0].text == "No memories found."


def test_what_happened_stands_in_meta(door: Door) -> None:
    answer = ask(door, "notes", lambda client: client.call_tool("memory_search", {"query": "x"}))
    assert answer.meta[OUTCOME]["kind"] == "nothing_stored"
    assert answer.meta[OUTCOME]["message"]


def test_an_error_is_the_dialects_own_and_has_no_structured_content(door: Door) -> None:
    answer = ask(door, "notes", lambda client: client.call_tool("memory_delete", {"note_id": "note-1"}))
    assert answer.is_error
    assert json.loads(answer.content[0].text) == {"error": "note `note-1` not found"}
    assert answer.structured_content is None


def test_a_key_in_meta_saves_once(door: Door) -> None:
    async def twice(client: Client) -> Any:
        meta = {IDEMPOTENCY_KEY: "k-1"}
        return [await client.call_tool("save", {"content": "Once."}, meta=meta) for _ in range(2)]  # type: ignore[arg-type]

    first, second = ask(door, "core", twice)
    saved = [json.loads(answer.content[0].text) for answer in (first, second)]
    assert saved[0]["id"] == saved[1]["id"]


def test_a_key_that_is_no_text_is_refused(door: Door) -> None:
    async def call(client: Client) -> Any:
        await client.call_tool("save", {"content": "x"}, meta={IDEMPOTENCY_KEY: 5})  # type: ignore[arg-type]

    with pytest.raises(MCPError, match="must be a string"):
        ask(door, "core", call)


def test_an_unknown_tool_is_a_protocol_error_that_names_what_there_is(door: Door) -> None:
    with pytest.raises(MCPError, match="there are: memory_search, memory_save") as refused:
        ask(door, "notes", lambda client: client.call_tool("save", {}))
    assert refused.value.code == INVALID_PARAMS


def test_an_unknown_toolset_has_no_server(door: Door) -> None:
    with pytest.raises(NotFound, match="there are: agent, core"):
        create_server(door, "nothing", lambda _: ME)


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[]", b'{"jsonrpc": "2.0"}', b"[" * 100_000])
def test_what_is_no_message_is_a_bad_request(local: httpx.Client, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = local.post("/mcp/core", content=body, headers=headers)
    assert answer.status_code == 400
    assert "Traceback" not in answer.text


_OVER_HTTP = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def test_a_message_may_begin_with_a_byte_order_mark(local: httpx.Client) -> None:
    body = b"\xef\xbb\xbf" + message(1, "ping").encode()
    answer = local.post("/mcp/core", content=body, headers=_OVER_HTTP)
    assert (answer.status_code, answer.json()["result"]) == (200, {})


def test_a_compressed_message_is_refused_as_such(local: httpx.Client) -> None:
    body, headers = gzip.compress(message(1, "ping").encode()), {**_OVER_HTTP, "Content-Encoding": "gzip"}
    answer = local.post("/mcp/core", content=body, headers=headers)
    assert answer.status_code == 415
    assert "without `Content-Encoding`" in answer.json()["detail"]
    assert answer.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "Deploys use AKIA"),
        ({"X-Steeltrap-Secrets": "redact"}, "Deploys use [redacted: aws-access-token]."),
        ({"X-Steeltrap-Secret": "redact"}, "did you mean `X-Steeltrap-Secrets`?"),
    ],
)
def test_headers_of_a_request_say_what_becomes_of_secrets(
    local: httpx.Client, headers: dict[str, str], said: str
) -> None:
    def call(tool: str, arguments: dict[str, Any], headers: dict[str, str]) -> str:
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return local.post("/mcp/core", json=body, headers={"Accept": "application/json", **headers}).text

    said_now = call("save", {"content": f"Deploys use {token()}."}, headers)
    assert said in said_now + call("list", {}, {})


def test_only_protocol_reaches_stdout_and_noise_on_stdin_is_survived(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from surfaces.callers import door_on\n"
        "from steeltrap.servers.mcp import run_stdio; from steeltrap.model import Caller, UserRef\n"
        "door = door_on(Path(sys.argv[1])); check = door.embedder.embed\n"
        "def loud(*a, **k): print('noise'); return check(*a, **k)\n"
        "door.embedder.embed = loud\n"
        "run_stdio(door, 'core', Caller(UserRef('ana'), 'default')); door.store.close()\n"
    )
    messages: list[Any] = [
        {"method": "initialize", "id": 1, "params": _HELLO},
        {"method": "notifications/initialized"},
        {"method": "tools/call", "id": 2, "params": {"name": "save", "arguments": {"content": "A fact."}}},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
    lines[2:2] = ["not json", "", '{"jsonrpc": "2.0", "method": "tools/call", "id": 9, "params": {"name": "\\ud800"}}']
    folders = (ROOT / "shared", ROOT / "tests", ROOT / "tests" / "support")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, "-c", program, str(tmp_path)]
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, env=environment, **pipes) as server:
        server.stdin.write("\n".join([*lines, ""]))
        server.stdin.flush()
        answers: list[Any] = []
        while not answers or answers[-1].get("id") != 2:
            answers.append(json.loads(server.stdout.readline()))
        rest, errors = server.communicate(timeout=60)
    assert {answer["jsonrpc"] for answer in answers} == {"2.0"}
    assert json.loads(answers[-1]["result"]["content"][0]["text"])["version"] == 1
    assert rest == ""
    assert "noise" in errors
    assert server.returncode == 0


_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def stdio(folder: Path, **pipes: Any) -> "subprocess.Popen[bytes]":
    """A server of `agent` over pipes, as a client starts it."""
    folders = (ROOT / "shared", ROOT / "tests", ROOT / "tests" / "support")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, "-m", "surfaces.stdio_server", str(folder), "agent", '{"user_id": "ana"}']
    return subprocess.Popen(command, env=environment, **pipes)


def message(id: int | None, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id}))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"content": "cut within an emoji \\ud83d"}', "whole Unicode characters"),
        ('{"content": "x", "tags": ' + "[" * 300 + "]" * 300 + "}", "recursion limit"),
        (f'{{"content": {"9" * 5000}}}', "huge numbers"),
    ],
)
def test_a_call_that_is_no_valid_json_is_answered_by_its_id(tmp_path: Path, arguments: str, said: str) -> None:
    begin = [message(1, "initialize", **_HELLO), message(None, "notifications/initialized")]
    params = f'{{"name": "remember", "arguments": {arguments}}}'
    bad = f'{{"method": "tools/call", "params": {params}, "jsonrpc": "2.0", "id": %s}}'
    given = "\n".join([*begin, bad % "null", bad % 2, bad % '"three"', message(4, "ping")]).encode()
    with stdio(tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        answers, errors = server.communicate(given, timeout=60)
    told = {answer["id"]: answer for answer in map(json.loads, answers.splitlines())}
    assert set(told) == {1, 2, "three", 4}
    assert all(told[at]["error"]["code"] == -32700 and said in told[at]["error"]["message"] for at in (2, "three"))
    assert (server.returncode, errors) == (0, b"")


def test_a_bad_call_whose_id_can_not_be_sent_back_is_answered_with_null(tmp_path: Path) -> None:
    begin = [message(1, "initialize", **_HELLO), message(None, "notifications/initialized")]
    bad = '{"jsonrpc": "2.0", "method": "ping", "params": {"text": "\\ud83d"}, "id": %s}'
    ids = ("1234567890123456789012345", '"\\udc00"', "true")
    given = "\n".join([*begin, *(bad % id for id in ids), message(2, "ping")]).encode()
    with stdio(tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        answers, _ = server.communicate(given, timeout=60)
    told = [json.loads(line) for line in answers.splitlines()]
    assert sorted((answer["id"] for answer in told), key=str) == [1, 2, None, None, None]
    assert {answer["error"]["code"] for answer in told if answer["id"] is None} == {-32700}


def test_a_request_that_is_none_of_json_rpc_is_answered_by_its_id(tmp_path: Path) -> None:
    begin = [message(1, "initialize", **_HELLO), message(None, "notifications/initialized")]
    bad = [
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": ["remember"]}',
        '{"jsonrpc": "2.0", "id": "three", "method": 5}',
        '{"id": 4, "method": "ping"}',
    ]
    unanswered = [
        '{"jsonrpc": "2.0", "method": "ping", "params": ["remember"]}',
        '{"jsonrpc": "2.0", "id": 5, "result": 5}',
        "[]",
        "5",
    ]
    given = "\n".join([*begin, *bad, *unanswered, message(6, "ping")]).encode()
    with stdio(tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        answers, _ = server.communicate(given, timeout=60)
    told = {answer["id"]: answer.get("error") for answer in map(json.loads, answers.splitlines())}
    assert set(told) == {1, 2, "three", 4, 6}
    assert {told[id]["code"] for id in (2, "three", 4)} == {-32600}
    assert told[2]["message"] == "This is no request of JSON-RPC 2.0: `params`: Input should be an object."
    assert "`method`" in told["three"]["message"]
    assert "`jsonrpc`" in told[4]["message"]


def test_every_call_of_a_file_is_answered_and_stored_before_the_end(tmp_path: Path) -> None:
    calls = [
        message(at, "tools/call", name="remember", arguments={"content": f"Fact {at} is about falcon {at * 7}."})
        for at in range(2, 62)
    ]
    begin = [message(1, "initialize", **_HELLO), message(None, "notifications/initialized")]
    cancelled = message(None, "notifications/cancelled", requestId=77)
    # The last line has no end.
    given = "\n".join([*begin, *calls, "{a bad line", cancelled, message(99, "ping")]).encode()
    with stdio(tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        answers, errors = server.communicate(given, timeout=100)
    told = {answer["id"]: answer for answer in map(json.loads, answers.splitlines()) if "id" in answer}
    assert set(told) == {1, *range(2, 62), 99}
    assert all("Saved as" in told[at]["result"]["content"][0]["text"] for at in range(2, 62))
    assert (server.returncode, errors) == (0, b"")


def test_a_file_that_ends_within_a_message_loses_that_one_alone(tmp_path: Path) -> None:
    given = "\n".join([message(1, "initialize", **_HELLO), message(2, "ping"), message(3, "ping")[:-7]]).encode(
        "utf-8-sig"
    )
    with stdio(tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        answers, _ = server.communicate(given, timeout=100)
    assert {json.loads(line).get("id") for line in answers.splitlines()} - {None} == {1, 2}
    assert server.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there, Ctrl-C goes to a whole console")
def test_ctrl_c_ends_a_server_whose_stdin_is_still_open(tmp_path: Path) -> None:
    with stdio(tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(message(1, "initialize", **_HELLO).encode() + b"\n")
        server.stdin.flush()
        server.stdout.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait(100) != 0


def test_a_server_whose_client_reads_no_more_ends(tmp_path: Path) -> None:
    with stdio(tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdout.close()
        server.stdin.write(message(1, "initialize", **_HELLO).encode() + b"\n")
        server.stdin.flush()
        assert server.wait(100) != 0
