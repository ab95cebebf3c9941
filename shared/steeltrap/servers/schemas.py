"""The tools as schemas: for function calling by OpenAI, Anthropic and Bedrock models, for MCP, and as OpenAPI.

Also for AWS's agent platforms: targets of AgentCore gateways, action groups of Bedrock agents.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ..errors import InvalidInput
from ..model import JsonObject, OutcomeKind
from ..text.schemas import describe
from ..tools import Tool, Toolset
from ..toolsets import Catalogue
from ..version import VERSION
from .http import ERROR, MENDABLE, PROBLEM_MEDIA, PROBLEM_SCHEMA, paths

MAX_OPERATIONS: Final = 11
"""Operations of one action group."""
MAX_PARAMETERS: Final = 5
"""Parameters of one function of function details, by Bedrock's default quota."""
MAX_FUNCTION_DESCRIPTION: Final = 1200
MAX_PARAMETER_DESCRIPTION: Final = 500
MAX_GROUP_DESCRIPTION: Final = 200

_NAME: Final = re.compile(r"([0-9a-zA-Z][_-]?){1,100}")
_LONGEST_NAME: Final = 64
"""Characters of a group and its operation together: models take no longer name of a tool."""


def agentcore(tool: Tool) -> JsonObject:
    """For the `toolSchema.inlinePayload` of a gateway's Lambda target."""
    return {"name": tool.name, "description": tool.description, "inputSchema": narrow(tool.input_schema)}


def action_groups(toolset: Toolset, format: str) -> list[JsonObject]:
    """A toolset as action groups, in one of `GROUP_FORMATS`: as `CreateAgentActionGroup` takes them."""
    tools = list(toolset.tools.values())
    groups = math.ceil(len(tools) / MAX_OPERATIONS)
    size = math.ceil(len(tools) / groups)
    return [
        action_group(toolset, f"{toolset.name}-{nth + 1}" if groups > 1 else toolset.name, part, format)
        for nth, part in enumerate(tools[start : start + size] for start in range(0, len(tools), size))
    ]


def action_group(toolset: Toolset, name: str, tools: Sequence[Tool], format: str) -> JsonObject:
    """One action group. Raises InvalidInput for one that Bedrock would refuse."""
    if len(tools) > MAX_OPERATIONS:
        raise InvalidInput(f"An action group has at most {MAX_OPERATIONS} operations; `{name}` has {len(tools)}.")
    for tool in tools:
        if not _NAME.fullmatch(tool.name) or len(name) + len(tool.name) + 2 > _LONGEST_NAME:
            raise InvalidInput(f"`{tool.name}` is no name for an operation of the action group `{name}`.")
    description = _cut(toolset.description, MAX_GROUP_DESCRIPTION)
    return {"actionGroupName": name, "description": description, **GROUP_FORMATS[format](name, description, tools)}


def narrow(schema: JsonObject) -> JsonObject:
    """A schema of `type`, `description`, `properties`, `required` and `items` only.

    Choices, limits and defaults are told in the descriptions instead.
    """
    kind = _type(schema)
    narrowed: JsonObject = {"type": kind}
    if text := _description(schema):
        narrowed["description"] = text
    if kind == "array":
        narrowed["items"] = narrow(schema.get("items", {}))
    if kind == "object" and schema.get("properties"):
        narrowed["properties"] = {name: narrow(field) for name, field in schema["properties"].items()}
        if schema.get("required"):
            narrowed["required"] = schema["required"]
    return narrowed


def _api(name: str, description: str, tools: Sequence[Tool]) -> JsonObject:
    document = {
        "openapi": "3.0.0",
        "info": {"title": name, "version": VERSION, "description": description},
        "paths": {f"/{tool.name}": {"post": _action_group_operation(tool)} for tool in tools},
    }
    return {"apiSchema": {"payload": json.dumps(document, ensure_ascii=False)}}


def _action_group_operation(tool: Tool) -> JsonObject:
    operation: JsonObject = {"operationId": tool.name, "description": tool.description}
    schema = narrow(tool.input_schema)
    if "properties" in schema:
        content = {"application/json": {"schema": schema}}
        operation["requestBody"] = {"required": bool(schema.get("required")), "content": content}
    answer: JsonObject = {"type": "string"} if tool.media != "application/json" else {"type": _type(tool.answer_schema)}
    if answer["type"] == "array":
        answer["items"] = {"type": "object"}
    operation["responses"] = {
        "200": {"description": "The answer.", "content": {"application/json": {"schema": answer}}}
    }
    return operation


def _functions(name: str, description: str, tools: Sequence[Tool]) -> JsonObject:
    return {"functionSchema": {"functions": [_function(tool) for tool in tools]}}


def _function(tool: Tool) -> JsonObject:
    fields, required = tool.input_schema["properties"], tool.input_schema.get("required", ())
    if len(required) > MAX_PARAMETERS:
        raise InvalidInput(f"A function takes {MAX_PARAMETERS} parameters; `{tool.name}` requires {len(required)}.")
    usual = [name for example in tool.examples for name in example]
    # The rest is optional: those that the examples give matter most.
    ordered = dict.fromkeys([*required, *(name for name in usual if name in fields), *fields])
    function: JsonObject = {
        "name": tool.name,
        "description": _cut(tool.description, MAX_FUNCTION_DESCRIPTION),
        "parameters": {name: _parameter(fields[name], name in required) for name in list(ordered)[:MAX_PARAMETERS]},
    }
    if not function["parameters"]:
        del function["parameters"]
    return function


def _parameter(schema: JsonObject, required: bool) -> JsonObject:
    """A parameter has a type and a description only, so that the description tells what is in a list or an object."""
    kind = _type(schema)
    inner = schema.get("items", {}) if kind == "array" else schema
    text = [_description(schema)]
    if kind in ("array", "object"):
        text.append("Give it as JSON.")
    if inner.get("properties"):
        required_names = inner.get("required", ())
        names = [f"`{name}`{' (required)' if name in required_names else ''}" for name in inner["properties"]]
        text.append(f"{'Each item' if kind == 'array' else 'It'} has {', '.join(names)}.")
    return {
        "type": "string" if kind == "object" else kind,
        "description": _cut(" ".join(part for part in text if part), MAX_PARAMETER_DESCRIPTION),
        "required": required,
    }


def _type(schema: JsonObject) -> str:
    if "type" in schema:
        return str(schema["type"])
    values = [schema["const"]] if "const" in schema else schema.get("enum", ())
    kinds = {_type(kind) for kind in schema.get("anyOf", ())} or {_KINDS.get(type(value), "string") for value in values}
    return kinds.pop() if len(kinds) == 1 else "string"


def _description(schema: JsonObject) -> str:
    """A field's description, with what its other keywords say."""
    description = str(schema.get("description", ""))
    words = f"always {describe(schema)}" if "const" in schema else describe(schema)
    text = [f"{words[0].upper()}{words[1:]}."] if words not in _PLAIN else []
    default = schema.get("default")
    if default not in (None, "", [], {}) and "default:" not in description.lower():
        text.append(f"Default: {json.dumps(default, ensure_ascii=False)}.")
    if description and text and not description.endswith((".", "!", "?")):
        description += "."
    return " ".join([description, *text]).strip()


def _cut(text: str, limit: int) -> str:
    """A text's first whole sentences that fit; its start, where not even the first one does."""
    if len(text) <= limit:
        return text
    ends = [sentence.end() for sentence in re.finditer(r"\.(?=\s)", text) if sentence.end() <= limit]
    return text[: ends[-1]] if ends else f"{text[: limit - 3]}..."


_KINDS: Final = {str: "string", bool: "boolean", int: "integer", float: "number"}
_PLAIN: Final = (
    *("a string", "an integer", "a number", "true or false", "a JSON object", "a list of items", "a list of strings"),
    "a value of another type",
)
"""Words that say no more than a field's type does."""

GROUP_FORMATS: Final[Mapping[str, Callable[[str, str, Sequence[Tool]], JsonObject]]] = {
    "bedrock-openapi": _api,
    "bedrock-functions": _functions,
}


def openai(tool: Tool) -> JsonObject:
    """For the `tools` of an OpenAI-compatible chat completion."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": function}


def anthropic(tool: Tool) -> JsonObject:
    """For the `tools` of Anthropic's messages."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}


def bedrock(tool: Tool) -> JsonObject:
    """For the `toolConfig.tools` of Bedrock's Converse."""
    specification = {"name": tool.name, "description": tool.description, "inputSchema": {"json": tool.input_schema}}
    return {"toolSpec": specification}


def mcp(tool: Tool, *, project: bool = False) -> JsonObject:
    """As MCP's `tools/list` shows it, to a caller with a `project` or without: no title, which would repeat the name,
    and no output schema, since answers are text."""
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.project_schema if project else tool.input_schema,
        "annotations": {
            "readOnlyHint": tool.access == "read",
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        },
    }


FORMATS: Final[Mapping[str, Callable[[Tool], JsonObject]]] = {
    "openai": openai,
    "anthropic": anthropic,
    "bedrock": bedrock,
    "mcp": mcp,
    "agentcore": agentcore,
}


def schemas(toolset: Toolset, format: str) -> list[JsonObject]:
    """Every tool of a toolset in one of `FORMATS`, or all of them as action groups in one of `GROUP_FORMATS`."""
    if format in GROUP_FORMATS:
        return action_groups(toolset, format)
    return [FORMATS[format](tool) for tool in toolset.tools.values()]


def openapi(catalogue: Catalogue) -> JsonObject:
    """The OpenAPI 3.1 document of the HTTP surface."""
    operations = {
        path: {"post": _operation(tool, catalogue.toolset(tool.toolset), suffix=f"_{nth}" if nth else "")}
        for tool in catalogue.tools()
        for nth, path in enumerate(paths(tool))
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "steeltrap", "version": VERSION, "description": "Long-term memory for AI agents."},
        "tags": [{"name": t.name, "description": t.description} for t in catalogue.toolsets.values()],
        "paths": {
            **operations,
            "/healthz": {"get": _probe("healthz", "Whether the process is up.")},
            "/readyz": {"get": _probe("readyz", "Whether the store and the embedder answer.")},
        },
        "components": {"schemas": {"Problem": PROBLEM_SCHEMA}},
    }


_SEARCHES: Final = frozenset({"search", "retrieve_memory"})
"""The operations whose tools tell how a search ended. The second one writes too: it saves what was said as episodes."""


def title(tool: Tool) -> str:
    """A tool's name as a person reads it: "Batch save"."""
    return tool.name.replace("_", " ").capitalize()


def _operation(tool: Tool, toolset: Toolset, suffix: str) -> JsonObject:
    examples = {f"example{nth}": {"value": example} for nth, example in enumerate(tool.examples, 1)}
    operation: JsonObject = {
        "operationId": f"{tool.toolset}_{tool.name}{suffix}",
        "tags": [tool.toolset],
        "summary": title(tool),
        "description": tool.description,
        "x-steeltrap-repeats": tool.repeats,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": tool.input_schema, "examples": examples}},
        },
        "responses": {
            "200": {
                "description": "The answer.",
                "headers": _answer_headers(tool, toolset),
                "content": {tool.media: {"schema": tool.answer_schema}},
            },
            "default": {
                "description": "What went wrong. A dialect with its own error format uses that format.",
                "content": _error_content(tool, toolset),
            },
        },
    }
    of_writes = [_idempotency_key(), _secrets()] if tool.access == "write" else []
    operation["parameters"] = [*of_writes, _timezone()]
    return operation


def _idempotency_key() -> JsonObject:
    return {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Repeating a save with the same key gives the same memory. An empty value is no key.",
        "schema": {"type": "string", "maxLength": 256},
    }


def _timezone() -> JsonObject:
    return {
        "name": "X-Steeltrap-Timezone",
        "in": "header",
        "description": "IANA name of the time zone that the caller's days are in, such as Europe/Lisbon.",
        "schema": {"type": "string"},
    }


def _secrets() -> JsonObject:
    return {
        "name": "X-Steeltrap-Secrets",
        "in": "header",
        "description": "What becomes of secrets in what is saved, where the server's settings don't say.",
        "schema": {"type": "string", "enum": ["redact", "refuse"]},
    }


def _answer_headers(tool: Tool, toolset: Toolset) -> JsonObject:
    headers: JsonObject = {}
    if kinds := _outcomes(tool):
        description = "How the search ended." if tool.operation in _SEARCHES else "What was not as usual."
        headers["X-Steeltrap-Outcome"] = {
            "description": f"{description} `X-Steeltrap-Outcome-Message` says it in a sentence.",
            "schema": {"type": "string", "enum": [kind.value for kind in kinds]},
        }
    if toolset.errors_are_answers:
        headers[ERROR] = {
            "description": "The code of the error that the answer is, where other arguments may help.",
            "schema": {"type": "string", "enum": list(MENDABLE)},
        }
    return headers


def _outcomes(tool: Tool) -> list[OutcomeKind]:
    """How a call can end: a search in any way of a search, a write degraded or without secrets, and some do both; any
    other in a copy's way."""
    of_searches = [kind for kind in OutcomeKind if kind is not OutcomeKind.REDACTED]
    of_writes = [OutcomeKind.DEGRADED, OutcomeKind.REDACTED]
    possible = {OutcomeKind.OFFLINE}
    possible.update(of_searches if tool.operation in _SEARCHES else ())
    possible.update(of_writes if tool.access == "write" else ())
    return [kind for kind in OutcomeKind if kind in possible]


def _error_content(tool: Tool, toolset: Toolset) -> JsonObject:
    """Problem details for what fails before a tool is found, and the dialect's own form where it has one."""
    content: JsonObject = {PROBLEM_MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    if not toolset.standard_errors:
        is_text = isinstance(toolset.render_error(InvalidInput("An example."), tool), str)
        content |= {"text/plain": {"schema": {"type": "string"}}} if is_text else {"application/json": {"schema": {}}}
    return content


def _probe(name: str, summary: str) -> JsonObject:
    answered = {"description": "Yes.", "content": {"application/json": {"schema": {"type": "object"}}}}
    failed = {"description": "No.", "content": {PROBLEM_MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    return {"operationId": name, "summary": summary, "responses": {"200": answered, "default": failed}}
