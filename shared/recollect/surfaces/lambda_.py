"""AWS Lambda: one handler an operation, called by API Gateway or directly.

Importing this needs neither a web framework nor MCP, so that a function starts quickly.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from .. import telemetry
from ..errors import Internal, InvalidInput, NotFound, RecollectError, Unavailable
from ..invoke import Door, Result
from ..model import Caller, JsonObject
from ..runtime import open_door
from ..settings import read_settings
from ..tools import Catalogue, Tool
from .identity import Authorizer, Identity, one_header
from .lambda_events import HttpRequest, http_request, http_response
from .reply import (
    FAULT,
    Reply,
    answer,
    error_reply,
    not_json_reply,
    outcome_object,
    refusal_reply,
    wrong_method_reply,
)
from .routes import check_size, is_json, tools_by_path, unknown_path

Handler = Callable[[Any, Any], JsonObject]

_DIRECT = '{"toolset": "core", "tool": "search", "arguments": {...}, "caller": {"user_id": "..."}}'
_DIRECT_FIELDS = {"toolset", "tool", "arguments", "caller", "idempotency_key"}
_CALLER_FIELDS = {"user_id", "agent_id", "conversation_id", "tenant"}


@cache
def opened_door() -> Door:
    """The door by the function's environment, opened at the first call of an instance."""
    return open_door(read_settings())


def write_down(door: Door) -> None:
    """Flush what was read, before the function sleeps and may never wake. It never fails an answer."""
    try:
        door.store.flush()
    except Exception as fault:
        telemetry.log_fault("writing down what was read", fault)


def tool_handler(
    operation: str, *, open: Callable[[], Door] = opened_door, identity: Identity | None = None
) -> Handler:
    """The Lambda handler of the tools of one operation.

    An API Gateway event is answered as HTTP, its caller found by `identity` (its authorizer's claims if
    not said). A direct invocation names its caller itself: IAM decides who may invoke.
    """
    found_by = identity or Authorizer()

    def handler(event: Any, context: Any) -> JsonObject:
        request = http_request(event) if isinstance(event, dict) else None
        if request is not None:
            return http_response(_http(operation, open, found_by, request))
        return _direct(operation, open, event)

    return handler


def _http(operation: str, open: Callable[[], Door], identity: Identity, request: HttpRequest) -> Reply:
    try:
        door = _door(open)
        tool = _routed(door.catalogue, operation, request)
    except RecollectError as error:
        return error_reply(error)
    if request.method != "POST":
        return wrong_method_reply(request.method)
    try:
        if not is_json(one_header(request.scope, "Content-Type")):
            return not_json_reply()
        body = request.body()
        check_size(len(body), tool)
        caller = identity.caller(request.scope)
        key = one_header(request.scope, "Idempotency-Key")
    except RecollectError as error:
        return refusal_reply(door, tool, error)
    reply = answer(door, tool, body, caller, key)
    write_down(door)
    return reply


def _routed(catalogue: Catalogue, operation: str, request: HttpRequest) -> Tool:
    routes = tools_by_path(catalogue)
    for path in request.paths:
        if path in routes:
            return _served(catalogue, routes[path], operation)
    raise unknown_path(catalogue, request.paths[0])


def _served(catalogue: Catalogue, tool: Tool, operation: str) -> Tool:
    if tool.operation != operation:
        here = ", ".join(other.full_name for other in catalogue.tools() if other.operation == operation)
        raise NotFound(f"`{tool.full_name}` is not served here; this function serves: {here}.")
    return tool


def _direct(operation: str, open: Callable[[], Door], event: Any) -> JsonObject:
    try:
        if not isinstance(event, dict) or "tool" not in event or not event.keys() <= _DIRECT_FIELDS:
            raise InvalidInput(f"This function takes API Gateway events and direct invocations such as {_DIRECT}.")
        door = _door(open)
        named = door.catalogue.tool(f"{event.get('toolset', '')}.{event['tool']}")
        tool = _served(door.catalogue, named, operation)
        caller = _caller(event.get("caller"))
        key = event.get("idempotency_key")
        if key is not None and not isinstance(key, str):
            raise InvalidInput("`idempotency_key` must be a string.")
    except RecollectError as error:
        return {"error": _error(error)}
    result = door.invoke(tool, event.get("arguments", {}), caller, idempotency_key=key)
    write_down(door)
    return _direct_answer(result)


def _direct_answer(result: Result) -> JsonObject:
    """The dialect's own body; `error` beside it when the call failed, `outcome` when a search says one."""
    reply: JsonObject = {"body": result.body}
    if result.error is not None:
        reply["error"] = _error(result.error)
    if result.outcome is not None:
        reply["outcome"] = outcome_object(result.outcome)
    return reply


def _error(error: RecollectError) -> JsonObject:
    return {**error.details, "code": error.code, "message": error.message, "retryable": error.can_retry}


def _caller(given: object) -> Caller | None:
    if given is None:
        return None
    if not isinstance(given, dict) or not given.keys() <= _CALLER_FIELDS:
        raise InvalidInput(f"`caller` must be an object of {', '.join(sorted(_CALLER_FIELDS))}.")
    values = {name: value for name, value in given.items() if value is not None}
    if not all(isinstance(value, str) for value in values.values()):
        raise InvalidInput("each field of `caller` must be a string.")
    return Caller(**{"user_id": "", **values})


def _door(open: Callable[[], Door]) -> Door:
    """The door. A setting that doesn't fit is our fault, not the caller's: Raises Internal, or Unavailable."""
    try:
        return open()
    except Unavailable:
        raise
    except Exception as fault:
        telemetry.log_fault("opening the door", fault)
        raise Internal(FAULT) from None
