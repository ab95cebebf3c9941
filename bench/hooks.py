"""How long a prompt waits for `steeltrap hook prompt`, beside a running server and without one.

Each is a process of its own, as a client starts it. In turn with them, so that all meet the same load of the machine,
starts Python that does nothing, which no hook in Python can beat. Processor time hardly depends on that load.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final, NamedTuple

from steeltrap.errors import Unavailable
from steeltrap.model import Caller, Draft, JsonObject, UserRef
from steeltrap.project import project_of
from steeltrap.servers.hooks import command as hooks_log
from steeltrap.settings import PREFIX

from .corpus import Corpus
from .place import fill, opened
from .report import milliseconds
from .servers import http_server
from .stores import Store

TITLES: Final = {
    "size": "memories of the project",
    "prompts": "prompts of each kind",
    "load": "load of the machine before the run, 1 min",
    "waits_ms": "milliseconds per prompt (p95 < 150 beside a server, < 700 without one is good)",
}
_CALLER: Final = Caller(UserRef("bench"), "claude-code")
_HOOK: Final = (sys.executable, "-c", "from steeltrap.cli import main; main()", "hook", "prompt")
_BARE: Final = (sys.executable, "-c", "pass")
_CONFIG: Final = '[remote "origin"]\n\turl = https://example.com/bench/hooks.git\n'


class _Run(NamedTuple):
    seconds: float
    processor: float


def measure(size: int, prompts: int) -> JsonObject:
    """The figures of so many prompts about a project with so many memories. Raises Unavailable."""
    corpus, load = Corpus(), os.getloadavg()[0]
    texts = list(corpus.texts(size))
    bare: list[_Run] = []
    beside: list[_Run] = []
    without: list[_Run] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="steeltrap-bench-")))
        repository = _repository(folder / "repository")
        project = project_of(repository)
        assert project is not None
        for name in ("served", "alone"):
            with opened(folder / name, Store.SQLITE) as place:
                fill(place.door, _CALLER, [Draft(content=text, scope=project.scope) for text in texts])
        stack.enter_context(http_server(folder / "served", _CALLER))
        for number, question in enumerate(corpus.questions(texts, prompts + 1)):
            event = json.dumps(_event(repository, f"session-{number}", question)).encode()
            bare.append(_run(_BARE, folder, b""))
            beside.append(_run(_HOOK, folder / "served", event))
            without.append(_run(_HOOK, folder / "alone", event))
        for name in ("served", "alone"):
            _check_log(folder / name)
    kinds = {"bare python": bare, "beside a server": beside, "without a server": without}
    # The first start reads the files into memory.
    waits = {name: _figures(runs[1:]) for name, runs in kinds.items()}
    return {"size": size, "prompts": prompts, "load": round(load, 2), "waits_ms": waits}


def _figures(runs: Sequence[_Run]) -> dict[str, float]:
    seconds, processor = [run.seconds for run in runs], [run.processor for run in runs]
    return {
        "p50": milliseconds(seconds, 0.5),
        "p95": milliseconds(seconds, 0.95),
        "processor_p50": milliseconds(processor, 0.5),
    }


def _run(command: Sequence[str], data: Path, stdin: bytes) -> _Run:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environment = {**inherited, f"{PREFIX}DATA": str(data), f"{PREFIX}USER": _CALLER.user.user_id}
    start, used = perf_counter(), os.times()
    subprocess.run(command, input=stdin, env=environment, capture_output=True, check=True)
    end, after = perf_counter(), os.times()
    processor = after.children_user + after.children_system - used.children_user - used.children_system
    return _Run(end - start, processor)


def _check_log(data: Path) -> None:
    """Raises Unavailable if a hook failed, which it never says itself."""
    log = data / hooks_log.FOLDER / hooks_log.NAME
    if log.exists():
        raise Unavailable(f"A hook failed: {log.read_text().splitlines()[0]}", part="hooks")


def _event(repository: Path, session: str, prompt: str) -> JsonObject:
    transcript = repository.parent / f"{session}.jsonl"
    about = {"session_id": session, "transcript_path": str(transcript), "cwd": str(repository)}
    return {**about, "hook_event_name": "UserPromptSubmit", "permission_mode": "default", "prompt": prompt}


def _repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(_CONFIG)
    return folder
