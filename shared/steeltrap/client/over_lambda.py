"""AWS Lambda: calls of deployed functions by their names, signed by boto3 with the caller's own credentials.

IAM decides who may invoke a function, so the caller names the user. `{operation}` in a name stands for the operation of
each tool, where a stage has one function per operation.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..aws_client import code_of, fix_hint, kind_of
from ..errors import (
    AccessDenied,
    IdentityMissing,
    Internal,
    InvalidInput,
    NotFound,
    SteeltrapError,
    Throttled,
    TooLarge,
)
from .answers import Answer, Call, NoAnswer, as_sent, checked, described, encoded, excerpt, not_ours

PREFIX: Final = "lambda:"
OPERATION: Final = "{operation}"
_CONNECT_SECONDS: Final = 5.0
_LONGEST_SECONDS: Final = 70.0
"""Longer than any tool may take: the function ends by its own timeout first."""
_BUSY: Final = frozenset({"TooManyRequestsException", "EC2ThrottledException", "ThrottlingException"})
_STARTING: Final = frozenset({"ServiceException", "ResourceNotReadyException", "SnapStartNotReadyException"})
_REFUSED: Final = frozenset(
    {"AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException", "InvalidSignatureException"}
)


@dataclass(frozen=True, slots=True)
class OverLambda:
    """The tools of deployed functions, for one user. `functions` is boto3's client."""

    name: str
    functions: Any
    caller: Mapping[str, str]
    timezone: str | None = None

    def send(self, call: Call) -> Answer:
        toolset, _, tool = call.tool.partition(".")
        event = {
            "toolset": toolset,
            "tool": tool,
            "arguments": as_sent(call.arguments),
            "caller": self.caller,
            "idempotency_key": call.idempotency_key,
            "timezone": call.timezone or self.timezone,
        }
        name = self.name.replace(OPERATION, call.row.operation)
        payload = encoded(call, {key: value for key, value in event.items() if value is not None})
        try:
            response = self.functions.invoke(FunctionName=name, Payload=payload)
            answer = response["Payload"].read()
        except Exception as error:
            raise _failure(name, error) from error
        return _answer(call, name, response.get("FunctionError"), answer)

    def as_user(self, user: str, *, agent: str | None, conversation: str | None, timezone: str | None) -> "OverLambda":
        return OverLambda(
            self.name, self.functions, caller_fields(user, agent, conversation), timezone or self.timezone
        )

    def close(self) -> None:
        """Nothing is held for one user; boto3's client belongs to nobody alone."""

    def __str__(self) -> str:
        return f"the function {self.name}"


def caller_fields(user: str | None, agent: str | None, conversation: str | None) -> dict[str, str]:
    """The caller as an event names it. Raises IdentityMissing without a user."""
    if not user:
        raise IdentityMissing('A function has to be told whose memories it works on: connect(..., user="ana").')
    return {
        "user_id": user,
        **({"agent_id": agent} if agent else {}),
        **({"conversation_id": conversation} if conversation else {}),
    }


def functions_client() -> Any:
    """boto3's client, which repeats nothing by itself. Raises InvalidInput without boto3 or a region."""
    try:
        import boto3
        from botocore.config import Config
    except ImportError:
        raise InvalidInput(
            "Functions are called with boto3, which is not installed: install boto3, or steeltrap with its extra `aws`."
        ) from None
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=_CONNECT_SECONDS, read_timeout=_LONGEST_SECONDS)
    try:
        return boto3.client("lambda", config=config)
    except Exception as error:
        hint = fix_hint(error)
        raise InvalidInput(f"AWS can't be called: {error}; set {hint or 'it'} right.") from error


def _failure(name: str, error: Exception) -> SteeltrapError:
    """The one map of what boto3 raises."""
    kind, code = kind_of(error), code_of(error)
    if kind == "unreachable" or (kind == "slow" and type(error).__name__ == "ConnectTimeoutError"):
        return NoAnswer("AWS Lambda can't be reached; check the network and the region.", sent=False)
    if kind in ("slow", "lost", "untrusted"):
        return NoAnswer(f"The function {name} did not answer.", sent=True)
    if kind is not None:
        return InvalidInput(f"The function {name} can't be called: {error}; set {fix_hint(error) or 'this'} right.")
    if code in _BUSY:
        return Throttled(f"The function {name} is throttled by AWS; try again.")
    if code in _STARTING:
        return NoAnswer(f"AWS could not run the function {name}; try again.", sent=True)
    if code in _REFUSED:
        return AccessDenied(f"AWS refuses these credentials the function {name} ({code}); allow lambda:InvokeFunction.")
    if code == "ResourceNotFoundException":
        return NotFound(f"There is no function {name} in this account and region; check the name.")
    if code == "RequestTooLargeException":
        return TooLarge("A call of a function has at most 6 MB; send less at once.")
    return Internal(f"The function {name} can't be called ({code or type(error).__name__}).")


def _answer(call: Call, name: str, failed: object, payload: bytes) -> Answer:
    try:
        value = json.loads(payload)
    except ValueError:
        raise not_ours(
            f"The function {name} answered with something that isn't JSON; is it one of steeltrap?"
        ) from None
    if failed:
        raise _crash(name, value)
    if isinstance(value, dict) and isinstance(value.get("error"), dict):
        return Answer(error=described(value["error"], message="message", place=f"The function {name}"))
    if not isinstance(value, dict) or "body" not in value:
        raise not_ours(f"The function {name} doesn't answer as one of steeltrap: {excerpt(value)}")
    return Answer(body=checked(call, value["body"], f"the function {name}"), outcome=value.get("outcome"))


def _crash(name: str, value: Any) -> SteeltrapError:
    facts = value if isinstance(value, dict) else {}
    kind, message = str(facts.get("errorType", "")), str(facts.get("errorMessage", ""))
    if "timed out" in message or kind in ("Sandbox.Timedout", "Runtime.ExitError"):
        return NoAnswer(f"The function {name} ended before it answered.", sent=True)
    if kind == "Function.ResponseSizeTooLarge":
        return TooLarge(f"The answer of the function {name} is larger than 6 MB; ask for less.")
    return Internal(f"The function {name} failed ({kind or 'unknown'}); its log says why.")


def checked_name(target: str) -> str:
    """The function's name or ARN of `lambda:NAME`, or of an ARN. Raises InvalidInput."""
    name = target.removeprefix(PREFIX)
    if not name or not all(char.isalnum() or char in ":_-$.{}" for char in name):
        raise InvalidInput(f"{excerpt(target)} names no function; give one such as lambda:steeltrap-dev-{OPERATION}.")
    return name
