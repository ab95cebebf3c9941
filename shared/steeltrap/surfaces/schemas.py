"""The tools as schemas: for function calling by OpenAI, Anthropic and Bedrock models, for MCP, and as OpenAPI.

All is derived from the catalogue; no framework and no server is needed.
"""

from collections.abc import Callable, Mapping
from typing import Final

from ..errors import InvalidInput
from ..model import JsonObject, OutcomeKind
from ..tools import Catalogue, Tool, Toolset
from ..version import VERSION
from .aws_schemas import GROUP_FORMATS, action_groups, agentcore
from .http.problem import PROBLEM_MEDIA, PROBLEM_SCHEMA
from .http.reply import ERROR, MENDABLE
from .http.routes import paths


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
        said = "How the search ended." if tool.operation in _SEARCHES else "What was not as usual."
        headers["X-Steeltrap-Outcome"] = {
            "description": f"{said} `X-Steeltrap-Outcome-Message` says it in a sentence.",
            "schema": {"type": "string", "enum": [kind.value for kind in kinds]},
        }
    if toolset.errors_are_answers:
        headers[ERROR] = {
            "description": "The code of the error that the answer is, where other arguments may help.",
            "schema": {"type": "string", "enum": list(MENDABLE)},
        }
    return headers


def _outcomes(tool: Tool) -> list[OutcomeKind]:
    """How a call can end: a search in any way of a search, a write degraded or without secrets, and some do both."""
    of_searches = [kind for kind in OutcomeKind if kind is not OutcomeKind.REDACTED]
    of_writes = [OutcomeKind.DEGRADED, OutcomeKind.REDACTED]
    possible = {*(of_searches if tool.operation in _SEARCHES else ()), *(of_writes if tool.access == "write" else ())}
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
