"""OpenSearch's refusals and the exceptions of urllib3 and botocore as errors of this project: the one map.

    no answer, no connection        IndexUnavailable, may pass
    408, 429                        IndexThrottled, may pass
    404, 5xx                        IndexUnavailable, may pass: an alias is mended without a new request
    401, 403                        Forbidden, an IndexUnavailable: so is a key or a block
    413                             IndexTooLarge
    400                             Malformed, an IndexFault
    the rest                        IndexFault: the request doesn't fit the index, and never will

Messages never quote OpenSearch, whose reasons quote what was sent; the status and the kind are kept.
"""

from collections.abc import Mapping
from typing import Any, Final

from urllib3 import exceptions

from ...errors import IndexFault, IndexThrottled, IndexTooLarge, IndexUnavailable, SteeltrapError
from ..aws_client import to_mend

STALE: Final = 409
"""The index has something as new: for what is written with a version a success."""

_TOO_LARGE: Final = 413
_WAIT: Final = frozenset({408, 429})
_MISSING: Final = 404
_FORBIDDEN: Final = frozenset({401, 403})
_MALFORMED: Final = 400
_RETRY_SECONDS: Final = 1

_AGAIN: Final = "try again"
_LATE: Final = "The search index did not answer in time"
_UNREACHED: Final = "The search index can't be reached"
_UNSAFE: Final = "The search index can't be reached safely: check its certificate."
_GARBLED: Final = "The search index does not answer as HTTP should"

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
    UnicodeDecodeError: _GARBLED,
}
"""What every way in which urllib3 fails means, by the nearest base class; a test fails when it grows a new one."""


class Forbidden(IndexUnavailable):
    """OpenSearch, or what stands before it, does not allow the request (401, 403)."""


class Malformed(IndexFault):
    """OpenSearch does not understand the request, or refuses what it asks for (400)."""


def passing(cause: str) -> IndexUnavailable:
    """The error of ours for an answer that did not come, or not whole, and may come the next time."""
    return IndexUnavailable(cause, advice=_AGAIN, part="index")


def no_json() -> IndexUnavailable:
    """The error of ours for an answer of any other form."""
    return passing("The search index did not answer with JSON")


def translate(error: Exception) -> IndexUnavailable:
    """The error of ours for a request that could not be signed, or had no whole answer."""
    if what := to_mend(error):
        return IndexUnavailable(f"The search index can't be used with these settings: fix {what}.", part="index")
    said = next((MAPPED[each] for each in type(error).__mro__ if each in MAPPED), _UNREACHED)
    return IndexUnavailable(said, part="index") if said is _UNSAFE else passing(said)


def refusal(status: int, reason: str = "") -> SteeltrapError:
    """The error of ours for a status, of a whole request or of one part of it."""
    facts: dict[str, Any] = {"part": "index", "status": status, **({"reason": reason} if reason else {})}
    if status in _WAIT:
        said = "The search index is overloaded"
        return IndexThrottled(said, advice=_AGAIN, retry_after=_RETRY_SECONDS, **facts)
    if status == _TOO_LARGE:
        return IndexTooLarge("The search index rejects a request of this size.", **facts)
    if status == _MISSING or status in _FORBIDDEN or status >= 500:
        unavailable = Forbidden if status in _FORBIDDEN else IndexUnavailable
        return unavailable(f"The search index refuses to answer (status {status})", advice=_AGAIN, **facts)
    fault = Malformed if status == _MALFORMED else IndexFault
    return fault("The search index rejects this request.", **facts)


def failure(part: Mapping[str, Any]) -> SteeltrapError | None:
    """What went wrong in one answer of a `_msearch`; None when all of it is there."""
    if "error" in part:
        return refusal(int(part.get("status", 500)), kind(part))
    if part.get("timed_out"):
        return passing(_LATE)
    if part.get("_shards", {}).get("failed"):
        return passing("A part of the search index does not answer")
    return None


def kind(answer: Any) -> str:
    """OpenSearch's word for what is wrong, such as `mapper_parsing_exception`; "" when it has none."""
    error = answer.get("error") if isinstance(answer, Mapping) else None
    word = error.get("type") if isinstance(error, Mapping) else None
    return word if isinstance(word, str) else ""
