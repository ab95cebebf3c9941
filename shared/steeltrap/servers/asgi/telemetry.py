"""The log and the metrics of requests: a line per request, and what Prometheus reads at /metrics.

A line's id finds its request's other lines. Metrics are numbers of calls and times, by names that only we choose; never
a user or a text. Several workers write to files of a folder that prometheus_client finds by its own variable of the
environment, and any of them answers with the sum. Only a server imports this.
"""

import logging
import re
import time
from collections.abc import Callable
from hmac import compare_digest
from secrets import token_hex
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ... import telemetry
from ...errors import IdentityMissing, InvalidInput, SteeltrapError
from ...ports import Caches
from ..auth.identity import bearer_token, one_header
from ..http import error_reply
from .admission import CallThreads

_log = logging.getLogger("steeltrap")

HEADER: Final = "X-Request-Id"
_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_MOST_OF_A_PATH: Final = 200


class RequestLog:
    """ASGI middleware. A request keeps the id that a gateway gave it, or gets one; the answer names it.

    `answered` is told each answer's status, 0 if there was none.
    """

    def __init__(self, app: ASGIApp, answered: Callable[[int], None] = lambda status: None) -> None:
        self.app = app
        self._answered = answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        id, began, status, ended = _id(scope), time.perf_counter(), 0, False
        telemetry.REQUEST.set(id)

        def end() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._answered(status)
                _log_request(scope, status, (time.perf_counter() - began) * 1000)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (HEADER.lower().encode(), id.encode())]
            elif not message.get("more_body", False):
                end()  # before a slow client has read it
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            end()


def _log_request(scope: Scope, status: int, milliseconds: float) -> None:
    method, path = scope["method"], _path(scope)
    fields = {"method": method, "path": path, "status": status, "ms": round(milliseconds, 1)}
    _log.info("%s %s %d %.1f ms", method, path, status, milliseconds, extra={"fields": fields})


def _id(scope: Scope) -> str:
    try:
        value = one_header(scope, HEADER) or ""
    except InvalidInput:  # two of them
        value = ""
    return value if _ID.fullmatch(value) else token_hex(8)


def _path(scope: Scope) -> str:
    """As it was sent, without the query, which may have a text in it."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return path.partition(b"?")[0].decode("ascii", "backslashreplace")[:_MOST_OF_A_PATH]


PATH: Final = "/metrics"
_CALL_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_STAGE_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5)


class Metrics:
    """Counts calls and answers. `shared` says that other workers count too. Safe for threads."""

    def __init__(self, *, shared: bool = False) -> None:
        registry = CollectorRegistry()
        self._calls = Counter(
            "steeltrap_calls", "Calls of tools; `code` is ok or the error's code.", ("tool", "code"), registry=registry
        )
        self._call_seconds = Histogram(
            "steeltrap_call_seconds", "Time of a call.", ("tool",), registry=registry, buckets=_CALL_SECONDS
        )
        self._stage_seconds = Histogram(
            "steeltrap_stage_seconds",
            "Time of each stage of a call.",
            ("tool", "stage"),
            registry=registry,
            buckets=_STAGE_SECONDS,
        )
        self._answers = Counter(
            "steeltrap_http_answers",
            "Answers over HTTP; status 0 is a client that left before its answer.",
            ("status",),
            registry=registry,
        )
        self._users, self._bytes = (
            Gauge(name, help, registry=registry, multiprocess_mode="livesum")
            for name, help in (
                ("steeltrap_open_users", "Users whose files are open; one that two workers have open counts twice."),
                ("steeltrap_index_bytes", "Memory of the search indexes and caches of open users."),
            )
        )
        if shared:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        self._registry = registry
        self.caches: Caches | None = None

    def observe(self, measure: telemetry.Measure) -> None:
        """Count a call, beside the log's line."""
        telemetry.log_call(measure)
        self._calls.labels(measure.tool, measure.error or "ok").inc()
        self._call_seconds.labels(measure.tool).observe(measure.milliseconds / 1000)
        for stage, milliseconds in measure.stages.items():
            self._stage_seconds.labels(measure.tool, stage).observe(milliseconds / 1000)
        if self.caches is not None:
            users, size = self.caches.cached()
            self._users.set(users)
            self._bytes.set(size)

    def answered(self, status: int) -> None:
        """Count an answer over HTTP."""
        self._answers.labels(str(status)).inc()

    def text(self) -> bytes:
        """All that was counted, in Prometheus's format."""
        return generate_latest(self._registry)


def metrics_route(metrics: Metrics, token: str) -> Route:
    """GET /metrics. With a token, only for who sends it as `Authorization: Bearer TOKEN`."""

    threads = CallThreads(1)

    async def read(request: Request) -> Response:
        try:
            _check(request, token)
            text = await threads.run(metrics.text)
        except SteeltrapError as error:
            reply = error_reply(error)
            return Response(reply.body, reply.status, reply.headers)
        return Response(text, media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})

    return Route(PATH, read, methods=["GET"])


def _check(request: Request, token: str) -> None:
    if token and not compare_digest((bearer_token(request.scope) or "").encode(), token.encode()):
        raise IdentityMissing("Send `Authorization: Bearer TOKEN` with the server's STEELTRAP_METRICS_TOKEN.")
