"""Signals that end a command: the exit code is the same whatever the workers, and no traceback is printed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MAIN = "from steeltrap.cli import main; main()"
AT_IMPORT = """
import os, signal, sys

class Interrupting:
    module = sys.argv.pop(1)

    def find_spec(self, name, path=None, target=None):
        if name == self.module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""


@pytest.fixture(autouse=True)
def heeds_its_signals() -> Iterator[None]:
    """Commands that these tests start, also where the tests were started by `nohup` or behind `&` in a script: they
    would ignore the signals that the tests ignore."""
    names = [name for name in ("SIGHUP", "SIGINT") if hasattr(signal, name)]
    before = {name: signal.getsignal(getattr(signal, name)) for name in names}
    for name in names:
        signal.signal(getattr(signal, name), signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
    yield
    for name in names:
        signal.signal(getattr(signal, name), before[name])


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "STEELTRAP_DATA": str(folder), "STEELTRAP_LOG": "error"}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_server_that_was_told_to_stop_ends_with_0_and_leaves_nothing_behind(
    tmp_path: Path, name: str, workers: int
) -> None:
    command = [sys.executable, "-c", MAIN, "serve", "--port", "0", "--workers", str(workers)]
    with subprocess.Popen(
        command, env=_environment(tmp_path), stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        assert server.stderr is not None
        assert any(line.startswith("Ctrl-C") for line in server.stderr)
        assert (tmp_path / "server.json").exists()
        os.killpg(server.pid, getattr(signal, name))  # as a terminal does it: the workers get it, too
        assert (server.wait(60), server.stderr.read()) == (0, "")
    assert not (tmp_path / "server.json").exists()


@pytest.mark.parametrize("module", ["typer", "steeltrap.settings", "numpy", "numpy.linalg", "apsw", "anyio", "uvicorn"])
def test_ctrl_c_while_modules_are_imported_prints_no_traceback(tmp_path: Path, module: str) -> None:
    command = [sys.executable, "-c", AT_IMPORT + MAIN, module, "serve", "--port", "0"]
    done = subprocess.run(command, env=_environment(tmp_path), capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if not line.startswith("steeltrap is starting")]
    assert (done.returncode, said) == (130, [])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there, Ctrl-C goes to a whole console")
@pytest.mark.parametrize("before", [0, 1200])
def test_ctrl_c_in_the_middle_of_an_import_keeps_what_was_stored_listed_and_to_be_undone(
    tmp_path: Path, before: int
) -> None:
    def asked(*arguments: str) -> Any:
        command = [sys.executable, "-c", MAIN, *arguments, "--json"]
        return json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    environment = _environment(tmp_path / "data")
    facts = [json.dumps({"content": f"Heron {number} fishes at dawn."}) for number in range(50_000)]
    # The line that is listed tells how far the import is; far more follows it than is stored until the signal comes.
    path = tmp_path / "facts.jsonl"
    path.write_text("\n".join([*facts[: before + 1], "{a bad line", *facts[before + 1 :]]) + "\n")
    command = [sys.executable, "-c", MAIN, "import", str(path)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as importing:
        assert importing.stderr is not None
        assert "facts.jsonl:" in importing.stderr.readline()
        importing.send_signal(signal.SIGINT)
        printed, told = importing.communicate(timeout=100)
    assert (importing.returncode, printed) == (130, "")
    assert told.startswith("Stopped with ")
    assert len(told.splitlines()) == 1
    stored = asked("stats")["memories"]
    assert before // 500 * 500 <= stored < len(facts)
    [listed] = asked("imports")["imports"]
    assert (listed["name"], listed["state"]) == ("facts.jsonl", "unfinished")
    undone = asked("import", "--undo", listed["id"])
    assert (undone["removed"], undone["left"], asked("stats")["memories"]) == (stored, [], 0)
