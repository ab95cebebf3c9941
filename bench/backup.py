"""A backup of a served folder: how long it takes, and what the service's clients notice of it.

`steeltrap serve` and `steeltrap backup` run in processes of their own over one folder with one user. One client keeps
its connection and alternates searches and durable saves: first alone, then while backups are made, one after the other.
Both figures come from the same run.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from steeltrap.errors import Unavailable
from steeltrap.model import Caller, Draft, JsonObject, UserRef

from .corpus import Corpus
from .place import fill, opened
from .report import milliseconds
from .servers import COMMAND, HttpClient, http_client, http_server
from .stores import Store

TITLES: Final = {
    "size": "memories",
    "megabytes": "backup, MB",
    "seconds": "the slowest backup, s (100,000 memories: <= 10)",
    "processor_seconds": "processor time of a backup, s",
    "search": "a search during backups, ms (p95 ratio: <= 2)",
    "save": "a durable save during backups, ms (p95 ratio: <= 2)",
}
_CALLER: Final = Caller(UserRef("bench"), "default")
_BACKUPS: Final = 5
_WARM: Final = 20
_ALONE: Final = 400

Times = dict[str, list[float]]


def measure(size: int) -> JsonObject:
    corpus = Corpus()
    texts = list(corpus.texts(size))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="steeltrap-bench-")))
        with opened(folder / "data", Store.SQLITE) as place:
            fill(place.door, _CALLER, [Draft(content=text) for text in texts])
        port = stack.enter_context(http_server(folder / "data", _CALLER)).port
        client = stack.enter_context(http_client(port))
        questions = corpus.questions(texts, 200)
        _ask(client, questions, _count_to(_WARM))
        alone = _ask(client, questions, _count_to(_ALONE))
        during: Times = {"search": [], "save": []}
        seconds = []
        worked = _worked()
        for n in range(_BACKUPS):
            target = folder / f"backup {n}"
            began = time.perf_counter()
            with _backing_up(folder / "data", target) as process:
                for name, times in _ask(client, questions, lambda: process.poll() is None).items():
                    during[name] += times
            if process.returncode:
                raise Unavailable("`steeltrap backup` failed.", part="store")
            seconds.append(time.perf_counter() - began)
            bytes_copied = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
            shutil.rmtree(target)
        worked = _worked() - worked
    return {
        "size": size,
        "megabytes": round(bytes_copied / 1e6, 1),
        "seconds": round(max(seconds), 2),
        "processor_seconds": round(worked / _BACKUPS, 2),
        **{name: _compared(alone[name], during[name]) for name in during},
    }


def _worked() -> float:
    """Processor seconds of the backups that have ended; the server's are not in it."""
    times = os.times()
    return times.children_user + times.children_system


def _backing_up(data: Path, target: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([*COMMAND, "backup", str(target), "--data", str(data)], stdout=subprocess.DEVNULL)


def _ask(client: HttpClient, questions: list[str], goes_on: Callable[[], bool]) -> Times:
    """Seconds of each call, by kind, for as long as the condition holds."""
    times: Times = {"search": [], "save": []}
    while goes_on():
        question = questions[len(times["save"]) % len(questions)]
        began = time.perf_counter()
        client.post("/v1/core/search", json.dumps({"query": question, "limit": 10}))
        searched = time.perf_counter()
        client.post("/v1/core/save", json.dumps({"content": f"{question} {time.perf_counter_ns()}"}))
        times["search"].append(searched - began)
        times["save"].append(time.perf_counter() - searched)
    return times


def _count_to(count: int) -> Callable[[], bool]:
    steps = iter(range(count))
    return lambda: next(steps, None) is not None


def _compared(alone: list[float], during: list[float]) -> JsonObject:
    rows: JsonObject = {
        name: {"p50": milliseconds(times, 0.5), "p95": milliseconds(times, 0.95), "calls": len(times)}
        for name, times in (("alone", alone), ("during", during))
    }
    rows["during"]["ratio"] = round(rows["during"]["p95"] / rows["alone"]["p95"], 2)
    return rows
