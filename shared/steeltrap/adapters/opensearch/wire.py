"""Requests to OpenSearch: one connection pool, a timeout for each call, errors that have crossed.

Nothing is tried twice but a request whose connection broke, as a kept one does that the other end had closed: who calls
knows how much time is left, and every request here can be repeated without harm.
"""

import json
import time
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from urllib3 import BaseHTTPResponse, Timeout, connection_from_url
from urllib3.exceptions import HTTPError, LocationParseError, ProtocolError
from urllib3.util import Url, parse_url

from ...errors import InvalidInput
from .errors import crossing, kind, passing, refusal
from .signing import Signer

CONNECTIONS: Final = 16
_SHORTEST: Final = 0.001
_MISSING: Final = 404
_PLAIN: Final = {"accept": "application/json", "content-type": "application/json", "user-agent": "steeltrap"}
_LINES: Final = {**_PLAIN, "content-type": "application/x-ndjson"}


class Wire:
    """Sends requests to the cluster at a URL and answers JSON. Safe for threads; connects at the first request.

    Name and password may stand in the URL; with a `signer` requests are signed. Raises InvalidInput for what isn't an
    http or https URL.
    """

    def __init__(self, url: str, signer: Signer | None = None) -> None:
        address = _address(url)
        self._base = (address.path or "").rstrip("/")
        self._origin = address._replace(auth=None, path=None, query=None, fragment=None).url
        self._known_by = _basic(unquote(address.auth)) if address.auth else {}
        self._signer = signer
        self._pool = connection_from_url(self._origin, maxsize=CONNECTIONS)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        *,
        timeout: float,
        params: Mapping[str, str] | None = None,
        absent: bool = False,
    ) -> Any:
        """The answer, within `timeout` seconds of silence. Lines go as bytes.

        Raises Unavailable, Throttled, TooLarge, Internal. With `absent` a 404 is answered too.
        """
        ends = time.monotonic() + timeout
        target = self._base + path + (f"?{urlencode(sorted(params.items()), quote_via=quote)}" if params else "")
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {**(_LINES if isinstance(body, bytes) else _PLAIN), **self._known_by}
        try:
            try:
                response = self._ask(method, target, sent, headers, ends)
            except ProtocolError:
                if time.monotonic() > ends:
                    raise
                response = self._ask(method, target, sent, headers, ends)
        except HTTPError as error:
            raise crossing(error) from error
        return _answer(response, absent=absent)

    def close(self) -> None:
        self._pool.close()

    def _ask(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], ends: float
    ) -> BaseHTTPResponse:
        left = ends - time.monotonic()
        if left <= 0:
            raise passing("There is no time left to ask the search index")
        if self._signer is not None:
            headers = self._signer.signed(method, self._origin + target, body, headers)
        return self._pool.urlopen(
            method,
            target,
            body,
            headers=headers,
            timeout=Timeout(total=max(_SHORTEST, left)),
            retries=False,
            redirect=False,
        )


def bulk(wire: Wire, lines: bytes, *, timeout: float) -> list[Mapping[str, Any]]:
    """What came of each action of a `_bulk`, in order: its status, and the kind of error. Raises what `send` does."""
    # So long OpenSearch waits for a part that is missing (a minute, if not told): the rest must be heard of in time.
    within = f"{max(1, int(500 * timeout))}ms"
    params = {"filter_path": "items.*.status,items.*.error.type", "timeout": within}
    answer = wire.send("POST", "/_bulk", lines, timeout=timeout, params=params)
    return [told for item in answer["items"] for told in item.values()]


def _basic(name_and_password: str) -> dict[str, str]:
    return {"authorization": f"Basic {b64encode(name_and_password.encode()).decode()}"}


def _address(url: str) -> Url:
    try:
        address = parse_url(url.strip())
    except LocationParseError:
        address = Url()
    if address.scheme not in ("http", "https") or not address.host:
        raise InvalidInput("STEELTRAP_OPENSEARCH_URL: give a URL, such as http://127.0.0.1:9200.")
    return address


def _answer(response: BaseHTTPResponse, *, absent: bool) -> Any:
    """The JSON of a good answer. A refusal's reason quotes what was sent, so that its kind alone is kept."""
    try:
        told = json.loads(response.data)
    except ValueError:
        told = None
    if not 200 <= response.status < 300 and not (absent and response.status == _MISSING):
        raise refusal(response.status, kind(told))
    if told is None:
        raise passing("The search index answered something that is no JSON")
    return told
