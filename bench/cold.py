"""Cold starts: from the start of a function's process to its first answer, beside a function that does next to nothing.

Everything is real but AWS itself: Lambda's own runtime client, the tables, the index. The remote embedder is a server
here that answers at once, so that what is measured is ours.
"""

import json
import re
import sys
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Final

from steeltrap.errors import Unavailable
from steeltrap.model import Caller, JsonObject, UserRef
from steeltrap.ports import Embedder
from steeltrap.runtime.local import open_door
from steeltrap.settings import PREFIX, Settings

from .corpus import Corpus
from .place import SETTLED, LaterClock, opened
from .runtime_api import Answered, first_answer
from .stores import Store
from .warm import search_event

TITLES: Final = {
    "baseline_ms": "baseline: a handler that makes one boto3 client call, ms",
    "search_ms": "the search handler with a remote embedder, ms",
    "static_ms": "the search handler with the local embedder, ms",
    "search_ratio": "search_ratio, search / baseline (<= 2.3 is good)",
    "processor_ms": "processor time until the first answer, ms",
    "processor_ratio": "search / baseline by the least processor time, for a busy machine (<= 2.3 is good)",
    "static_adds_ms": "what the local embedder adds, ms (<= 350 is good)",
    "restored_ms": "the search handler from a snapshot (SnapStart), an estimate without AWS's own restore, ms",
    "restored_ratio": "restored_ratio, the same / baseline",
    "imports_ms": "what imports cost until the first answer, by package, ms",
}
_MEMORIES: Final = 200
_SHOWN: Final = 20
_IMPORT = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \| \s*(\S+)$", re.MULTILINE)
_BATCH: Final = 50
_SECONDS: Final = 60.0
_REMOTE: Final = {
    "embedder": "endpoint",
    "embedder_model": "bench",
    "embedder_dimension": 256,
    "embedder_unrelated": 0.1,
}

_SEARCH: Final = """\
from steeltrap.servers.aws_lambda.tools import tool_handler

handler = tool_handler("search")
"""
_BASELINE: Final = """\
import os

import boto3

client = boto3.client("dynamodb", endpoint_url=os.environ.get("STEELTRAP_DYNAMODB_URL") or None)


def handler(event, context):
    client.describe_table(TableName=os.environ["STEELTRAP_MEMORY_TABLE"])
    return {"statusCode": 200}
"""


def measure(repeats: int) -> JsonObject:
    """The figures: medians of so many starts of each handler, in turn, and what each import costs.

    Raises Unavailable when a part doesn't answer or a handler fails.
    """
    import_module("awslambdaric")  # says what is missing before anything is made
    corpus = Corpus()
    texts = list(corpus.texts(_MEMORIES))
    question = corpus.questions(texts, 1)[0]
    with (
        TemporaryDirectory(prefix="steeltrap-bench-") as directory,
        opened(Path(directory) / "ours", Store.AWS) as place,
    ):
        folder = Path(directory)
        with _embedding(place.door.embedder) as url:
            remote = place.settings.with_values(**_REMOTE, embedder_url=url)
            local = place.settings.with_values(embedder="static-256")
            starts = {"baseline": _Start(folder / "baseline", _BASELINE, {}, place.settings)}
            for name, settings in {"search": remote, "static": local}.items():
                caller = Caller(UserRef(name), "default")
                _fill(settings, caller, texts)
                starts[name] = _Start(folder / name, _SEARCH, search_event(caller, {"query": question}), settings)
            place.settle()
            for start in starts.values():
                start.answered()  # compiles what all others find compiled
            times: dict[str, list[Answered]] = {name: [] for name in starts}
            restored: list[float] = []
            for _ in range(repeats):
                for name, start in starts.items():
                    times[name].append(start.answered())
                restored.append(starts["search"].answered(from_snapshot=True).seconds)
            imports = {name: _imports(start.answered("-X", "importtime").written) for name, start in starts.items()}
    baseline, search, static = (1000 * median(one.seconds for one in times[name]) for name in starts)
    used = {name: [1000 * one.processor for one in times[name]] for name in starts}
    least = {name: min(spent) for name, spent in used.items()}
    return {
        "starts": repeats,
        "baseline_ms": round(baseline, 1),
        "search_ms": round(search, 1),
        "static_ms": round(static, 1),
        "search_ratio": round(search / baseline, 2),
        "processor_ms": {
            "median": {name: round(median(spent), 1) for name, spent in used.items()},
            "least": {name: round(spent, 1) for name, spent in least.items()},
        },
        "processor_ratio": round(least["search"] / least["baseline"], 2),
        "static_adds_ms": round(static - search, 1),
        "restored_ms": round(1000 * median(restored), 1),
        "restored_ratio": round(1000 * median(restored) / baseline, 2),
        "imports_ms": _by_package(imports),
    }


class _Start:
    """One function as it is started again and again: its code, its event, and the settings in its environment."""

    def __init__(self, folder: Path, code: str, event: JsonObject, settings: Settings) -> None:
        folder.mkdir()
        (folder / "handler.py").write_text(code)
        self._folder = folder
        self._event = event
        values = {name: getattr(settings, name) for name in settings.explicit}
        self._environment = {f"{PREFIX}{name.upper()}": str(value) for name, value in values.items()}

    def answered(self, *flags: str, from_snapshot: bool = False) -> Answered:
        """Its first answer. Raises Unavailable when that isn't whole."""
        answered = first_answer(self._folder, self._event, self._environment, *flags, from_snapshot=from_snapshot)
        answer = answered.answer
        if answer.get("statusCode") != 200 or '"degraded"' in answer.get("body", ""):
            raise Unavailable(f"`{self._folder.name}` answered {answer}", retryable=False, part="runtime")
        return answered


def _fill(settings: Settings, caller: Caller, texts: list[str]) -> None:
    """Save memories as if long ago, when nothing of them is among the latest writes any more."""
    clock = LaterClock()
    clock.ahead = -SETTLED
    door = open_door(settings, clock=clock)
    try:
        for start in range(0, len(texts), _BATCH):
            items = [{"content": text} for text in texts[start : start + _BATCH]]
            result = door.invoke("core.batch_save", {"items": items}, caller)
            if result.error is not None:
                raise result.error
    finally:
        door.store.close()


def _imports(log: str) -> Counter[str]:
    """Microseconds that each top-level package's own modules took, Python's own together."""
    micros: Counter[str] = Counter()
    for own, module in _IMPORT.findall(log):
        package = module.partition(".")[0]
        micros["python" if package in sys.stdlib_module_names else package] += int(own)
    return micros


def _by_package(imports: Mapping[str, Counter[str]]) -> dict[str, dict[str, float]]:
    """Milliseconds by package, the dearest of all functions first, and by function."""
    dearest = sum(imports.values(), Counter()).most_common(_SHOWN)
    rows = {package: {name: micros[package] / 1000 for name, micros in imports.items()} for package, _ in dearest}
    rows["all"] = {name: micros.total() / 1000 for name, micros in imports.items()}
    return {package: {name: round(spent, 1) for name, spent in row.items()} for package, row in rows.items()}


@contextmanager
def _embedding(embedder: Embedder) -> Iterator[str]:
    """An OpenAI-compatible endpoint over an embedder; its base URL."""

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))["input"]
            vectors = embedder.embed(texts, purpose="document", timeout=_SECONDS)
            data = [{"index": at, "embedding": array("f", vector).tolist()} for at, vector in enumerate(vectors)]
            body = json.dumps({"data": data}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
