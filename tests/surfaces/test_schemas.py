"""Every schema is valid, says what the catalogue says, and admits the catalogue's own examples."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from steeltrap.errors import InvalidInput
from steeltrap.model import Caller, OutcomeKind, UserRef
from steeltrap.servers.http import CallHeaders, answer, refusal_reply
from steeltrap.servers.schemas import FORMATS, openapi, schemas
from steeltrap.tools import Tool
from steeltrap.toolsets import CATALOGUE
from surfaces.callers import door_on

TOOLS = pytest.mark.parametrize("tool", CATALOGUE.tools(), ids=lambda tool: tool.full_name)
INPUT = {
    "openai": lambda shown: shown["function"]["parameters"],
    "anthropic": lambda shown: shown["input_schema"],
    "bedrock": lambda shown: shown["toolSpec"]["inputSchema"]["json"],
    "mcp": lambda shown: shown["inputSchema"],
}
"""Formats that take JSON Schema as it is; tests/infra/test_aws_schemas.py tests the others."""


@TOOLS
def test_every_tool_is_described_and_has_examples_that_fit(tool: Tool) -> None:
    assert tool.description.strip()
    assert len(tool.description) <= 1024, "the most that OpenAI takes"
    assert tool.examples
    Draft202012Validator.check_schema(tool.input_schema)
    validator = Draft202012Validator(tool.input_schema)
    for example in tool.examples:
        validator.validate(example)
        tool.input.model_validate(example)


@TOOLS
def test_every_field_a_model_fills_in_is_described(tool: Tool) -> None:
    assert tool.input_schema["type"] == "object"
    assert [name for name, field in tool.input_schema["properties"].items() if not field.get("description")] == []


@TOOLS
@pytest.mark.parametrize("format", INPUT)
def test_every_format_has_the_tools_name_description_and_input(tool: Tool, format: str) -> None:
    shown = FORMATS[format](tool)
    text = json.dumps(shown)
    assert INPUT[format](shown) == tool.input_schema
    assert f'"name": "{tool.name}"' in text
    assert json.dumps(tool.description) in text
    assert "$ref" not in text
    assert "$defs" not in text


@TOOLS
def test_every_answer_schema_is_valid(tool: Tool) -> None:
    Draft202012Validator.check_schema(tool.answer_schema)


@TOOLS
def test_a_field_that_an_answer_may_leave_out_is_not_required(tool: Tool) -> None:
    if CATALOGUE.toolset(tool.toolset).omit_nulls:
        assert _required_and_nullable(tool.answer_schema) == []


def test_a_toolset_is_offered_whole() -> None:
    for toolset in CATALOGUE.toolsets.values():
        assert [shown["name"] for shown in schemas(toolset, "anthropic")] == list(toolset.tools)


def test_the_openapi_document_holds_together() -> None:
    document = openapi(CATALOGUE)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids)
    assert document["paths"].keys() >= {path for tool in CATALOGUE.tools() for path in tool.paths}
    for reference in _references(document):
        node: Any = document
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]


@TOOLS
def test_the_document_lists_the_media_type_of_every_refusal(tool: Tool, tmp_path: Path) -> None:
    refused = refusal_reply(door_on(tmp_path), tool, InvalidInput("`query` is required."))
    assert refused.headers["Content-Type"].split(";")[0] in _responses(tool)["default"]["content"]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("core.save", {"degraded", "offline", "redacted"}),
        ("core.search", set(OutcomeKind) - {"redacted"}),
        ("core.retrieve_memory", set(OutcomeKind)),
        ("episodic.retrieve_memory", set(OutcomeKind)),
        ("episodic.retrieve_memory_raw", set(OutcomeKind)),
        ("core.get", {"offline"}),
    ],
)
def test_the_document_lists_every_outcome_that_a_tool_can_tell(name: str, kinds: set[str]) -> None:
    headers = _responses(CATALOGUE.tool(name))["200"]["headers"]
    assert set(headers["X-Steeltrap-Outcome"]["schema"]["enum"]) == kinds


def test_the_document_names_the_header_of_an_error_that_is_an_ordinary_answer(tmp_path: Path) -> None:
    tool = CATALOGUE.tool("categories.search_memories")
    reply = answer(door_on(tmp_path), tool, b'{"query": "API", "limit": 0}', Caller(UserRef("ana")), CallHeaders())
    schema = _responses(tool)["200"]["headers"]["X-Steeltrap-Error"]["schema"]
    assert reply.status == 200
    assert reply.headers["X-Steeltrap-Error"] in schema["enum"]


def test_the_document_allows_an_empty_idempotency_key_which_is_none() -> None:
    [key] = [p for p in _post(CATALOGUE.tool("core.save"))["parameters"] if p["name"] == "Idempotency-Key"]
    Draft202012Validator(key["schema"]).validate("")


def _post(tool: Tool) -> Any:
    return openapi(CATALOGUE)["paths"][f"/v1/{tool.toolset}/{tool.name}"]["post"]


def _responses(tool: Tool) -> Any:
    return _post(tool)["responses"]


def _required_and_nullable(node: Any) -> list[str]:
    if isinstance(node, list):
        return [found for item in node for found in _required_and_nullable(item)]
    if not isinstance(node, dict):
        return []
    fields = node.get("properties", {})
    own = [
        name
        for name in fields
        if name in node.get("required", ()) and {"type": "null"} in fields[name].get("anyOf", ())
    ]
    return own + [found for value in node.values() for found in _required_and_nullable(value)]


def _references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [found for item in node for found in _references(item)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
    return own + [found for value in node.values() for found in _references(value)]
