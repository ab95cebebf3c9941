"""OpenSearch's refusals and urllib3's exceptions as errors of this project: the one map.

    no answer, no connection        Unavailable, may pass
    408, 429                        Throttled, may pass
    401, 403, 404, 5xx              Unavailable, may pass: a key, a block, an alias is mended without a new request
    413                             TooLarge
    400 and the rest                Internal: the request doesn't fit the index, and never will

Messages never quote OpenSearch, whose reasons quote what was sent; the status and the kind are kept.
"""

from collections.abc import Mapping
from typing import Any, Final

from urllib3 import exceptions

from ...errors import Internal, SteeltrapError, Throttled, TooLarge, Unavailable

STALE: Final = 409
"""The index has something as new: for what is written with a version a success."""

_TOO_LARGE: Final = 413
_WAIT: Final = frozenset({408, 429})
_MAY_PASS: Final = frozenset({401, 403, 404})
_RETRY_SECONDS: Final = 1

_LATE: Final = "The search index did not answer in time; try again."
_UNREACHED: Final = "The search index can't be reached; try again."
_UNSAFE: Final = "The search index can't be reached safely: check its certificate."
_GARBLED: Final = "The search index does not answer as HTTP should; try again."

MAPPED: Final[Mapping[type[Exception], str]] = {
    exceptions.TimeoutError: _LATE,
    exceptions.TimeoutStateError: _LATE,
    exceptions.NewConnectionError: _UNREACHED,
    exceptions.ProtocolError: _UNREACHED,
    exceptions.PoolError: _UNREACHED,
    exceptions.ProxyError: _UNREACHED,
    exceptions.ProxySchemeUnsupported: _UNREACHED,
    exceptions.LocationValueError: _UNREACHED,
    exceptions.UnrewindableBodyError: _UNREACHED,
    exceptions.SSLError: _UNSAFE,
    exceptions.IncompleteRead: _GARBLED,
    exceptions.InvalidChunkLength: _GARBLED,
    exceptions.DecodeError: _GARBLED,
    exceptions.ResponseError: _GARBLED,
    exceptions.HeaderParsingError: _GARBLED,
    exceptions.BodyNotHttplibCompatible: _GARBLED,
    exceptions.InvalidHeader: _GARBLED,
}
"""What every way in which urllib3 fails means, by the nearest base class; a test fails when it grows a new one."""


def crossing(error: exceptions.HTTPError) -> Unavailable:
    """The error of ours for a request that had no whole answer."""
    said = next((MAPPED[each] for each in type(error).__mro__ if each in MAPPED), _UNREACHED)
    return Unavailable(said, part="index")


def refusal(status: int, reason: str = "") -> SteeltrapError:
    """The error of ours for a status, of a whole request or of one part of it."""
    facts: dict[str, Any] = {"part": "index", "status": status, **({"reason": reason} if reason else {})}
    if status in _WAIT:
        return Throttled("The search index has too much to do; try again.", retry_after=_RETRY_SECONDS, **facts)
    if status == _TOO_LARGE:
        return TooLarge("The search index refuses a request of this size.", **facts)
    if status in _MAY_PASS or status >= 500:
        return Unavailable(f"The search index refuses to answer (status {status}); try again.", **facts)
    return Internal("The search index does not take this request.", **facts)


def failure(part: Mapping[str, Any]) -> SteeltrapError | None:
    """What went wrong in one answer of a `_msearch`; None when all of it is there."""
    if "error" in part:
        return refusal(int(part.get("status", 500)), kind(part))
    if part.get("timed_out"):
        return Unavailable("The search index did not answer in time; try again.", part="index")
    if part.get("_shards", {}).get("failed"):
        return Unavailable("A part of the search index does not answer; try again.", part="index")
    return None


def kind(told: Any) -> str:
    """OpenSearch's word for what is wrong, such as `mapper_parsing_exception`; "" when it has none."""
    error = told.get("error") if isinstance(told, Mapping) else None
    word = error.get("type") if isinstance(error, Mapping) else None
    return word if isinstance(word, str) else ""
