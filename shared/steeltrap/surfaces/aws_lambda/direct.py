"""A direct invocation: it names its caller itself, since IAM decides who may invoke.

Someone who invokes with credentials of a Cognito identity pool is the identity that Lambda reports, and can't name
another user.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ...errors import AccessDenied, IdentityMissing, InvalidInput, SteeltrapError
from ...invoke import Result, identified
from ...model import Caller, JsonObject, UserRef
from ..auth.identity import trust
from ..http.reply import outcome_object
from .opening import Open, flush_usage, open_safely, served

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
    found = getattr(getattr(context, "identity", None), "cognito_identity_id", None)
    return found if isinstance(found, str) and found.strip() else None


def direct(operation: str, open: Open, event: Any, identity: str | None = None) -> JsonObject:
    """The answer to a direct invocation: `body` in the dialect's own form, `error` and `outcome` beside it.

    `identity` is that of an identity pool which invoked, if one did.
    """
    try:
        if not isinstance(event, dict) or "tool" not in event or not event.keys() <= _FIELDS:
            raise InvalidInput(_UNKNOWN)
        door = open_safely(open)
        named = door.catalogue.tool(f"{event.get('toolset', '')}.{event['tool']}")
        tool = served(door.catalogue, named, operation)
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
        reply["error"] = error_object(result.error)
    if result.outcome is not None:
        reply["outcome"] = outcome_object(result.outcome)
    return reply


def error_object(error: SteeltrapError) -> JsonObject:
    """An error as JSON, for who called directly."""
    return {**error.details, "code": error.code, "message": error.message, "retryable": error.can_retry}


def _caller(given: object) -> Caller | None:
    if given is None:
        return None
    if not isinstance(given, dict) or not given.keys() <= _CALLER_FIELDS:
        raise InvalidInput(f"`caller` must be an object of {', '.join(sorted(_CALLER_FIELDS))}.")
    values = {name: value for name, value in given.items() if value is not None}
    if not all(isinstance(value, str) for value in values.values()):
        raise InvalidInput("each field of `caller` must be a string.")
    user = UserRef(values.pop("user_id", ""), values.pop("tenant", ""))
    return Caller(user, **values)


NAMED: Final = ("user_id", "tenant", "agent_id", "conversation_id", "untrusted")
"""The fields that name a caller on other platforms, each a text; only the first is required."""


def named_caller(named: Mapping[str, str]) -> Caller:
    """The caller of some of `NAMED`. Raises IdentityMissing."""
    user = UserRef(named.get("user_id", ""), named.get("tenant", ""))
    permissions = trust(named.get("untrusted"))
    try:
        return identified(Caller(user, named.get("agent_id"), named.get("conversation_id"), permissions=permissions))
    except InvalidInput as error:
        raise IdentityMissing(error.message) from None


def _of_pool(identity: str, named: Caller | None) -> Caller:
    """The caller of an identity pool: it may name its conversation, nothing else. Raises AccessDenied."""
    caller = Caller(UserRef(identity), None, named.conversation_id if named else None)
    if named is not None and replace(named, user=UserRef(named.user.user_id or identity, named.user.tenant)) != caller:
        raise AccessDenied(
            "You invoke as an identity of a Cognito identity pool, so `caller` may only hold `conversation_id`."
        )
    return caller
