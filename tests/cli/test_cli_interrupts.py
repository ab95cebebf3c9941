"""Signals that end a command: the exit code is the same whatever the workers, and no traceback is printed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

MAIN = "from steeltrap.surfaces.cli import main; main()"
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
    assert (done.returncode, done.stderr) == (130, "")
