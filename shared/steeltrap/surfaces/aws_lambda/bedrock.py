"""An action group of a Bedrock agent: events of an API schema or of function details, each with its own answer.

https://docs.aws.amazon.com/bedrock/latest/userguide/agents-lambda.html
"""

import json
from typing import Any, Final

from ...errors import AccessDenied, IdentityMissing, InvalidInput, NotFound, SteeltrapError
from ...model import Caller, JsonObject
from ...text.schemas import cut
from ...tools import Tool, Toolset
from ..bounded import bounded, with_note
from ..http.problem import STATUS
from ..http.reply import compact
from .direct import NAMED, error_object, named_caller
from .opening import Open, flush_usage, open_safely

MOST_BYTES: Final = 25_000
"""Bedrock takes a response of at most 25 KB."""

_JSON: Final = "application/json"


def is_bedrock(event: Any) -> bool:
    """Whether an event comes from an action group, of either form."""
    return (
        isinstance(event, dict)
        and {"messageVersion", "actionGroup"} <= event.keys()
        and ("function" in event) != ("apiPath" in event)
    )


def answer(open: Open, toolset: str, agents: tuple[str, ...], event: JsonObject) -> JsonObject:
    """The answer to an action group's event. The model gets errors that it can mend, the application all others."""
    try:
        caller, timezone = _caller(event, agents), _timezone(event)
        door = open_safely(open)
        tool = _tool(door.catalogue.toolset(toolset), event)
        arguments = _arguments(tool, event)
    except SteeltrapError as error:
        return _response(event, {"error": error_object(error)}, error)
    result = door.invoke(tool, arguments, caller, timezone=timezone)
    flush_usage(door)
    reply, room = _response(event, result.body, result.error), MOST_BYTES
    while (size := _size(reply)) > MOST_BYTES:
        room = min(room - 1, room * MOST_BYTES * 9 // (size * 10))
        reply = _response(event, with_note(*bounded(result.body, room, tool, arguments)), result.error)
    return reply


def _response(event: JsonObject, body: Any, error: SteeltrapError | None) -> JsonObject:
    """The envelope of the event's own form. Session attributes are sent back, so that the session keeps them."""
    echoed = ("actionGroup", "function") if "function" in event else ("actionGroup", "apiPath", "httpMethod")
    response: JsonObject = {name: event.get(name) for name in echoed}
    if "function" in event:
        text = body if isinstance(body, str) else compact(body)
        response["functionResponse"] = {"responseBody": {"TEXT": {"body": text}}}
        if error is not None:
            response["functionResponse"]["responseState"] = "REPROMPT" if error.fixable else "FAILURE"
    else:
        response["httpStatusCode"] = 200 if error is None else STATUS[error.code]
        response["responseBody"] = {_JSON: {"body": compact(body)}}
    kept = {name: event[name] for name in ("sessionAttributes", "promptSessionAttributes") if event.get(name)}
    return {"messageVersion": "1.0", "response": response, **(kept if _size(kept) < MOST_BYTES // 2 else {})}


def _tool(offered: Toolset, event: JsonObject) -> Tool:
    """The tool of a function's name, or of `POST /name`. Raises NotFound."""
    name = event.get("function")
    if "apiPath" in event and str(event.get("httpMethod", "")).upper() == "POST":
        name = str(event["apiPath"]).removeprefix("/")
    if not isinstance(name, str) or name not in offered.tools:
        raise NotFound(f"This action is not served here; `{offered.name}` has: {', '.join(offered.tools)}.")
    return offered.tools[name]


def _caller(event: JsonObject, agents: tuple[str, ...]) -> Caller:
    """The caller that the application named in the session's attributes. Raises AccessDenied, IdentityMissing."""
    agent = event.get("agent")
    agent_id = agent.get("id") if isinstance(agent, dict) else None
    if agent_id not in agents:
        raise AccessDenied(
            "This function doesn't accept calls of this agent. Its operator must name the agent's id in "
            "STEELTRAP_BEDROCK_AGENTS."
        )
    attributes = event.get("sessionAttributes") or {}
    named = {name: attributes.get(name) for name in NAMED} if isinstance(attributes, dict) else {}
    given = {name: value for name, value in named.items() if value is not None}
    if not isinstance(given.get("user_id"), str) or not all(isinstance(value, str) for value in given.values()):
        raise IdentityMissing(
            "The session attributes name no user. The application must set `user_id` in `sessionState."
            "sessionAttributes` when it invokes the agent; a parameter can't name a user."
        )
    conversation = given.get("conversation_id") or event.get("sessionId")
    given["agent_id"] = given.get("agent_id") or agent_id
    if isinstance(conversation, str):
        given["conversation_id"] = conversation
    return named_caller(given)


def _timezone(event: JsonObject) -> str | None:
    """The zone that the application named in the session's attributes, or in those of this prompt."""
    for name in ("promptSessionAttributes", "sessionAttributes"):
        attributes = event.get(name)
        if isinstance(attributes, dict) and (timezone := attributes.get("timezone")) is not None:
            return str(timezone)
    return None


def _arguments(tool: Tool, event: JsonObject) -> JsonObject:
    """The arguments by name, from the parameters and the request body. Raises InvalidInput."""
    body = event.get("requestBody")
    for name in ("content", _JSON, "properties"):
        body = body.get(name) if isinstance(body, dict) else None
    arguments: JsonObject = {}
    for given in (*(event.get("parameters") or ()), *(body or ())):
        if not isinstance(given, dict) or not isinstance(given.get("name"), str) or "value" not in given:
            raise InvalidInput('Each parameter must be {"name": "...", "type": "...", "value": "..."}.')
        if given["name"] in arguments:
            raise InvalidInput(f"`{cut(given['name'])}` is given twice; give it once.")
        schema = tool.input_schema["properties"].get(given["name"], {})
        arguments[given["name"]] = _parsed(schema, given["value"])
    return arguments


def _parsed(schema: JsonObject, value: Any) -> Any:
    """A list of strings, which agents also send as `[one, two]`; other values are read by their schema later."""
    strings = schema.get("type") == "array" and schema.get("items", {}).get("type") == "string"
    if not strings or not isinstance(value, str) or not (value.startswith("[") and value.endswith("]")):
        return value
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return [part.strip().strip("'\"") for part in value[1:-1].split(",") if part.strip()]
    return value


def _size(response: JsonObject) -> int:
    return len(compact(response).encode("utf-8", "surrogatepass"))
