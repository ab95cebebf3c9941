"""Time that a warm function adds to a call: to read its event, find its caller, form its answer, and write its log
and its metrics.

Counted in processor time of the thread that answers: what else the machine does has no say.
"""

import json
import logging
import os
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from steeltrap.model import Caller, Draft, JsonObject, UserRef
from steeltrap.servers.aws_lambda.telemetry import Telemetry
from steeltrap.servers.aws_lambda.tools import tool_handler

from .corpus import Corpus
from .place import fill, opened
from .report import milliseconds
from .stores import Store

TITLES: Final = {
    "calls": "calls of each",
    "invoke_p50_ms": "a search through the door, median, processor ms",
    "handler_p50_ms": "the same as an event to a warm handler",
    "adds_ms": "adds_ms, what the handler adds (<= 2 is good)",
    "written_p50_ms": "besides: writing down what was read",
}
_MEMORIES: Final = 1000
_WARM: Final = 20
_CALLER: Final = Caller(UserRef("bench"), "default")


def measure(calls: int) -> JsonObject:
    """The figures: medians of so many searches through the door and through the handler, in turn."""
    corpus = Corpus()
    texts = list(corpus.texts(_MEMORIES))
    questions = corpus.questions(texts, calls + _WARM)
    with TemporaryDirectory(prefix="steeltrap-bench-") as folder, opened(Path(folder), Store.SQLITE) as place:
        fill(place.door, _CALLER, [Draft(content=text) for text in texts])
        direct, handled, flush_times = [], [], []
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            logging.getLogger("steeltrap").handlers.clear()  # a function has no other log
            telemetry = Telemetry("info", stream=nowhere)
            plain = replace(place.door, observe=lambda _: None)
            store = _Flushed(place.door.store)
            door = replace(place.door, observe=telemetry.observe, store=store)
            handler = tool_handler("search", open=lambda: door, telemetry=telemetry)
            for number, question in enumerate(questions):
                arguments = {"query": question}
                event = search_event(_CALLER, arguments)
                ways: list[Callable[[], Any]] = [
                    partial(plain.invoke, "core.search", arguments, _CALLER),
                    partial(handler, event, None),
                ]
                # The first of the two finds nothing of it in a processor's caches.
                first = number % 2
                times = [0.0, 0.0]
                for way in (first, 1 - first):
                    times[way] = _seconds(ways[way])
                if number >= _WARM:
                    direct.append(times[0])
                    handled.append(times[1] - store.seconds)
                    flush_times.append(store.seconds)
    invoke, handle = milliseconds(direct, 0.5), milliseconds(handled, 0.5)
    return {
        "calls": calls,
        "invoke_p50_ms": invoke,
        "handler_p50_ms": handle,
        "adds_ms": round(handle - invoke, 3),
        "written_p50_ms": milliseconds(flush_times, 0.5),
    }


def _seconds(call: Callable[[], Any]) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began


class _Flushed:
    """A store that says how long its last flush took, which no answer of a server waits for."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.seconds = 0.0

    def flush(self, *, just_read: bool = False) -> None:
        began = time.thread_time()
        self._store.flush(just_read=just_read)
        self.seconds = time.thread_time() - began

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def search_event(caller: Caller, arguments: JsonObject) -> JsonObject:
    """A search as an HTTP API sends it, payload 2.0, behind a JWT authorizer."""
    path = "/v1/core/search"
    claims = {"sub": caller.user.user_id, "agent_id": caller.agent_id}
    return {
        "version": "2.0",
        "routeKey": f"POST {path}",
        "rawPath": path,
        "headers": {"content-type": "application/json"},
        "requestContext": {
            "http": {"method": "POST", "path": path},
            "requestId": "bench",
            "stage": "$default",
            "authorizer": {"jwt": {"claims": claims}},
        },
        "body": json.dumps(arguments),
        "isBase64Encoded": False,
    }
