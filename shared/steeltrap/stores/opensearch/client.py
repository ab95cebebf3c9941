"""opensearch-py, on top of which each request keeps its deadline and fails with an error of ours.

    no answer, no connection        IndexUnavailable, may pass
    408, 429                        IndexThrottled, may pass
    404, 5xx                        IndexUnavailable, may pass: an alias is mended without a new request
    401, 403                        Forbidden, an IndexUnavailable: so is a key or a block
    413                             IndexTooLarge
    400                             Malformed, an IndexFault
    the rest                        IndexFault: the request doesn't fit the index, and never will

Messages never quote OpenSearch, whose reasons quote what was sent; the status and the kind are kept.

A socket's timeout starts again with every byte. Here each read has only what is left of the timeout that the socket had
when the answer began, and that counts for the headers too.

The client has the API, the connection pool (urllib3) and the signatures of AWS (SigV4). Its own retries are off: the
caller knows how much time is left. Only a request whose connection broke is sent once more, because the other end may
have closed a kept connection, and every request of ours can be repeated without harm.
"""

import json
import ssl
import time
from base64 import b64encode
from collections.abc import Collection, Mapping
from functools import partial
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from socket import socket
from typing import Any, Final
from urllib.parse import unquote

from opensearchpy import ConnectionError as Unanswered
from opensearchpy import JSONSerializer, OpenSearch, Urllib3AWSV4SignerAuth, Urllib3HttpConnection
from urllib3 import Timeout, exceptions
from urllib3.exceptions import LocationParseError, ProtocolError
from urllib3.util import Url, parse_url

from ...aws_client import fix_hint
from ...errors import IndexFault, IndexThrottled, IndexTooLarge, IndexUnavailable, InvalidInput, SteeltrapError
from ...ports import Deadline

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
"""The meaning of every way in which urllib3 fails, by the nearest base class; a test fails when it grows a new one."""


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
    if what := fix_hint(error):
        return IndexUnavailable(f"The search index can't be used with these settings: fix {what}.", part="index")
    message = next((MAPPED[each] for each in type(error).__mro__ if each in MAPPED), _UNREACHED)
    return IndexUnavailable(message, part="index") if message is _UNSAFE else passing(message)


def refusal(status: int, reason: str = "") -> SteeltrapError:
    """The error of ours for a status, of a whole request or of one part of it."""
    facts: dict[str, Any] = {"part": "index", "status": status, **({"reason": reason} if reason else {})}
    if status in _WAIT:
        message = "The search index is overloaded"
        return IndexThrottled(message, advice=_AGAIN, retry_after=_RETRY_SECONDS, **facts)
    if status == _TOO_LARGE:
        return IndexTooLarge("The search index rejects a request of this size.", **facts)
    if status == _MISSING or status in _FORBIDDEN or status >= 500:
        unavailable = Forbidden if status in _FORBIDDEN else IndexUnavailable
        return unavailable(f"The search index refuses to answer (status {status})", advice=_AGAIN, **facts)
    fault = Malformed if status == _MALFORMED else IndexFault
    return fault("The search index rejects this request.", **facts)


def failure(part: Mapping[str, Any]) -> SteeltrapError | None:
    """The failure in one answer of a `_msearch`; None when all of it is there."""
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


class InTime(HTTPResponse):
    """The `response_class` of a connection."""

    def __init__(self, sock: socket, *options: Any, **keywords: Any) -> None:
        super().__init__(sock, *options, **keywords)
        within = sock.gettimeout()
        if within is not None:
            self.fp = BufferedReader(_Reads(sock, self.fp.detach(), time.monotonic() + within))


class _Reads(RawIOBase):
    """The bytes that a socket receives until a moment. Raises TimeoutError then."""

    def __init__(self, sock: socket, received: RawIOBase, ends: float) -> None:
        self._sock = sock
        self._received = received
        self._ends = ends

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        seconds_left = self._ends - time.monotonic()
        if seconds_left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(seconds_left)
        return self._received.readinto(buffer)

    def close(self) -> None:
        self._received.close()
        super().close()


CONNECTIONS: Final = 16
SERVICE: Final = "es"
"""The service that requests to a managed domain are signed for."""

_PORTS: Final = {"http": 80, "https": 443}
_EVERY_STATUS: Final = range(100, 1000)


def connect_index(url: str, *, region: str | None = None, credentials: Any = None) -> OpenSearch:
    """A client of the cluster at a URL, which may have a name and a password. Safe for threads.

    It connects at the first request. With `credentials`, as botocore has them, requests are signed for `region`. Every
    request takes a `Deadline` as its `request_timeout`, and raises Unavailable, Throttled, TooLarge or Internal. Raises
    InvalidInput for what isn't an http or https URL.
    """
    address = _address(url)
    assert address.scheme is not None
    assert address.host is not None
    signed = None if credentials is None else Urllib3AWSV4SignerAuth(credentials, region, SERVICE)
    is_safe = address.scheme == "https"
    host = {
        "host": address.host.strip("[]"),
        "port": address.port or _PORTS[address.scheme],
        "use_ssl": is_safe,
        "url_prefix": address.path or "",
    }
    return OpenSearch(
        hosts=[host],
        connection_class=_Connection,
        pool_maxsize=CONNECTIONS,
        http_auth=signed,
        headers=_basic(unquote(address.auth)) if address.auth and signed is None else {},
        # What this machine trusts; the client itself would trust certifi's list alone.
        ssl_context=ssl.create_default_context() if is_safe else None,
        serializer=_Json(),
        max_retries=0,
    )


class _Connection(Urllib3HttpConnection):
    """The client's connection. `timeout` is a `Deadline`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        opened = self.pool.ConnectionCls
        self.pool.ConnectionCls = type(opened.__name__, (opened,), {"response_class": InTime})

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: Any = None,
        ignore: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], str]:
        # A refusal is an answer here: the client's own errors quote it whole.
        request = partial(super().perform_request, method, url, params, body, ignore=_EVERY_STATUS, headers=headers)
        try:
            try:
                status, _, text = request(timeout=_left(timeout))
            except Unanswered as error:
                if not isinstance(error.info, ProtocolError) or not timeout.before():
                    raise
                status, _, text = request(timeout=_left(timeout))
        except Unanswered as error:
            cause: Any = error.info
            raise translate(cause) from cause
        if not 200 <= status < 300 and status not in ignore:
            raise refusal(status, _kind(text))
        if not text:
            raise no_json()
        return status, {}, text  # without a type it is read as JSON, whatever it says it is

    def log_request_success(self, *_: Any, **__: Any) -> None:
        """Log nothing: addresses and bodies must not be logged."""

    def log_request_fail(self, *_: Any, **__: Any) -> None:
        """Log nothing, as above; the caller gets the error."""


class _Json(JSONSerializer):
    """The form of every answer: an object in JSON."""

    def loads(self, s: str) -> Any:
        try:
            parsed = json.loads(s)
        except ValueError:
            raise no_json() from None
        if not isinstance(parsed, dict):
            raise no_json()
        return parsed


def bulk(
    client: OpenSearch, lines: bytes, count: int, deadline: Deadline, *, refresh: bool = False
) -> list[Mapping[str, Any]]:
    """The status of each of `count` actions, in order, and the kind of its error. Raises as `connect_index` says.

    `refresh` makes all that was written to their shards findable at once.
    """
    # OpenSearch waits this long for a missing shard (its default is a minute); the other results must arrive in time.
    within = f"{max(1, int(500 * deadline.before()))}ms"
    fields = "items.*.status,items.*.error.type"
    options = {"refresh": "true"} if refresh else {}
    answer = client.bulk(body=lines, filter_path=fields, timeout=within, request_timeout=deadline, **options)
    return [parsed for item in parts(answer, "items", count) for parsed in item.values()]


def parts(answer: Mapping[str, Any], name: str, count: int) -> list[Any]:
    """The list of this name in an answer. Raises Unavailable when it is not there or not whole."""
    entries = answer.get(name)
    if not isinstance(entries, list) or len(entries) != count:
        raise passing("The search index answered in part")
    return entries


def _left(deadline: Deadline) -> Any:
    """The client's `timeout`, which goes to urllib3 as it is: there a number would start again with each read."""
    seconds = deadline.before()
    if not seconds:
        raise passing("There is no time left to ask the search index")
    return Timeout(total=seconds)


def _basic(name_and_password: str) -> dict[str, str]:
    return {"authorization": f"Basic {b64encode(name_and_password.encode()).decode()}"}


def _address(url: str) -> Url:
    try:
        address = parse_url(url.strip())
    except LocationParseError:
        address = Url()
    if address.scheme not in _PORTS or not address.host:
        raise InvalidInput("STEELTRAP_OPENSEARCH_URL: give a URL, such as http://127.0.0.1:9200.")
    return address


def _kind(text: str) -> str:
    try:
        return kind(json.loads(text))
    except ValueError:
        return ""
