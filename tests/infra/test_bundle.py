"""The Python that compiles functions' code."""

import os
import sys
from pathlib import Path

import pytest
from infra.bundle import MissingPython, build_code, find_python

from infra import bundle

OTHER = "3.12" if sys.version_info[:2] != (3, 12) else "3.13"


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with no Python but the one that runs here: a folder for its version managers."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "uv"))
    monkeypatch.setattr(bundle, "BUILT", tmp_path / "build")
    return tmp_path


def test_code_is_not_packed_uncompiled_when_the_functions_python_is_missing(nowhere: Path) -> None:
    with pytest.raises(MissingPython, match=f"uv python install {OTHER}"):
        build_code(OTHER, embedder=True, replicas=True)


@pytest.mark.parametrize(
    "place", ["bin/python{0}", "pyenv/versions/{0}.0/bin/python", "uv/cpython-{0}.1-x/bin/python{0}"]
)
def test_the_functions_python_is_found_on_the_path_and_where_version_managers_put_it(place: str, nowhere: Path) -> None:
    found = _script(nowhere / place.format(OTHER), f"echo {OTHER}")
    assert find_python(OTHER) == str(found)


def test_a_version_manager_s_stand_in_without_the_version_is_passed_over(nowhere: Path) -> None:
    _script(nowhere / "bin" / f"python{OTHER}", "echo 'command not found' >&2; exit 127")
    real = _script(nowhere / "pyenv" / "versions" / f"{OTHER}.0" / "bin" / "python", f"echo {OTHER}")
    assert find_python(OTHER) == str(real)


def _script(file: Path, what: str) -> Path:
    file.parent.mkdir(parents=True)
    file.write_text(f"#!/bin/sh\n{what}\n")
    os.chmod(file, 0o755)
    return file
