"""Claude Code itself takes the plugin, and what `steeltrap install` writes. Neither needs an account."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(__file__).parent / "node_modules" / ".bin"


@pytest.fixture
def run(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Run a command in an empty home folder, with `claude` and `steeltrap` on the PATH; its output, if it succeeds."""
    home = tmp_path / "home"
    home.mkdir()
    path = os.pathsep.join((str(BIN), str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {"PATH": path, "HOME": str(home), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def run(*command: str) -> str:
        ran = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    return run


@pytest.mark.parametrize("folder", [ROOT, ROOT / "plugins" / "claude-code"])
def test_the_marketplace_and_the_plugin_are_valid(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    assert "Validation passed" in run("claude", "plugin", "validate", str(folder))


def test_the_plugin_is_installed_connects_and_goes(run) -> None:  # type: ignore[no-untyped-def]
    run("claude", "plugin", "marketplace", "add", str(ROOT))
    run("claude", "plugin", "install", "steeltrap@steeltrap")
    assert "plugin:steeltrap:steeltrap" in (listed := run("claude", "mcp", "list"))
    assert "✔ Connected" in listed
    run("claude", "plugin", "uninstall", "steeltrap@steeltrap")
    assert "steeltrap" not in run("claude", "mcp", "list")


def test_what_install_writes_connects_and_goes(run) -> None:  # type: ignore[no-untyped-def]
    run("steeltrap", "install", "claude-code", "--yes")
    listed = run("claude", "mcp", "list")  # which also writes into the same file
    assert "steeltrap mcp - ✔ Connected" in listed
    run("steeltrap", "install", "claude-code", "--undo", "--yes")
    assert "steeltrap" not in run("claude", "mcp", "list")
