"""The package alone, installed with nothing else, works."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


@pytest.mark.slow
def test_the_package_alone_remembers_and_recalls(tmp_path: Path) -> None:
    _run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, ROOT)
    [wheel] = tmp_path.glob("steeltrap-*.whl")
    # Versions alone: a wheel that was just built has no hash in the lock file.
    locked = (ROOT / "constraints.txt").read_text().splitlines()
    versions = tmp_path / "versions.txt"
    versions.write_text("".join(f"{line.rstrip(chr(92))}\n" for line in locked if "==" in line))
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    _run(*PIP, "--python", python, "install", "--no-compile", "--constraint", versions, wheel)

    steeltrap = tmp_path / "venv" / "bin" / "steeltrap"
    assert "recall" in _run(steeltrap, "--help")
    memories = ("--data", tmp_path / "memories")
    _run(steeltrap, "remember", "The staging deploy key rotates every 90 days.", *memories)
    assert "90 days" in _run(steeltrap, "recall", "when do we change the deploy key?", *memories)
    _run(python, ROOT / "examples" / "plain_python.py")
    _run(python, ROOT / "examples" / "mcp_client.py")
    refused = subprocess.run([steeltrap, "serve", *memories], capture_output=True, text=True, check=False)
    assert "This needs the extra `server`" in refused.stderr
    assert len([*(tmp_path / "venv").rglob("*.dist-info")]) <= 45


def _run(*command: str | Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STEELTRAP_", "PYTHON"))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
