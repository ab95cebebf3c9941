"""How a failure looks over HTTP: its status, and RFC 9457 problem details where no dialect speaks for it."""

import math
import re
from typing import Final

from ...errors import IdentityMissing, SteeltrapError, TokenRefused
from ...model import JsonObject

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
        "type": f"urn:steeltrap:problem:{error.code}",
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
        description = re.sub(r"[^\x20\x21\x23-\x5b\x5d-\x7e]", "?", error.message)
        challenge = f'error="{error.details["reason"]}", error_description="{description}"'
        headers["WWW-Authenticate"] = f"Bearer {challenge}"
    elif isinstance(error, IdentityMissing):
        headers["WWW-Authenticate"] = "Bearer"
    return headers
