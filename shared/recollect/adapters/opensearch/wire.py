"""Requests to OpenSearch: one connection pool, a timeout for each call, errors that have crossed.

Nothing is tried twice but a request over a kept connection that the other end had closed: who calls knows
how much time is left, and every request here can be repeated without harm.
"""

import time
from collections.abc import Mapping
from typing import Any, Final, Literal

from opensearchpy import OpenSearch, Urllib3AWSV4SignerAuth, Urllib3HttpConnection
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ImproperlyConfigured, OpenSearchException
from urllib3.exceptions import ProtocolError

from ...errors import Unavailable
from .errors import crossing

CONNECTIONS: Final = 16
_SHORTEST: Final = 0.001


def connect(
    url: str, *, region: str | None = None, service: Literal["es", "aoss"] = "es", credentials: Any = None
) -> OpenSearch:
    """A client for a cluster at a URL; nothing is sent yet.

    With a region requests are signed (SigV4) by `credentials`, as botocore has them, for a managed domain
    (`es`) or a serverless collection (`aoss`). Name and password may stand in the URL.
    """
    return OpenSearch(
        hosts=[url],
        connection_class=Urllib3HttpConnection,
        http_auth=Urllib3AWSV4SignerAuth(credentials, region, service) if region else None,
        pool_maxsize=CONNECTIONS,
        max_retries=0,
        retry_on_timeout=False,
        retry_on_status=(),
    )


class Wire:
    """Sends requests and answers JSON. Safe for threads."""

    def __init__(self, client: OpenSearch) -> None:
        self._client = client

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
        try:
            return self._send(method, path, body, params, timeout, absent)
        except (OpenSearchException, ImproperlyConfigured) as error:
            if not _was_closed(error) or time.monotonic() > ends:
                raise crossing(error) from _tellable(error)
        try:
            return self._send(method, path, body, params, ends - time.monotonic(), absent)
        except (OpenSearchException, ImproperlyConfigured) as error:
            raise crossing(error) from _tellable(error)

    def close(self) -> None:
        self._client.close()

    def _send(self, method: str, path: str, body: Any, params: Any, timeout: float, absent: bool) -> Any:
        if timeout <= 0:
            raise Unavailable("There is no time left to ask the search index; try again.", part="index")
        sent: dict[str, Any] = {**(params or {}), "request_timeout": max(_SHORTEST, timeout)}
        if absent:
            sent["ignore"] = 404
        lines = {"content-type": "application/x-ndjson"} if isinstance(body, bytes) else None
        return self._client.transport.perform_request(method, path, params=sent, body=body, headers=lines)


def bulk(wire: Wire, lines: bytes, *, timeout: float) -> list[Mapping[str, Any]]:
    """What came of each action of a `_bulk`, in order: its status, and the kind of error. Raises what `send` does."""
    # So long OpenSearch waits for a part that is missing (a minute, if not told): the rest must be heard of in time.
    within = f"{max(1, int(500 * timeout))}ms"
    params = {"filter_path": "items.*.status,items.*.error.type", "timeout": within}
    answer = wire.send("POST", "/_bulk", lines, timeout=timeout, params=params)
    return [told for item in answer["items"] for told in item.values()]


def _tellable(error: Exception) -> Exception | None:
    # A refusal's reason quotes what was sent, and a log keeps causes.
    return None if isinstance(getattr(error, "status_code", None), int) else error


def _was_closed(error: Exception) -> bool:
    return isinstance(error, NoConnection) and isinstance(getattr(error, "info", None), ProtocolError)
