"""AWS Lambda: one handler an operation, called over HTTP, by a queue, or directly.

Importing this needs neither a web framework nor MCP, so that a function starts quickly.
"""

from typing import Any

from ...errors import SteeltrapError
from ...invoke import identified
from ...model import JsonObject
from ...settings import Settings, read_settings
from ...tools import Catalogue, Tool
from ..auth.identity import Authorizer, Identity, claim_names, one_header
from ..http.reply import (
    SECRETS,
    TIMEZONE,
    Reply,
    answer,
    error_reply,
    fault_reply,
    not_json_reply,
    refusal_reply,
    wrong_method_reply,
)
from ..http.routes import is_json, tool_at, unknown_path
from .direct import direct, pool_identity
from .events import HttpRequest, http_request, http_response
from .opening import Open, before_snapshot, flush_usage, loaded_door, open_safely, opened_door, served
from .queue import is_queue, take
from .telemetry import Handler, Telemetry, instrumented, reporting


def tool_handler(
    operation: str,
    *,
    open: Open = opened_door,
    identity: Identity | None = None,
    settings: Settings | None = None,
    telemetry: Telemetry | None = None,
) -> Handler:
    """The Lambda handler of the tools of one operation.

    HTTP events get HTTP answers, and `identity` finds the caller (default: the configured claims). A direct invocation
    names its caller itself, and so does a queue's message where the settings allow it. Calls are reported to
    CloudWatch; with a custom `open`, only to the given `telemetry`. Raises InvalidInput for a setting that doesn't fit:
    the function fails at its start, by the setting's name.
    """
    known = settings or read_settings()
    if open is opened_door:
        before_snapshot(loaded_door)
    found_by = identity or authorizer(known)
    reports = reporting(telemetry, is_own=open is opened_door)

    def handler(event: Any, context: Any) -> JsonObject:
        if (invoker := pool_identity(context)) is not None:
            return direct(operation, open, event, invoker)  # whatever its event imitates
        request = http_request(event)
        if request is not None:
            return http_response(_http(operation, open, found_by, request), request)
        if is_queue(event):
            return take(operation, open, event, names_callers=known.queue_callers, reports=reports)
        return direct(operation, open, event)

    return instrumented(handler, reports)


def authorizer(settings: Settings) -> Authorizer:
    """Who calls over HTTP, by the claims that the settings name."""
    return Authorizer(claim_names(settings))


def _http(operation: str, open: Open, identity: Identity, request: HttpRequest) -> Reply:
    try:
        door = open_safely(open)
        tool = _routed(door.catalogue, operation, request)
    except SteeltrapError as error:
        return error_reply(error)
    if request.method != "POST":
        return wrong_method_reply(request.method)
    try:
        if not is_json(one_header(request.scope, "Content-Type")):
            return not_json_reply()
        caller = identified(identity.caller(request.scope))
        body = request.body()
        tool.bounds.check_size(len(body), f"`{tool.full_name}`")
        key = one_header(request.scope, "Idempotency-Key")
        secrets = one_header(request.scope, SECRETS)
        timezone = one_header(request.scope, TIMEZONE)
    except SteeltrapError as error:
        return refusal_reply(door, tool, error)
    except Exception as fault:
        return fault_reply(tool.full_name, fault)
    reply = answer(door, tool, body, caller, key, secrets, timezone)
    flush_usage(door)
    return reply


def _routed(catalogue: Catalogue, operation: str, request: HttpRequest) -> Tool:
    for path in request.paths:
        if (tool := tool_at(catalogue, path)) is not None:
            return served(catalogue, tool, operation)
    raise unknown_path(catalogue, request.paths[0])
