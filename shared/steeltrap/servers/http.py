"""HTTP without a framework: paths, statuses, problem details, replies, for every server that speaks HTTP."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

from .. import telemetry
from ..errors import (
    IdentityMissing,
    InsufficientScope,
    Internal,
    InvalidInput,
    MalformedBody,
    NotFound,
    SteeltrapError,
    TokenRefused,
    type_name,
)
from ..invoke import Door, Result
from ..model import Caller, JsonObject, Outcome
from ..model.frozen import frozen
from ..text.schemas import show
from ..tools import Tool
from ..toolsets import Catalogue
from .auth.identity import Scope, one_header

PROBLEM_MEDIA: Final = "application/problem+json"

STATUS: Final = {
    "invalid_input": 400,
    "identity_missing": 401,
    "access_denied": 403,
    "not_found": 404,
    "conflict": 409,
    "too_large": 413,
    "throttled": 429,
    "internal": 500,
    "unavailable": 503,
}

PROBLEM_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "description": "Problem details (RFC 9457). `detail` says what to do, `retryable` whether a retry may help.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "enum": list(STATUS)},
        "retryable": {"type": "boolean"},
    },
    "required": ["type", "title", "status", "detail", "code", "retryable"],
}


def problem(error: SteeltrapError, status: int | None = None) -> JsonObject:
    """The problem details of an error; its facts (an id, a version) stand beside the standard members."""
    return {
        **error.details,
        "type": f"urn:steeltrap:problem:{type_name(error)}",
        "title": error.code.replace("_", " ").capitalize(),
        "status": status or STATUS[error.code],
        "detail": error.message,
        "code": error.code,
        "retryable": error.can_retry,
    }


def error_headers(error: SteeltrapError) -> dict[str, str]:
    """The headers that a status asks for: Retry-After in whole seconds, and WWW-Authenticate (RFC 6750)."""
    headers: dict[str, str] = {}
    if "retry_after" in error.details:
        headers["Retry-After"] = str(max(1, math.ceil(error.details["retry_after"])))
    if isinstance(error, TokenRefused):
        headers["WWW-Authenticate"] = f"Bearer {_challenge(error.details['reason'], error)}"
    elif isinstance(error, InsufficientScope):
        scope = error.details["required_scope"]
        headers["WWW-Authenticate"] = f'Bearer {_challenge("insufficient_scope", error)}, scope="{scope}"'
    elif isinstance(error, IdentityMissing):
        headers["WWW-Authenticate"] = "Bearer"
    return headers


def _challenge(reason: str, error: SteeltrapError) -> str:
    description = re.sub(r"[^\x20\x21\x23-\x5b\x5d-\x7e]", "?", error.message)
    return f'error="{reason}", error_description="{description}"'


MAX_HEADER_CHARACTERS: Final = 1000
_LONGEST_NAME: Final = 64
SECRETS: Final = "X-Steeltrap-Secrets"
"""The header by which a caller has secrets redacted or refused in a toolset that leaves them alone."""
ERROR: Final = "X-Steeltrap-Error"
"""The header with the code of an error that is an ordinary answer in its dialect."""
OUTCOME: Final = "X-Steeltrap-Outcome"
OUTCOME_MESSAGE: Final = "X-Steeltrap-Outcome-Message"
BEST_SCORE: Final = "X-Steeltrap-Best-Score"
"""The headers with what happened in a search, and with what a write replaced."""
MENDABLE: Final = ("invalid_input", "too_large")
"""The codes of errors that a model can mend by other arguments."""
TIMEZONE: Final = "X-Steeltrap-Timezone"
"""The header by which a caller says in which time zone its days are, by its IANA name."""
_OF_CALLS: Final = {name.lower(): name for name in (SECRETS, TIMEZONE)}
_LIKENESS: Final = 0.9
"""From which a name counts as misspelt: X-Steeltrap-Secret does (0.97), X-Steeltrap-Server (0.86) doesn't."""
FAULT: Final = "Something went wrong on our side; it was logged. Try again later."


@frozen
class CallHeaders:
    """The headers of a call beside those that say who calls."""

    key: str | None = None
    secrets: str | None = None
    timezone: str | None = None


def call_headers(scope: Scope) -> CallHeaders:
    """The headers of a call. Raises InvalidInput, also for a name that is nearly one of ours."""
    check_names(bytes(name).decode("latin-1") for name, _ in scope["headers"])
    return CallHeaders(
        key=one_header(scope, "Idempotency-Key"),
        secrets=one_header(scope, SECRETS),
        timezone=one_header(scope, TIMEZONE),
    )


def check_names(names: Iterable[str]) -> None:
    """Raises InvalidInput for a header whose name is nearly one of ours: ignored, it would leave secrets alone that the
    caller wants replaced. Others are a gateway's own."""
    for name in map(str.lower, names):
        if ("steel" not in name and "trap" not in name) or name in _OF_CALLS:
            continue
        from difflib import get_close_matches

        if near := get_close_matches(name[:_LONGEST_NAME].replace("_", "-"), _OF_CALLS, 1, _LIKENESS):
            raise InvalidInput(f"There is no header {show(name)}; did you mean `{_OF_CALLS[near[0]]}`?")


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
    headers: CallHeaders,
    *,
    problems: bool = False,
) -> Reply:
    """Run one call from its body's bytes, with what its headers say. Never raises.

    With `problems`, every error is answered with problem details, whatever the dialect's own form is.
    """
    try:
        result = door.invoke(
            tool, body, caller, idempotency_key=headers.key, secrets=headers.secrets, timezone=headers.timezone
        )
        return error_reply(result.error) if problems and result.error is not None else result_reply(door, result)
    except Exception as fault:
        return fault_reply(tool.full_name, fault)


def result_reply(door: Door, result: Result) -> Reply:
    """A tool's answer, or its dialect's error, with what happened in the headers."""
    if result.error is None:
        return _reply(200, result.body, result.media, outcome_headers(result.outcome))
    if door.catalogue.toolsets[result.tool.toolset].errors_are_answers and _is_mendable(result.error):
        return _reply(200, result.body, result.media, {ERROR: result.error.code})
    return refusal_reply(door, result.tool, result.error)


def refusal_reply(door: Door, tool: Tool, error: SteeltrapError, *, problems: bool = False) -> Reply:
    """The reply to a rejected call of a known tool: the dialect's error, with its status."""
    if problems or door.catalogue.toolsets[tool.toolset].standard_errors:
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


def media_refusal(media_type: str | None, encoding: str | None) -> Reply | None:
    """415 for a body that its Content-Type and Content-Encoding declare as other than plain JSON, else None."""
    if not _is_json(media_type):
        refusal = InvalidInput("Send the arguments as JSON, with the header `Content-Type: application/json`.")
        return error_reply(refusal, status=415)
    return encoding_refusal(encoding)


def encoding_refusal(encoding: str | None) -> Reply | None:
    """415 for a body that its Content-Encoding declares as compressed, else None."""
    if encoding is None or encoding.lower() == "identity":
        return None
    refusal = InvalidInput("Send the body as it is, without `Content-Encoding`: compressed ones are not read.")
    return error_reply(refusal, status=415, headers={"Accept-Encoding": "identity"})


def wrong_method_reply(method: str, allowed: str = "POST") -> Reply:
    """405: something is here, for another method."""
    refusal = InvalidInput(f"`{method}` is not allowed here; use {allowed}.")
    return error_reply(refusal, status=405, headers={"Allow": allowed})


_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    '<meta name="color-scheme" content="light dark"><title>{title} · steeltrap</title>'
    '<main><h1>{title}</h1><p>{detail}</p><p><a href="/">Back to the memories</a></p></main></html>'
)


def for_reader(reply: Reply, accept: str | None) -> Reply:
    """Problem details as a page, where a browser asks for one to show it."""
    if "text/html" not in (accept or "") or reply.headers.get("Content-Type") != PROBLEM_MEDIA:
        return reply
    details = json.loads(reply.body)
    page = _PAGE.format(title=escape(details["title"]), detail=escape(details["detail"]))
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": "default-src 'none'"}
    return Reply(reply.status, page.encode(), {**reply.headers, **headers, "Cache-Control": "no-store"})


def _is_mendable(error: SteeltrapError) -> bool:
    """Whether a model can mend it by other arguments. What is no arguments at all is a mistake of the program."""
    return error.code in MENDABLE and not isinstance(error, MalformedBody)


def outcome_headers(outcome: Outcome | None) -> dict[str, str]:
    """The outcome in headers: ASCII, since other characters don't survive every hop."""
    if outcome is None:
        return {}
    headers = {OUTCOME: str(outcome.kind), OUTCOME_MESSAGE: _header(outcome.message)}
    if outcome.best_score is not None:
        headers[BEST_SCORE] = f"{outcome.best_score:.4f}"
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


def paths(tool: Tool) -> tuple[str, ...]:
    """The paths at which a tool is called by POST, the derived one first."""
    return (f"/v1/{tool.toolset}/{tool.name}", *tool.paths)


def tools_by_path(catalogue: Catalogue) -> Mapping[str, Tool]:
    return {path: tool for tool in catalogue.tools() for path in paths(tool)}


def mcp_paths(catalogue: Catalogue) -> tuple[str, ...]:
    """The paths of MCP: one for the default toolset, and one for each."""
    return ("/mcp", *(f"/mcp/{name}" for name in catalogue.toolsets))


def tool_at(catalogue: Catalogue, path: str) -> Tool | None:
    """The tool that is called at a path. A derived path names its toolset, and no other is looked at."""
    match path.split("/"):
        case ["", "v1", toolset, name] if toolset in catalogue.toolsets and name in catalogue.toolsets[toolset].tools:
            return catalogue.toolsets[toolset].tools[name]
    return tools_by_path(catalogue).get(path)


def unknown_path(catalogue: Catalogue, path: str) -> NotFound:
    """The refusal of a path where nothing is: the toolsets or tools that there are."""
    match path.split("/"):
        case ["", "v1", toolset, name]:
            try:
                catalogue.tool(f"{toolset}.{name}")
            except NotFound as error:
                return error
        case ["", "v1" | "mcp", toolset, *_] if toolset not in catalogue.toolsets:
            return NotFound(f"No toolset `{toolset}`; there are: {', '.join(catalogue.toolsets)}.")
    return NotFound("Nothing is at this path; call a tool with POST /v1/{toolset}/{tool}.")


def wants_problems(accept: str | None) -> bool:
    """Whether an Accept header asks for problem details, in place of the dialect's own errors."""
    return PROBLEM_MEDIA in (accept or "")


def _is_json(media_type: str | None) -> bool:
    """Whether a Content-Type header says JSON in UTF-8.

    No form or image of a web page can send that one without asking the server first.
    """
    media, _, parameters = (media_type or "").partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    return media.strip().lower() == "application/json" and charset in ("", "utf-8", "utf8")
