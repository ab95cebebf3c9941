"""HTTP: calls of a server, over connections that are kept.

The one map of urllib3's failures: those before a request went out are told apart from those after it, since only the
first are safe to repeat whatever the call does.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NameResolutionError,
    NewConnectionError,
    ProxyError,
    SSLError,
)

from ..errors import (
    AccessDenied,
    IdentityMissing,
    Internal,
    InvalidInput,
    NotFound,
    SteeltrapError,
    Throttled,
    TooLarge,
    Unavailable,
)
from ..version import VERSION
from .answers import Answer, Call, NoAnswer, as_sent, checked, described, encoded, excerpt, not_ours

_PROBLEM: Final = "application/problem+json"
_CONNECT_SECONDS: Final = 5.0
_MARGIN_SECONDS: Final = 5.0
"""A server answers within a tool's time, a failure too. The way there and back takes some more."""
_CONNECTIONS: Final = 16
_MOST_BYTES: Final = 128 * 1024 * 1024
_UNSENT: Final = (NewConnectionError, ConnectTimeoutError, NameResolutionError, ProxyError, SSLError)
_GATEWAY: Final = (502, 503, 504)
_STATUS: Final[Mapping[int, type[SteeltrapError]]] = {
    400: InvalidInput,
    401: IdentityMissing,
    403: AccessDenied,
    404: NotFound,
    413: TooLarge,
    429: Throttled,
}


class OverHttp:
    """The tools of a server at a URL."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        conversation: str | None = None,
        timezone: str | None = None,
        headers: Mapping[str, str] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = _base(url)
        self._timezone = timezone
        self._monotonic = monotonic
        self._headers = {
            "Content-Type": "application/json",
            "Accept": f"{_PROBLEM}, application/json, text/*",
            "User-Agent": f"steeltrap/{VERSION}",
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **({"X-Conversation-Id": conversation} if conversation else {}),
            **(headers or {}),
        }
        for name, value in self._headers.items():
            if not (f"{name}{value}".isascii() and f"{name}{value}".isprintable()):
                raise InvalidInput(f"The header `{name}` must be printable ASCII.")
        self._pool = urllib3.PoolManager(maxsize=_CONNECTIONS, block=False)

    def send(self, call: Call) -> Answer:
        headers = dict(self._headers)
        if call.idempotency_key is not None:
            headers["Idempotency-Key"] = call.idempotency_key
        if (zone := call.timezone or self._timezone) is not None:
            headers["X-Steeltrap-Timezone"] = zone
        body = encoded(call, as_sent(call.arguments))
        try:
            return self._answer(call, *self._exchange(call, headers, body))
        except UnicodeEncodeError:
            raise InvalidInput("An idempotency key must be printable ASCII.") from None

    def as_user(self, user: str, **_: object) -> "OverHttp":
        raise InvalidInput(
            "Over HTTP, the token says who the user is: connect once per user, each with their own token."
        )

    def close(self) -> None:
        self._pool.clear()

    def __str__(self) -> str:
        return self._url

    def _exchange(self, call: Call, headers: Mapping[str, str], body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """The status, headers and body of a response. Raises NoAnswer."""
        url = f"{self._url}/v1/{call.tool.replace('.', '/')}"
        seconds = call.row.seconds + _MARGIN_SECONDS
        ends = self._monotonic() + seconds
        timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=seconds)
        ask = partial(self._pool.request, "POST", url, body=body, headers=headers, timeout=timeout)
        try:
            with ask(retries=False, redirect=False, preload_content=False) as response:
                return response.status, response.headers, self._read(response, ends)
        except HTTPError as error:
            raise self._no_answer(error) from error

    def _read(self, response: urllib3.BaseHTTPResponse, ends: float) -> bytes:
        # A socket's timeout begins again with every byte.
        body = bytearray()
        for part in response.stream(65536):
            body += part
            if len(body) > _MOST_BYTES:
                raise not_ours(f"{self} answered with more than {_MOST_BYTES:,} bytes.")
            if self._monotonic() > ends:
                raise NoAnswer(f"{self} did not finish its answer in time.", sent=True)
        return bytes(body)

    def _no_answer(self, error: HTTPError) -> NoAnswer:
        if isinstance(error, SSLError):
            why = f"{self} can't be trusted: its TLS certificate was refused ({error}); check the URL."
            return NoAnswer(why, sent=False, retryable=False)
        if isinstance(error, _UNSENT):
            return NoAnswer(
                f"{self} can't be reached; check that the server runs and that the URL is right.", sent=False
            )
        return NoAnswer(f"{self} went away before it answered.", sent=True)

    def _answer(self, call: Call, status: int, headers: Mapping[str, str], body: bytes) -> Answer:
        media = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if (
            status == 200
            and media.startswith("text/")
            and call.row.answer == "string"
            and "X-Steeltrap-Error" not in headers
        ):
            return Answer(body=self._text(body), outcome=_outcome(headers))
        value = self._json(call, status, media, body)
        if status != 200 or media == _PROBLEM:
            return Answer(error=self._error(status, headers, value))
        return Answer(body=checked(call, value, str(self)), outcome=_outcome(headers))

    def _text(self, body: bytes) -> str:
        try:
            return body.decode()
        except UnicodeDecodeError:
            raise not_ours(f"{self} answered with text that isn't UTF-8; is it a steeltrap server?") from None

    def _json(self, call: Call, status: int, media: str, body: bytes) -> Any:
        if media.endswith("json"):
            try:
                return json.loads(body)
            except (ValueError, RecursionError):
                pass
        if status >= 400:
            return None
        kind = "JSON that can't be read" if media.endswith("json") else media or "no type"
        raise not_ours(
            f"{self} answered `{call.tool}` with status {status} and {kind}, not as a steeltrap server does; check the "
            f"URL. It begins: {excerpt(body[:1000].decode(errors='replace'))}"
        )

    def _error(self, status: int, headers: Mapping[str, str], value: Any) -> SteeltrapError:
        if isinstance(value, dict) and "code" in value and "detail" in value:
            return described(value, message="detail", place=str(self))
        message = value.get("message") if isinstance(value, dict) else None
        reason = f" ({excerpt(message)})" if isinstance(message, str) else ""
        sentence = (
            f"{self} answered with status {status}{reason}, without an error of steeltrap; check the URL and what is "
            "in front of the server."
        )
        if status in _GATEWAY:
            error: SteeltrapError = NoAnswer(sentence, sent=True)
        else:
            kind = _STATUS.get(status, Internal if status >= 500 else Unavailable)
            error = kind(sentence, retryable=kind.retryable and kind is not Unavailable)
        if (pause := _pause(headers)) is not None:
            error.details["retry_after"] = pause
        return error


def _base(url: str) -> str:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises for one that isn't a number
    except ValueError:
        raise InvalidInput(f"{excerpt(url)} is no URL; give one such as https://memory.example.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(f"{excerpt(url)} is no URL; give one such as https://memory.example.")
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidInput("Give the URL of the server alone, and what names the user as `token`.")
    return url.rstrip("/")


def _outcome(headers: Mapping[str, str]) -> dict[str, Any] | None:
    if (kind := headers.get("X-Steeltrap-Outcome")) is None:
        return None
    best = headers.get("X-Steeltrap-Best-Score")
    message = headers.get("X-Steeltrap-Outcome-Message", "")
    return {"kind": kind, "message": message, "best_score": None if best is None else float(best)}


def _pause(headers: Mapping[str, str]) -> float | None:
    """The seconds of Retry-After, None for a date and for nothing."""
    text = headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() and math.isfinite(float(text)) else None
