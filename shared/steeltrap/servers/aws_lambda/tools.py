"""AWS Lambda: one handler an operation, called over HTTP, directly, or by an SQS queue.

A direct invocation names its caller itself, since IAM decides who may invoke. Someone who invokes with credentials of a
Cognito identity pool is the identity that Lambda reports, and can't name another user.

Each message of a queue is a direct invocation, done once however often it comes. The event source has to ask for it:
FunctionResponseTypes `ReportBatchItemFailures`. What fails comes again, and goes to the queue's dead letters when it
has failed often enough: so nothing is dropped, and nothing holds up the others.

Importing this needs neither a web framework nor MCP, so that a function starts quickly.
"""

import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC
from functools import cache
from typing import Any, Final

from ... import telemetry
from ...arguments import decode
from ...errors import (
    AccessDenied,
    IdentityMissing,
    Internal,
    InvalidInput,
    NotFound,
    SteeltrapError,
    Unavailable,
    type_name,
)
from ...invoke import Door, Result, identified
from ...model import Caller, JsonObject, UserRef
from ...ports import Deadline
from ...runtime.local import load, open_door
from ...settings import Settings, read_settings
from ...tools import Tool
from ...toolsets import Catalogue
from ..auth.identity import Authorizer, Identity, claim_names, is_true, one_header, trust
from ..http import (
    FAULT,
    Reply,
    answer,
    call_headers,
    error_reply,
    fault_reply,
    media_refusal,
    outcome_object,
    refusal_reply,
    tool_at,
    unknown_path,
    wants_problems,
    wrong_method_reply,
)
from .events import HttpRequest, http_request, http_response
from .telemetry import Handler, Reporting, Telemetry, function_telemetry, instrumented, reporting

_MARGIN_SECONDS: Final = 2.0
_SECONDS: Final = 25.0

Open = Callable[[], Door]


@cache
def opened_door() -> Door:
    """The door for the settings in the function's environment; opened once per instance.

    An instance is frozen after its answer, so the maintenance function closes conversations.
    """
    door = open_door(read_settings(), observe=function_telemetry().observe)
    # A function's machine is nobody's: unless a setting or the caller says otherwise, days are those of UTC.
    rules = replace(door.rules, zone=door.rules.zone or UTC)
    return replace(door, rules=rules, background=_Elsewhere())


class _Elsewhere:
    """Leaves closing to the maintenance function, or to the next retrieval."""

    def appended(self, user: UserRef, conversation_id: str) -> None:
        """Nothing to note."""

    def wait_for_episodes(self, user: UserRef, deadline: Deadline) -> bool:
        return False


def loaded_door() -> Door:
    """The door, with everything loaded that its first call would wait for."""
    door = opened_door()
    load(door)
    return door


def before_snapshot(load: Callable[[], object]) -> None:
    """Run `load` before a snapshot of the function is taken (SnapStart), so that every start from it has the result.

    The random generator is seeded again after each restore, so that instances don't pause in step. Ids come from the
    operating system, and connections are made at the first call. Without SnapStart, this does nothing.
    """
    try:
        from snapshot_restore_py import register_after_restore, register_before_snapshot
    except ImportError:
        return  # Lambda's own runtime brings it
    register_before_snapshot(load)
    register_after_restore(random.seed)


def open_safely(open: Open) -> Door:
    """Open the door. An invalid setting is the operator's fault, not the caller's: raises Internal, or Unavailable."""
    try:
        return open()
    except Unavailable:
        raise
    except Exception as fault:
        telemetry.log_fault("opening the door", fault)
        raise Internal(FAULT) from None


def served(catalogue: Catalogue, tool: Tool, operation: str) -> Tool:
    """The tool, if it is of this operation. Raises NotFound."""
    if tool.operation != operation:
        served = ", ".join(other.full_name for other in catalogue.tools() if other.operation == operation)
        raise NotFound(f"`{tool.full_name}` is not served here; this function serves: {served}.")
    return tool


def flush_usage(door: Door) -> None:
    """Flush usage counts before the instance is frozen and may never resume. A failure doesn't fail the answer."""
    try:
        door.store.flush(just_read=True)
    except Exception as fault:
        telemetry.log_fault("flushing usage", fault)


def time_left(context: Any) -> float:
    """Seconds that the function may still run, less a margin for the answer."""
    milliseconds_left = getattr(context, "get_remaining_time_in_millis", None)
    return _SECONDS if milliseconds_left is None else max(1.0, milliseconds_left() / 1000 - _MARGIN_SECONDS)


_UNKNOWN: Final = (
    "This function takes events of HTTP (API Gateway, function URL, load balancer), messages of SQS, and direct "
    'invocations such as {"toolset": "core", "tool": "search", "arguments": {...}, "caller": {"user_id": "..."}}.'
)
_FIELDS: Final = {"toolset", "tool", "arguments", "caller", "idempotency_key", "timezone"}
_CALLER_FIELDS: Final = {"user_id", "agent_id", "conversation_id", "tenant"}


def pool_identity(context: Any) -> str | None:
    """The identity of a Cognito identity pool that invoked the function directly, as Lambda verified it.

    The client context is not looked at: whoever invokes fills it in.
    """
    identity = getattr(getattr(context, "identity", None), "cognito_identity_id", None)
    return identity if isinstance(identity, str) and identity.strip() else None


def direct(operation: str | None, open: Open, event: Any, identity: str | None = None) -> JsonObject:
    """The answer to a direct invocation: `body` in the dialect's own form, `error` and `outcome` beside it.

    `operation` is None in a function that serves every tool. `identity` is that of an identity pool which invoked, if
    one did.
    """
    try:
        if not isinstance(event, dict) or "tool" not in event or not event.keys() <= _FIELDS:
            raise InvalidInput(_UNKNOWN)
        door = open_safely(open)
        definition = door.catalogue.tool(f"{event.get('toolset', '')}.{event['tool']}")
        tool = definition if operation is None else served(door.catalogue, definition, operation)
        caller = _caller(event.get("caller"))
        if identity is not None:
            caller = _of_pool(identity, caller)
        key = event.get("idempotency_key")
        if key is not None and not isinstance(key, str):
            raise InvalidInput("`idempotency_key` must be a string.")
        timezone = event.get("timezone")
        if timezone is not None and not isinstance(timezone, str):
            raise InvalidInput("`timezone` must be a string, such as Europe/Lisbon.")
    except SteeltrapError as error:
        return {"error": error_object(error)}
    result = door.invoke(tool, event.get("arguments", {}), caller, idempotency_key=key, timezone=timezone)
    flush_usage(door)
    return _direct_answer(result)


def _direct_answer(result: Result) -> JsonObject:
    """The dialect's own body; `error` beside it when the call failed, `outcome` when a search says one."""
    reply: JsonObject = {"body": result.body}
    if result.error is not None:
        reply["error"] = {**error_object(result.error), "type": type_name(result.error)}
    if result.outcome is not None:
        reply["outcome"] = outcome_object(result.outcome)
    return reply


def error_object(error: SteeltrapError) -> JsonObject:
    """An error as JSON, for who called directly."""
    return {**error.details, "code": error.code, "message": error.message, "retryable": error.can_retry}


def _caller(caller: object) -> Caller | None:
    if caller is None:
        return None
    if not isinstance(caller, dict) or not caller.keys() <= _CALLER_FIELDS:
        raise InvalidInput(f"`caller` must be an object of {', '.join(sorted(_CALLER_FIELDS))}.")
    values = {name: value for name, value in caller.items() if value is not None}
    if not all(isinstance(value, str) for value in values.values()):
        raise InvalidInput("each field of `caller` must be a string.")
    user = UserRef(values.pop("user_id", ""), values.pop("tenant", ""))
    return Caller(user, **values)


NAMED: Final = ("user_id", "tenant", "agent_id", "conversation_id", "untrusted", "read_only")
"""The fields that name a caller on other platforms, each a text; only the first is required."""


def named_caller(fields: Mapping[str, str]) -> Caller:
    """The caller of some of `NAMED`. Raises IdentityMissing."""
    user = UserRef(fields.get("user_id", ""), fields.get("tenant", ""))
    permissions = replace(trust(fields.get("untrusted")), read_only=is_true(fields.get("read_only"), "may only read"))
    try:
        return identified(Caller(user, fields.get("agent_id"), fields.get("conversation_id"), permissions=permissions))
    except InvalidInput as error:
        raise IdentityMissing(error.message) from None


def _of_pool(identity: str, caller_given: Caller | None) -> Caller:
    """The caller of an identity pool: it may name its conversation, nothing else. Raises AccessDenied."""
    caller = Caller(UserRef(identity), None, caller_given.conversation_id if caller_given else None)
    if (
        caller_given is not None
        and replace(caller_given, user=UserRef(caller_given.user.user_id or identity, caller_given.user.tenant))
        != caller
    ):
        raise AccessDenied(
            "You invoke as an identity of a Cognito identity pool, so `caller` may only hold `conversation_id`."
        )
    return caller


_log = logging.getLogger("steeltrap")

_SOURCE: Final = "aws:sqs"


class _Refused(Exception):
    """A message that was not done."""


def is_queue(event: Any) -> bool:
    """Whether an event brings messages of a queue."""
    records = event.get("Records") if isinstance(event, dict) else None
    return (
        isinstance(records, list)
        and bool(records)
        and all(isinstance(record, dict) and record.get("eventSource") == _SOURCE for record in records)
    )


def take(operation: str, open: Open, event: Any, *, names_callers: bool, reports: Reporting) -> JsonObject:
    """Do each message's call; answers those that have to come again, in the form that SQS wants.

    A message's own id serves as its idempotency key where it has none. Only with `names_callers` a message may say
    whose memories it is about: where the queue's policy admits nobody but the application. What is told of a
    call goes by its message's id.
    """
    from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, SqsFifoPartialProcessor
    from aws_lambda_powertools.utilities.batch import process_partial_response as processed

    def do(record: Any) -> None:
        if reports is not None:
            reports().correlate(record.message_id)
        try:
            call = _call(record.body, names_callers)
            error = direct(operation, open, {"idempotency_key": record.message_id, **call}).get("error")
            why = error and error["code"]  # its sentence may quote the message
        except SteeltrapError as refusal:
            why = f"{refusal.code}: {refusal.message}"
        if why is not None:
            _log.warning("message %s was not done: %s", record.message_id, why)
            raise _Refused(why)

    in_order = str(event["Records"][0].get("eventSourceARN", "")).endswith(".fifo")
    processor: BatchProcessor = SqsFifoPartialProcessor() if in_order else BatchProcessor(EventType.SQS)
    processor.raise_on_entire_batch_failure = False
    return dict(processed(event=event, record_handler=do, processor=processor))


def _call(body: str, names_callers: bool) -> JsonObject:
    """The call that a message asks for. Raises InvalidInput."""
    call = decode(body)
    if "caller" in call and not names_callers:
        raise InvalidInput(
            "This queue's messages may not name a caller. Set STEELTRAP_QUEUE_CALLERS=true if the queue's policy "
            "admits only the application."
        )
    return call


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
    config = settings or read_settings()
    if open is opened_door:
        before_snapshot(loaded_door)
    found_by = identity or authorizer(config)
    reports = reporting(telemetry, is_own=open is opened_door)

    def handler(event: Any, context: Any) -> JsonObject:
        if (invoker := pool_identity(context)) is not None:
            return direct(operation, open, event, invoker)  # whatever its event imitates
        request = http_request(event)
        if request is not None:
            return http_response(_http(operation, open, found_by, request), request)
        if is_queue(event):
            return take(operation, open, event, names_callers=config.queue_callers, reports=reports)
        return direct(operation, open, event)

    return instrumented(handler, reports)


def authorizer(settings: Settings) -> Authorizer:
    """The caller over HTTP, by the claims that the settings name."""
    return Authorizer(claim_names(settings))


def _http(operation: str, open: Open, identity: Identity, request: HttpRequest) -> Reply:
    try:
        door = open_safely(open)
        tool = _routed(door.catalogue, operation, request)
    except SteeltrapError as error:
        return error_reply(error)
    if request.method != "POST":
        return wrong_method_reply(request.method)
    problems = False
    try:
        problems = wants_problems(one_header(request.scope, "Accept"))
        sent_as = (one_header(request.scope, name) for name in ("Content-Type", "Content-Encoding"))
        if (refusal := media_refusal(*sent_as)) is not None:
            return refusal
        caller = identified(identity.caller(request.scope))
        body = request.body()
        tool.bounds.check_size(len(body), f"`{tool.full_name}`")
        headers = call_headers(request.scope)
    except SteeltrapError as error:
        return refusal_reply(door, tool, error, problems=problems)
    except Exception as fault:
        return fault_reply(tool.full_name, fault)
    reply = answer(door, tool, body, caller, headers, problems=problems)
    flush_usage(door)
    return reply


def _routed(catalogue: Catalogue, operation: str, request: HttpRequest) -> Tool:
    for path in request.paths:
        if (tool := tool_at(catalogue, path)) is not None:
            return served(catalogue, tool, operation)
    raise unknown_path(catalogue, request.paths[0])
