"""call and tools: machine output on stdout, and what the exit code says."""

import json

import pytest
from jsonschema import Draft202012Validator

MISSING = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"


def test_call_answers_the_tools_own_json_alone(run):
    result = run("call", "core.save", '{"content": "Ana likes tea"}')
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)["scope"] == "user/default"


def test_call_answers_a_text_tools_own_text(run):
    run("call", "core.save", '{"content": "Ana likes tea"}')
    assert "**Summary:** Ana likes tea" in run("call", "core.retrieve_memory", '{"query": "tea"}').stdout


def test_call_reads_the_arguments_from_stdin(run):
    assert json.loads(run("call", "core.stats", "-", input="{}").stdout)["memories"] == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("core.search", '{"query": 3}', 2),
        ("core.search", '{"query"', 2),
        ("core.search", '["query"]', 2),
        ("core.search", '{"query": NaN}', 2),
        ("core.search", "[" * 100_000, 2),
        ("core.get", f'{{"id": "{MISSING}"}}', 3),
        ("core.nothing", "{}", 3),
        ("nothing.at_all", "{}", 3),
    ],
)
def test_an_error_is_a_json_body_on_stdout_and_a_code(run, tool, arguments, code):
    result = run("call", tool, arguments)
    assert (result.exit_code, result.stderr) == (code, "")
    assert json.loads(result.stdout)["error"]["message"]


def test_bad_utf8_on_stdin_is_refused(run):
    result = run("call", "notes.memory_save", "-", input=b'{"content": "\xff"}')
    assert result.exit_code == 2
    assert "UTF-8" in json.loads(result.stdout)["error"]


def test_a_conflict_has_its_code(run, ask):
    id = ask("core.save", content="never changed")["id"]
    assert run("call", "core.undo", json.dumps({"id": id})).exit_code == 4


def test_an_embedder_that_fails_has_its_code(run, embedder):
    embedder.state = "broken"
    result = run("call", "core.save", '{"content": "x"}')
    assert result.exit_code == 5
    assert json.loads(result.stdout)["error"]["code"] == "unavailable"


def test_an_idempotency_key_saves_once(run):
    saved = [json.loads(run("call", "core.save", '{"content": "x"}', "--idempotency-key", "k").stdout) for _ in "ab"]
    assert saved[0]["id"] == saved[1]["id"]


@pytest.mark.parametrize(
    ("format", "schema_of"),
    [
        ("openai", lambda tool: tool["function"]["parameters"]),
        ("anthropic", lambda tool: tool["input_schema"]),
        ("bedrock", lambda tool: tool["toolSpec"]["inputSchema"]["json"]),
        ("mcp", lambda tool: tool["inputSchema"]),
    ],
)
def test_tools_write_schemas_that_are_json_schema(run, format, schema_of):
    listed = json.loads(run("tools", "--toolset", "notes", "--format", format).stdout)
    assert len(listed) == 4
    for tool in listed:
        Draft202012Validator.check_schema(schema_of(tool))


def test_tools_write_openapi_of_one_toolset(run):
    document = json.loads(run("tools", "--toolset", "notes", "--format", "openapi").stdout)
    assert all(path.startswith(("/v1/notes/", "/healthz", "/readyz")) for path in document["paths"])


def test_tools_are_listed_for_people(run):
    shown = run("tools").stdout
    assert "core.search" in shown
    assert "notes.memory_save" in shown


def test_each_tool_is_listed_with_its_first_sentence_whole(run):
    for line in run("tools").stdout.splitlines():
        name, access, sentence = line.split("\t")
        assert sentence.endswith("."), name
        assert access in ("read", "write")


def test_an_unknown_toolset_is_named_with_those_there_are(run):
    result = run("tools", "--toolset", "cor")
    assert result.exit_code == 3
    assert "core" in result.stderr
