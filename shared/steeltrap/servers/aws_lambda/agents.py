"""AWS Lambda for agents of other platforms: AgentCore gateways, with their interceptor, and Bedrock action groups.

A gateway's event is the arguments alone, and the client context says the rest:
https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/gateway-add-target-lambda.html
Before each call, a gateway asks its request interceptor, which names the caller by the verified token. The gateway must
have a JWT authorizer: it checks a token before it asks.
https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/gateway-interceptors-types.html

An action group's events are of an API schema or of function details, each with its own answer:
https://docs.aws.amazon.com/bedrock/latest/userguide/agents-lambda.html
"""

import json
import logging
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any, Final

from ...errors import AccessDenied, IdentityMissing, InvalidInput, NotFound, SteeltrapError
from ...invoke import identified
from ...model import Caller, JsonObject
from ...settings import Settings, read_settings
from ...text.json_limits import cut
from ...tools import Tool, Toolset
from ...toolsets import CATALOGUE
from ..auth.identity import ClaimNames, bearer_token, claim_names
from ..bounded import ROOM, bounded, with_note
from ..http import STATUS, TIMEZONE, compact
from .telemetry import Handler, Telemetry, instrumented, reporting
from .tools import (
    NAMED,
    Open,
    before_snapshot,
    error_object,
    flush_usage,
    loaded_door,
    named_caller,
    open_safely,
    opened_door,
    pool_identity,
)

CALLER_HEADER: Final = "X-Steeltrap-Caller"
"""The header that the gateway's request interceptor sets, and clients can't."""

_TOOL: Final = "bedrockAgentCoreToolName"
_GATEWAY: Final = "bedrockAgentCoreGatewayId"
_HEADERS: Final = "bedrockAgentCorePropagatedHeaders"
_DELIMITER: Final = "___"


def gateway_call(context: Any) -> Mapping[str, Any] | None:
    """The gateway's description of a call, None for an invocation by anybody else."""
    custom = getattr(getattr(context, "client_context", None), "custom", None)
    return custom if isinstance(custom, Mapping) and _TOOL in custom else None


def answer_gateway(open: Open, toolset: str, gateways: tuple[str, ...], event: Any, metadata: Mapping[str, Any]) -> Any:
    """The answer to a gateway's call. A dialect's error is an answer too: the model reads it and mends its call."""
    try:
        caller = _gateway_caller(metadata, gateways)
        door = open_safely(open)
        tool = _gateway_tool(door.catalogue.toolset(toolset), metadata[_TOOL])
    except SteeltrapError as error:
        return {"error": error_object(error)}
    timezone = _header(metadata.get(_HEADERS), TIMEZONE)
    result = door.invoke(tool, event, caller, timezone=None if timezone is None else str(timezone))
    flush_usage(door)
    if result.error is not None and isinstance(result.body, str):
        return {"error": result.body}  # beside answers that are texts too, a sentence alone doesn't show it
    body, note = bounded(result.body, ROOM, tool, event if isinstance(event, dict) else {})
    return with_note(body, note)


def _gateway_tool(offered: Toolset, name: object) -> Tool:
    """The tool of TARGET___TOOL. Raises NotFound."""
    target, _, tool = name.rpartition(_DELIMITER) if isinstance(name, str) else ("", "", "")
    if not target or tool not in offered.tools:
        raise NotFound(f"This tool is not served here; `{offered.name}` has: {', '.join(offered.tools)}.")
    return offered.tools[tool]


def _gateway_caller(metadata: Mapping[str, Any], gateways: tuple[str, ...]) -> Caller:
    """The caller that the interceptor of an accepted gateway named. Raises AccessDenied, IdentityMissing."""
    if metadata.get(_GATEWAY) not in gateways:
        raise AccessDenied(
            "This function doesn't accept calls of this gateway. Its operator must name the gateway's id in "
            "STEELTRAP_AGENTCORE_GATEWAYS."
        )
    header = _header(metadata.get(_HEADERS), CALLER_HEADER)
    if header is None:
        raise IdentityMissing(
            f"The gateway passed no caller. Its request interceptor must set the header `{CALLER_HEADER}`, and the "
            "target must allow that header."
        )
    return _read(header)


def _header(headers: object, name: str) -> object:
    """The value of a header, None without one. Raises IdentityMissing if it came twice."""
    fields = _json(headers) if isinstance(headers, str) else headers
    if not isinstance(fields, Mapping):
        return None
    values = [value for key, value in fields.items() if str(key).lower() == name.lower()]
    if len(values) > 1:
        raise IdentityMissing(f"The header `{name}` came {len(values)} times; send it once.")
    return values[0] if values else None


def _read(header: object) -> Caller:
    fields = _json(header) if isinstance(header, str) else None
    if not isinstance(fields, dict) or not fields.keys() <= set(NAMED) or not all(map(_is_text, fields.values())):
        raise IdentityMissing(
            f'The header `{CALLER_HEADER}` must be a JSON object of strings, such as {{"user_id": "ana"}}.'
        )
    return named_caller(fields)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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


def answer_agent(open: Open, toolset: str, agents: tuple[str, ...], event: JsonObject) -> JsonObject:
    """The answer to an action group's event. The model gets errors that it can mend, the application all others."""
    try:
        caller, timezone = _agent_caller(event, agents), _timezone(event)
        door = open_safely(open)
        tool = _agent_tool(door.catalogue.toolset(toolset), event)
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
    attributes = {name: event[name] for name in ("sessionAttributes", "promptSessionAttributes") if event.get(name)}
    return {
        "messageVersion": "1.0",
        "response": response,
        **(attributes if _size(attributes) < MOST_BYTES // 2 else {}),
    }


def _agent_tool(offered: Toolset, event: JsonObject) -> Tool:
    """The tool of a function's name, or of `POST /name`. Raises NotFound."""
    name = event.get("function")
    if "apiPath" in event and str(event.get("httpMethod", "")).upper() == "POST":
        name = str(event["apiPath"]).removeprefix("/")
    if not isinstance(name, str) or name not in offered.tools:
        raise NotFound(f"This action is not served here; `{offered.name}` has: {', '.join(offered.tools)}.")
    return offered.tools[name]


def _agent_caller(event: JsonObject, agents: tuple[str, ...]) -> Caller:
    """The caller that the application named in the session's attributes. Raises AccessDenied, IdentityMissing."""
    agent = event.get("agent")
    agent_id = agent.get("id") if isinstance(agent, dict) else None
    if agent_id not in agents:
        raise AccessDenied(
            "This function doesn't accept calls of this agent. Its operator must name the agent's id in "
            "STEELTRAP_BEDROCK_AGENTS."
        )
    attributes = event.get("sessionAttributes") or {}
    values = {name: attributes.get(name) for name in NAMED} if isinstance(attributes, dict) else {}
    identity = {name: value for name, value in values.items() if value is not None}
    if not isinstance(identity.get("user_id"), str) or not all(isinstance(value, str) for value in identity.values()):
        raise IdentityMissing(
            "The session attributes name no user. The application must set `user_id` in `sessionState."
            "sessionAttributes` when it invokes the agent; a parameter can't name a user."
        )
    conversation = identity.get("conversation_id") or event.get("sessionId")
    identity["agent_id"] = identity.get("agent_id") or agent_id
    if isinstance(conversation, str):
        identity["conversation_id"] = conversation
    return named_caller(identity)


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
    for parameter in (*(event.get("parameters") or ()), *(body or ())):
        if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str) or "value" not in parameter:
            raise InvalidInput('Each parameter must be {"name": "...", "type": "...", "value": "..."}.')
        if parameter["name"] in arguments:
            raise InvalidInput(f"`{cut(parameter['name'])}` is given twice; give it once.")
        schema = tool.input_schema["properties"].get(parameter["name"], {})
        arguments[parameter["name"]] = _parsed(schema, parameter["value"])
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


_UNKNOWN: Final = (
    "This function takes calls of AgentCore gateways, and events of Bedrock action groups (with an API schema or with "
    "function details)."
)


def agent_handler(
    *, open: Open = opened_door, settings: Settings | None = None, telemetry: Telemetry | None = None
) -> Handler:
    """The Lambda handler that serves one toolset to AgentCore gateways and Bedrock agents.

    Raises InvalidInput for an invalid setting, at the function's start.
    """
    config = settings or read_settings()
    if config.agent_toolset not in CATALOGUE.toolsets:
        raise InvalidInput(f"STEELTRAP_AGENT_TOOLSET must be one of {', '.join(CATALOGUE.toolsets)}.")
    gateways, agents = _ids(config.agentcore_gateways), _ids(config.bedrock_agents)
    if open is opened_door:
        before_snapshot(loaded_door)

    def handler(event: Any, context: Any) -> Any:
        if pool_identity(context) is not None:
            return {"error": error_object(InvalidInput(_UNKNOWN))}  # whatever its event imitates
        # A gateway's event is what a model wrote, so it is never taken for an action group's event.
        if (metadata := gateway_call(context)) is not None:
            return answer_gateway(open, config.agent_toolset, gateways, event, metadata)
        if is_bedrock(event):
            return answer_agent(open, config.agent_toolset, agents, event)
        return {"error": error_object(InvalidInput(_UNKNOWN))}

    return instrumented(handler, reporting(telemetry, is_own=open is opened_door))


def _ids(setting: str) -> tuple[str, ...]:
    return tuple(id.strip() for id in setting.split(",") if id.strip())


_log = logging.getLogger("steeltrap")

_VERSION: Final = "1.0"
_UNAUTHENTICATED: Final = -32001


def interceptor_handler(*, settings: Settings | None = None, telemetry: Telemetry | None = None) -> Handler:
    """The Lambda handler of a gateway's request interceptor. It always sets the header that names the caller, so that
    what a client sent under that name never reaches the target; a request without a user is answered 403.

    Raises InvalidInput without an issuer, at the function's start.
    """
    config = settings or read_settings()
    if not config.oidc_issuer:
        raise InvalidInput("STEELTRAP_OIDC_ISSUER is not set; this function needs the issuer of the tokens.")
    names = claim_names(config)

    def handler(event: Any, context: Any) -> JsonObject:
        request = _request(event)
        if request is None:
            return {"error": error_object(InvalidInput("This function takes requests of an AgentCore gateway only."))}
        body = request.get("body")
        try:
            caller = _caller(request.get("headers"), names, config.oidc_issuer)
        except SteeltrapError as error:
            _log.info("refused", extra={"error": error.code})
            return _output("transformedGatewayResponse", {"statusCode": 403, "body": _refusal(body, error)})
        return _output("transformedGatewayRequest", {"headers": {CALLER_HEADER: _header_value(caller)}, "body": body})

    return instrumented(handler, reporting(telemetry, is_own=settings is None))


def _request(event: Any) -> Mapping[str, Any] | None:
    mcp = event.get("mcp") if isinstance(event, dict) else None
    request = mcp.get("gatewayRequest") if isinstance(mcp, dict) else None
    return request if isinstance(request, dict) else None


def _caller(headers: object, names: ClaimNames, issuer: str) -> Caller:
    fields = headers if isinstance(headers, dict) else {}
    scope = {"headers": [(str(name).lower().encode(), str(value).encode()) for name, value in fields.items()]}
    claims = _claims(bearer_token(scope))
    if claims.get("iss") != issuer:
        raise IdentityMissing(f"The request has no token of {issuer}.")
    return identified(names.caller(claims, scope))


def _claims(token: str | None) -> Mapping[str, Any]:
    """The claims of a token that the gateway verified; {} of what is no token."""
    parts = (token or "").split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _header_value(caller: Caller) -> str:
    """The caller as a header carries it: JSON in ASCII."""
    fields = {
        "user_id": caller.user.user_id,
        "tenant": caller.user.tenant or None,
        "agent_id": caller.agent_id,
        "conversation_id": caller.conversation_id,
        "untrusted": "true" if caller.permissions.untrusted else None,
        "read_only": "true" if caller.permissions.read_only else None,
    }
    return json.dumps({name: value for name, value in fields.items() if value is not None})


def _refusal(body: object, error: SteeltrapError) -> JsonObject:
    id = body.get("id") if isinstance(body, dict) else None
    return {"jsonrpc": "2.0", "id": id, "error": {"code": _UNAUTHENTICATED, "message": error.message}}


def _output(name: str, content: JsonObject) -> JsonObject:
    return {"interceptorOutputVersion": _VERSION, "mcp": {name: content}}
