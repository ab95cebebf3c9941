"""The server as its client sees it, beside `invoke` in the same moments of the same run.

`steeltrap serve` and `steeltrap mcp` run in processes of their own, over copies of the folder that `invoke` reads here.
Latency is one client's: each text goes through every way in turn. It contains the client's own work (http.client,
about 0.2 ms). Throughput is of searches:

- invoke: calls per second of this process alone, by as many threads as there are clients. Two threads of Python share
  one interpreter, so this is what one process can do.
- HTTP and MCP over HTTP: answers per second of one server process while a process beside it plays all clients.

The clients' process takes its share of the same processors; `client_ms` says how much per request.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from steeltrap.invoke import Door
from steeltrap.model import Caller, Draft, JsonObject, UserRef

from .corpus import Corpus
from .load import Load, Result
from .place import fill, opened
from .report import milliseconds
from .servers import http_client, http_server, stdio_server
from .stores import Store

TITLES: Final = {
    "size": "memories",
    "search": "a search, ms (by HTTP: <= 1.5 more than invoke)",
    "save": "a durable save, ms",
    "healthz": "a probe, ms (<= 1 is good)",
    "per_second": "searches per second, by number of clients (ratio at 16: >= 0.6)",
}
CLIENTS: Final = (1, 4, 16, 64)
_CALLER: Final = Caller(UserRef("bench"), "default")
_LIMIT: Final = 10
_WARM: Final = 20
_LOAD_QUESTIONS: Final = 200

Way = Callable[[str], object]
"""One way to do something with a text."""


def measure(size: int, calls: int, seconds: float) -> JsonObject:
    """The figures: `calls` of each kind, one at a time, then `seconds` of load by each number of clients."""
    corpus = Corpus()
    texts = list(corpus.texts(size))
    questions = corpus.questions(texts, calls + _WARM)
    new = list(corpus.texts(calls + _WARM, part=1))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="steeltrap-bench-")))
        with opened(folder / "loaded", Store.SQLITE) as place:
            fill(place.door, _CALLER, [Draft(content=text) for text in texts])
        for name in ("here", "served", "piped"):
            shutil.copytree(folder / "loaded", folder / name)
        door = stack.enter_context(opened(folder / "here", Store.SQLITE)).door
        port = stack.enter_context(http_server(folder / "served", _CALLER)).port
        client = stack.enter_context(http_client(port))
        pipe = stack.enter_context(stdio_server(folder / "piped", _CALLER))
        searches = _latencies(
            {
                "invoke": lambda text: _invoke(door, "core.search", _search(text)),
                "http": lambda text: client.post("/v1/core/search", json.dumps(_search(text))),
                "mcp_http": lambda text: client.post("/mcp/core", _mcp(text)),
                "mcp_stdio": lambda text: pipe.ask(_mcp(text)),
            },
            questions,
        )
        probes = _latencies({"http": lambda _: client.get("/healthz")}, questions)
        rates = {str(count): _rates(door, port, questions[:_LOAD_QUESTIONS], count, seconds) for count in CLIENTS}
        saves = _latencies(
            {
                "invoke": lambda text: _invoke(door, "core.save", {"content": text}),
                "http": lambda text: client.post("/v1/core/save", json.dumps({"content": text})),
            },
            new,
        )
    return {"size": size, "search": searches, "save": saves, "healthz": probes, "per_second": rates}


def _latencies(ways: dict[str, Way], texts: list[str]) -> JsonObject:
    """Median and 95th percentile by way; beside `invoke`, the ratio to it and what the way adds (median of pairs)."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn, text in enumerate(texts):
        for name, way in ways.items():
            began = time.perf_counter()
            way(text)
            if turn >= _WARM:
                times[name].append(time.perf_counter() - began)
    rows: JsonObject = {}
    for name, durations in times.items():
        rows[name] = {"p50": milliseconds(durations, 0.5), "p95": milliseconds(durations, 0.95)}
        if name != "invoke" and "invoke" in rows:
            overheads = [over - here for over, here in zip(durations, times["invoke"], strict=True)]
            ratio = rows[name]["p50"] / rows["invoke"]["p50"]
            rows[name] |= {"ratio": round(ratio, 2), "adds": milliseconds(overheads, 0.5)}
    return rows


def _rates(door: Door, port: int, questions: list[str], clients: int, seconds: float) -> JsonObject:
    invoked = _invoked_per_second(door, questions, clients, seconds)
    rest = _run(
        Load(port, "/v1/core/search", [json.dumps(_search(question)) for question in questions], clients, seconds)
    )
    mcp = _run(Load(port, "/mcp/core", [_mcp(question) for question in questions], clients, seconds))
    http_rate, mcp_rate = rest.answers / rest.seconds, mcp.answers / mcp.seconds
    return {
        "invoke": round(invoked),
        "http": round(http_rate),
        "ratio": round(http_rate / invoked, 2),
        "mcp_http": round(mcp_rate),
        "mcp_ratio": round(mcp_rate / invoked, 2),
        "client_ms": round(rest.processor_seconds / rest.answers * 1000, 3),
    }


def _invoked_per_second(door: Door, questions: list[str], threads: int, seconds: float) -> float:
    ends = time.perf_counter() + seconds

    def work() -> int:
        for count, question in enumerate(cycle(questions), 1):
            _invoke(door, "core.search", _search(question))
            if time.perf_counter() > ends:
                return count
        raise ValueError("no questions")

    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        count = sum(future.result() for future in [pool.submit(work) for _ in range(threads)])
    return count / (time.perf_counter() - began)


def _run(load: Load) -> Result:
    command = [sys.executable, "-m", "bench.load"]
    process = subprocess.run(command, input=json.dumps(asdict(load)), capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(process.stderr)
    return Result(**json.loads(process.stdout))


def _invoke(door: Door, tool: str, arguments: JsonObject) -> None:
    result = door.invoke(tool, arguments, _CALLER)
    if result.error is not None:
        raise result.error


def _search(question: str) -> JsonObject:
    return {"query": question, "limit": _LIMIT}


def _mcp(question: str) -> str:
    params = {"name": "search", "arguments": _search(question)}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
