"""The command line in this process, over a folder of its own and a quick embedder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from embedding import HashedWords
from steeltrap.cli.app import app
from steeltrap.runtime import local as runtime

Run = Callable[..., Any]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> HashedWords:
    quick = HashedWords()
    monkeypatch.setattr(runtime, "open_embedder", lambda settings: quick)
    return quick


@pytest.fixture
def run(data: Path, embedder: HashedWords) -> Run:
    """Run a command; the result has exit_code, stdout and stderr."""

    def run(*arguments: object, input: str | bytes | None = None, data: Path = data) -> Any:
        result = CliRunner().invoke(app, list(map(str, arguments)), input=input, env={"STEELTRAP_DATA": str(data)})
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return run


@pytest.fixture
def ask(run: Run) -> Run:
    """Call a tool, and get its body."""

    def ask(tool: str, **arguments: object) -> Any:
        result = run("call", tool, json.dumps(arguments))
        assert result.exit_code == 0, result.stdout + result.stderr
        return json.loads(result.stdout)

    return ask


@pytest.fixture
def load(run: Run) -> Run:
    """Import a file, and get the report, with a check of the exit code."""

    def load(path: Path, *options: object, code: int = 0) -> Any:
        result = run("import", path, "--json", *options)
        assert result.exit_code == code, result.stdout + result.stderr
        return json.loads(result.stdout)

    return load
