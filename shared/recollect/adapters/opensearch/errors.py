"""OpenSearch's refusals and the client's exceptions as errors of this project: the one map.

    no answer, no connection        Unavailable, may pass
    408, 429                        Throttled, may pass
    401, 403, 404, 5xx              Unavailable, may pass: a key, a block, an alias is mended without a new request
    413                             TooLarge
    400 and the rest                Internal: the request doesn't fit the index, and never will

Messages never quote OpenSearch, whose reasons quote what was sent; the status and the kind are kept.
"""

from collections.abc import Mapping
from typing import Any, Final

from opensearchpy import exceptions

from ...errors import Internal, RecollectError, Throttled, TooLarge, Unavailable

STALE: Final = 409
"""The index has something as new: for what is written with a version a success."""

_TOO_LARGE: Final = 413
_WAIT: Final = frozenset({408, 429})
_MAY_PASS: Final = frozenset({401, 403, 404})
_RETRY_SECONDS: Final = 1

MAPPED: Final[Mapping[type[Exception], type[RecollectError]]] = {
    exceptions.ImproperlyConfigured: Unavailable,
    exceptions.SerializationError: Unavailable,
    exceptions.ConnectionTimeout: Unavailable,
    exceptions.SSLError: Unavailable,
    exceptions.ConnectionError: Unavailable,
    exceptions.NotFoundError: Unavailable,
    exceptions.ConflictError: Internal,
    exceptions.RequestError: Internal,
    exceptions.AuthenticationException: Unavailable,
    exceptions.AuthorizationException: Unavailable,
    exceptions.TransportError: Unavailable,
}
"""Every exception that a request can raise; a test fails when the client grows a new one."""


def crossing(error: Exception) -> RecollectError:
    """The error of ours that a client's exception becomes."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return refusal(status, _kind(getattr(error, "info", None)))
    if isinstance(error, exceptions.ConnectionTimeout):
        return Unavailable("The search index did not answer in time; try again.", part="index")
    if isinstance(error, exceptions.SSLError | exceptions.ImproperlyConfigured):
        return Unavailable("The search index can't be reached safely: check its certificate.", part="index")
    if isinstance(error, exceptions.SerializationError):
        return Unavailable("The search index answered something that is no JSON; try again.", part="index")
    return Unavailable("The search index can't be reached; try again.", part="index")


def refusal(status: int, kind: str = "") -> RecollectError:
    """The error of ours for a status, of a whole request or of one part of it."""
    facts: dict[str, Any] = {"part": "index", "status": status, **({"reason": kind} if kind else {})}
    if status in _WAIT:
        return Throttled("The search index has too much to do; try again.", retry_after=_RETRY_SECONDS, **facts)
    if status == _TOO_LARGE:
        return TooLarge("The search index refuses a request of this size.", **facts)
    if status in _MAY_PASS or status >= 500:
        return Unavailable(f"The search index refuses to answer (status {status}); try again.", **facts)
    return Internal("The search index does not take this request.", **facts)


def failure(part: Mapping[str, Any]) -> RecollectError | None:
    """What went wrong in one answer of a `_msearch`; None when all of it is there."""
    if "error" in part:
        return refusal(int(part.get("status", 500)), _kind(part))
    if part.get("timed_out"):
        return Unavailable("The search index did not answer in time; try again.", part="index")
    if part.get("_shards", {}).get("failed"):
        return Unavailable("A part of the search index does not answer; try again.", part="index")
    return None


def _kind(info: Any) -> str:
    """OpenSearch's word for what is wrong, such as `mapper_parsing_exception`; "" when it has none."""
    error = info.get("error") if isinstance(info, Mapping) else None
    kind = error.get("type") if isinstance(error, Mapping) else None
    return kind if isinstance(kind, str) else ""
