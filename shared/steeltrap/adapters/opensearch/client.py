"""opensearch-py, on top of which each request keeps its deadline, fails with an error of ours, and is not logged.

The client has the API, the connection pool (urllib3) and the signatures of AWS (SigV4). Its own retries are off: the
caller knows how much time is left. Only a request whose connection broke is sent once more, because the other end may
have closed a kept connection, and every request of ours can be repeated without harm.
"""

import json
import ssl
from base64 import b64encode
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

from opensearchpy import ConnectionError as Unanswered
from opensearchpy import JSONSerializer, OpenSearch, Urllib3AWSV4SignerAuth, Urllib3HttpConnection
from urllib3 import Timeout
from urllib3.exceptions import LocationParseError, ProtocolError
from urllib3.util import Url, parse_url

from ...errors import InvalidInput
from ...ports import Deadline
from .errors import kind, no_json, passing, refusal, translate
from .in_time import InTime

CONNECTIONS: Final = 16
SERVICE: Final = "es"
"""What requests to a managed domain are signed for."""

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
        asked = partial(super().perform_request, method, url, params, body, ignore=_EVERY_STATUS, headers=headers)
        try:
            try:
                status, _, text = asked(timeout=_left(timeout))
            except Unanswered as error:
                if not isinstance(error.info, ProtocolError) or not timeout.before():
                    raise
                status, _, text = asked(timeout=_left(timeout))
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
    """What every answer is: an object in JSON."""

    def loads(self, s: str) -> Any:
        try:
            parsed = json.loads(s)
        except ValueError:
            raise no_json() from None
        if not isinstance(parsed, dict):
            raise no_json()
        return parsed


def bulk(client: OpenSearch, lines: bytes, count: int, deadline: Deadline) -> list[Mapping[str, Any]]:
    """The status of each of `count` actions, in order, and the kind of its error. Raises as `connect_index` says."""
    # OpenSearch waits this long for a missing shard (its default is a minute); the other results must arrive in time.
    within = f"{max(1, int(500 * deadline.before()))}ms"
    needed = "items.*.status,items.*.error.type"
    answer = client.bulk(body=lines, filter_path=needed, timeout=within, request_timeout=deadline)
    return [parsed for item in parts(answer, "items", count) for parsed in item.values()]


def parts(answer: Mapping[str, Any], name: str, count: int) -> list[Any]:
    """The list of this name in an answer. Raises Unavailable when it is not there or not whole."""
    found = answer.get(name)
    if not isinstance(found, list) or len(found) != count:
        raise passing("The search index answered in part")
    return found


def _left(deadline: Deadline) -> Any:
    """The client's `timeout`, which goes to urllib3 as it is: there a number would start again with each read."""
    left = deadline.before()
    if not left:
        raise passing("There is no time left to ask the search index")
    return Timeout(total=left)


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
