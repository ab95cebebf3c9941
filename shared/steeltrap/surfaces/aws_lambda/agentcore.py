"""An AgentCore gateway's Lambda target: the event is the arguments alone, the client context says the rest.

https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/gateway-add-target-lambda.html
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from ...errors import AccessDenied, IdentityMissing, NotFound, SteeltrapError
from ...model import Caller
from ...tools import Tool, Toolset
from ..bounded import ROOM, bounded, with_note
from ..http.reply import TIMEZONE
from .direct import NAMED, error_object, named_caller
from .opening import Open, flush_usage, open_safely

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


def answer(open: Open, toolset: str, gateways: tuple[str, ...], event: Any, said: Mapping[str, Any]) -> Any:
    """The answer to a gateway's call. A dialect's error is an answer too: the model reads it and mends its call."""
    try:
        caller = _caller(said, gateways)
        door = open_safely(open)
        tool = _tool(door.catalogue.toolset(toolset), said[_TOOL])
    except SteeltrapError as error:
        return {"error": error_object(error)}
    timezone = _header(said.get(_HEADERS), TIMEZONE)
    result = door.invoke(tool, event, caller, timezone=None if timezone is None else str(timezone))
    flush_usage(door)
    if result.error is not None and isinstance(result.body, str):
        return {"error": result.body}  # beside answers that are texts too, a sentence alone doesn't show it
    body, note = bounded(result.body, ROOM, tool, event if isinstance(event, dict) else {})
    return with_note(body, note)


def _tool(offered: Toolset, name: object) -> Tool:
    """The tool of TARGET___TOOL. Raises NotFound."""
    target, _, tool = name.rpartition(_DELIMITER) if isinstance(name, str) else ("", "", "")
    if not target or tool not in offered.tools:
        raise NotFound(f"This tool is not served here; `{offered.name}` has: {', '.join(offered.tools)}.")
    return offered.tools[tool]


def _caller(said: Mapping[str, Any], gateways: tuple[str, ...]) -> Caller:
    """The caller that the interceptor of an accepted gateway named. Raises AccessDenied, IdentityMissing."""
    if said.get(_GATEWAY) not in gateways:
        raise AccessDenied(
            "This function doesn't accept calls of this gateway. Its operator must name the gateway's id in "
            "STEELTRAP_AGENTCORE_GATEWAYS."
        )
    header = _header(said.get(_HEADERS), CALLER_HEADER)
    if header is None:
        raise IdentityMissing(
            f"The gateway passed no caller. Its request interceptor must set the header `{CALLER_HEADER}`, and the "
            "target must allow that header."
        )
    return _read(header)


def _header(headers: object, name: str) -> object:
    """The value of a header, None without one. Raises IdentityMissing if it came twice."""
    given = _json(headers) if isinstance(headers, str) else headers
    if not isinstance(given, Mapping):
        return None
    found = [value for key, value in given.items() if str(key).lower() == name.lower()]
    if len(found) > 1:
        raise IdentityMissing(f"The header `{name}` came {len(found)} times; send it once.")
    return found[0] if found else None


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
