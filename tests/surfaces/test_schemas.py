"""Every schema is valid, says what the catalogue says, and admits the catalogue's own examples."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from steeltrap.surfaces.schemas import FORMATS, openapi, schemas
from steeltrap.tools import Tool
from steeltrap.toolsets import CATALOGUE

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
