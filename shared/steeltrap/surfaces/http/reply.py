"""An answer as HTTP sees it (status, headers, bytes), for every surface that speaks HTTP."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from ... import telemetry
from ...errors import Internal, InvalidInput, MalformedBody, SteeltrapError
from ...invoke import Door, Result
from ...model import Caller, JsonObject, Outcome
from ...tools import Tool
from .problem import PROBLEM_MEDIA, STATUS, error_headers, problem

MAX_HEADER_CHARACTERS: Final = 1000
SECRETS: Final = "X-Steeltrap-Secrets"
"""The header by which a caller has secrets redacted or refused in a toolset that leaves them alone."""
ERROR: Final = "X-Steeltrap-Error"
"""The header with the code of an error that is an ordinary answer in its dialect."""
MENDABLE: Final = ("invalid_input", "too_large")
"""The codes of errors that a model can mend by other arguments."""
TIMEZONE: Final = "X-Steeltrap-Timezone"
"""The header by which a caller says in which time zone its days are, by its IANA name."""
FAULT: Final = "Something went wrong on our side; it was logged. Try again later."


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer. The body is UTF-8."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def answer(
    door: Door,
    tool: Tool,
    body: bytes | bytearray,
    caller: Caller | None,
    key: str | None,
    secrets: str | None = None,
    timezone: str | None = None,
) -> Reply:
    """Run one call from its body's bytes, with what its headers say. Never raises."""
    try:
        result = door.invoke(tool, body, caller, idempotency_key=key, secrets=secrets, timezone=timezone)
        return result_reply(door, result)
    except Exception as fault:
        return fault_reply(tool.full_name, fault)


def result_reply(door: Door, result: Result) -> Reply:
    """A tool's answer, or its dialect's error, with what happened in the headers."""
    if result.error is None:
        return _reply(200, result.body, result.media, outcome_headers(result.outcome))
    if door.catalogue.toolsets[result.tool.toolset].errors_are_answers and _is_mendable(result.error):
        return _reply(200, result.body, result.media, {ERROR: result.error.code})
    return refusal_reply(door, result.tool, result.error)


def refusal_reply(door: Door, tool: Tool, error: SteeltrapError) -> Reply:
    """The reply to a rejected call of a known tool: the dialect's error, with its status."""
    if door.catalogue.toolsets[tool.toolset].standard_errors:
        return error_reply(error)
    result = door.refuse(tool, error)
    return _reply(STATUS[error.code], result.body, result.media, error_headers(error))


def error_reply(error: SteeltrapError, *, status: int | None = None, headers: dict[str, str] | None = None) -> Reply:
    """Problem details, for what fails before a tool is found and for dialects without a form of their own."""
    details = problem(error, status)
    return _reply(details["status"], details, PROBLEM_MEDIA, {**error_headers(error), **(headers or {})})


def fault_reply(where: str, fault: Exception) -> Reply:
    """The reply to a bug in steeltrap: the cause is logged, but not sent."""
    telemetry.log_fault(where, fault)
    return error_reply(Internal(FAULT))


def not_json_reply() -> Reply:
    """415: the body is not declared as JSON."""
    refusal = InvalidInput("Send the arguments as JSON, with the header `Content-Type: application/json`.")
    return error_reply(refusal, status=415)


def wrong_method_reply(method: str, allowed: str = "POST") -> Reply:
    """405: something is here, for another method."""
    refusal = InvalidInput(f"`{method}` is not allowed here; use {allowed}.")
    return error_reply(refusal, status=405, headers={"Allow": allowed})


def _is_mendable(error: SteeltrapError) -> bool:
    """Whether a model can mend it by other arguments. What is no arguments at all is a mistake of the program."""
    return error.code in MENDABLE and not isinstance(error, MalformedBody)


def outcome_headers(outcome: Outcome | None) -> dict[str, str]:
    """The outcome in headers: ASCII, since other characters don't survive every hop."""
    if outcome is None:
        return {}
    headers = {"X-Steeltrap-Outcome": str(outcome.kind), "X-Steeltrap-Outcome-Message": _header(outcome.message)}
    if outcome.best_score is not None:
        headers["X-Steeltrap-Best-Score"] = f"{outcome.best_score:.4f}"
    return headers


def outcome_object(outcome: Outcome) -> JsonObject:
    """The outcome as JSON, for surfaces that carry it beside the answer."""
    return {"kind": outcome.kind.value, "message": outcome.message, "best_score": outcome.best_score}


def compact(body: Any) -> str:
    """JSON without needless spaces or escapes.

    The items of a list, also of one in an object, are written one by one: the encoder keeps the interpreter to itself
    until it ends, and a list may have megabytes.
    """
    if isinstance(body, list):
        return f"[{','.join(map(_encoder.encode, body))}]"
    if isinstance(body, dict) and any(isinstance(value, list) for value in body.values()):
        return f"{{{','.join(f'{_name(name)}:{compact(value)}' for name, value in body.items())}}}"
    return _encoder.encode(body)


def _name(name: object) -> str:
    return _encoder.encode(name) if isinstance(name, str) else _encoder.encode({name: 0})[1:-3]


_encoder: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _reply(status: int, body: Any, media: str, headers: dict[str, str]) -> Reply:
    text = body if media.startswith("text/") else compact(body)
    kind = f"{media}; charset=utf-8" if media.startswith("text/") else media
    # Stored text must not be taken for a page by a browser that guesses.
    return Reply(status, text.encode(), {"Content-Type": kind, "X-Content-Type-Options": "nosniff", **headers})


def _header(text: str) -> str:
    return re.sub(r"[^\x20-\x7e]", "?", text)[:MAX_HEADER_CHARACTERS]
