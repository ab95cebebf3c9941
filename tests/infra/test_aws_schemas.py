"""Schemas for AgentCore gateways and Bedrock action groups: within AWS's limits, and complete for a model.

The limits are those of AWS's own service models, which botocore brings, and of the documentation:
https://docs.aws.amazon.com/bedrock/latest/userguide/agents-api-schema.html (no `enum`; names of operations),
https://docs.aws.amazon.com/bedrock/latest/userguide/agents-lambda.html (11 operations per group),
https://docs.aws.amazon.com/general/latest/gr/bedrock.html (parameters per function).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel, Shape
from botocore.validate import ParamValidator
from openapi_spec_validator import OpenAPIV30SpecValidator

from steeltrap.errors import InvalidInput
from steeltrap.servers.schemas import action_group, action_groups, agentcore
from steeltrap.tools import Tool, Toolset
from steeltrap.toolsets import CATALOGUE

TOOLS = pytest.mark.parametrize("tool", CATALOGUE.tools(), ids=lambda tool: tool.full_name)
TOOLSETS = pytest.mark.parametrize("toolset", CATALOGUE.toolsets.values(), ids=lambda toolset: toolset.name)
GROUPS = ("bedrock-openapi", "bedrock-functions")
WORDS = ("enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "const")
OF_LISTS = ("minItems", "maxItems")


@TOOLSETS
def test_a_toolset_is_a_target_as_agentcore_takes_it(toolset: Toolset) -> None:
    shown = [agentcore(tool) for tool in toolset.tools.values()]
    assert _misfits("bedrock-agentcore-control", "ToolDefinitions", shown) == []
    assert len(json.dumps(shown)) < 1_000_000, "the quota of a target's inline schema"


@TOOLS
def test_what_agentcore_has_no_keyword_for_stands_in_the_descriptions(tool: Tool) -> None:
    shown = agentcore(tool)["inputSchema"]
    for where, field, short in _fields(tool.input_schema, shown):
        assert short.get("required", []) == field.get("required", []), where
        assert short.get("properties", {}).keys() == field.get("properties", {}).keys(), where
        told = short.get("description", "")
        assert field.get("description", "") in told
        assert all(word in told for word in _said(field)), (where, told)


@pytest.mark.parametrize("format", GROUPS)
@TOOLSETS
def test_a_toolset_is_action_groups_as_bedrock_takes_them(toolset: Toolset, format: str) -> None:
    groups = action_groups(toolset, format)
    for group in groups:
        request = {"agentId": "8ZXY0W8P1H", "agentVersion": "DRAFT", **group}
        assert _misfits("bedrock-agent", "CreateAgentActionGroupRequest", request) == []
        names = _operations(group)
        assert 1 <= len(names) <= 11
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", f"{group['actionGroupName']}__{name}") for name in names)
    assert [name for group in groups for name in _operations(group)] == list(toolset.tools)
    assert len(groups) == (3 if toolset.name == "core" else 1)


@TOOLSETS
def test_an_api_schema_is_openapi_3_0_without_what_bedrock_does_not_take(toolset: Toolset) -> None:
    for group in action_groups(toolset, "bedrock-openapi"):
        document = json.loads(group["apiSchema"]["payload"])
        OpenAPIV30SpecValidator(document).validate()
        for path, methods in document["paths"].items():
            [(method, operation)] = methods.items()
            assert (method, path) == ("post", f"/{operation['operationId']}")
            tool = toolset.tools[operation["operationId"]]
            assert operation["description"] == tool.description
            shown = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            assert shown.get("properties", {}).keys() == tool.input_schema["properties"].keys()
            assert '"enum"' not in json.dumps(shown)


@TOOLSETS
def test_function_details_have_all_that_is_required_and_what_examples_use(toolset: Toolset) -> None:
    for group in action_groups(toolset, "bedrock-functions"):
        for function in group["functionSchema"]["functions"]:
            schema = toolset.tools[function["name"]].input_schema
            shown = function.get("parameters", {})
            assert len(shown) == min(5, len(schema["properties"]))
            assert {name for name, field in shown.items() if field["required"]} == set(schema.get("required", ()))
            for name, field in shown.items():
                assert all(word in field["description"] for word in _said(schema["properties"][name]))
    save = CATALOGUE.tool("core.save")
    [shown] = action_group(CATALOGUE.toolset("core"), "one", [save], "bedrock-functions")["functionSchema"]["functions"]
    assert {"content", "tags"} <= shown["parameters"].keys()


@pytest.mark.parametrize("format", GROUPS)
def test_a_group_of_twelve_operations_is_refused(format: str) -> None:
    core = CATALOGUE.toolset("core")
    twelve = list(core.tools.values())[:12]
    assert action_group(core, "memory", twelve[:11], format)
    with pytest.raises(InvalidInput, match="at most 11 operations; `memory` has 12"):
        action_group(core, "memory", twelve, format)


@pytest.mark.parametrize("format", GROUPS)
def test_a_name_that_models_do_not_take_is_refused(format: str) -> None:
    core = CATALOGUE.toolset("core")
    for name in ("save.me", "s" * 60, "_save"):
        with pytest.raises(InvalidInput, match="is no name for an operation"):
            action_group(core, "memory", [replace(core.tools["save"], name=name)], format)


@pytest.mark.parametrize(
    ("service", "shape", "value"),
    [
        ("bedrock-agent", "Function", {"name": "a b"}),
        ("bedrock-agent", "Function", {"name": "a", "description": "x" * 1201}),
        ("bedrock-agent", "ParameterDetail", {"type": "string", "description": "x" * 501}),
        ("bedrock-agent", "ParameterDetail", {"type": "object"}),
        ("bedrock-agentcore-control", "ToolDefinition", {"name": "a", "description": "b"}),
        ("bedrock-agentcore-control", "SchemaDefinition", {"type": "string", "enum": ["a"]}),
    ],
)
def test_the_validator_finds_what_aws_refuses(service: str, shape: str, value: Any) -> None:
    assert _misfits(service, shape, value)


def _operations(group: dict[str, Any]) -> list[str]:
    if "functionSchema" in group:
        return [function["name"] for function in group["functionSchema"]["functions"]]
    paths = json.loads(group["apiSchema"]["payload"])["paths"].values()
    return [operation["operationId"] for methods in paths for operation in methods.values()]


def _said(field: dict[str, Any]) -> list[str]:
    """The words by which a description must tell what a schema's keywords say."""
    limits = [field[word] for word in WORDS if word in field]
    if field.get("type") == "array" and "maxItems" in field:
        limits += [field[word] for word in OF_LISTS if word in field]
    told = [repr(value) for limit in limits for value in (limit if isinstance(limit, list) else [limit])]
    default = field.get("default")
    if default in (None, "", [], {}):
        return told
    return [*told, default if isinstance(default, str) else json.dumps(default)]


def _fields(schema: dict[str, Any], shown: dict[str, Any], where: str = "") -> Iterator[tuple[str, Any, Any]]:
    yield where, schema, shown
    for name, field in schema.get("properties", {}).items():
        yield from _fields(field, shown["properties"][name], f"{where}.{name}")
    if schema.get("items"):
        yield from _fields(schema["items"], shown["items"], f"{where}[]")


@cache
def _service(name: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(name, "service-2"))


def _misfits(service: str, shape: str, value: Any) -> list[str]:
    """The refusals by a service's own model: botocore checks kinds and least sizes, and `_beyond` the rest."""
    model = _service(service).shape_for(shape)
    report = ParamValidator().validate(value, model)
    found = [report.generate_report()] if report.has_errors() else []
    return found or list(_beyond(model, value, shape))


def _beyond(model: Shape, value: Any, where: str) -> Iterator[str]:
    match model.type_name:
        case "structure":
            yield from (f"{where}.{name}" for name in value.keys() - model.members.keys())
            for name in value.keys() & model.members.keys():
                yield from _beyond(model.members[name], value[name], f"{where}.{name}")
        case "list":
            for nth, item in enumerate(value):
                yield from _beyond(model.member, item, f"{where}.{nth}")
        case "map":
            for name, item in value.items():
                yield from _beyond(model.key, name, f"{where}.{name}")
                yield from _beyond(model.value, item, f"{where}.{name}")
        case "string":
            said = model.metadata
            if len(value) > said.get("max", len(value)) or value not in (model.enum or [value]):
                yield where
            if not re.fullmatch(said.get("pattern", ".*"), value, re.DOTALL):
                yield where
