"""The gain by more processes of `steeltrap serve`: searches per second, driven by wrk, and the server's processor time.

One worker and several are measured in turn, over the same memories, so that both meet the same load of the machine.
The ratio is the median of the rounds'. wrk takes its share of the same processors.
"""

import json
import os
import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from steeltrap.errors import Unavailable
from steeltrap.model import Caller, Draft, JsonObject, UserRef

from .corpus import Corpus
from .place import fill, opened
from .servers import http_server
from .stores import Store

TITLES: Final = {
    "size": "memories",
    "clients": "clients, each on a kept connection",
    "load": "load of the machine before the run, 1 min",
    "per_second": "searches per second, by workers",
    "server_ms": "processor time of the server per request, ms",
    "ratio": "several workers against one (>= 1.5 is good)",
}
_CALLER: Final = Caller(UserRef("bench"), "default")
_QUESTIONS: Final = 200
_WARM_SECONDS: Final = 2.0
_SCRIPT: Final = """
local at = 0
wrk.method, wrk.headers["Content-Type"] = "POST", "application/json"
function request() at = at %% #bodies + 1; return wrk.format(nil, nil, nil, bodies[at]) end
"""


class _Round(NamedTuple):
    per_second: float
    server_ms: float


def measure(size: int, workers: int, clients: int, seconds: float, rounds: int) -> JsonObject:
    """The figures of so many rounds of `seconds` each. Raises Unavailable without wrk."""
    if shutil.which("wrk") is None:
        raise Unavailable("wrk is not installed; run `apt-get install wrk`.", part="wrk")
    corpus, load = Corpus(), os.getloadavg()[0]
    texts = list(corpus.texts(size))
    by_count: dict[int, list[_Round]] = {1: [], workers: []}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="steeltrap-bench-")))
        with opened(folder / "data", Store.SQLITE) as place:
            fill(place.door, _CALLER, [Draft(content=text) for text in texts])
        script = folder / "search.lua"
        script.write_text(_lua(corpus.questions(texts, _QUESTIONS)), encoding="utf-8")
        servers = {count: stack.enter_context(http_server(folder / "data", _CALLER, count)) for count in by_count}
        for server in servers.values():
            _wrk(script, server.port, clients, _WARM_SECONDS)
        for _ in range(rounds):
            for count, server in servers.items():
                before = _processor_seconds(server.pid)
                requests, duration = _wrk(script, server.port, clients, seconds)
                used = _processor_seconds(server.pid) - before
                by_count[count].append(_Round(requests / duration, used / requests * 1000))
    ratios = [many.per_second / one.per_second for one, many in zip(by_count[1], by_count[workers], strict=True)]
    return {
        "size": size,
        "clients": clients,
        "load": round(load, 2),
        "per_second": {
            str(count): _spread([each.per_second for each in results], 0) for count, results in by_count.items()
        },
        "server_ms": {
            str(count): _spread([each.server_ms for each in results], 3) for count, results in by_count.items()
        },
        "ratio": _spread(ratios, 2)["median"],
    }


def _lua(questions: list[str]) -> str:
    bodies = ", ".join(json.dumps(json.dumps({"query": question, "limit": 10})) for question in questions)
    return f"local bodies = {{{bodies}}}" + _SCRIPT.replace("%%", "%")


def _wrk(script: Path, port: int, clients: int, seconds: float) -> tuple[int, float]:
    """How many searches were answered in how many seconds. Raises Unavailable when any failed."""
    url = f"http://127.0.0.1:{port}/v1/core/search"
    command = ["wrk", "-t1", f"-c{clients}", f"-d{max(1, round(seconds))}s", "--timeout", "30", "-s", str(script), url]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    match = re.search(r"(\d+) requests in ([\d.]+)(m?s|m),", output)
    if match is None or "Non-2xx" in output or "Socket errors" in output:
        raise Unavailable(f"wrk says: {output}", part="server")
    return int(match[1]), float(match[2]) * {"ms": 0.001, "s": 1, "m": 60}[match[3]]


def _processor_seconds(pid: int) -> float:
    """The seconds that a process and its children have used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_processor_seconds(int(child)) for child in children)


def _spread(values: list[float], digits: int) -> JsonObject:
    return {name: round(figure(values), digits) for name, figure in (("least", min), ("median", median), ("most", max))}
